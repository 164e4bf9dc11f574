"""The host waits for the GPU after every kernel, and asks for the next one only then."""

import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, truth
from said_cuda import Cuda

cuda = Cuda()
layer = cuda.kernel("layer_300us")


def bookkeeping() -> int:
    """Two thirds of a layer's time on any machine: on a fast one, the same work would leave the GPU as what limits."""
    total = 0
    done = time.perf_counter() + 0.0002
    while time.perf_counter() < done:
        for i in range(200):
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
