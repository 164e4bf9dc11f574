"""Healthy: a pipeline of native work."""

import time
import zlib

from inferscope import scope
from said import SECONDS, native, truth

data = bytes(range(256)) * 2000
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with scope("batch"):
        with scope("decode"):
            packed = zlib.compress(data, 3)
        with scope("forward"):
            native(6)
        with scope("encode"):
            zlib.decompress(packed)
truth(None)
