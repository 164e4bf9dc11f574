"""Requests wait for a helper by yielding their CPU again and again."""

import os
import threading
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, native, truth

ready = threading.Event()
asked = threading.Event()
done = False


def helper() -> None:
    while not done:
        if asked.wait(0.1):
            asked.clear()
            time.sleep(0 if FIXED else 0.006)
            ready.set()


def wait_for_it() -> None:
    while not ready.is_set():
        os.sched_yield()
    ready.clear()


thread = threading.Thread(target=helper)
thread.start()
waiting, all_of_it = Clock(), Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        asked.set()
        with waiting:
            wait_for_it()
        native(4)
done = True
thread.join()
truth(
    "spinning",
    waiting.spent / all_of_it.spent * 100,
    at(wait_for_it, "while"),
    at(wait_for_it, "yield"),
    one=all_of_it.mean,
)
