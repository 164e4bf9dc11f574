"""How much slower do benchmarks of pyperformance run under `inferscope run` without any option?

A spread of those that need nothing but the standard library: calls, objects, generators, tasks, text, numbers,
serialisation, a database.  `INFERSCOPE_PROGRAMS=chaos,go` measures only some.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import turns
from bench_budget import ONLY, ROOT, WIDE, width
from interval import Interval
from kit import Kit
from table import Row

WORK = Path(__file__).with_name("pyperformance_work.py")
PYTHON = ROOT / ".venv-pyperformance" / "bin" / "python"
NAMES = (
    "async_tree", "chaos", "comprehensions", "deepcopy", "deltablue", "float", "generators", "go", "hexiom",
    "json_dumps", "json_loads", "logging", "pickle", "raytrace", "regex_compile", "richards", "spectral_norm",
    "sqlite_synth", "telco", "unpack_sequence", "xml_etree",
)  # fmt: skip
MEAN_LIMIT, WORST_LIMIT = 1.04, 1.06


def rows(kit: Kit) -> Iterator[Row]:
    if not PYTHON.exists():
        note = "tools/environments.py pyperformance makes its environment"
        yield Row("pyperformance: geometric mean", None, "times", limit=MEAN_LIMIT, note=note)
        return
    only = os.environ.get(ONLY)
    walls, cpus = {}, {}
    for name in NAMES:
        if only and name not in only.split(","):
            continue
        argv = [str(PYTHON), str(WORK), name]
        said = subprocess.run(argv, env=kit.environment, capture_output=True, text=True, check=True).stdout
        argv += [turns.WORD, str(json.loads(said.splitlines()[-1])["size"])]
        walls[name], cpus[name] = turns.play(
            kit.player(argv), kit.player(kit.recorded(argv)), 2 * kit.seconds, wide=2 * WIDE
        )
        yield Row(f"pyperformance {name}", walls[name], "times", digits=3, note=width(walls[name]))
        yield Row("    in CPU time of the program", cpus[name], "times", digits=3)
    for about, found in (("", walls), (", CPU time", cpus)):
        worst = max(found, key=lambda name: found[name].value)
        mean = geometric_mean(list(found.values()))
        yield Row(f"pyperformance: geometric mean{about}", mean, "times", limit=MEAN_LIMIT, digits=3)
        yield Row(f"pyperformance: worst{about}", found[worst], "times", limit=WORST_LIMIT, digits=3, note=worst)


def geometric_mean(found: Sequence[Interval]) -> Interval:
    """Of independent medians: their intervals, as logarithms, add up as errors do; n is how many there are.

    >>> geometric_mean([Interval(1.0, 0.9, 1.1, 9), Interval(1.0, 0.9, 1.1, 9)]).value
    1.0
    """
    middle = sum(math.log(one.value) for one in found) / len(found)
    above = math.sqrt(sum(math.log(one.high / one.value) ** 2 for one in found)) / len(found)
    below = math.sqrt(sum(math.log(one.value / one.low) ** 2 for one in found)) / len(found)
    return Interval(math.exp(middle), math.exp(middle - below), math.exp(middle + above), len(found))
