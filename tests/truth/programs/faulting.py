"""Large buffers are mapped and thrown away for every request: the kernel fills pages all the time."""

import mmap
import resource
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, native, queued, truth

SIZE = 32 << 20


kept = mmap.mmap(-1, SIZE)
zeros = bytes(4096 * 8)


def fill() -> None:
    buffer = kept if FIXED else mmap.mmap(-1, SIZE)
    for at in range(0, SIZE, 4096 * 8):
        buffer[at : at + 4096 * 8] = zeros
    if not FIXED:
        buffer.close()


all_of_it = Clock()
before, behind, used = resource.getrusage(resource.RUSAGE_THREAD).ru_stime, queued(), time.thread_time()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        fill()
        native(2)
kernel = resource.getrusage(resource.RUSAGE_THREAD).ru_stime - before
used, late = time.thread_time() - used, queued() - behind
# What waits for a CPU in the kernel is part of it.
truth("memory_churn", kernel * (used + late) / used / all_of_it.spent * 100, one=all_of_it.mean)
