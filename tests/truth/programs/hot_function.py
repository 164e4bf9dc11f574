"""One Python function takes most of every request."""

import time

from inferscope import scope
from said import FIXED, SECONDS, Clock, at, native, truth


def score(values: "list[int]") -> int:
    total = 0
    for value in values[: 0 if FIXED else None]:
        total += value * value % 11
    return total


def clean(values: "list[int]") -> "list[int]":
    return [value & 1023 for value in values]


values = list(range(60000))
hot, all_of_it = Clock(), Clock()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        clean(values[:6000])
        with hot:
            score(values)
        native(2)
truth(
    "hot_function",
    hot.spent / all_of_it.spent * 100,
    at(score, "for value"),
    at(score, "+="),
    one=all_of_it.mean,
)
