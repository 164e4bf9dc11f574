"""What a report says of a long run, minute by minute, and whether it explains the last minute as well as the first.

Everything here is arithmetic on the report, on what the program counted of itself and on what was seen of it from
outside; tools/soak.py runs the programs.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

MINUTE_US = 60e6
LEAST_S = 20.0  # of CPU time in a minute, to judge its shares: with 4,000 samples 1% is known to +-0.3 points
UNATTRIBUTED = 0.01  # of the CPU time of a minute
AS_THE_FIRST = 0.002  # by so much the last minute's share may exceed the first's: four of 2,000 samples
COVERED = 0.95  # of the CPU time that the kernel counted, that samples stand for
NAMED = 0.001  # of the CPU time: a function with so much has its name in the report
SIGMAS = 4.0  # of forty functions one is off by more in one of 400 runs
SYSTEMATIC = 0.05  # of its time, that a function may be off besides
COST_POINTS = 0.01  # of CPU time, by which the cost of a minute may differ from the first's
ROW_S = 10.0
TOLD = 0.9  # of the cost of the whole run, that the rows have together
BUDGET_POINTS = 0.5  # over the budget: what was spent before it was noticed
MB = 1e6
OWN_MB = 16.0  # of memory that we may add to a process, besides the pool (bench_overhead.py)


@dataclass
class Minute:
    number: int
    samples: int = 0
    sampled_us: float = 0.0
    unattributed_us: float = 0.0
    cost_us: float = 0.0
    lost: int = 0
    thinned: int = 0
    cpu_us: float | None = None  # by the kernel
    memory_mb: float | None = None  # the most
    trace_mb: float | None = None  # the most

    @property
    def unattributed(self) -> float:
        return self.unattributed_us / self.sampled_us if self.sampled_us else 0.0

    @property
    def covered(self) -> float | None:
        return self.sampled_us / self.cpu_us if self.cpu_us else None

    @property
    def cost(self) -> float:
        return self.cost_us / self.sampled_us if self.sampled_us else 0.0

    @property
    def rate_hz(self) -> float:
        return self.samples / (self.sampled_us / 1e6) if self.sampled_us else 0.0

    @property
    def judged(self) -> bool:
        return self.sampled_us >= LEAST_S * 1e6


@dataclass(frozen=True)
class Look:
    """What was seen of the program and its files at one moment."""

    at_us: float  # since the start
    cpu_us: float  # of all of its processes so far
    memory_mb: float  # resident, of all of its processes
    own_mb: float  # of that, without pages of files
    pool_mb: float  # of that, our shared memory
    trace_mb: float
    recorder_mb: float


@dataclass
class Watched:
    looks: list[Look] = field(default_factory=list)

    def cpu_at(self, at_us: float) -> float | None:
        """Between two looks, as if CPU time were used evenly; None outside."""
        times = [look.at_us for look in self.looks]
        i = bisect_left(times, at_us)
        if i == 0 or i == len(times):
            return self.looks[i].cpu_us if i < len(times) and times[i] == at_us else None
        before, after = self.looks[i - 1], self.looks[i]
        part = (at_us - before.at_us) / (after.at_us - before.at_us)
        return before.cpu_us + part * (after.cpu_us - before.cpu_us)

    def most(self, name: str, begin_us: float = 0.0, end_us: float = math.inf) -> float | None:
        found = [float(getattr(look, name)) for look in self.looks if begin_us <= look.at_us < end_us]
        return max(found) if found else None


def minutes(report: dict[str, Any], watched: Watched) -> list[Minute]:
    """Rows over time by the minute that their middle lies in."""
    found: dict[int, Minute] = {}
    edges: dict[int, tuple[float, float]] = {}
    for row in report["overhead"]["over_time"]:
        number = int((row["from_us"] + row["to_us"]) / 2 // MINUTE_US)
        minute = found.setdefault(number, Minute(number))
        for name in ("samples", "sampled_us", "unattributed_us", "cost_us", "lost", "thinned"):
            setattr(minute, name, getattr(minute, name) + row[name])
        low, high = edges.get(number, (math.inf, 0.0))
        edges[number] = min(low, row["from_us"]), max(high, row["to_us"])
    for number, minute in found.items():
        low, high = edges[number]
        begin, end = watched.cpu_at(low) if low > 0 else 0.0, watched.cpu_at(high)
        minute.cpu_us = None if begin is None or end is None else end - begin
        minute.memory_mb = watched.most("memory_mb", low, high)
        minute.trace_mb = watched.most("trace_mb", low, high)
    return [found[number] for number in sorted(found)]


HEADS = (
    "minute",
    "CPU s",
    "samples",
    "per CPU s",
    "unattributed",
    "covered",
    "own cost",
    "lost",
    "memory MB",
    "trace MB",
)


def table(rows: Iterable[Minute]) -> str:
    lines = [HEADS]
    for m in rows:
        lines.append(
            (
                str(m.number + 1),
                f"{m.sampled_us / 1e6:.1f}",
                str(m.samples),
                f"{m.rate_hz:.0f}",
                f"{m.unattributed:.2%}",
                "" if m.covered is None else f"{m.covered:.1%}",
                f"{m.cost:.2%}",
                str(m.lost),
                "" if m.memory_mb is None else f"{m.memory_mb:.0f}",
                "" if m.trace_mb is None else f"{m.trace_mb:.1f}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines)


def check_explained(rows: Sequence[Minute]) -> list[str]:
    """Every minute explained, the last as well as the first."""
    judged = [m for m in rows if m.judged]
    if not judged:
        return [f"no minute has {LEAST_S:.0f} s of CPU time: nothing can be judged"]
    wrong = [
        f"minute {m.number + 1}: {m.unattributed:.2%} of the CPU time is unattributed (limit {UNATTRIBUTED:.0%})"
        for m in judged
        if m.unattributed >= UNATTRIBUTED
    ]
    first, last = judged[0], judged[-1]
    if last.unattributed > first.unattributed + AS_THE_FIRST:
        wrong.append(f"the last minute has {last.unattributed:.2%} unattributed, the first {first.unattributed:.2%}")
    return wrong


def check_covered(rows: Sequence[Minute]) -> list[str]:
    """No CPU time without samples."""
    return [
        f"minute {m.number + 1}: samples stand for {m.covered:.1%} of the CPU time (limit {COVERED:.0%})"
        for m in rows
        if m.judged and m.covered is not None and m.covered < COVERED
    ]


def check_steady(rows: Sequence[Minute]) -> list[str]:
    """The cost stays the same; the first minute has the start of the program in it, with an allowance of its own."""
    steady = [m for m in rows if m.judged][1:]
    return [
        f"minute {m.number + 1}: recording cost {m.cost:.2%} of the CPU time, "
        f"minute {steady[0].number + 1} {steady[0].cost:.2%}"
        for m in steady
        if abs(m.cost - steady[0].cost) > COST_POINTS
    ]


def check_rows(report: dict[str, Any]) -> list[str]:
    """Rows report the cost of every 10 s: none is longer, they leave no time out, and together they have all of it.

    A process that sleeps has none, so it is rows of all processes that must follow each other.
    """
    overhead = report["overhead"]
    rows = sorted(overhead["over_time"], key=lambda row: float(row["from_us"]))
    if not rows:
        return ["overhead.over_time is empty"]
    wrong = []
    longest = max(row["to_us"] - row["from_us"] for row in rows)
    if longest > ROW_S * 1e6 * 1.5:
        wrong.append(f"a row of overhead.over_time is {longest / 1e6:.0f} s long")
    end_us = rows[0]["to_us"]
    for row in rows[1:]:
        if row["from_us"] - end_us > ROW_S * 1e6:
            wrong.append(f"overhead.over_time lacks {end_us / 1e6:.0f} s to {row['from_us'] / 1e6:.0f} s")
        end_us = max(end_us, row["to_us"])
    told_us, cpu_us = sum(row["cost_us"] for row in rows), sum(row["sampled_us"] for row in rows)
    cost_us = (overhead["measured_cpu_pct"] or 0.0) / 100 * cpu_us
    if told_us < TOLD * cost_us:
        wrong.append(f"rows over time tell {told_us / 1e6:.2f} s of the {cost_us / 1e6:.2f} s that recording cost")
    return wrong


def check_budget(report: dict[str, Any]) -> list[str]:
    said, allowed = report["overhead"]["measured_pct"], report["overhead"]["budget_pct"]
    if said is None or allowed is None:
        return ["the report does not say what recording cost"]
    if said > allowed + BUDGET_POINTS:
        return [f"recording cost {said:.2f}% of the time by its own account (budget {allowed:.0f}%)"]
    return []


@dataclass(frozen=True)
class Named:
    """A planted function: its own count, and what the report says."""

    name: str
    true_us: float
    said_us: float | None
    bound_us: float
    share: float

    @property
    def right(self) -> bool:
        return self.said_us is not None and abs(self.said_us - self.true_us) <= self.bound_us


def names(report: dict[str, Any], truth: dict[str, Any]) -> list[Named]:
    """All plants with 0.1% of the CPU time or more, largest first.

    The bound is that of a share of so many samples (SIGMAS) and SYSTEMATIC of the time itself.
    """
    whole, count = float(truth["cpu_us"]), max(1, report["samples"]["count"])
    said: dict[tuple[str, Any], float] = {}
    for row in report["functions"]:
        if row["cpu_total_us"] is not None:
            key = (row["name"], row["file"])
            said[key] = said.get(key, 0.0) + row["cpu_total_us"]
    found = []
    for plant in truth["plants"]:
        share = plant["cpu_us"] / whole
        if share < NAMED:
            continue
        chance = SIGMAS * whole * math.sqrt(share * (1 - share) / count)
        found.append(
            Named(
                plant["name"],
                plant["cpu_us"],
                said.get((plant["name"], plant["file"])),
                chance + SYSTEMATIC * plant["cpu_us"],
                share,
            )
        )
    return sorted(found, key=lambda n: -n.true_us)


def check_names(found: Sequence[Named]) -> list[str]:
    if not found:
        return ["the program planted nothing that has 0.1% of its time"]
    return [
        f"{n.name} has {n.share:.2%} of the CPU time and is not in the report"
        if n.said_us is None
        else f"{n.name} counted {n.true_us / 1e6:.2f} s, the report says {n.said_us / 1e6:.2f} s"
        f" (+-{n.bound_us / 1e6:.2f})"
        for n in found
        if not n.right
    ]


def names_table(found: Sequence[Named]) -> str:
    lines = [("function", "share", "counted s", "report s", "bound s", "")]
    for n in found:
        told = "lost" if n.said_us is None else f"{n.said_us / 1e6:.2f}"
        lines.append(
            (
                n.name,
                f"{n.share:.2%}",
                f"{n.true_us / 1e6:.2f}",
                told,
                f"{n.bound_us / 1e6:.2f}",
                "" if n.right else "MISSED",
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip()
        for line in lines
    )


def check_totals(report: dict[str, Any]) -> list[str]:
    """What rows over time do not have: stacks that were cut, threads without a sample."""
    samples = report["samples"]
    whole = samples["us"] or 1.0
    parts = {
        "of stacks without their deeper frames": samples["cut_us"],
        "of threads without a sample": samples["unattributed_us"]["not_sampled"],
    }
    return [
        f"{us / whole:.2%} of the CPU time is {what} (limit {UNATTRIBUTED:.0%})"
        for what, us in parts.items()
        if us and us / whole >= UNATTRIBUTED
    ]


@dataclass(frozen=True)
class Memory:
    bare_mb: float  # the most without us
    with_us_mb: float
    pool_mb: float  # of it, shared memory of ours
    noise_mb: float  # by which two bare runs may differ
    recorder_mb: float
    processes: int = 1  # that are traced

    @property
    def added_mb(self) -> float:
        return self.with_us_mb - self.bare_mb

    @property
    def limit_mb(self) -> float:
        return self.pool_mb + OWN_MB * self.processes + self.noise_mb


def check_memory(memory: Memory) -> list[str]:
    if memory.added_mb <= memory.limit_mb:
        return []
    return [
        f"the program has {memory.added_mb:.0f} MB more with us (limit {memory.limit_mb:.0f}: "
        f"pool {memory.pool_mb:.0f}, ours {OWN_MB * memory.processes:.0f}, noise {memory.noise_mb:.0f})"
    ]


def check_trace(trace_mb: float, limit_mb: float) -> list[str]:
    return [f"the trace had {trace_mb:.1f} MB (limit {limit_mb:.0f})"] if trace_mb > limit_mb else []


TOTAL_STACK = re.compile(r"^total stack (p\d+) (t\d+) samples (\d+) steps (\d+) cpu_ns (\d+)")


def busiest(dump: Iterable[str]) -> tuple[str, int, int, float] | None:
    """The thread with the most sampled time: its name in the dump, its samples and steps, that time in seconds.

    >>> busiest(["total stack p1 t1 samples 3 steps 4 cpu_ns 20000000 stack x", "total events 20"])
    ('p1 t1', 3, 4, 0.02)
    """
    threads: dict[str, tuple[int, int, int]] = {}
    for line in dump:
        match = TOTAL_STACK.match(line)
        if match:
            key = f"{match[1]} {match[2]}"
            samples, steps, ns = threads.get(key, (0, 0, 0))
            threads[key] = samples + int(match[3]), steps + int(match[4]), ns + int(match[5])
    if not threads:
        return None
    key = max(threads, key=lambda name: threads[name][2])
    return key, threads[key][0], threads[key][1], threads[key][2] / 1e9
