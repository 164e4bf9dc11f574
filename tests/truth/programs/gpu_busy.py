"""Kernels are long, and asked for well before the GPU gets to them."""

import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, truth
from said_cuda import Cuda

cuda = Cuda()
attention = cuda.kernel("attention_50us" if FIXED else "attention_2000us")
all_of_it = Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("step"):
        for _ in range(10):
            cuda.launch(attention)
        cuda.synchronize()
truth("gpu_bound", cuda.shares()["busy"], one=all_of_it.mean)
