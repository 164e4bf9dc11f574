"""A thread that works in Python all the time holds the GIL which requests need."""

import threading
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, queued, truth

done = False


def detokenise() -> int:
    total = 0
    for i in range(20000):
        total += i * i % 7
    return total


def metrics() -> None:
    while not done:
        detokenise()


def answer() -> int:
    total = 0
    for i in range(30000):
        total += i % 3
    return total


thread = threading.Thread(target=metrics, name="metrics")
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
    at(detokenise, "for i"),
    at(detokenise, "+="),
    one=all_of_it.mean,
)
