"""Requests poll for their result with a sleep that is far too long."""

import threading
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, native, truth

results: "list[int]" = []


def compute() -> None:
    native(1)
    results.append(1)


def wait_for_result() -> None:
    while not results:
        with sleeping:
            time.sleep(0.015)
    results.clear()


sleeping, all_of_it = Clock(), Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        thread = threading.Thread(target=compute)
        thread.start()
        if FIXED:
            thread.join()
        wait_for_result()
        native(4)
        thread.join()
truth("sleeping", sleeping.spent / all_of_it.spent * 100, at(wait_for_result, "time.sleep"), one=all_of_it.mean)
