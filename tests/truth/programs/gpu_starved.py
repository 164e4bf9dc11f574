"""The GPU waits for a batch that Python prepares, one after the other."""

import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, truth
from said_cuda import Cuda

cuda = Cuda()
gemm = cuda.kernel("gemm_1000us")


def prepare() -> int:
    """Twice as long as the GPU works, on any machine: what takes less could be hidden by not waiting."""
    total = 0
    done = time.perf_counter() + (0 if FIXED else 0.004)
    while time.perf_counter() < done:
        for i in range(1000):
            total += i % 7
    return total


def forward() -> None:
    cuda.launch(gemm)
    cuda.launch(gemm)


all_of_it = Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("step"):
        prepare()
        forward()
        cuda.synchronize()
truth("gpu_idle", cuda.shares()["idle"], one=all_of_it.mean)
