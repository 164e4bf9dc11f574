"""Settings from four places, as a user meets them (X7, X8, X9)."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command

KIB = 1024


def shown(
    inferscope: Command, *options: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> dict[str, tuple[str, str]]:
    """config show as {key: (value, origin)}."""
    run = inferscope("config", "show", *options, cwd=cwd, env=env)
    assert run.returncode == 0, run.stderr
    rows = {}
    for line in run.stdout.splitlines():
        key, rest = line[:22].strip(), line[22:]
        value, origin = rest.rsplit("  ", 1)
        rows[key] = (value.strip(), origin)
    return rows


def test_every_place_beats_the_one_below(inferscope: Command, tmp_path: Path) -> None:
    user = tmp_path / "xdg"
    (user / "inferscope").mkdir(parents=True)
    (user / "inferscope" / "config.yaml").write_text("rate: 11\nbudget: 1\ndelay: 1\nnative: on\n")
    (tmp_path / "p" / "q").mkdir(parents=True)
    project = tmp_path / "p" / ".inferscope.yaml"
    project.write_text("rate: 12\nbudget: 2\ndelay: 2\n")
    env = {"XDG_CONFIG_HOME": str(user), "INFERSCOPE_RATE": "13", "INFERSCOPE_BUDGET": "3"}
    rows = shown(inferscope, "--rate", "14", "--no-gpu", cwd=tmp_path / "p" / "q", env=env)
    assert rows["rate"] == ("14", "--rate")
    assert rows["gpu"] == ("false", "--no-gpu")
    assert rows["budget"] == ("3", "INFERSCOPE_BUDGET")
    assert rows["delay"] == ("2", f"{project}:3")
    assert rows["native"] == ("on", f"{user}/inferscope/config.yaml:4")
    assert rows["follow"] == ("python", "default")


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("rate: 100\nbudgt: 3\n", 2, "budgt", "did you mean budget?"),
        ("\n\nrate: fast\n", 3, "rate", '"fast" is not a number'),
        ("rate: 5\n", 1, "rate", "5 is not between 10 and 10000"),
        ("follow: [all]\n", 1, "follow", "a plain value is wanted"),
        ("rate: 10\nrate: 20\n", 2, "rate", "already set in line 1"),
        ("python: ./evil\n", 1, "python", "a file cannot set this, for safety"),
        ("force: true\n", 1, "force", "a file cannot set this, for safety"),
        ("report: /etc/profile.d/x.md\n", 1, "report", "leads out of the working directory"),
        ("trace: ../x.isc\n", 1, "trace", "leads out of the working directory"),
        ("preload: x.so\n", 1, "preload", "there is no such setting"),
        ('trace: "a\\e[2J\\nb"\nrat: 1\n', 2, "rat", "did you mean rate?"),
    ],
)
def test_errors_name_file_line_and_key(
    inferscope: Command, tmp_path: Path, text: str, line: int, key: str, words: str
) -> None:
    file = tmp_path / ".inferscope.yaml"
    file.write_text(text)
    run = inferscope("config", "show")
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert run.stderr.startswith("inferscope: ")
    assert f"{file.name}:{line}: {key}: " in run.stderr
    assert words in run.stderr


def limited(inferscope: Command, folder: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    """config show with 64 MiB of address space, and how long it took."""
    start = time.monotonic()
    run = subprocess.run(
        [inferscope.path, "config", "show"],
        cwd=folder,
        env=inferscope.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (64 * KIB * KIB, 64 * KIB * KIB)),
    )
    return run, time.monotonic() - start


@pytest.mark.plain
def test_a_plain_file_fits_the_limit(inferscope: Command, tmp_path: Path) -> None:
    (tmp_path / ".inferscope.yaml").write_text("rate: 100\n")
    run, _ = limited(inferscope, tmp_path)
    assert run.returncode == 0, run.stderr


BOMB = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("report: " + "[" * 1000 + "]" * 1000 + "\n", ".inferscope.yaml:1: report: an item of the list"),
        ("labels: " + "{a: " * 1000 + "\n", ".inferscope.yaml:1: labels: a label is not a plain value"),
        ("report:\n" + "".join(" " * i + "-\n" for i in range(1, 300)), ".inferscope.yaml:"),
        ("report: &a0 [x]\n" + BOMB, ".inferscope.yaml:1: an anchor (&name) is not allowed"),
        ("rate: 10\nreport: [*a, *a]\n", ".inferscope.yaml:2: an alias (*name) is not allowed"),
        ("trace: !!python/object/apply:os.system [id]\n", ".inferscope.yaml:1: a tag (!name) is not allowed"),
        ("rate: 10\n---\nrate: 20\n", ".inferscope.yaml:2: a second document"),
    ],
    ids=["deep-list", "deep-map", "deep-block", "bomb", "alias", "tag", "documents"],
)
@pytest.mark.plain
def test_hostile_files_end_at_once_and_small(inferscope: Command, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / ".inferscope.yaml").write_text(text)
    run, seconds = limited(inferscope, tmp_path)
    assert run.returncode == 2
    assert words in run.stderr
    assert seconds < 1


@pytest.mark.plain
def test_a_huge_file_is_not_read(inferscope: Command, tmp_path: Path) -> None:
    with (tmp_path / ".inferscope.yaml").open("wb") as file:
        file.write(b"rate: 100\n#")
        file.truncate(100 * KIB * KIB)
    run, seconds = limited(inferscope, tmp_path)
    assert run.returncode == 2
    assert "at most 64 KiB" in run.stderr
    assert seconds < 1


def test_a_pipe_as_settings_file_is_not_waited_for(inferscope: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".inferscope.yaml")
    run = inferscope("config", "show", timeout=10)
    assert run.returncode == 2
    assert "it is not a file" in run.stderr


def test_a_misspelt_variable_is_told(inferscope: Command) -> None:
    run = inferscope("config", "show", env={"INFERSCOPE_BUGDET": "3"})
    assert run.returncode == 0
    assert run.ours == [
        "inferscope: INFERSCOPE_BUGDET is no variable of InferScope and is ignored; did you mean INFERSCOPE_BUDGET?"
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, ""),
        (["confg", "show"], 2, "unknown command confg; did you mean config?"),
        (["--versoin"], 2, "unknown option --versoin; did you mean --version?"),
        (["config", "show", "--reprot", "x"], 2, "unknown option --reprot; did you mean --report?"),
        (["config", "show", "--forc"], 2, "unknown option --forc; did you mean --force?"),
        (["config"], 2, "write inferscope config show"),
        (["config", "show", "--rate=9"], 2, "--rate: 9 is not between 10 and 10000"),
        (["run", "--forc", "x.py"], 125, "unknown option --forc; did you mean --force?"),
        (["run", "--rate", "0", "x.py"], 125, "--rate: 0 is not between 10 and 10000"),
        (["run"], 125, "no program was given"),
    ],
)
def test_usage_errors_name_the_word_and_the_nearest(
    inferscope: Command, arguments: list[str], code: int, words: str
) -> None:
    run = inferscope(*arguments, plain=True)
    assert run.returncode == code
    assert words in run.stderr
    assert all(line.startswith("inferscope: ") for line in run.stderr.splitlines())


OPTIONS_OF_RUN = """
--report --no-report --trace --force --log-level --quiet --trace-size-mb --budget --rate --native --all-frames --c-calls
--no-python --no-sample --no-memory --no-syscalls --syscall-args --kernel-calls --no-gpu --no-agent --follow
--wait-children --delay --duration --python --label --progress --format
"""


def test_help_and_version(inferscope: Command) -> None:
    assert inferscope("--version").stdout.startswith("inferscope 0.")
    overview = inferscope("--help")
    assert overview.returncode == 0
    text = inferscope("run", "--help", plain=True).stdout
    for option in OPTIONS_OF_RUN.split():
        assert f" {option}" in text


@pytest.mark.plain
def test_raised_rights_are_refused(inferscope: Command, tmp_path: Path) -> None:
    """X9: a copy that runs as somebody else than its caller does nothing."""
    copy = tmp_path / "inferscope"
    shutil.copy(inferscope.path, copy)
    if os.geteuid() == 0:
        os.chown(copy, 65534, 65534)
        copy.chmod(0o4755)
        tmp_path.chmod(0o755)
    else:
        groups = [group for group in os.getgroups() if group != os.getegid()]
        if not groups:
            pytest.skip("needs root or a second group")
        os.chown(copy, -1, groups[0])
        copy.chmod(0o2755)
    if os.statvfs(tmp_path).f_flag & os.ST_NOSUID:
        pytest.skip("the file system ignores set-user-ID")
    for arguments, code in ((["config", "show"], 4), (["run", "--", "true"], 125)):
        run = subprocess.run([copy, *arguments], capture_output=True, text=True, check=False, cwd="/")
        assert run.returncode == code
        assert run.stdout == ""
        assert run.stderr.startswith("inferscope: refusing to work with raised rights")
