"""A loop that asks again and again whether something is done, in Python."""

import threading
import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, native, truth

finished = 0.0


def poll() -> None:
    while time.perf_counter() < finished:
        pass


waiting, all_of_it = Clock(), Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        finished = time.perf_counter() + (0 if FIXED else 0.01)
        with waiting:
            poll()
        native(3)
assert threading.active_count() == 1
truth(
    "hot_function",
    waiting.spent / all_of_it.spent * 100,
    at(poll, "while"),
    at(poll, "pass"),
    one=all_of_it.mean,
)
