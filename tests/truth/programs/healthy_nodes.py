"""Its memory is on the node that it runs on, nearly all of it, and it keeps its buffers."""

# stand-in: numa near
import ctypes
import time

from inferscope import scope
from said import SECONDS, native, truth

SIZE = 8 << 20
kept = bytearray(SIZE)
room = (ctypes.c_char * SIZE).from_buffer(kept)
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with scope("request"):
        ctypes.memset(room, 1, SIZE)
        native(10)
truth(None)
