"""What one sample takes in its handler, up to asking for the next, in a process loaded as by `inferscope run`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from bench_budget import VERSIONS, package, python_with
from kit import Kit
from sample import median
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


def rows(kit: Kit) -> Iterator[Row]:
    for version in VERSIONS:
        python = python_with((), version)
        for rate, native, about, limit in CASES if python else []:
            seconds = 5 if rate == 100 else 1
            argv = [python or sys.executable, str(WORK), package(kit), str(rate), native, str(seconds)]
            found = [kit.run(argv, env={"LD_PRELOAD": str(kit.runtime)}).said for _ in range(RUNS)]
            mean = median([float(said["mean_us"]) for said in found])
            note = f"{found[0]['frames']} frames, Python {version}; the median of a run, mean {mean.value:.1f}"
            yield Row(about, median([float(said["us"]) for said in found]), "us", limit=limit, digits=2, note=note)
