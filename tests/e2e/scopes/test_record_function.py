"""torch.profiler.record_function becomes a scope, and PyTorch does not notice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

# What InferScope looks for in PyTorch, without PyTorch.
PROFILER = """
import contextlib

class record_function(contextlib.ContextDecorator):
    def __init__(self, name, args=None):
        self.name = name
        self.args = args
        self.record = None

    def __enter__(self):
        self.record = object()
        if self.args == "refuse":
            raise RuntimeError("refused")
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        if self.record is None:
            raise AssertionError("not entered")
"""

SHAPES = """
import asyncio, inspect, sys, threading
before = (list(sys.meta_path), list(sys.path_hooks))
import torch
from torch.profiler import record_function

with record_function("outer") as got:
    with record_function("inner"):
        pass
print(type(got).__name__, got.name)

@record_function("decorated")
def twice(n):
    return 2 * n

print(twice(1), twice(n=2))
try:
    with record_function("raises"):
        raise KeyError("mine")
except KeyError as error:
    print(error)
try:
    with record_function("refused", "refuse"):
        print("never")
except RuntimeError as error:
    print(error)

async def task(n):
    with record_function(f"task {n}"):
        await asyncio.sleep(0.02 * n)
        with record_function(f"late {n}"):
            pass

async def main():
    with record_function("serve"):
        await asyncio.gather(task(1), task(2))

asyncio.run(main())

def run_thread(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()

def work():
    with record_function("thread"):
        pass

run_thread(work)
moved = record_function("moved")
moved.__enter__()
run_thread(moved.__exit__, None, None, None)
try:
    record_function("never entered").__exit__(None, None, None)
except Exception as error:
    print(type(error).__name__)

class Own(record_function):
    def __enter__(self):
        return super().__enter__()

with Own("own"):
    pass
with record_function(b"no text" if torch.__version__ == "double" else "no text"):
    pass
for method in (record_function.__enter__, record_function.__exit__):
    print(inspect.isfunction(method), method.__qualname__, inspect.signature(method), method.__code__.co_name)
    print(inspect.getsource(method).split("(")[0], repr(method).split(" at ")[0], type(method).__name__)
print(before == (sys.meta_path, sys.path_hooks))
"""

HOT = """
import torch.autograd.profiler

def leaf(n):
    return n + 1

total = 0
for n in range(3000):
    with torch.autograd.profiler.record_function("hot"):
        for k in range(100):
            total += leaf(k)
print(total)
"""


@pytest.fixture
def double(package: Path, tmp_path: Path) -> Path:
    """Puts a package `torch` beside the program."""
    (tmp_path / "torch" / "autograd").mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").write_text('__version__ = "double"\nimport torch.profiler\n')
    (tmp_path / "torch" / "autograd" / "__init__.py").write_text("from . import profiler\n")
    (tmp_path / "torch" / "autograd" / "profiler.py").write_text(PROFILER)
    (tmp_path / "torch" / "profiler.py").write_text("from torch.autograd.profiler import record_function\n")
    return tmp_path


def check_shapes(scopes: Any, more: list[str]) -> None:
    tasks = ["serve", "task 1", "task 2", "late 1", "late 2"]
    names = ["outer", "inner", "decorated", "decorated", "raises", *more, *tasks, "thread", "moved", "own"]
    assert [s.name for s in scopes][: len(names)] == names
    assert all(s.left_s is not None for s in scopes)
    around = {s.name: scopes.around(s) for s in scopes}
    assert (around["outer"], around["inner"]) == (None, "outer")
    assert [around[name] for name in tasks] == [None, "serve", "serve", "task 1", "task 2"]
    assert scopes.one("moved").moved and not scopes.one("thread").moved


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("option", ["--quiet", "--no-python"])
def test_ranges_of_all_shapes_become_scopes(traced: Any, python: str, option: str) -> None:
    done = traced(SHAPES, python, option)
    check_shapes(done.scopes, [])
    assert "never" not in [s.name for s in done.scopes]
    assert len(done.scopes) == 13
    assert done.stdout.endswith("True\n")


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("budget", ["0.1", "off"])
def test_the_governor_leaves_no_range_out(inferscope: Any, python: str, tmp_path: Path, budget: str) -> None:
    (tmp_path / "hot.py").write_text(HOT)
    run = inferscope("run", "--python", python, "--budget", budget, tmp_path / "hot.py")
    assert (run.returncode, run.stdout) == (0, "15150000\n")
    assert any(" governed all arg 1" in line or ' governed "' in line for line in run.dump()) == (budget != "off")
    if run.report.overhead.lost == 0:  # else the machine left the recorder no time, and the count says so
        assert {s.name: s.count for s in run.report.scopes} == {"hot": 3000}


@pytest.mark.usefixtures("double")
def test_a_range_knows_the_scopes_around_it(traced: Any, python: str) -> None:
    program = """
from inferscope import scope
from torch.profiler import record_function
with scope("request"), record_function("layer"), scope("kernel"):
    pass
"""
    scopes = traced(program, python).scopes
    assert [(s.name, scopes.around(s)) for s in scopes] == [
        ("request", None),
        ("layer", "request"),
        ("kernel", "layer"),
    ]


@pytest.mark.usefixtures("double")
def test_a_fork_child_has_ranges_of_its_own(traced: Any, python: str) -> None:
    program = """
import os
from torch.profiler import record_function
with record_function("around"):
    child = os.fork()
    if child == 0:
        with record_function("child"):
            pass
    else:
        os.waitpid(child, 0)
"""
    scopes = traced(program, python).scopes
    assert [s.name for s in scopes] == ["around", "child"]
    assert scopes[0].process != scopes[1].process and all(s.left_s is not None for s in scopes)


@pytest.mark.integration
def test_ranges_of_pytorch_become_scopes(traced: Any, torch_python: str) -> None:
    program = (
        SHAPES
        + """
@torch.jit.script
def scripted(x):
    with torch.autograd.profiler.record_function("scripted"):
        return x + 1

print(scripted(torch.ones(2)).tolist())

import logging
torch._logging.set_logs(dynamo=logging.ERROR)  # its warning has the time in it

@torch.compile(backend="eager")
def compiled(x):
    with record_function("in the graph"):
        return x * 2

with record_function("around the graph"):
    print(compiled(torch.ones(2)).tolist())
print(torch._dynamo.utils.counters["graph_break"])
"""
    )
    scopes = traced(program, torch_python).scopes
    check_shapes(scopes, ["refused"])
    assert scopes.one("around the graph").left_s is not None
