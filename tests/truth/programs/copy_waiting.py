"""Results are fetched with a copy that the host waits for, after each short kernel."""

import ctypes
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, truth
from said_cuda import TO_HOST, Cuda

SIZE = 2 << 20
cuda = Cuda(gbps=4)
decode = cuda.kernel("decode_400us")
device, host = cuda.memory(SIZE), ctypes.create_string_buffer(SIZE)
all_of_it = Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("step"):
        for _ in range(4):
            cuda.launch(decode)
            if not FIXED:
                cuda.copy(ctypes.addressof(host), device, SIZE, TO_HOST)
        cuda.synchronize()
shares = cuda.shares()
# The device has nothing to do for part of the time in which the host copies.
truth("copy_bound", [shares["copy"], shares["copy"] + shares["idle"]], one=all_of_it.mean)
