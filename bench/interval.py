"""Numbers that scatter: medians with the interval that holds them, and runs in turn.

Two things are compared in pairs, one right after the other and in turn who comes first, so that both meet the same
machine.  What is said of them is the median over the pairs, with the interval that holds it in 95 of 100 cases by
resampling (bootstrap, always with the same seed).
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

RESAMPLES = 2000
MINIMUM = 7


@dataclass(frozen=True)
class Interval:
    """A median and what holds it in 95 of 100 cases; n is how many numbers it was taken from."""

    value: float
    low: float
    high: float
    n: int

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2


def median(values: Sequence[float]) -> Interval:
    """
    >>> median([3.0])
    Interval(value=3.0, low=3.0, high=3.0, n=1)
    >>> median([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0]).value
    4.0
    """
    middle = statistics.median(values)
    if len(values) < 3:
        return Interval(middle, min(values), max(values), len(values))
    draw = random.Random(1)
    middles = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return Interval(middle, middles[int(0.025 * RESAMPLES)], middles[int(0.975 * RESAMPLES)], len(values))


def clustered(groups: Sequence[Sequence[float]]) -> Interval:
    """The median of all numbers; they came in groups, and what is resampled is the groups.

    >>> clustered([[1.0, 1.0], [1.0, 3.0], [1.0, 3.0]])
    Interval(value=1.0, low=1.0, high=2.0, n=6)
    """
    everything = [value for group in groups for value in group]
    draw = random.Random(1)
    middles = sorted(
        statistics.median(value for group in draw.choices(groups, k=len(groups)) for value in group)
        for _ in range(RESAMPLES)
    )
    low, high = middles[int(0.025 * RESAMPLES)], middles[int(0.975 * RESAMPLES)]
    return Interval(statistics.median(everything), low, high, len(everything))


def in_turn(
    bare: Callable[[], tuple[float, ...]],
    with_us: Callable[[], tuple[float, ...]],
    compare: Callable[[float, float], float],
    tight: float,
    seconds: float,
) -> list[Interval]:
    """The medians of compare(bare, with_us) over pairs, until all are known to +-tight or the time is over."""
    found: list[tuple[float, ...]] = []
    end = time.monotonic() + seconds
    bare(), with_us()  # both warm
    while True:
        if len(found) % 2 == 0:
            first = bare()
            second = with_us()
        else:
            second = with_us()
            first = bare()
        found.append(tuple(compare(a, b) for a, b in zip(first, second)))
        over = time.monotonic() >= end
        if len(found) >= MINIMUM and (over or len(found) % 4 == 3):
            medians = [median(column) for column in zip(*found)]
            if over or all(m.half <= tight for m in medians):
                return medians


def ratio(bare: float, with_us: float) -> float:
    return with_us / bare


def added(bare: float, with_us: float) -> float:
    return with_us - bare
