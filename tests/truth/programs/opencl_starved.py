"""On a real device: it waits for what Python prepares."""

import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, truth
from said_opencl import OpenCL

device = OpenCL()
device.launch(1000)
device.finish()


def prepare() -> int:
    total = 0
    for i in range(0 if FIXED else 80000):
        total += i % 7
    return total


working, all_of_it = Clock(), Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("step"):
        prepare()
        with working:
            device.launch(10000)
            device.finish()
# What the device does is inside of asking and waiting for it.
idle = (1 - working.spent / all_of_it.spent) * 100
truth("gpu_idle", [idle, min(100, idle * 1.3)], one=all_of_it.mean)
