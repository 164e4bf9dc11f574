"""Threads bear the names that the program gave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import ctypes, threading, time
from concurrent.futures import ThreadPoolExecutor

def work(n=300):
    for _ in range(n):
        step()
def step():
    return sum(range(50))
def rename_self():
    work()
    threading.current_thread().name = "renamed"
    work()
def set_by_system():
    work()
    ctypes.CDLL(None).prctl(15, b"by-system", 0, 0, 0)
    work()
    time.sleep(0.3)
class Loader(threading.Thread):
    def run(self):
        step()
class Odd(threading.Thread):
    def __getattribute__(self, name):
        if name == "_name":
            seen.append(name)
        return super().__getattribute__(name)
    def run(self):
        step()

seen = []
work()
odd = Odd(name="odd")
seen.clear()
threads = [
    threading.Thread(target=work, name="metrics"),
    threading.Thread(target=work, name="\\u00fcbung <b>"),
    threading.Thread(target=rename_self, name="first"),
    threading.Thread(target=set_by_system),
    Loader(name="loader 1"), Loader(name="loader 2"),
    odd,
]
for t in threads:
    t.start()
for t in threads:
    t.join()
with ThreadPoolExecutor(2, thread_name_prefix="pool") as pool:
    list(pool.map(work, [200] * 8))
def late():
    go.wait()
    for _ in range(40):
        work(100)
        time.sleep(0.001)
go = threading.Event()
t = threading.Thread(target=late, name="before")
t.start()
t.name = "by another"
go.set()
t.join()
assert not seen, seen
print("end")
"""


def names(report: Any) -> list[str]:
    return sorted(t.name for t in report.threads)


def test_threads_have_the_names_that_python_gave_them(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    # With the budget spent, a thread renamed between two looks may be missed.
    run = inferscope("run", "--budget", "off", "--python", python, program)
    assert run.returncode == 0 and run.stdout == "end\n", run.stderr
    found = names(run.report)
    for name in ("metrics", "\u00fcbung <b>", "renamed", "loader 1", "loader 2", "odd", "pool_0", "by another"):
        assert name in found, (name, found)
    assert "by-system" in found and not {"first", "before", "MainThread"} & set(found), found
    # The main thread is known by the program.
    (main,) = (t.name for t in run.report.threads if t.thread_id == t.process_id)
    assert main.startswith("python"), main


def test_a_program_without_threading_does_not_get_it(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nsys.modules.pop('threading', None)\ndef step(): return 1\nfor _ in range(3000): step()\n"
        "print('threading' in sys.modules)\n"
    )
    run = inferscope("run", "--python", python, program)
    assert run.returncode == 0 and run.stdout == "False\n", run.stderr


LATE = """
import threading, time
from inferscope import CpuCollector, TraceBuffer
def step():
    return sum(range(50))
def work():
    ready.set()
    go.wait()
    for _ in range(3000):
        step()
ready, go = threading.Event(), threading.Event()
t = threading.Thread(target=work, name="older than tracing", daemon=True)
t.start()
ready.wait()
tracer = CpuCollector(TraceBuffer(size_mb=10))
tracer.start()
go.set()
t.join()
tracer.stop()
"""


def test_a_thread_that_was_there_before_tracing_is_named(
    inferscope: Any, stage: Path, tmp_path: Path, python: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(LATE)
    package = {"PYTHONPATH": str(next(stage.glob("lib/python3*/site-packages")))}
    run = inferscope("run", "--no-python", "--budget", "off", "--python", python, program, env=package)
    assert run.returncode == 0, run.stderr
    assert "older than tracing" in names(run.report)


@pytest.mark.parametrize("options", [(), ("--no-python",)])
def test_a_thousand_short_threads_are_named(inferscope: Any, tmp_path: Path, python: str, options: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import threading\ndef step(): return sum(range(100))\nfor i in range(1000):\n"
        "    t = threading.Thread(target=step, name=f'request {i}'); t.start(); t.join()\n"
    )
    run = inferscope("run", *options, "--python", python, program)
    assert run.returncode == 0, run.stderr
    missing = {f"request {i}" for i in range(1000)} - set(names(run.report))
    assert len(missing) <= 10, missing


LAST = """
import gc
class Late:
    def __init__(self):
        self.me = self
    def __del__(self, steps=range(3000), step=lambda: None):
        for _ in steps:
            step()
gc.disable()
import builtins, sys
builtins.late, sys.late = Late(), Late()
print("end")
"""


def test_calls_when_no_modules_are_left_harm_nothing(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(LAST)
    run = inferscope("run", "--python", python, program)
    assert run.returncode == 0 and run.stdout == "end\n", run.stderr
