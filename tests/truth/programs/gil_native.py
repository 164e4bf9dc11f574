"""Sorting in C keeps the GIL for long: requests wait for it although nothing of Python runs."""

import random
import threading
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, queued, truth

done = False
numbers = [random.random() for _ in range(100000)]


def rank() -> None:
    sorted(numbers)


def ranking() -> None:
    while not done:
        rank()


def answer() -> int:
    total = 0
    for i in range(20000):
        total += i % 3
    return total


thread = threading.Thread(target=ranking, name="ranking")
if not FIXED:
    thread.start()
all_of_it = Clock()
end = time.perf_counter() + SECONDS
began, used, behind = time.perf_counter(), time.thread_time(), queued()
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        answer()
wall = time.perf_counter() - began
waited = wall - (time.thread_time() - used)
late = queued() - behind
done = True
if not FIXED:
    thread.join()
truth(
    "gil_contention",
    [(waited - late) / wall * 100, waited / wall * 100],
    at(rank, "sorted"),
    one=all_of_it.mean,
)
