"""On a real device: the host waits for long kernels and does nothing else."""

import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, truth
from said_opencl import OpenCL

device = OpenCL()
device.launch(1000)
device.finish()
waiting, all_of_it = Clock(), Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("step"):
        for _ in range(4):
            device.launch(1000 if FIXED else 3000000)
        with waiting:
            device.finish()
truth("gpu_bound", [waiting.spent / all_of_it.spent * 100, 100], one=all_of_it.mean)
