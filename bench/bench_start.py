"""What is added before main and after the program's end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

import pythons
from interval import Interval, added, in_turn
from kit import TICKS, Done, Kit
from table import Row

PRELOAD = re.compile(r"added ([\d.-]+) ms \[([\d.-]+), ([\d.-]+)\] over (\d+) pairs")
NOW = 'import os, time; os.write(1, b\'{"began_ns": %d, "ended_ns": %d}\' % ((time.monotonic_ns(),) * 2))'


def to_main(done: Done) -> float:
    return (int(done.said["began_ns"]) - done.started_ns) / TICKS


def after_end(done: Done) -> float:
    return (done.gone_ns - int(done.said["ended_ns"])) / TICKS


def compare(kit: Kit, moment: Callable[[Done], float], argv: list[str], traced: Callable[[], Done]) -> Interval:
    return in_turn(
        lambda: (moment(kit.run(argv)),), lambda: (moment(traced()),), added, tight=0.5, seconds=kit.seconds
    )[0]


def rows(kit: Kit) -> Iterator[Row]:
    nothing = [kit.program("workload"), "nothing"]
    code = ["-c", NOW]

    found = compare(kit, to_main, nothing, lambda: kit.traced(nothing, "--no-report"))
    yield Row("added before main, a C program", found, "ms", limit=50)
    for version, path in pythons.find(("3.11", "3.12", "3.13")).items():
        python = str(path)
        found = compare(
            kit, to_main, [python, *code], partial(kit.traced, code, "--no-report", "--python", python, command=False)
        )
        yield Row(f"added before the first line, `-c` of Python {version}, calls traced", found, "ms", limit=50)
    found = compare(kit, after_end, nothing, lambda: kit.traced(nothing, "--no-report"))
    yield Row("after the end, trace sealed, no events", found, "ms", limit=100)
    found = compare(kit, after_end, nothing, lambda: kit.traced(nothing))
    yield Row("after the end, report written, no events", found, "ms", limit=100)
    many = [kit.program("workload"), "scopes", "1000", "1"]
    found = compare(kit, after_end, many, lambda: kit.traced(many, "--no-report"))
    yield Row("after the end, trace sealed, 3 M events at once", found, "ms", limit=100)
    found = compare(kit, after_end, many, lambda: kit.traced(many))
    # Ten million may take 2 s to analyse.
    yield Row("after the end, report written, 3 M events at once", found, "ms", limit=600)

    line = kit.run([kit.program("preload_cost"), str(kit.runtime), "400" if kit.long else "150"]).out.decode()
    value, low, high, n = (float(x) for x in PRELOAD.search(line).groups())  # type: ignore[union-attr]
    yield Row("added to a child of the program", Interval(value, low, high, int(n)), "ms", limit=0.2, digits=3)
