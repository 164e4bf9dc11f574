"""The same without a single scope: a script that somebody just runs."""

import time

from said import FIXED, SECONDS, Clock, at, native, truth


def sample(weights: "list[float]") -> int:
    best, at = -1.0, 0
    for i, weight in enumerate(weights):
        if weight * 0.7 > best:
            best, at = weight * 0.7, i
    return at


def main() -> None:
    weights = [i * 1.5 for i in range(40000)]
    hot, all_of_it = Clock(), Clock()
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        with all_of_it:
            with hot:
                sample(weights[: 1 if FIXED else None])
            native(2)
    truth(
        "hot_function",
        hot.spent / all_of_it.spent * 100,
        at(sample, "for i"),
        at(sample, "if weight"),
        one=all_of_it.mean,
    )


main()
