"""What doctor says about a machine, an installation and a folder."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import interfaces

if TYPE_CHECKING:
    from tests.e2e.conftest import Command

LINES = [
    "settings",
    "rights",
    "runtime",
    "collectors",
    "python",
    "session memory",
    "trace file",
    "clock",
    "context switches",
    "counters",
    "kernel calls",
    "locked memory",
    "cgroup",
    "numa",
    "gpu",
    "opencl",
    "dead session",
]


def states(text: str) -> dict[str, tuple[str, str]]:
    """{name: (state, why)}; lines that begin with blanks tell what to do about the one above."""
    rows = {}
    for line in text.splitlines():
        state, name, why = line[:8].strip(), line[9:26].strip(), line[27:]
        if state:
            assert state in ("ok", "limited", "missing"), line
            rows[name] = (state, why)
        else:
            assert why, line
    return rows


def test_a_working_installation_is_told_so(inferscope: Command) -> None:
    run = inferscope("doctor")
    rows = states(run.stdout)
    assert list(rows) == LINES
    assert rows["runtime"][0] == "ok"
    assert rows["trace file"] == ("ok", "inferscope.isc can be written")
    assert run.returncode == 0, run.stdout + run.stderr
    assert not list(inferscope.folder.iterdir())


def test_what_is_limited_or_missing_says_why(inferscope: Command) -> None:
    for state, why in states(inferscope("doctor").stdout).values():
        assert state == "ok" or len(why) > 10


COLLECTORS = {
    "python_calls": "Python calls",
    "sample": "stack samples",
    "memory": "allocations",
    "syscalls": "system calls",
    "gpu": "GPU work",
}


def test_what_this_build_records_is_told_and_what_it_does_not(inferscope: Command) -> None:
    settings = {row["key"]: interfaces.status(row) for row in interfaces.read()["settings"]}
    _, text = states(inferscope("doctor").stdout)["collectors"]
    there, _, absent = text.partition("; not in this build: ")
    for key, name in COLLECTORS.items():
        assert name in (there if settings[key] == "built" else absent), key
    for name in ("scopes, marks and counters", "waits"):
        assert name in there
    assert not absent


def test_limits_of_groups_of_both_versions_are_told(inferscope: Command, tmp_path: Path) -> None:
    proc, mount = tmp_path / "proc", tmp_path / "groups"
    proc.mkdir()
    two = (
        ["0::/a/b"],
        [("cgroup2", "rw")],
        {"a/b/memory.max": "max", "a/memory.max": "1073741824", "a/cpu.max": "150000 100000"},
    )
    one = (
        ["5:memory:/a/b", "4:cpu,cpuacct:/a/b"],
        [("cgroup", "rw,memory"), ("cgroup", "rw,cpu,cpuacct")],
        {"a/b/memory.limit_in_bytes": "1073741824", "a/b/cpu.cfs_quota_us": "150000"},
    )
    none = (
        ["5:memory:/", "4:cpu,cpuacct:/"],
        [("cgroup", "rw,memory"), ("cgroup", "rw,cpu,cpuacct")],
        {"memory.limit_in_bytes": "9223372036854771712", "cpu.cfs_quota_us": "-1"},
    )
    for (groups, mounts, files), told in (
        (two, "memory limited to 1024 MiB, limited to 1.50 CPUs"),
        (one, "memory limited to 1024 MiB, limited to 1.50 CPUs"),
        (none, "no limit of memory or CPU"),
    ):
        shutil.rmtree(mount, ignore_errors=True)
        (proc / "cgroup").write_text("".join(f"{group}\n" for group in groups))
        (proc / "mountinfo").write_text(
            "".join(f"32 31 0:29 / {mount} rw,relatime - {kind} {kind} {options}\n" for kind, options in mounts)
        )
        for name, text in files.items():
            (mount / name).parent.mkdir(parents=True, exist_ok=True)
            (mount / name).write_text(text + "\n")
        run = inferscope("doctor", env={"INFERSCOPE_TEST_MEMORY": str(proc)})
        assert states(run.stdout)["cgroup"] == ("ok", told)


def test_a_command_without_its_runtime_cannot_run(inferscope: Command, tmp_path: Path) -> None:
    alone = tmp_path / "alone" / "bin" / "inferscope"
    alone.parent.mkdir(parents=True)
    shutil.copy(inferscope.path, alone)
    run = subprocess.run([alone, "doctor"], capture_output=True, text=True, env=inferscope.environment, check=False)
    assert run.returncode == 4
    assert states(run.stdout)["runtime"][0] == "missing"
    assert "pip install" in run.stdout


def test_wrong_settings_are_part_of_the_diagnosis(inferscope: Command, tmp_path: Path) -> None:
    (tmp_path / ".inferscope.yaml").write_text("rat: 5\n")
    run = inferscope("doctor")
    assert run.returncode == 4
    state, why = states(run.stdout)["settings"]
    assert state == "missing"
    assert ".inferscope.yaml:1: rat: there is no such setting" in why
    assert "did you mean rate?" in run.stdout


def test_a_file_in_the_way_of_the_trace_is_named(inferscope: Command, tmp_path: Path) -> None:
    (tmp_path / "inferscope.isc").write_text("mine")
    run = inferscope("doctor")
    assert states(run.stdout)["trace file"][0] == "limited"
    assert "--trace PATH" in run.stdout
    assert run.returncode == 0


def test_a_python_that_is_not_there_is_missing(inferscope: Command) -> None:
    rows = states(inferscope("doctor", "--python", "/nowhere/python3").stdout)
    assert rows["python"][0] == "missing"


def test_an_unknown_option_is_named(inferscope: Command) -> None:
    run = inferscope("doctor", "--pyhton", "x")
    assert run.returncode == 2
    assert run.stderr == "inferscope: doctor: unknown option --pyhton; did you mean --python?\n"


@pytest.mark.parametrize("name", ["a\nb\033[2J", "b\u202ec"])
def test_names_cannot_steer_the_terminal(inferscope: Command, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / ".inferscope.yaml").write_text("rat: 5\n")
    run = inferscope("doctor", cwd=folder)
    assert "\033" not in run.stdout
    assert "\u202e" not in run.stdout
    states(run.stdout)


def test_a_session_that_is_just_being_made_is_left_alone(inferscope: Command, tmp_path: Path) -> None:
    """A recorder that has made its folder and nothing in it yet must find it there, and nobody hears of it."""
    place = tmp_path / "runtime"
    place.mkdir(0o700)
    young, old = (place / f"inferscope-{os.geteuid()}-{secrets.token_hex(8)}" for _ in range(2))
    young.mkdir(0o700)
    old.mkdir(0o700)
    os.utime(old, (time.time() - 60,) * 2)
    done = inferscope("doctor", env={"XDG_RUNTIME_DIR": str(place)})
    assert young.is_dir()
    assert str(young) not in done.stdout
    assert old.is_dir()  # empty, and nothing shows that it is ours
    assert f"left {old} alone: it has no lock file of InferScope's" in done.stdout
