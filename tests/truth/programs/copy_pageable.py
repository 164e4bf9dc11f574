"""Every batch is copied from memory that is not pinned, before the GPU begins."""

import ctypes
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, truth
from said_cuda import TO_DEVICE, Cuda

SIZE = 4 << 20
cuda = Cuda(gbps=2)
scale = cuda.kernel("scale_300us")
device, host = cuda.memory(SIZE), ctypes.create_string_buffer(SIZE)
all_of_it = Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("step"):
        for _ in range(8):
            if not FIXED:
                cuda.copy_async(device, ctypes.addressof(host), SIZE, TO_DEVICE)
            cuda.launch(scale)
        cuda.synchronize()
truth("copy_bound", cuda.shares()["copy"], one=all_of_it.mean)
