"""It runs on one memory node, and its memory is on another: what stands for the machine's nodes says so."""

# stand-in: numa
import time

from inferscope import scope
from said import SECONDS, native, truth

held = [bytearray(1 << 20) for _ in range(64)]
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with scope("request"):
        native(20)
# All of it: half of what ran goes to the way at most.
truth("remote_memory", [45.0, 50.0])
