"""How much slower programs run while they are recorded, and what the recorder takes beside them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pythons
from interval import Interval, in_turn, median, ratio
from kit import Done, Kit
from table import Row

MB = 1024.0


def rows(kit: Kit) -> Iterator[Row]:
    workload = kit.program("workload")
    python = [sys.executable, str(Path(__file__).with_name("workload.py"))]
    # name, program, budget.  An allocation has its own budget, and so has every switch that is recorded.
    programs: list[tuple[str, list[str], float | None]] = [
        ("one thread that computes", [workload, "spin", "60"], 1.02),
        ("100,000 switches a second", [workload, "switch", "20", "4350"], 1.05),
        ("malloc and free", [workload, "malloc", "4"], None),
        ("Python: objects, text, sorting", python, 1.02),
        ("nothing but switches", [workload, "switch", "150"], None),
    ]
    for name, argv, limit in programs:
        wall, cpu = slowdown(kit, argv)
        note = "a perf event costs each switch, paused or not" if "nothing but" in name else ""
        yield Row(f"slowdown: {name}", wall, "times", limit=limit, digits=3, note=note)
        yield Row("    in CPU time of the program", cpu, "times", limit=limit, digits=3)
    yield from memory(kit)
    yield from memory_of_python(kit)
    yield from idle(kit)


def slowdown(kit: Kit, argv: list[str]) -> tuple[Interval, Interval]:
    """Of the work itself: what is added at both ends is another measurement."""

    def both(done: Done) -> tuple[float, ...]:
        return float(done.said["work_ms"]), float(done.said["work_cpu_ms"])

    wall, cpu = in_turn(
        lambda: both(kit.run(argv)),
        lambda: both(kit.traced(argv, "--no-report")),
        ratio,
        tight=0.005,
        seconds=kit.seconds,
    )
    return wall, cpu


def memory(kit: Kit) -> Iterator[Row]:
    for name, argv in (("no event", ["nothing"]), ("6 M events", ["scopes", "2000"])):
        line = [kit.program("workload"), *argv]
        bare = [kit.run(line).said for _ in range(5)]
        with_us = [kit.traced(line, "--no-report").said for _ in range(5)]
        own = median([b["rss_kb"] for b in bare]).value
        pool = median([w["pool_kb"] / MB for w in with_us]).value
        found = median([(w["rss_kb"] - own) / MB for w in with_us])
        note = f"pool {pool:.0f} MB, and 16"
        yield Row(f"memory added to the program, {name}", found, "MB", limit=round(pool + 16), note=note)
        yield Row(f"memory of the recorder, {name}", median([w["parent_rss_kb"] / MB for w in with_us]), "MB")


# Calls that are recorded, and what the process had in memory at most, with what is shared, and of the pool alone.
CALLS = """
import json, os, resource
def f(): pass
for _ in range(1_500_000): f()
with open("/proc/self/smaps") as maps: lines = maps.read().splitlines()
pool, inside = 0, False
for line in lines:
    if "-" in line.split(" ")[0] and ":" not in line.split(" ")[0]: inside = "/inferscope-" in line
    elif inside and line.startswith("Rss:"): pool += int(line.split()[1])
print(json.dumps({"rss_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "pool_kb": pool}))
"""


def memory_of_python(kit: Kit) -> Iterator[Row]:
    for version, path in pythons.find(("3.11", "3.12", "3.13")).items():
        line = [str(path), "-c", CALLS]
        own = median([kit.run(line).said["rss_kb"] for _ in range(5)]).value
        with_us = [kit.traced(line, "--no-report", "--budget", "off").said for _ in range(5)]
        pool = median([w["pool_kb"] / MB for w in with_us]).value
        found = median([(w["rss_kb"] - own) / MB for w in with_us])
        about = f"memory added to Python {version}, 3 M events of calls"
        yield Row(about, found, "MB", limit=round(pool + 16), note=f"pool {pool:.0f} MB, and 16")


def idle(kit: Kit) -> Iterator[Row]:
    line = [kit.program("workload"), "sleep", "4000" if kit.long else "1500"]
    said = [kit.traced(line, "--no-report").said for _ in range(3)]
    share = [100 * s["parent_cpu_ms"] / s["work_ms"] for s in said]
    yield Row("recorder beside a sleeping program", median(share), "% of a CPU", digits=2)
