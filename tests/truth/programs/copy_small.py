"""Features go to the GPU one by one, in many small copies."""

import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, truth
from said_cuda import TO_DEVICE, Cuda

SIZE, COUNT = 4096, 64
cuda = Cuda(gbps=0.05)
score = cuda.kernel("score_500us")
device, host = cuda.memory(SIZE), cuda.memory(SIZE, "cudaMallocHost")
all_of_it = Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("step"):
        for _ in range(0 if FIXED else COUNT):
            cuda.copy_async(device, host, SIZE, TO_DEVICE)
        cuda.launch(score)
        cuda.synchronize()
truth("copy_bound", cuda.shares()["copy"], one=all_of_it.mean)
