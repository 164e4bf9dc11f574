"""A unit that is called whole has every call, and chance decides which units are."""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pytest

pytestmark = pytest.mark.timed

# Each unit calls step() eight times and small() two hundred times.  No function of the chain is small, so that where
# the budget does not reach units are left out; small() is, and may be left out by itself.
WORK = """
import json, os, sys, time
text = "def f0(n):\\n    return sum(range(n))\\n"
text += "".join(f"def f{k}(n):\\n    return f{k - 1}(n)\\n" for k in range(1, 40))
exec(compile(text, "chain.py", "exec"))
def small(i): return i
def step(n): return f39(n)
def work():
    for _ in range(8): step(20000)
    for i in range(200): small(i)
seconds = 3
"""
SHAPES = {
    "loop": """
end = time.process_time() + seconds
while time.process_time() < end:
    work()
""",
    "asyncio": """
import asyncio
async def request():
    work()
    await asyncio.sleep(0)
async def main():
    end = time.process_time() + seconds
    while time.process_time() < end:
        await asyncio.gather(*(asyncio.create_task(request()) for _ in range(4)))
asyncio.run(main())
""",
    "pool": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    end = time.process_time() + seconds
    while time.process_time() < end:
        list(pool.map(lambda _: work(), range(8)))
""",
    "threads": """
import threading
def serve():
    end = time.thread_time() + seconds / 2
    while time.thread_time() < end:
        work()
threads = [threading.Thread(target=serve) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""",
    "processes": """
import multiprocessing
def serve():
    end = time.process_time() + seconds
    while time.process_time() < end:
        work()
workers = [multiprocessing.get_context("fork").Process(target=serve) for _ in range(2)]
for worker in workers: worker.start()
for worker in workers: worker.join()
""",
}
EVENT = re.compile(r"\+([0-9.]+) (p\d+) (t\d+) #(\d+) (call_enter|call_exit) \"(\w+)\"")
NUMBER = re.compile(r"\+([0-9.]+) (p\d+) (t\d+) #(\d+) ")
UNIT = re.compile(r"unit (p\d+) (t\d+) \w+ from \+([0-9.]+) to \+([0-9.]+) \"([\w.<>]+)\"")
GAP = re.compile(r"gap (p\d+) (\w+) from \+([0-9.]+) to (?:\+([0-9.]+)|end)")


@dataclass
class Unit:
    process: str
    thread: str
    begin: float
    end: float
    gaps: set[str] = field(default_factory=set)


@dataclass
class Lane:
    at: list[float] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    what: list[str] = field(default_factory=list)

    def of(self, unit: Unit) -> slice:
        return slice(bisect.bisect_left(self.at, unit.begin), bisect.bisect_right(self.at, unit.end))


def record(inferscope: Any, folder: Path, python: str, text: str, *options: str) -> Any:
    program = folder / "program.py"
    program.write_text(text)
    run = inferscope("run", "--python", python, *options, program, timeout=120)
    assert run.returncode == 0, run.stderr
    return run


def read(lines: list[str]) -> tuple[list[Unit], dict[tuple[str, str], Lane]]:
    """Units in which work() was done, with the kinds of gaps that touch each, and the calls of each thread."""
    lanes: dict[tuple[str, str], Lane] = defaultdict(Lane)
    units, gaps = [], []
    for line in lines:
        if number := NUMBER.match(line):
            lane, event = lanes[number[2], number[3]], EVENT.match(line)
            lane.at.append(float(number[1]))
            lane.number.append(int(number[4]))
            lane.what.append(f"{event[5]} {event[6]}" if event else "")
        elif found := UNIT.match(line):
            if found[5].split(".")[-1] in ("work", "request", "run", "<lambda>"):
                units.append(Unit(found[1], found[2], float(found[3]), float(found[4])))
        elif gap := GAP.match(line):
            gaps.append((gap[1], gap[2], float(gap[3]), float(gap[4] or "inf")))
    for unit in units:
        unit.gaps = {
            kind for p, kind, begin, end in gaps if p == unit.process and begin < unit.end and end > unit.begin
        }
    return units, lanes


@pytest.mark.parametrize("budget", ["1", pytest.param("5", marks=pytest.mark.long)])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_whole_unit_has_every_call(inferscope: Any, tmp_path: Path, python: str, shape: str, budget: str) -> None:
    run = record(inferscope, tmp_path, python, WORK + SHAPES[shape], "--budget", budget, "--trace-size-mb", "0")
    units, lanes = read(run.dump())
    whole = [unit for unit in units if not unit.gaps]
    assert len(units) > 50, "no units: this proves nothing"
    if shape != "asyncio":  # the work of four tasks that take turns lies in each of the four
        for unit in whole:
            lane = lanes[unit.process, unit.thread]
            inside = lane.of(unit)
            what, numbers = lane.what[inside], lane.number[inside]
            assert numbers == list(range(numbers[0], numbers[-1] + 1)), f"{unit}: numbers are missing"
            for name, calls in (("step", 8), ("f0", 8), ("f20", 8), ("small", 200)):
                assert what.count(f"call_enter {name}") == what.count(f"call_exit {name}") == calls, (name, unit)
    families = [f for f in run.report.units.families if f.name.split(".")[-1] in ("work", "request", "run", "<lambda>")]
    assert sum(f.count for f in families) == pytest.approx(len(units), abs=3)
    assert sum(f.whole for f in families) <= len(whole) + 3


@pytest.mark.long
@pytest.mark.parametrize("shape", ["loop", "pool"])
def test_units_without_calls_are_no_slower_or_faster(inferscope: Any, tmp_path: Path, python: str, shape: str) -> None:
    """Chance decides which are recorded; all that they may differ by is what recording costs, 1 % at most."""
    text = WORK.replace("seconds = 3", "seconds = 30") + SHAPES[shape]
    run = record(inferscope, tmp_path, python, text, "--budget", "1", "--trace-size-mb", "0")
    units, _ = read(run.dump())
    whole = [u.end - u.begin for u in units if not u.gaps & {"gated", "paused", "lost"}]
    none = [u.end - u.begin for u in units if "gated" in u.gaps]
    assert len(whole) >= 50 and len(none) >= 50, (len(whole), len(none))
    # A call of each forty functions inside each other is some 20 us of 10 ms.
    assert median(none) == pytest.approx(median(whole), rel=0.02), (median(none), median(whole))
