"""A buffer is made of fresh memory for every request, at one line: it is filled page by page, and thrown away."""

import ctypes
import resource
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, native, queued, truth

SIZE = 48 << 20  # more than malloc ever keeps for the next time
kept = bytearray(SIZE)
room = (ctypes.c_char * SIZE).from_buffer(kept)


def prepare() -> None:
    if FIXED:
        ctypes.memset(room, 0, SIZE)
    else:
        bytearray(SIZE)


def score() -> int:
    native(6)
    return sum(range(200_000))


all_of_it = Clock()
before, behind, used = resource.getrusage(resource.RUSAGE_THREAD), queued(), time.thread_time()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        prepare()
        score()
after = resource.getrusage(resource.RUSAGE_THREAD)
kernel, used, late = after.ru_stime - before.ru_stime, time.thread_time() - used, queued() - behind
truth(
    "memory_churn",
    kernel * (used + late) / used / all_of_it.spent * 100,
    at(prepare, "bytearray(SIZE)"),
    one=all_of_it.mean,
)
