"""A CUDA driver without CUPTI: the program runs under Nsight Systems, here a stand-in of it."""

from __future__ import annotations

import json
import sqlite3
import stat
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Cuda, double

# Does what nsys does as far as we rely on it: runs the command, and leaves what devices did beside --output.
NSYS = """
import os, sqlite3, subprocess, sys, time
words = sys.argv[1:]
assert words.pop(0) == "profile", words
options = {}
while words and words[0].startswith("--"):
    key, _, value = words.pop(0).partition("=")
    options[key] = value
assert options["--export"] == "sqlite" and "cuda" in options["--trace"]
print("Generating a report", file=sys.stderr)
began = time.time_ns()
code = subprocess.call(words)
ended = time.time_ns()
if not os.environ.get("NSYS_FAILS"):
    db = sqlite3.connect(options["--output"] + ".sqlite")
    db.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
    db.execute("INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel')")
    db.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)")
    db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)", (began,))
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, "
               "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER)")
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, "
               "correlationId INTEGER, nameId INTEGER)")
    middle = (ended - began) // 2
    for n in range(10):
        at = middle + n * 1000000
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, 1)",
                   (at, at + 500000, n + 1, 77 << 24))
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 2)",
                   (at - 20000, at - 10000, 77 << 24 | 77, n + 1))
    db.commit()
sys.exit(code)
"""


@pytest.fixture
def bare(cuda: Cuda, tmp_path: Path) -> Callable[..., Any]:
    """Runs a command where there are a driver and nsys, and no CUPTI."""
    libraries, tools = tmp_path / "libraries", tmp_path / "tools"
    libraries.mkdir()
    tools.mkdir()
    (libraries / "libcuda.so.1").symlink_to(double())
    (tools / "stand_in.py").write_text(textwrap.dedent(NSYS))
    nsys = tools / "nsys"
    nsys.write_text(f'#!/bin/sh\nexec "{sys.executable}" -E "{tools}/stand_in.py" "$@"\n')
    nsys.chmod(nsys.stat().st_mode | stat.S_IXUSR)

    def go(*words: str, **more: str) -> Any:
        path = f"{tools}:{cuda.command.environment.get('PATH', '/usr/bin:/bin')}"
        env = {"PATH": path, "LD_LIBRARY_PATH": str(libraries), "INFERSCOPE_CUPTI": "none", **more}
        return cuda.command(*words, env=env)

    return go


PROGRAM = "import sys, time; print('hello'); time.sleep(0.2); sys.exit(7)"


def test_nsight_systems_stands_in_for_cupti(bare: Callable[..., Any], python: str, tmp_path: Path) -> None:
    run = bare("run", "--python", python, "-c", PROGRAM)
    assert (run.returncode, run.stdout) == (7, "hello\n")
    assert run.stderr.count("the program runs under Nsight Systems") == 1
    report = run.report
    # The program is the root, not nsys, and is seen as ever.
    assert [p.argv[-1] for p in report.program.processes] == [PROGRAM]
    assert report.program.exit_code == 7
    (kernel,) = report.kernels
    assert (kernel.name, kernel.count, kernel.total_us) == ("gemm", 10, 5000)
    assert [w.id for w in report.warnings if w.id in ("gpu_by_nsys", "no_gpu", "gpu_file")] == ["gpu_by_nsys"]
    # On the clock of the run: in the middle of it.
    assert report.gpus[0].span_us == pytest.approx(9500, abs=1)
    # What nsys found is kept, and both are one run later too.
    kept = Path(f"{run.trace}.sqlite")
    assert sqlite3.connect(kept).execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone() == (10,)
    assert not list(tmp_path.glob("**/*.nsys-*"))
    later = tmp_path / "later.json"
    again = bare("analyze", str(run.trace), str(kept), "--output", str(later))
    assert again.returncode == 0, again.stderr
    found = json.loads(later.read_text())
    assert found["kernels"][0]["count"] == 10
    assert found["program"]["exit_code"] == 7


def test_a4_only_a_result_of_ours_is_replaced(bare: Callable[..., Any], python: str, tmp_path: Path) -> None:
    """A database of the user's has that name: it stays, and the report is made all the same."""
    kept = tmp_path / "inferscope.isc.sqlite"
    with sqlite3.connect(kept) as db:
        db.execute("CREATE TABLE mine (words TEXT)")
    before = kept.read_bytes()
    run = bare("run", "--python", python, "-c", PROGRAM)
    assert kept.read_bytes() == before
    assert run.report.kernels[0].count == 10
    # One of an earlier run is replaced.
    kept.unlink()
    for _ in range(2):
        bare("run", "--python", python, "-c", PROGRAM)
        first, kept_bytes = kept.stat().st_ino, kept.read_bytes()
        assert kept_bytes != before
        assert sqlite3.connect(kept).execute("PRAGMA application_id").fetchone() == (0x49534331,)
    bare("run", "--python", python, "-c", PROGRAM)
    assert kept.stat().st_ino != first
    # A link is neither followed nor replaced, by force neither.
    kept.rename(tmp_path / "mine.sqlite")
    kept.symlink_to(tmp_path / "mine.sqlite")
    bare("run", "--force", "--python", python, "-c", PROGRAM)
    assert kept.is_symlink()
    assert not list(tmp_path.glob("**/*.nsys-*"))


def test_without_its_result_the_report_is_of_the_cpu(bare: Callable[..., Any], python: str) -> None:
    run = bare("run", "--python", python, "-c", PROGRAM, NSYS_FAILS="1")
    assert (run.returncode, run.stdout) == (7, "hello\n")
    assert "left no result" in run.stderr
    assert run.report.gpus == []
    assert run.report.threads


def test_switched_off_nobody_asks_for_it(bare: Callable[..., Any], python: str) -> None:
    run = bare("run", "--no-gpu", "--python", python, "-c", PROGRAM)
    assert run.returncode == 7
    assert "Nsight" not in run.stderr


def test_where_cupti_is_nobody_asks_for_it(bare: Callable[..., Any], cuda: Cuda, python: str) -> None:
    run = bare("run", "--python", python, "-c", PROGRAM, INFERSCOPE_CUPTI=str(cuda.libraries / "libcupti.so"))
    assert run.returncode == 7
    assert "Nsight" not in run.stderr
