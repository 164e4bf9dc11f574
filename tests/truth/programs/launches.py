"""Kernels are so short that the host cannot ask for them as fast as they run."""

import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, truth
from said_cuda import Cuda

cuda = Cuda()
add = cuda.kernel("add_5us")
fused = cuda.kernel("fused_1000us")


def dispatch() -> int:
    """What a framework does for each operator."""
    return sum(i & 1 for i in range(250))


all_of_it = Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("step"):
        if FIXED:
            cuda.launch(fused)
        else:
            for _ in range(200):
                dispatch()
                cuda.launch(add)
        cuda.synchronize()
truth("launch_bound", cuda.shares()["idle"], one=all_of_it.mean)
