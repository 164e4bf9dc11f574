"""Programs that take much memory, under memray, Scalene and ours, all in one run.

In every round each tool runs each program once, in another order each time, with a bare run before and behind.  What a
tool adds is the CPU time of the work under it less the mean of those two, which other programs on the machine
disturb least; ours is held against a quarter of memray's.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from kit import Failed, Kit
from sample import median
from table import Row

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
LEAST_ROUNDS = 3
SHARE = 0.25  # of what memray adds


def lines(kit: Kit, python: str, program: str) -> dict[str, list[str]]:
    argv = [str(WORK), program]
    run = [str(kit.command), "run", "--quiet", "--trace", str(kit.trace), "--report", str(kit.scratch / "report.json")]
    out = str(kit.scratch / "memory-peer")
    return {
        OURS: [*run, "--python", python, *argv],
        ALONE: [*run, "--no-python", "--no-syscalls", "--python", python, *argv],
        MEMRAY: [python, "-m", "memray", "run", "-q", "-f", "-o", out, *argv],
        "memray --native": [python, "-m", "memray", "run", "-q", "-f", "--native", "-o", out, *argv],
        "Scalene": [python, "-m", "scalene", "run", "-o", out + ".json", *argv],
    }


def work_cpu_ms(kit: Kit, argv: list[str]) -> float:
    """What the program says of itself, among whatever else was printed."""
    said = [part for part in kit.run(argv).out.decode(errors="replace").splitlines() if part.startswith('{"work_ms"')]
    if not said:
        raise Failed(f"{' '.join(argv[:4])} left nothing of what the program printed")
    return float(json.loads(said[-1])["work_cpu_ms"])


def rows(kit: Kit) -> Iterator[Row]:
    python = PEERS / "python"
    for name, about in PROGRAMS.items():
        if not python.exists():
            yield Row(about, None, "times", note=ABSENT)
            continue
        yield from compare(kit, str(python), name, about)


def compare(kit: Kit, python: str, name: str, about: str) -> Iterator[Row]:
    tools, notes = lines(kit, python, name), {}
    ratios: dict[str, list[float]] = defaultdict(list)
    added: dict[str, list[float]] = defaultdict(list)
    end = time.monotonic() + 4 * kit.seconds
    for number in range(1000):
        order = [tool for tool in tools if tool not in notes]
        random.Random(number).shuffle(order)
        bare = work_cpu_ms(kit, [python, str(WORK), name])
        for tool in order:
            try:
                took = work_cpu_ms(kit, tools[tool])
            except Failed as why:
                notes[tool] = f"does not run here: {str(why)[-120:]}"
                continue
            behind = work_cpu_ms(kit, [python, str(WORK), name])
            before = statistics.mean((bare, behind))
            ratios[tool].append(took / before)
            added[tool].append(took - before)
            bare = behind
        if number + 1 >= LEAST_ROUNDS and time.monotonic() >= end:
            break
    for tool in tools:
        what = f"{about}: {tool}" if tool == OURS else f"    {tool}"
        yield Row(what, median(ratios[tool]) if ratios[tool] else None, "times", digits=2, note=notes.get(tool, ""))
    if added[MEMRAY] and statistics.median(added[MEMRAY]) > 0:
        theirs = statistics.median(added[MEMRAY])
        shares = median([one / theirs for one in added[OURS]])
        yield Row("    InferScope's added time by memray's", shares, "times", limit=SHARE, digits=2)
