"""Thousands of blocks are taken and freed for every request: the allocator gives pages back, and takes them again."""

import resource
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, native, queued, truth

COUNT, SIZE = 1500, 20_000  # together more than the allocator keeps, each less than a mapping of its own
zeros = bytes(SIZE)
kept = [bytearray(SIZE) for _ in range(COUNT)]


def decode() -> None:
    if FIXED:
        for block in kept:
            block[:] = zeros
    else:
        blocks = [bytearray(SIZE) for _ in range(COUNT)]
        blocks.clear()


all_of_it = Clock()
before, behind, used = resource.getrusage(resource.RUSAGE_THREAD), queued(), time.thread_time()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        decode()
        native(8)
after = resource.getrusage(resource.RUSAGE_THREAD)
kernel, used, late = after.ru_stime - before.ru_stime, time.thread_time() - used, queued() - behind
truth(
    "memory_churn",
    kernel * (used + late) / used / all_of_it.spent * 100,
    at(decode, "blocks = ["),
    ("<listcomp>", at(decode, "blocks = [")[1]),
    one=all_of_it.mean,
)
