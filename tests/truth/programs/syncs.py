"""The host waits for the GPU after every kernel, and asks for the next one only then."""

import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, truth
from said_cuda import Cuda

cuda = Cuda()
layer = cuda.kernel("layer_300us")


def bookkeeping() -> int:
    total = 0
    for i in range(3000):
        total += i & 3
    return total


all_of_it = Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("step"):
        for _ in range(20):
            cuda.launch(layer)
            if not FIXED:
                cuda.synchronize()
            bookkeeping()
        cuda.synchronize()
truth("gpu_sync", cuda.shares()["idle"], one=all_of_it.mean)
