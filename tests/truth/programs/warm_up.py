"""The start takes long and the first requests are slow; what matters is what comes after."""

import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, native, truth


def compile_model() -> None:
    total = 0
    for i in range(3000000):
        total += i % 3


def fetch_features() -> None:
    time.sleep(0 if FIXED else 0.006)


sleeping, all_of_it = Clock(), Clock()
with scope("load"):
    compile_model()
end = time.perf_counter() + SECONDS * 0.6
first = 2
while time.perf_counter() < end:
    if first > 0:
        with scope("request"):
            for _ in range(2):
                native(20)
        first -= 1
        continue
    with all_of_it, scope("request"):
        with sleeping:
            fetch_features()
        native(5)
truth("sleeping", sleeping.spent / all_of_it.spent * 100, at(fetch_features, "sleep"), one=all_of_it.mean)
