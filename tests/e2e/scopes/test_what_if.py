"""What could be saved at most: the program is run again without the cause, and saves no more than that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timed

SLACK_US = 2000  # two medians on a busy machine
BUSY_PCT = 5
ENOUGH = 0.6  # of the bound, so that it says something

BEGIN = """
import asyncio, gc, os, sys, threading, time, zlib
from inferscope import scope
KEPT = sys.argv[1] == "kept"
def work(ms):
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        sum(range(200))
def requests(cause, n=20, before=lambda: None):
    for _ in range(n):
        if KEPT:
            before()
        with scope("request"):
            work(3)
            if KEPT:
                cause()
"""

SLEEP = """
def backoff():
    time.sleep(0.02)
requests(backoff)
"""
FUNCTION = """
def retry():
    for _ in range(1_500_000):
        pass
requests(retry)
"""
NATIVE = """
data = os.urandom(1 << 20)
def pack():
    zlib.compress(data, 6)
requests(pack)
"""
GARBAGE = """
kept = [[i] for i in range(400_000)]
gc.disable()
def collect():
    gc.collect()
requests(collect)
"""
LOCK = """
lock, wanted, taken = threading.Lock(), threading.Event(), threading.Event()
def flush():
    while True:
        wanted.wait()
        wanted.clear()
        with lock:
            taken.set()
            time.sleep(0.03)
threading.Thread(target=flush, daemon=True).start()
def begin():
    taken.clear()
    wanted.set()
    taken.wait()
def enter():
    with lock:
        pass
requests(enter, before=begin)
"""
READ = """
reading, writing = os.pipe()
asked = threading.Event()
def disk():
    while True:
        asked.wait()
        asked.clear()
        time.sleep(0.03)
        os.write(writing, b"x")
threading.Thread(target=disk, daemon=True).start()
def load():
    os.read(reading, 10)
requests(load, before=asked.set)
"""
POOL = """
def resend():
    time.sleep(0.03)
def fetch():
    with scope("fetch"):
        work(1)
        if KEPT:
            resend()
async def answer():
    with scope("request"):
        work(1)
        await asyncio.to_thread(fetch)
async def main():
    for _ in range(20):
        await answer()
asyncio.run(main())
"""
# Two at once: without the slow part of one the other is still waited for.
BESIDE = """
def resend():
    time.sleep(0.03)
def fetch(slow):
    with scope("fetch"):
        if slow and KEPT:
            resend()
        time.sleep(0.008)
async def answer():
    with scope("request"):
        await asyncio.gather(asyncio.to_thread(fetch, True), asyncio.to_thread(fetch, False))
async def main():
    for _ in range(20):
        await answer()
asyncio.run(main())
"""
LOOP = """
def parse():
    time.sleep(0.03)
async def report():
    if KEPT:
        parse()
async def answer():
    with scope("request"):
        work(1)
        task = asyncio.get_running_loop().create_task(report())
        await asyncio.sleep(0)
        await task
        work(1)
async def main():
    for _ in range(20):
        await answer()
asyncio.run(main())
"""
NESTED = """
def attend():
    time.sleep(0.02)
def decode():
    with scope("decode"):
        work(1)
        attend()
requests(decode)
"""

# program, what it is without, where
CASES = {
    "sleep": (SLEEP, "sleep", "backoff"),
    "function": (FUNCTION, "python", "retry"),
    "native": (NATIVE, "python", "pack"),
    "garbage": (GARBAGE, "gc", "collect"),
    "lock": (LOCK, "lock_wait", "enter"),
    "read": (READ, "io_wait", "load"),
    "pool": (POOL, "sleep", "resend"),
    "beside": (BESIDE, "sleep", "resend"),
    # Until a loop has changed its task for the first time, what it does is that of the scope that is open.
    "loop": (LOOP, "event_loop sleep", "parse"),
    "nested": (NESTED, "sleep", "attend"),
}


def is_calm(scope: Any) -> bool:
    return (scope.breakdown.run_queue or 0) < BUSY_PCT


@pytest.fixture
def run(inferscope: Any, package: Path, tmp_path: Path) -> Callable[[str, str], Any]:
    def go(program: str, kept: str) -> Any:
        script = tmp_path / "program.py"
        script.write_text(BEGIN + program)
        for _ in range(3):
            done = inferscope("run", script, kept, env={"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"})
            assert done.returncode == 0, done.stderr
            (scope,) = (scope for scope in done.report.scopes if scope.name == "request")
            if is_calm(scope):
                break
        return scope

    return go


@pytest.mark.parametrize("case", CASES)
def test_removing_it_saves_no_more(run: Callable[[str, str], Any], case: str) -> None:
    program, without, function = CASES[case]
    kept, removed = run(program, "kept"), run(program, "removed")
    bound = sum(
        one.saves_at_most_us
        for one in kept.what_if
        if one.without in without.split() and (one.where or "").split(" (")[0].endswith(function)
    )
    assert bound > 5_000, kept.what_if
    saved = kept.mean_us - removed.mean_us
    # A machine that does other things makes a run longer by what it waits for a CPU.
    queued = kept.mean_us * (kept.breakdown.run_queue or 0) / 100
    assert saved <= bound * 1.05 + queued + SLACK_US, kept.what_if
    # Of tasks nobody knows that: one request that is put off is as good as none in the middle.
    if is_calm(kept) and is_calm(removed):
        assert max(saved, kept.p50_us - removed.p50_us) >= bound * ENOUGH - SLACK_US, kept.what_if
    assert not [one for one in removed.what_if if one.without in without.split() and function in (one.where or "")]
    assert all(one.saves_at_most_us <= kept.mean_us for one in kept.what_if)
