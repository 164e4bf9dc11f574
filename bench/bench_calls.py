"""What a traced call costs on each Python, beside cProfile and VizTracer in one run: rows of call_cost.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import call_cost
import pythons
from interval import Interval
from kit import Kit
from table import Row

ROOT = Path(__file__).resolve().parent.parent
LIMITS_NS = {"3.11": 35, "3.12": 60, "3.13": 60}
ROUNDS = 5
ABOUT = {
    "hooks that do nothing": "    hooks that do nothing",
    "and read two clocks": "    hooks that read two clocks",
    "cProfile": "    cProfile",
    "viztracer": "    VizTracer",
}


def python_of(version: str) -> str | None:
    """One with VizTracer, if there is."""
    made = ROOT / (".venv-peers" if version == "3.11" else f".venv-peers-{version}") / "bin" / "python"
    found = pythons.find((version,)).get(version)
    return str(made) if made.exists() else str(found) if found else None


def row(about: str, ns: dict[str, float] | None, limit: float | None = None) -> Row:
    if ns is None:
        return Row(
            about, None, "ns", note="not here; `tools/environments.py peers` (or peers-3.12, peers-3.13) brings it"
        )
    leaf = ns["leaf"]
    note = f"recursion {ns['fib']:.0f}, methods {ns['object']:.0f}"
    return Row(about, Interval(leaf, leaf, leaf, 1), "ns", limit=limit, digits=0, note=note)


def rows(kit: Kit) -> Iterator[Row]:
    rounds = ROUNDS * (3 if kit.long else 1)
    for version, limit in LIMITS_NS.items():
        python = python_of(version)
        if python is None:
            continue
        found = call_cost.added(str(kit.command), python, kit.scratch, rounds, str(kit.build / "bench"))
        yield row(f"a traced call, Python {version}", found["inferscope"], limit)
        for way, about in ABOUT.items():
            yield row(about, found[way])
