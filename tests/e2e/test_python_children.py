"""Pythons without the package, started by anything: they are seen into, and notice nothing."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command, Run

Target = Callable[[str], str]
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
OLD = [path for version in ("2.7", "3.6", "3.7", "3.8") for path in sorted(PYENV.glob(f"{version}.*/bin/python"))[-1:]]
old_pythons = pytest.mark.parametrize("old", OLD, ids=lambda path: path.parents[1].name)

WORK = "def work(): pass\nfor i in range(7): work()\n"
C_WAYS = ["execve", "execv", "execvp", "execvpe", "execveat", "fexecve", "spawn", "spawnp", "vfork"]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "work.py"
    path.write_text(WORK)
    return path


def works(run: Run) -> int:
    """Calls of work() in all processes."""
    return sum(f.calls for f in run.report.functions if f.name == "work")


WAYS = [
    "python", "console script", "shell script", "shell", "env", "env -i", "env python3", "make", "nice timeout", "perl",
    "system", "a path of its own", "python -m", "python -c",
]  # fmt: skip


def commands(python: str, script: Path, folder: Path) -> dict[str, list[str]]:
    tool = folder / "tool"
    tool.write_text(f"#!{python}\n{WORK}")
    through_env = folder / "through_env"
    through_env.write_text(f"#!/usr/bin/env python3\n{WORK}")
    shell = folder / "shell.sh"
    shell.write_text(f"#!/bin/sh\n{python} {script}\n")
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    (bin_folder / "python3").symlink_to(python)
    for file in (tool, through_env, shell):
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    (folder / "Makefile").write_text(f"unexport LD_PRELOAD INFERSCOPE_SESSION PYTHONPATH\nall:\n\t@{python} {script}\n")
    return {
        "python": [python, str(script)],
        "console script": [str(tool)],
        "shell script": [str(shell)],
        "shell": ["sh", "-c", f"{python} {script}; true"],
        "env": ["env", python, str(script)],
        "env -i": ["env", "-i", python, str(script)],
        "env python3": ["env", f"PATH={bin_folder}:/usr/bin:/bin", str(through_env)],
        "make": ["make", "-s", "-C", str(folder)],
        "nice timeout": ["nice", "-n", "1", "timeout", "60", python, str(script)],
        "perl": ["perl", "-e", f"%ENV = (PATH => '/bin'); system '{python}', '{script}'"],
        "system": ["perl", "-e", f"system '{python} {script} | cat'"],
        "a path of its own": ["sh", "-c", f"PYTHONPATH=/theirs:$PYTHONPATH {python} {script}; true"],
        "python -m": ["sh", "-c", f"cd {folder} && {python} -m work; true"],
        "python -c": ["sh", "-c", f"cd {folder} && {python} -X dev -W error -c 'import work'; true"],
    }


@pytest.mark.parametrize("way", WAYS)
def test_a_python_is_seen_into_whoever_starts_it(
    inferscope: Command, python: str, script: Path, tmp_path: Path, way: str
) -> None:
    run = inferscope("run", "--", *commands(python, script, tmp_path)[way])
    assert (run.returncode, run.stdout, run.theirs) == (0, "", "")
    assert works(run) == 7


@pytest.mark.parametrize("way", C_WAYS)
def test_a_python_is_seen_into_when_a_c_program_starts_it_with_another_environment(
    inferscope: Command, target: Target, python: str, script: Path, way: str
) -> None:
    run = inferscope("run", "--", target("start_ways.c"), way, python, script)
    assert (run.returncode, run.theirs) == (0, "")
    assert works(run) == 7


def test_grandchildren_and_pools_are_seen_into(inferscope: Command, python: str, script: Path, tmp_path: Path) -> None:
    parent = tmp_path / "parent.py"
    parent.write_text(
        "import multiprocessing, os, subprocess, sys\n"
        f"def start(**how): subprocess.run([sys.executable, {str(script)!r}], check=True, **how)\n"
        "def work(n): return n\n"
        "if __name__ == '__main__':\n"
        "    start(); start(env={}); start(env=dict(os.environ, PYTHONPATH='/theirs')); start(close_fds=False)\n"
        f"    os.system(sys.executable + ' {script}')\n"
        "    with multiprocessing.get_context('spawn').Pool(2) as pool: print(sum(pool.map(work, range(10))))\n"
    )
    # A worker's imports are dear enough for the budget to let the rest go unseen.
    run = inferscope("run", "--budget", "off", "--", "sh", "-c", f"{python} {parent}; true")
    assert (run.returncode, run.stdout, run.theirs) == (0, "45\n", "")
    assert works(run) == 5 * 7 + 10


def test_an_environment_made_by_venv_is_seen_into(inferscope: Command, script: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "v", with_pip=False, symlinks=True)
    run = inferscope("run", "--", "sh", "-c", f". {tmp_path}/v/bin/activate; python {script}; true")
    assert (run.returncode, run.theirs) == (0, "")
    assert works(run) == 7


# ---- what the program sees ---------------------------------------------------------------------

# Valid for 2.7.  Everything of ours that a program could come across, apart from the two variables that stay.
VIEW = r"""
from __future__ import print_function
import os, posix, sys
# Collections are told of through it, and from 3.10 on it cannot be let go.
print([name for name in sys.modules if name != 'gc' or sys.version_info < (3, 10)])
ours = ("LD_PRELOAD", "INFERSCOPE_SESSION")
print([(k, v) for k, v in os.environ.items() if k not in ours])
print([(k, v) for k, v in posix.environ.items() if (k if isinstance(k, str) else k.decode()) not in ours])
print(sys.path, sorted(sys.path_importer_cache))
print(sorted(sys.argv), sys.flags, [getattr(finder, "__name__", type(finder)) for finder in sys.meta_path])
if sys.version_info >= (3, 9):
    print(getattr(sys, "orig_argv", None))
