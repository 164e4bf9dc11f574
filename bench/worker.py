"""How a program of the bench works: once, or in turn with another (turns.py), and says how long it took."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

Work = Callable[[int], object]  # does so much
PIECE_SHARE = 24  # of the whole: what is measured of a turn
# Of that, what comes before it: caches are warm then, and what a tool saved up while the other one worked is gone.
# With less a turn would be of a program that has just begun to work.
WARM = 3


def once(work: Work, size: int) -> dict[str, float]:
    begin, cpu = time.monotonic_ns(), time.process_time_ns()
    work(size)
    took, cpu = time.monotonic_ns() - begin, time.process_time_ns() - cpu
    return {"work_ms": took / 1e6, "work_cpu_ms": cpu / 1e6}


def in_turns(work: Work, size: int) -> None:
    """For each line pieces that are not measured and one that is."""
    for _ in sys.stdin:
        begin = time.monotonic_ns()
        work(WARM * size)
        took = once(work, size)
        print(json.dumps({**took, "turn_ms": (time.monotonic_ns() - begin) / 1e6}), flush=True)


def work_on(work: Work, size: int, turns: bool) -> None:
    if turns:
        in_turns(work, size // PIECE_SHARE)
    else:
        print(json.dumps(once(work, size)))
