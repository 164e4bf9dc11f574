"""What one sample takes in its handler, up to asking for the next, in a process loaded as by `inferscope run`.

And on the stacks of PyTorch, under `inferscope run` itself, part by part.  With INFERSCOPE_AGAINST=FOLDER another build
folder is measured in turn with this one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from bench_budget import PROGRAMS, VERSIONS, package, python_with
from interval import Interval, clustered, median
from kit import Kit
from table import Row

WORK = Path(__file__).with_name("sample_work.py")
RUNS = 5
# rate in Hz, frames, what it is called, at most so many us
CASES = [
    (100, "all", "a sample at 100 Hz", 15.0),
    (1000, "all", "a sample at 1 kHz", 5.0),
    (10000, "all", "a sample at 10 kHz", None),
    (10000, "off", "the same, Python's frames alone", None),
]
PARTS_WORK = Path(__file__).with_name("parts_work.py")
AGAINST = "INFERSCOPE_AGAINST"  # a build folder to compare with
PARTS_S = 6  # of CPU time of the program, per run
PARTS_RUNS = 3
# programs of bench_budget.py, and at which rate at most so many us
TORCH = ("minilm", "tokens")
RATES = {200: 10.0, 1000: 6.0}


def rows(kit: Kit) -> Iterator[Row]:
    yield from on_own_stacks(kit)
    yield from on_torch_stacks(kit)


def on_torch_stacks(kit: Kit) -> Iterator[Row]:
    """Every call is traced (`--budget off`), so that the rate stays what it is."""
    other = os.environ.get(AGAINST)
    kits = [kit, *([replace(kit, build=Path(other).resolve())] if other else [])]
    for program in (program for program in PROGRAMS if program.name in TORCH):
        python = python_with(program.modules, VERSIONS[0])
        for rate, limit in RATES.items():
            what = f"a sample at {rate} Hz: {program.about}"
            if python is None:
                yield Row(what, None, "us", note=f"needs {', '.join(program.modules)}")
                continue
            runs: list[list[dict[str, list[float]]]] = [[] for _ in kits]
            for _ in range(PARTS_RUNS):
                for one, found in zip(kits, runs):
                    argv = [python, str(PARTS_WORK), program.name, package(one), str(PARTS_S)]
                    found.append(one.run(one.recorded(argv, "--rate", str(rate), "--budget", "off")).said["us"])
            yield from parts(what, runs[0], limit)
            if other:
                yield from parts(f"{what}, in {Path(other).name}", runs[1], None)


def parts(what: str, runs: list[dict[str, list[float]]], limit: float | None) -> Iterator[Row]:
    def middle(pick: Callable[[dict[str, list[float]]], list[float]]) -> Interval:
        return clustered([pick(run) for run in runs])

    whole = middle(lambda run: [sum(sample) for sample in zip(*run.values())])
    yield Row(what, whole, "us", limit=limit, note="medians of parts do not add up to that of the whole")
    for part in runs[0]:
        yield Row(f"    {part}", middle(lambda run, part=part: run[part]), "us", digits=2)  # type: ignore[misc]


def on_own_stacks(kit: Kit) -> Iterator[Row]:
    for version in VERSIONS:
        python = python_with((), version)
        for rate, native, about, limit in CASES if python else []:
            seconds = 5 if rate == 100 else 1
            argv = [python or sys.executable, str(WORK), package(kit), str(rate), native, str(seconds)]
            found = [kit.run(argv, env={"LD_PRELOAD": str(kit.runtime)}).said for _ in range(RUNS)]
            mean = median([float(said["mean_us"]) for said in found])
            note = f"{found[0]['frames']} frames, Python {version}; the median of a run, mean {mean.value:.1f}"
            yield Row(about, median([float(said["us"]) for said in found]), "us", limit=limit, digits=2, note=note)
