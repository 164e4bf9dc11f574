"""What a scope costs a Python program, with and without a session, beside other things that one enters."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pythons
from interval import median
from kit import Kit
from table import Row

WORK = """
import _thread, contextlib, json, time
from inferscope import counter, mark_event, scope

def quickest(run, n=2000):
    best = 1e9
    for _ in range(100):
        start = time.thread_time_ns()
        run(n)
        best = min(best, time.thread_time_ns() - start)
    return best / n

def entered(thing):
    def run(n):
        for _ in range(n):
            with thing: pass
    return run

def fresh(n):
    for _ in range(n):
        with scope("request"): pass

def marks(n):
    for _ in range(n): mark_event("token")

def counters(n):
    for _ in range(n): counter("queue", 3)

def nothing(n):
    for _ in range(n): pass

@contextlib.contextmanager
def manager(): yield

def managers(n):
    for _ in range(n):
        with manager(): pass

ways = {
    "scope": entered(scope("again")), "fresh": fresh, "mark": marks, "counter": counters,
    "lock": entered(_thread.allocate_lock()), "nullcontext": entered(contextlib.nullcontext()), "manager": managers,
}
try:
    from torch.profiler import record_function
except ImportError:
    pass
else:
    ways["record_function"] = lambda n: [record_function("x").__enter__().__exit__(None, None, None) for _ in range(n)]
floor = quickest(nothing)
print(json.dumps({name: quickest(run) - floor for name, run in ways.items()}))
"""

BESIDE = {
    "lock": "with of a lock",
    "nullcontext": "with of contextlib.nullcontext",
    "manager": "with of a contextlib.contextmanager",
    "record_function": "record_function of torch, no profiler",
}


def rows(kit: Kit) -> Iterator[Row]:
    for version, python in sorted(pythons.find().items(), key=lambda found: [int(n) for n in found[0].split(".")]):
        yield from rows_of(kit, str(python), f"Python {version}")


def rows_of(kit: Kit, python: str, version: str) -> Iterator[Row]:
    work = kit.scratch / "scopes.py"
    work.write_text(WORK)
    package = next((kit.build / "stage").glob("**/inferscope/__init__.py")).parents[1]
    env = {"PYTHONPATH": str(package)}
    run = [str(kit.command), "run", "--quiet", "--no-report", "--trace", str(kit.trace), "--python", python]
    off: list[dict[str, float]] = []
    on: list[dict[str, float]] = []
    for _ in range(15 if kit.long else 5):  # in turn, so that both meet the same machine
        off.append(json.loads(kit.run([python, str(work)], env).out))
        on.append(json.loads(kit.run([*run, str(work)], env).out))

    def of(runs: list[dict[str, float]], name: str) -> list[float]:
        return [run[name] for run in runs]

    yield Row("a scope, nothing records", median(of(off, "scope")), "ns", limit=100, note=version)
    yield Row("the same, made for each with", median(of(off, "fresh")), "ns", limit=100)
    yield Row("a scope, recorded", median(of(on, "scope")), "ns", limit=400)
    yield Row("the same, made for each with", median(of(on, "fresh")), "ns", limit=400)
    yield Row("mark_event, nothing records", median(of(off, "mark")), "ns")
    yield Row("mark_event, recorded", median(of(on, "mark")), "ns")
    yield Row("counter, nothing records", median(of(off, "counter")), "ns")
    yield Row("counter, recorded", median(of(on, "counter")), "ns")
    for name, what in BESIDE.items():
        if name in off[0]:
            yield Row(f"for comparison: {what}", median(of(off, name)), "ns")
