"""The GPU always has work, and the host has as much to do meanwhile."""

import time

from inferscope import scope
from said import SECONDS, native, truth
from said_cuda import Cuda

cuda = Cuda()
gemm = cuda.kernel("gemm_4000us")
end = time.perf_counter() + SECONDS
for _ in range(50):
    cuda.launch(gemm)
while time.perf_counter() < end:
    with scope("step"):
        cuda.launch(gemm)
        native(3)
        cuda.launch(gemm)
        native(3)
cuda.synchronize()
truth(None)
