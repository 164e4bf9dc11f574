"""What tracing adds to a Python call, in nanoseconds: the floor, ours, cProfile, VizTracer.

call_cost.py COMMAND [--rounds N] [--floor FOLDER] PYTHON...: every Python in turn, all ways interleaved, quickest of
many chunks.  The floor are hooks that do nothing, and hooks that read the clock twice a call (call_floor.c, built into
build/bench).  VizTracer is measured where the Python has it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

FLOOR = Path(__file__).resolve().parent.parent / "build" / "bench"
KINDS = ("leaf", "fib", "object")
WORK = """
import json, sys, time

floor = sys.argv[2:]
if floor:
    sys.path.insert(0, floor[0])
    import call_floor as hooks
    hooks.start(floor[1] == "clocks")

def leaf(): pass

def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)

class Point:
    def __init__(self, x): self.x = x
    def get(self): return self.x
    def add(self, other): return Point(self.get() + other.get())

def leaves():
    for _ in range(5000): leaf()

def fibs(): fib(15)

def points():
    p = Point(1)
    for _ in range(1000): p.add(p)

def quickest(run, calls):
    best = 1e9
    for _ in range(60):
        start = time.thread_time_ns()
        run()
        best = min(best, time.thread_time_ns() - start)
    return best / calls

with open(sys.argv[1], "w") as out:
    json.dump({"leaf": quickest(leaves, 5001), "fib": quickest(fibs, 1974), "object": quickest(points, 4002)}, out)
"""


def measure(command: list[str], work: Path, out: Path, options: list[str]) -> dict[str, float] | None:
    out.unlink(missing_ok=True)
    full = [*command, str(work), str(out), *options]
    done = subprocess.run(full, capture_output=True, timeout=120, check=False, cwd=out.parent)
    if done.returncode or not out.exists():
        return None
    return json.loads(out.read_text())  # type: ignore[no-any-return]


def added(command: str, python: str, folder: Path, rounds: int, floor: str) -> dict[str, dict[str, float] | None]:
    """What each way adds to a call, in ns, for each kind of call; of "plain" what it takes.  None: it is not here."""
    work, out = folder / "work.py", folder / "out.json"
    work.write_text(WORK)
    trace = ["--quiet", "--force", "--no-report", "--trace", f"{folder}/t.isc", "--python", python]
    ways: dict[str, tuple[list[str], list[str]]] = {
        "plain": ([python], []),
        "hooks that do nothing": ([python], [floor, "empty"]),
        "and read two clocks": ([python], [floor, "clocks"]),
        "inferscope": ([command, "run", *trace, "--budget", "off"], []),
        "inferscope --budget 5": ([command, "run", *trace], []),
        "cProfile": ([python, "-m", "cProfile", "-o", f"{folder}/p"], []),
        "viztracer": ([python, "-m", "viztracer", "--quiet", "-o", f"{folder}/v.json"], []),
    }
    best: dict[str, dict[str, float]] = {}
    for _ in range(rounds):
        for way, (line, options) in ways.items():
            took = measure(line, work, out, options)
            if took:
                old = best.setdefault(way, took)
                best[way] = {kind: min(old[kind], took[kind]) for kind in took}
    plain = best["plain"]
    return {
        way: None
        if way not in best
        else plain
        if way == "plain"
        else {kind: took - plain[kind] for kind, took in best[way].items()}
        for way in ways
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("pythons", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--floor", default=str(FLOOR), help="where call_floor.*.so is (build/bench)")
    asked = parser.parse_args()
    print(f"{'python':8} {'way':22} {'leaf':>8} {'fib':>8} {'object':>8}   added ns per call")
    for python in asked.pythons:
        version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
        with tempfile.TemporaryDirectory() as folder:
            found = added(asked.command, python, Path(folder), asked.rounds, asked.floor)
        for way, ns in found.items():
            figures = "is not here" if ns is None else " ".join(f"{ns[kind]:8.1f}" for kind in KINDS)
            print(f"{version:8} {way:22} {figures}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
