"""Tails: programs in which every tenth request is slow for one reason, whose time they take themselves, and what the
report says of it.  tests/e2e/scopes/test_tails.py asks for more of the same programs.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WITHIN = 0.15  # of what the reason takes
SLACK_US = 500.0
RIGHT = 9  # of ten, at least, reason and size

# Every tenth request is slow for one reason, whose time the program takes itself.
BEGIN = """
import contextlib, gc, json, os, threading, time, zlib
from inferscope import scope
spent, took = [], {}
@contextlib.contextmanager
def request(i):
    begin = time.perf_counter()
    with scope("request"):
        yield
    took[i] = time.perf_counter() - begin
def tell():
    # A machine that does other things makes some of the others slow as well: how many, by their own clock?
    others = sorted(time for i, time in took.items() if i % 10 != 7)
    odd = sum(time > 1.25 * others[len(others) // 2] for time in others)
    print(json.dumps({"spent": sum(spent) / len(spent), "made": len(spent), "odd": odd}))
def timed(call, *args, clock=time.perf_counter):
    begin = clock()
    call(*args)
    spent.append((clock() - begin) * 1e6)
def work(ms):
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        sum(range(200))
def requests(slow, before=lambda: None, n=60):
    for i in range(n):
        if i % 10 == 7:
            before()
        with request(i):
            work(2 + i % 3 * 0.2)
            if i % 10 == 7:
                slow()
    tell()
"""

SLEEP = """
def backoff():
    time.sleep(0.06)
requests(lambda: timed(backoff))
"""

FUNCTION = """
def retry(n=3_000_000):
    for _ in range(n):
        pass
requests(lambda: timed(retry, clock=time.thread_time))
"""

NATIVE = """
data = os.urandom(2 << 20)
def pack():
    zlib.compress(data, 6)
requests(lambda: timed(pack, clock=time.thread_time))
"""

GARBAGE = """
kept = [[i] for i in range(600_000)]
gc.disable()
def collect():
    gc.collect()
requests(lambda: timed(collect))
"""

LOCK = """
lock, wanted, taken = threading.Lock(), threading.Event(), threading.Event()
def flush():
    while True:
        wanted.wait()
        wanted.clear()
        with lock:
            taken.set()
            time.sleep(0.06)
threading.Thread(target=flush, daemon=True).start()
def begin():
    taken.clear()
    wanted.set()
    taken.wait()
def enter():
    with lock:
        pass
requests(lambda: timed(enter), begin)
"""

READ = """
reading, writing = os.pipe()
asked = threading.Event()
def disk():
    while True:
        asked.wait()
        asked.clear()
        time.sleep(0.06)
        os.write(writing, b"x")
threading.Thread(target=disk, daemon=True).start()
def load():
    os.read(reading, 10)
requests(lambda: timed(load), asked.set)
"""

# One call of C that never gives up the interpreter.
GIL = """
ready, go = threading.Event(), threading.Event()
words = list(range(300_000))
def detokenise():
    return sorted(words, key=str)
def metrics():
    while True:
        go.wait()
        go.clear()
        detokenise()
        ready.set()
threading.Thread(target=metrics, daemon=True).start()
def turn():
    go.set()
    last, most = time.perf_counter(), 0
    while not ready.is_set():
        now = time.perf_counter()
        last, most = now, max(most, now - last)
    ready.clear()
    spent.append(most * 1e6)
requests(turn)
"""

NESTED = """
def attend():
    time.sleep(0.06)
def answer(i):
    with request(i):
        with scope("prefill"):
            work(2)
        with scope("decode"):
            work(1)
            if i % 10 == 7:
                timed(attend)
for i in range(60):
    answer(i)
tell()
"""

LOOP = """
import asyncio
def parse():
    time.sleep(0.06)
async def report():
    timed(parse)
async def answer(i):
    with request(i):
        work(1)
        if i % 10 == 7:
            asyncio.get_running_loop().create_task(report())
        await asyncio.sleep(0.001)
        work(1)
async def main():
    for i in range(60):
        await answer(i)
asyncio.run(main())
tell()
"""

POOL = """
import asyncio
from concurrent.futures import ThreadPoolExecutor
def resend():
    time.sleep(0.06)
def fetch(slow):
    with scope("fetch"):
        work(1)
        if slow:
            timed(resend)
async def answer(i):
    with request(i):
        work(1)
        await asyncio.to_thread(fetch, i % 10 == 7)
        work(1)
async def main():
    for i in range(60):
        await answer(i)
asyncio.run(main())
tell()
"""

# program, cause, function that the report names
CASES = {
    "sleep": (SLEEP, "sleep", "backoff"),
    "function": (FUNCTION, "python", "retry"),
    "native": (NATIVE, "native", "pack"),
    "garbage": (GARBAGE, "gc", "collect"),
    "lock": (LOCK, "lock_wait", "enter"),
    "read": (READ, "io_wait", "load"),
    "gil": (GIL, "gil_wait", "detokenise"),
    "nested": (NESTED, "sleep", "attend"),
    "loop": (LOOP, "event_loop", "parse"),
    "pool": (POOL, "sleep", "resend"),
}


@dataclass
class Tail:
    """What a program said of its slow requests, and what the report says."""

    name: str
    truth_us: float
    made: int  # slow requests
    report: dict[str, Any]

    @property
    def scope(self) -> dict[str, Any]:
        found: dict[str, Any]
        (found,) = (scope for scope in self.report["scopes"] if scope["name"] == "request")
        return found

    @property
    def first(self) -> dict[str, Any] | None:
        """The first reason that is the program's own: of a task that waits for a CPU nobody tells, so it is `other`."""
        for reason in self.scope["slow_because"]:
            if reason["cause"] not in ("run_queue", "other"):
                return dict(reason)
        return None

    @property
    def queued_us(self) -> float:
        """What others on the machine add to a slow request."""
        return float(sum(r["extra_us"] for r in self.scope["slow_because"] if r["cause"] in ("run_queue", "other")))

    @property
    def reason_right(self) -> bool:
        _, cause, function = CASES[self.name]
        first = self.first
        if first is None:
            return False
        # The interpreter's own functions, which add numbers and step through a range, are native code.
        said = first["cause"].replace("native", "python") if cause == "python" else first["cause"]
        return said == cause and str(first["function"]).split(".")[-1] == function

    @property
    def size_right(self) -> bool:
        first = self.first
        groups = self.scope["groups"]
        if first is None or groups is None:
            return False
        # Requests that others on the machine made slow are slow ones too, and have none of it.
        mean_us = self.truth_us * min(1, self.made / groups["slow"]["count"])
        return bool(abs(first["extra_us"] - mean_us) <= max(mean_us * WITHIN, SLACK_US) + self.queued_us)

    def row(self) -> str:
        first = self.first or {"cause": None, "function": None, "extra_us": 0}
        marks = ("r" if self.reason_right else "-") + ("s" if self.size_right else "-")
        return (
            f"tail {self.name:13} {marks}    {CASES[self.name][1]:18} {self.truth_us / 1e3:7.1f} ms"
            f"  {first['cause']!s:18} {first['extra_us'] / 1e3:7.1f} ms  in {first['function']}"
        )


def run(command: Path, python: str, package: Path, name: str, folder: Path) -> Tail:
    script, report = folder / f"tail_{name}.py", folder / f"tail_{name}.json"
    script.write_text(BEGIN + CASES[name][0])
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("INFERSCOPE_", "LD_", "PYTHON"))}
    kept.update(PYTHONPATH=str(package), PYTHONDONTWRITEBYTECODE="1")
    begin = [str(command), "run", "--python", python, "--quiet", "--report", str(report)]
    done = subprocess.run(
        [*begin, "--trace", str(folder / f"tail_{name}.isc"), "--force", str(script)],
        capture_output=True,
        text=True,
        env=kept,
        cwd=folder,
        timeout=120,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr}")
    told = json.loads(done.stdout)
    return Tail(name, told["spent"], told["made"], json.loads(report.read_text()))


def describe(tails: list[Tail]) -> tuple[str, bool]:
    """In a line, and whether the mark is met."""
    right = [t for t in tails if t.reason_right]
    line = (
        f"tails: the reason of slow requests right in {len(right)} of {len(tails)}, "
        f"what it takes right in {sum(t.size_right for t in right)} of these"
    )
    both = [t for t in right if t.size_right]
    return line, len(both) * len(CASES) >= RIGHT * len(tails)


def table(tails: list[Tail]) -> list[str]:
    rows = [
        "| slow requests of | are slow by | by itself | the report says | in | takes |",
        "|---|---|---:|---|---|---:|",
    ]
    for t in tails:
        first = t.first or {"cause": "nothing", "function": "", "extra_us": 0}
        rows.append(
            f"| `{t.name}` | {CASES[t.name][1]} in {CASES[t.name][2]} | {t.truth_us / 1e3:.1f} ms | {first['cause']} |"
            f" {first['function']} | {first['extra_us'] / 1e3:.1f} ms |"
        )
    return rows
