"""A Python process that traces itself: what the boot module does, with a recorder that behaves and with others."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

SHOW = (
    "import os, sys, _inferscope_boot;"
    "print(os.environ.get('INFERSCOPE_SESSION'), os.environ.get('LD_PRELOAD'), os.environ.get('INFERSCOPE_ENABLED'))"
)


class Program:
    """An interpreter with the package and a recorder of our making beside it."""

    def __init__(self, python: str, prefix: Path, log: Path) -> None:
        self.python, self.prefix, self.log = python, prefix, log

    def __call__(self, code: str = SHOW, timeout: float = 30, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(self.prefix / "lib" / "python" / "site-packages"),
            "INFERSCOPE_ENABLED": "1",
            "FAKE_LOG": str(self.log),
            **variables,
        }
        return subprocess.run(
            [self.python, "-c", code],
            env={name: value for name, value in environment.items() if value},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


@pytest.fixture
def program(python: str, stage: Path, tmp_path: Path, target: Callable[[str], str]) -> Program:
    (source,) = stage.glob("lib/python*/site-packages")
    shutil.copytree(source, tmp_path / "lib" / "python" / "site-packages")
    (tmp_path / "bin").mkdir()
    shutil.copy(target("fake_recorder.c"), tmp_path / "bin" / "inferscope")
    return Program(python, tmp_path, tmp_path / "log")


def test_children_inherit_the_session_and_the_runtime(program: Program) -> None:
    said = program(FAKE_SAYS="/nonexistent/session\n/nonexistent/rt.so\n")
    assert (said.returncode, said.stdout, said.stderr) == (0, "/nonexistent/session /nonexistent/rt.so 1\n", "")


def test_a_preload_that_is_there_stays_behind_ours(program: Program) -> None:
    code = "import os; os.environ['LD_PRELOAD'] = '/theirs.so';" + SHOW
    said = program(code, FAKE_SAYS="/nonexistent/session\n/nonexistent/rt.so\n")
    assert said.stdout == "/nonexistent/session /nonexistent/rt.so:/theirs.so 1\n"


def test_the_recorder_is_told_the_process_and_is_not_recorded_itself(program: Program) -> None:
    said = program(SHOW + ";print(os.getpid())", FAKE_SAYS="/nonexistent/session\n")
    pid = said.stdout.split()[-1]
    log = program.log.read_text().splitlines()
    assert log[:3] == ["argument watch", "argument --pid", f"argument {pid}"]
    assert not [line for line in log if "INFERSCOPE_ENABLED" in line or "INFERSCOPE_SESSION" in line]


def test_the_recorder_is_started_once(program: Program) -> None:
    again = "import importlib, os; os.environ.pop('INFERSCOPE_SESSION', 0);"
    code = f"{SHOW}; {again} os.unlink({str(program.log)!r}); importlib.reload(_inferscope_boot); print('again')"
    said = program(code, FAKE_SAYS="/nonexistent/session\n")
    assert said.stdout.splitlines()[-1] == "again"
    assert not program.log.exists()


def test_no_child_is_left_unreaped(program: Program) -> None:
    code = SHOW + "\ntry: os.waitpid(-1, os.WNOHANG); print('child')\nexcept ChildProcessError: print('none')"
    assert program(code, FAKE_SAYS="/nonexistent/session\n").stdout.splitlines()[-1] == "none"


def test_no_descriptor_is_left_open(program: Program) -> None:
    code = "import os; before = os.listdir('/proc/self/fd');" + SHOW + ";print(before == os.listdir('/proc/self/fd'))"
    for does in ("", "fail"):
        assert program(code, FAKE_SAYS="/nonexistent/session\n", FAKE_DOES=does).stdout.splitlines()[-1] == "True"


def test_a_recorder_that_hangs_costs_two_seconds_and_nothing_else(program: Program) -> None:
    start = time.monotonic()
    said = program(FAKE_DOES="hang")
    assert (said.returncode, said.stdout, said.stderr) == (0, "None None 1\n", "")
    assert 1.5 < time.monotonic() - start < 15


@pytest.mark.parametrize("says", ["", "\n", "no path\n", "/cut off", "\n\n\n"])
def test_an_answer_that_makes_no_sense_is_not_believed(program: Program, says: str) -> None:
    said = program(FAKE_SAYS=says)
    assert (said.returncode, said.stdout, said.stderr) == (0, "None None 1\n", "")


def test_a_recorder_that_fails_is_not_noticed(program: Program) -> None:
    said = program(FAKE_DOES="fail", FAKE_SAYS="/nonexistent/session\n")
    assert (said.returncode, said.stdout, said.stderr) == (0, "None None 1\n", "")


def test_a_script_of_that_name_is_not_the_command(program: Program) -> None:
    command = program.prefix / "bin" / "inferscope"
    command.write_text(f"#!/bin/sh\ntouch {program.log}\necho /nonexistent/session\n")
    command.chmod(0o755)
    said = program(PATH=str(program.prefix / "bin"))
    assert (said.returncode, said.stdout, said.stderr) == (0, "None None 1\n", "")
    assert not program.log.exists()


def test_a_program_that_ignores_its_children_starts_as_well(program: Program) -> None:
    code = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN);" + SHOW
    assert program(code, FAKE_SAYS="/nonexistent/session\n").stdout == "/nonexistent/session None 1\n"


def test_a_package_half_removed_is_not_noticed(program: Program) -> None:
    for file in (program.prefix / "lib" / "python" / "site-packages" / "inferscope").glob("_co*"):
        file.unlink()
    said = program(FAKE_SAYS="/nonexistent/session\n")
    assert (said.returncode, said.stdout, said.stderr) == (0, "None None 1\n", "")


def test_a_runtime_of_another_version_leaves_core_inert(program: Program, tmp_path: Path) -> None:
    source = tmp_path / "other.c"
    names = ["attach", "active", "is_python"]
    source.write_text(
        "#include <stdlib.h>\nunsigned isc_rt_abi(void) { return 999; }\n"
        + "".join(f"int isc_rt_{name}(void) {{ abort(); }}\n" for name in names)
    )
    runtime = program.prefix / "lib" / "python" / "site-packages" / "inferscope" / "libinferscope_rt.so"
    soname = "-Wl,-soname,libinferscope_rt.so"
    subprocess.run(["cc", "-shared", "-fPIC", soname, str(source), "-o", str(runtime)], check=True)
    show = "print(c.inert, c.reason, c.active(), c.attach('/x'), c.is_python())"
    said = program(f"from inferscope import _core as c; {show}")
    reason = "the runtime in this process has ABI 999, this module needs"
    assert said.stdout.startswith(f"True {reason}"), said.stderr
    assert said.stdout.endswith(" False False None\n")
    said = program("import inferscope as i; i.mark_event('x'); i.counter('x', 1); print(i.scope('x')(i.active)())")
    assert (said.returncode, said.stdout, said.stderr) == (0, "False\n", "")
    said = program(FAKE_SAYS="/nonexistent/session\n")
    assert (said.returncode, said.stdout, said.stderr) == (0, "None None 1\n", "")
    assert not program.log.exists()


def test_the_boot_leaves_no_module_but_itself(program: Program) -> None:
    """Start-up time is the program's: subprocess alone would cost milliseconds."""
    code = "import sys, os, time; before = set(sys.modules); import _inferscope_boot;"
    code += "print(sorted(set(sys.modules) - before))"
    said = program(code, FAKE_SAYS="/nonexistent/session\n")
    assert said.stdout == "['_inferscope_boot']\n"
    assert os.environ.get("INFERSCOPE_SESSION") is None
