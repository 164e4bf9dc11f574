"""Programs that profile themselves, in C and in Python, with the staged installation and without `inferscope run`."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]

BEGIN = """
import json, os, sys, threading, time
import inferscope

def say(**facts):
    print(json.dumps(facts, default=str))

def spin(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        for _ in range(500): pass

def seventy(): spin(7_000_000)
def thirty(): spin(3_000_000)
def work(rounds):
    for _ in range(rounds):
        seventy(); thirty()
"""


@pytest.fixture(scope="session")
def site(stage: Path) -> Path:
    return next(stage.glob("lib/python*/site-packages"))


@pytest.fixture(scope="session")
def clean() -> dict[str, str]:
    return {n: v for n, v in os.environ.items() if not n.startswith(("INFERSCOPE_", "LD_", "PYTHON", "VIRTUAL_"))}


@pytest.fixture(scope="session")
def linked(stage: Path, site: Path) -> Callable[[str], str]:
    """linked("name.c" or "name.cc"): the program of a target that is linked with libinferscope."""

    def compile(name: str) -> str:
        source = ROOT / "tests" / "targets" / name
        folder = site / "inferscope"
        text = source.read_text() + (ROOT / "include/inferscope/profiler.h").read_text() + str(folder)
        program = stage / f"{source.stem}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        if not program.exists():
            compiler = "cc" if source.suffix == ".c" else "c++"
            command = [compiler, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-pthread"]
            command += [f"-I{ROOT / 'include'}", str(source), "-o", str(program), f"-L{folder}", "-linferscope"]
            command += [f"-Wl,-rpath,{folder}", f"-Wl,-rpath-link,{folder}"]
            subprocess.run(command, check=True)
        return str(program)

    return compile


@pytest.fixture
def profiled(linked: Callable[[str], str], tmp_path: Path, clean: dict[str, str]) -> Callable[..., str]:
    """profiled("shares", ...) runs tests/targets/profiled.c and gives what it printed."""

    def run(*args: object, under: tuple[str, ...] = (), timeout: float = 120) -> str:
        command = [*under, linked("profiled.c"), *map(str, args)]
        done = subprocess.run(
            command, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=timeout, check=False
        )
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        return done.stdout

    return run


@pytest.fixture
def program(site: Path, tmp_path: Path, clean: dict[str, str]) -> Callable[..., Any]:
    """program(python, code) runs code behind BEGIN and gives what it said last; it must end well and quietly."""

    def run(python: str, code: str, *, under: tuple[str, ...] = (), timeout: float = 120, stderr: str = "") -> Any:
        script = tmp_path / "program.py"
        script.write_text(BEGIN + textwrap.dedent(code))
        env = {**clean, "PYTHONPATH": str(site), "TMPDIR": str(tmp_path)}
        command = [*under, python, str(script)]
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=timeout, check=False
        )
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        theirs = [line for line in done.stderr.splitlines() if not line.startswith("inferscope:")]
        if stderr:
            assert stderr in done.stderr
        else:
            assert theirs == [], done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def below(profile: dict[str, Any], names: set[str]) -> dict[str, float]:
    """Percent of the samples below any of these functions that each of them has."""
    counts: Counter[str] = Counter()
    for stack in profile["stacks"]:
        found = [frame["symbol"] for frame in stack["frames"] if frame["symbol"] in names]
        if found:
            counts[found[-1]] += stack["count"]
    return {name: 100 * count / sum(counts.values()) for name, count in counts.items()}


@pytest.fixture(scope="session")
def shares() -> Callable[[dict[str, Any], set[str]], dict[str, float]]:
    return below
