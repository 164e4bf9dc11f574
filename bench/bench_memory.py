"""Programs that take much memory, under memray, Scalene and ours, all in one run.

The program under a tool and the program alone take turns (turns.py).  What a tool adds is the CPU time of the work
under it above that of the other; ours is held against a quarter of memray's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import turns
from interval import Interval
from kit import Kit
from table import Row
from turns import Failed

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(__file__).with_name("memory_work.py")
PEERS = ROOT / ".venv-memory" / "bin"
PROGRAMS = {
    "objects": "small objects of Python",
    "text": "words of a text",
    "buffers": "buffers of some kB",
    "arrays": "arrays of numpy",
}
OURS, ALONE, MEMRAY = "InferScope, all of it", "InferScope, memory alone", "memray"
ABSENT = "memray and Scalene are not here; `tools/environments.py memory` brings them"
SHARE = 0.25  # of what memray adds


def lines(kit: Kit, python: str, program: str) -> dict[str, list[str]]:
    argv = [str(WORK), program, turns.WORD]
    run = [str(kit.command), "run", "--quiet", "--trace", str(kit.trace), "--report", str(kit.scratch / "report.json")]
    out = str(kit.scratch / "memory-peer")
    return {
        OURS: [*run, "--python", python, *argv],
        ALONE: [*run, "--no-python", "--no-syscalls", "--python", python, *argv],
        MEMRAY: [python, "-m", "memray", "run", "-q", "-f", "-o", out, *argv],
        "memray --native": [python, "-m", "memray", "run", "-q", "-f", "--native", "-o", out, *argv],
        "Scalene": [python, "-m", "scalene", "run", "-o", out + ".json", *argv],
    }


def rows(kit: Kit) -> Iterator[Row]:
    python = PEERS / "python"
    for name, about in PROGRAMS.items():
        if not python.exists():
            yield Row(about, None, "times", note=ABSENT)
            continue
        yield from compare(kit, str(python), name, about)


def compare(kit: Kit, python: str, name: str, about: str) -> Iterator[Row]:
    bare = kit.player([python, str(WORK), name, turns.WORD])
    found: dict[str, Interval] = {}
    for tool, line in lines(kit, python, name).items():
        what = f"{about}: {tool}" if tool == OURS else f"    {tool}"
        try:
            _, found[tool] = turns.play(bare, kit.player(line), kit.seconds)
        except Failed as why:
            yield Row(what, None, "times", note=f"does not run here: {str(why)[-120:]}")
        else:
            yield Row(what, found[tool], "times", digits=2)
    if MEMRAY in found and found[MEMRAY].value > 1:
        yield Row("    InferScope's added time by memray's", share(found[OURS], found[MEMRAY]), "times", SHARE, 2)


def share(ours: Interval, theirs: Interval) -> Interval:
    """What one adds by what the other adds.

    >>> share(Interval(1.25, 1.0, 1.5, 9), Interval(2.0, 1.75, 2.5, 9))
    Interval(value=0.25, low=0.0, high=0.5, n=9)
    """
    added = theirs.value - 1
    return Interval((ours.value - 1) / added, (ours.low - 1) / added, (ours.high - 1) / added, ours.n)
