"""A file is read one byte at a time."""

import os
import resource
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, native, truth

null = os.open("/dev/zero", os.O_RDONLY)
COUNT = 6000


def fetch() -> None:
    for _ in range(1 if FIXED else COUNT):
        os.read(null, 1)


chatting, all_of_it = Clock(), Clock()
before = resource.getrusage(resource.RUSAGE_THREAD).ru_stime
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        with chatting:
            fetch()
        native(1)
kernel = resource.getrusage(resource.RUSAGE_THREAD).ru_stime - before
# At least what the kernel took, at most all of the function.
shares = [kernel / all_of_it.spent * 100, chatting.spent / all_of_it.spent * 100]
truth("chatty_syscalls", shares, at(fetch, "os.read"), at(fetch, "for"), one=all_of_it.mean)
