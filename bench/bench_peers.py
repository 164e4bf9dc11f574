"""The programs of bench_budget.py under other profilers and under ours, all in one run.

The program under a tool and the program alone take turns (turns.py), so that each tool has a bare run of its own right
beside it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import turns
from bench_budget import PROGRAMS, ROOT, WORK, package, python_with
from kit import Kit
from table import Row
from turns import Failed

OURS = "InferScope"
BESIDE = ("calls", "threads", "arrays", "decoder", "minilm")
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


def rows(kit: Kit) -> Iterator[Row]:
    for program in PROGRAMS:
        if program.name not in BESIDE:
            continue
        python = python_with(program.modules, VERSION)
        if python is None:
            yield Row(program.about, None, "times", note="the libraries for it are not here")
            continue
        argv = [python, str(WORK), program.name, package(kit), turns.WORD]
        yield slowdown(kit, f"{program.about}: {OURS}", argv, kit.recorded(argv), program.limit)
        for tool, before in tools(kit).items():
            if before is None:
                yield Row(f"    {tool}", None, "times", note="not here; `tools/environments.py peers` brings it")
            else:
                line = [python, *before, *argv[1:]] if before[0] == "-m" else [*before, *argv]
                yield slowdown(kit, f"    {tool}", argv, line)


def slowdown(kit: Kit, what: str, argv: list[str], line: list[str], limit: float | None = None) -> Row:
    sites = (ROOT / ".venv-peers" / "lib").glob("python3*/site-packages")
    env = {"PYTHONPATH": ":".join(map(str, sites))} if "viztracer" in line else None
    try:
        wall, _ = turns.play(kit.player(argv), kit.player(line, env), kit.seconds)
    except Failed as why:
        return Row(what, None, "times", note=f"does not run here: {str(why)[-120:]}")
    return Row(what, wall, "times", limit=limit, digits=3 if limit else 2)
