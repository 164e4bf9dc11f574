"""The programs of bench_budget.py under other profilers and under ours, all in one run.

The program under a tool and the program alone take turns (turns.py), so that each tool has a bare run of its own right
beside it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import turns
from bench_budget import ONLY, PROGRAMS, ROOT, VERSIONS, WORK, Program, package, python_with
from kit import Kit
from table import Row
from turns import Failed

OURS = "InferScope"
BESIDE = ("calls", "threads", "arrays", "decoder", "tokens", "minilm")


def site_of_viztracer(version: str) -> Path | None:
    """The one that runs inside the program: it has to be there for each Python."""
    kinds = ("", f"-{version}")
    return next(
        (site for kind in kinds for site in ROOT.glob(f".venv-peers{kind}/lib/python{version}/site-packages")), None
    )


def tools(kit: Kit, version: str) -> dict[str, list[str] | None]:
    """What stands before the program; None: it is not here."""
    bin_ = ROOT / ".venv-peers" / "bin"
    out = str(kit.scratch / "peer")

    def program(name: str, *options: str) -> list[str] | None:
        path = bin_ / name
        return [str(path), *options] if path.exists() else None

    perf = shutil.which("perf")
    viztracer = ["-m", "viztracer", "--quiet", "-o", out + ".json"] if site_of_viztracer(version) else None
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
    only = os.environ.get(ONLY)
    names = only.split(",") if only else BESIDE
    for version in VERSIONS:
        for program in PROGRAMS:
            if program.name not in BESIDE or program.name not in names:
                continue
            python = python_with(program.modules, version)
            if python is None:
                yield Row(program.about, None, "times", note=f"not here for Python {version}")
            else:
                yield from beside(kit, version, program, python)


def beside(kit: Kit, version: str, program: Program, python: str) -> Iterator[Row]:
    argv = [python, str(WORK), program.name, package(kit), turns.WORD]
    yield slowdown(kit, f"{program.about}, {version}: {OURS}", argv, kit.recorded(argv), limit=program.limit)
    site = site_of_viztracer(version)
    for tool, before in tools(kit, version).items():
        if before is None:
            yield Row(f"    {tool}", None, "times", note="not here; `tools/environments.py peers` brings it")
        else:
            line = [python, *before, *argv[1:]] if before[0] == "-m" else [*before, *argv]
            env = {"PYTHONPATH": str(site)} if "viztracer" in line else None
            yield slowdown(kit, f"    {tool}", argv, line, env)


def slowdown(
    kit: Kit, what: str, argv: list[str], line: list[str], env: dict[str, str] | None = None, limit: float | None = None
) -> Row:
    try:
        wall, _ = turns.play(kit.player(argv), kit.player(line, env), kit.seconds)
    except Failed as why:
        return Row(what, None, "times", note=f"does not run here: {str(why)[-120:]}")
    return Row(what, wall, "times", limit=limit, digits=3 if limit else 2)