try:
    import sitecustomize
    print(sitecustomize.__name__, sitecustomize.__file__)
except ImportError as error:
    print(error)
os.system("echo $PYTHONPATH ${INFERSCOPE_PYTHONPATH-none}")
"""
PATHS = {"none": None, "empty": "", "theirs": "theirs", "open at the end": "theirs:", "open at the start": ":theirs"}


def alike(inferscope: Command, words: list[str], env: dict[str, str]) -> Run:
    bare = subprocess.run(
        words, env={**inferscope.environment, **env}, cwd=inferscope.folder, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    run = inferscope("run", "--quiet", "--", *words, env=env)
    assert run.returncode == bare.returncode
    assert run.stdout == bare.stdout
    assert run.theirs == bare.stderr
    return run


def write_view(folder: Path, customised: bool) -> None:
    (folder / "view.py").write_text(VIEW)
    (folder / "theirs").mkdir()
    if customised:
        (folder / "theirs" / "sitecustomize.py").write_text("print('theirs')\n")


@pytest.mark.parametrize("customised", [False, True], ids=["plain", "customised"])
@pytest.mark.parametrize("path", PATHS)
def test_h1_a_python_child_sees_nothing_of_ours(
    inferscope: Command, python: str, tmp_path: Path, path: str, customised: bool
) -> None:
    """H1."""
    write_view(tmp_path, customised)
    value = PATHS[path]
    env = {"PYTHONDONTWRITEBYTECODE": "1", **({} if value is None else {"PYTHONPATH": value})}
    alike(inferscope, ["sh", "-c", f"echo $PYTHONPATH; {python} view.py; env | grep PYTHONPATH"], env)


@pytest.mark.parametrize("flags", ["-I", "-E", "-S", "-s", "-B", "-IS", "-X utf8 -E", "-W ignore -S"])
def test_h1_a_python_with_flags_sees_nothing_of_ours(
    inferscope: Command, python: str, tmp_path: Path, flags: str
) -> None:
    """H1."""
    write_view(tmp_path, False)
    alike(inferscope, ["sh", "-c", f"{python} {flags} view.py; true"], {"PYTHONDONTWRITEBYTECODE": "1"})


@pytest.mark.skipif(not OLD, reason="no old Python here")
@old_pythons
@pytest.mark.parametrize("customised", [False, True], ids=["plain", "customised"])
def test_h1_an_old_python_runs_as_without_us(inferscope: Command, old: Path, tmp_path: Path, customised: bool) -> None:
    """H1."""
    write_view(tmp_path, customised)
    env = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "theirs", "PYTHONHASHSEED": "0"}
    run = alike(inferscope, ["sh", "-c", f"env -i PYTHONPATH=theirs PYTHONHASHSEED=0 {old} -B view.py; true"], env)
    # Samples of its C code come when they come; of its Python code nothing is known.
    assert not [f for f in run.report.functions if not f.native]


def test_a_broken_installation_is_not_noticed(
    inferscope: Command, stage: Path, python: str, script: Path, tmp_path: Path
) -> None:
    prefix = tmp_path / "prefix"
    shutil.copytree(stage, prefix, symlinks=True)
    inferscope.path = prefix / "bin" / "inferscope"
    (site,) = prefix.glob("lib/python*/site-packages")
    (site / "_inferscope_boot.py").write_text("raise SystemError('broken')\n")
    alike(inferscope, ["sh", "-c", f"{python} {script}; true"], {})
    (site / "_inferscope_boot.py").unlink()
    alike(inferscope, ["sh", "-c", f"{python} {script}; true"], {})
    (site / "inferscope" / "_inject" / "sitecustomize.py").unlink()
    alike(inferscope, ["sh", "-c", f"{python} {script}; true"], {})


def test_a_python_that_no_core_fits_is_named_with_the_remedy(
    inferscope: Command, stage: Path, python: str, script: Path, tmp_path: Path
) -> None:
    prefix = tmp_path / "prefix"
    shutil.copytree(stage, prefix, symlinks=True)
    inferscope.path = prefix / "bin" / "inferscope"
    for core in prefix.glob("lib/python*/site-packages/inferscope/_core*.so"):
        core.unlink()
    run = inferscope("run", "--python", python, script)
    assert (run.returncode, run.theirs) == (0, "")
    remedy = f"inferscope: {python} has no InferScope: its Python code is not seen; {python} -m pip install inferscope"
    assert remedy in [line.replace("warning: ", "") for line in run.ours]
    assert works(run) == 0


def test_an_installation_with_a_colon_in_its_path_reaches_children(
    inferscope: Command, stage: Path, python: str, script: Path, tmp_path: Path
) -> None:
    """Neither LD_PRELOAD nor PYTHONPATH can hold it: links in the session folder do."""
    prefix = tmp_path / "My Project:x"
    shutil.copytree(stage, prefix, symlinks=True)
    inferscope.path = prefix / "bin" / "inferscope"
    for options in ([], ["--no-agent"]):
        run = inferscope("run", *options, "--", "sh", "-c", f"{python} {script}; true")
        assert (run.returncode, run.theirs, works(run)) == (0, "", 7)


# ---- --follow and --no-agent -------------------------------------------------------------------


@pytest.mark.parametrize(("follow", "calls"), [("python", 7), ("all", 7), ("none", 0)])
def test_follow_decides_whether_children_are_seen_into(
    inferscope: Command, python: str, script: Path, follow: str, calls: int
) -> None:
    run = inferscope("run", "--follow", follow, "--", "sh", "-c", f"{python} {script}; true")
    assert works(run) == calls
    traced = {p.argv[0] == "sh": p.traced for p in run.report.program.processes}
    assert traced == {True: True, False: follow != "none"}
    # The program itself is seen into in any case.
    assert works(inferscope("run", "--follow", follow, "--", python, script)) == 7


@pytest.mark.parametrize(("follow", "calls"), [("python", 7), ("all", 7), ("none", 0)])
def test_without_the_agent_children_are_reached_by_the_environment_alone(
    inferscope: Command, python: str, script: Path, follow: str, calls: int
) -> None:
    options = ["--no-agent", "--follow", follow]
    run = inferscope("run", *options, "--", "sh", "-c", f"{python} {script}; true")
    assert (run.returncode, run.theirs, works(run)) == (0, "", calls)
    run = inferscope("run", *options, "--", python, "-c", f"import os; os.system('{python} {script}')")
    assert works(run) == calls
    run = inferscope("run", *options, "--", "sh", "-c", f"env -i {python} {script}; true")
    assert (run.returncode, run.theirs, works(run)) == (0, "", 0)
    assert works(inferscope("run", *options, "--", python, script)) == 7


def test_without_the_agent_the_path_of_modules_is_still_as_ever(inferscope: Command, python: str) -> None:
    code = "import sys; print([p for p in sys.path if 'inject' in p], 'sitecustomize' in sys.modules)"
    run = inferscope("run", "--no-agent", "--", "sh", "-c", f'{python} -c "{code}"')
    assert (run.stdout, run.theirs) == ("[] False\n", "")
