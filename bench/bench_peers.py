"""The programs of bench_budget.py under other profilers and under ours, all in one run.

In every round each tool runs each program once, in another order each time, with a bare run before and behind; a
ratio is the time of the work under the tool by the mean of those two.
"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator

from bench_budget import PROGRAMS, ROOT, WORK, package, python_with
from kit import Failed, Kit
from sample import median
from table import Row

OURS = "InferScope"
LEAST_ROUNDS = 3
VERSION = "3.11"  # of the environment that the other tools are in


def tools(kit: Kit) -> dict[str, list[str] | None]:
    """What stands before the program; None: it is not here."""
    bin_ = ROOT / ".venv-peers" / "bin"
    out = str(kit.scratch / "peer")

    def program(name: str, *options: str) -> list[str] | None:
        path = bin_ / name
        return [str(path), *options] if path.exists() else None

    perf = shutil.which("perf")
    viztracer = ["-m", "viztracer", "--quiet", "-o", out + ".json"] if (bin_ / "viztracer").exists() else None
    return {
        "cProfile": ["-m", "cProfile", "-o", out],
        "VizTracer": viztracer,
        "py-spy, 100 Hz": program("py-spy", "record", "-r", "100", "-f", "raw", "-o", out, "--"),
        "py-spy, 1000 Hz": program("py-spy", "record", "-r", "1000", "-f", "raw", "-o", out, "--"),
        "py-spy --native, 100 Hz": program("py-spy", "record", "--native", "-r", "100", "-f", "raw", "-o", out, "--"),
        "austin, 100 Hz": program("austin", "-i", "10ms", "-o", out),
        "perf, 1000 Hz, with stacks": [perf, "record", "-q", "-F", "1000", "-g", "-o", out, "--"] if perf else None,
    }


def work_ms(kit: Kit, argv: list[str]) -> float:
    """What the program says of itself, among whatever else was printed."""
    sites = (ROOT / ".venv-peers" / "lib").glob("python3*/site-packages")
    done = kit.run(argv, env={"PYTHONPATH": ":".join(map(str, sites))} if "viztracer" in argv else None)
    said = [line for line in done.out.decode(errors="replace").splitlines() if line.startswith('{"work_ms"')]
    if not said:
        raise Failed(f"{argv[0]} left nothing of what the program printed")
    return float(json.loads(said[-1])["work_ms"])


def rows(kit: Kit) -> Iterator[Row]:
    for program in PROGRAMS:
        python = python_with(program.modules, VERSION)
        if python is None:
            yield Row(program.about, None, "times", note="the libraries for it are not here")
            continue
        yield from compare(kit, [python, str(WORK), program.name, package(kit)], program.about, program.limit)


def compare(kit: Kit, argv: list[str], about: str, limit: float) -> Iterator[Row]:
    files = ["--trace", str(kit.trace), "--report", str(kit.scratch / "report.json")]
    lines: dict[str, list[str]] = {OURS: [str(kit.command), "run", "--quiet", *files, "--", *argv]}
    notes: dict[str, str] = {}
    for tool, before in tools(kit).items():
        if before is None:
            notes[tool] = "not here; `tools/environments.py peers` brings it"
        else:
            lines[tool] = [argv[0], *before, *argv[1:]] if before[0] == "-m" else [*before, *argv]
    found: dict[str, list[float]] = defaultdict(list)
    end = time.monotonic() + 12 * kit.seconds
    for number in range(1000):
        names = [tool for tool in lines if tool not in notes]
        random.Random(number).shuffle(names)
        bare = work_ms(kit, argv)
        for tool in names:
            try:
                took = work_ms(kit, lines[tool])
            except Failed as why:
                notes[tool] = f"does not run here: {str(why)[-120:]}"
                continue
            behind = work_ms(kit, argv)
            found[tool].append(took / statistics.mean((bare, behind)))
            bare = behind
        if number + 1 >= LEAST_ROUNDS and time.monotonic() >= end:
            break
    for tool in [OURS, *tools(kit)]:
        ratios = median(found[tool]) if found[tool] else None
        what = f"{about}: {tool}" if tool == OURS else f"    {tool}"
        yield Row(what, ratios, "times", limit=limit if tool == OURS else None, digits=2, note=notes.get(tool, ""))
