"""Every exit code and every message of interfaces.yaml, provoked for real."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command, Run

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import interfaces  # noqa: E402

WHOLE = interfaces.read()

# One line: what went wrong, perhaps why, and what to do.
FORM = re.compile(r"inferscope: [^\n;]+; [^\n]+\n")

DIES = "import os; os.kill(os.getpid(), 9)"
BAD_FILE = "rat: 5\n"


def with_raised_rights(inferscope: Command, *arguments: str) -> Run:
    """A copy of the command that runs as somebody else than its caller."""
    copy = inferscope.folder / "raised"
    shutil.copy(inferscope.path, copy)
    if os.geteuid() != 0 or os.statvfs(inferscope.folder).f_flag & os.ST_NOSUID:
        pytest.skip("needs root, and a file system that knows set-user-ID")
    os.chown(copy, 65534, 65534)
    copy.chmod(0o4755)
    inferscope.folder.chmod(0o755)
    done = subprocess.run([copy, *arguments], capture_output=True, text=True, check=False, cwd="/", timeout=20)
    return inferscope.result(done.returncode, done.stdout, done.stderr)


def into_a_full_disk(inferscope: Command, *arguments: str) -> Run:
    with Path("/dev/full").open("w") as full:
        process = inferscope.start(*arguments, plain=True, stdout=full)
        _, stderr = process.communicate(timeout=20)
    return inferscope.result(process.returncode, "", stderr)


def settings_wrong(inferscope: Command, *arguments: str) -> Run:
    (inferscope.folder / ".inferscope.yaml").write_text(BAD_FILE)
    return inferscope(*arguments)


def recorded(inferscope: Command) -> str:
    assert inferscope("run", "--no-report", "--", "true").returncode == 0
    return str(inferscope.folder / "inferscope.isc")


def damaged(inferscope: Command) -> str:
    cut = inferscope.folder / "cut.isc"
    cut.write_bytes(Path(recorded(inferscope)).read_bytes()[:1000])
    return str(cut)


# {(command, code): how}; each gives the finished run.
PROVOKED: dict[tuple[str, int | str], Callable[[Command], Run]] = {
    ("", 0): lambda i: i("--version"),
    ("", 2): lambda i: i("anlyze"),
    ("", 4): lambda i: with_raised_rights(i, "config", "show"),
    ("run", "program"): lambda i: i("run", "-c", "raise SystemExit(7)"),
    ("run", "signal"): lambda i: i("run", "-c", DIES),
    ("run", 125): lambda i: i("run", "--rate", "0", "--", "true"),
    ("run", 126): lambda i: i("run", "--", "/"),
    ("run", 127): lambda i: i("run", "--", "no-such-program"),
    ("analyze", 0): lambda i: i("analyze", recorded(i)),
    ("analyze", 2): lambda i: i("analyze", recorded(i), "--scope", "none"),
    ("analyze", 3): lambda i: i("analyze", damaged(i)),
    ("analyze", 4): lambda i: i("analyze", recorded(i), "--output", "missing/x.md"),
    ("export", 0): lambda i: i("export", recorded(i), "--to", "chrome"),
    ("export", 2): lambda i: i("export", recorded(i), "--to", "perfeto"),
    ("export", 3): lambda i: i("export", "nothing.isc", "--to", "chrome"),
    ("export", 4): lambda i: i("export", recorded(i), "--to", "chrome", "--output", "missing/x.json"),
    ("diff", 0): lambda i: i("diff", recorded(i), "inferscope.isc"),
    ("diff", 1): lambda i: i("diff", recorded(i), "inferscope.isc", "--fail-if", "wall_us > 0"),
    ("diff", 2): lambda i: i("diff", recorded(i), "inferscope.isc", "--fail-if", "wall_us > fast"),
    ("diff", 3): lambda i: i("diff", recorded(i), "nothing.isc"),
    ("diff", 4): lambda i: i("diff", recorded(i), "inferscope.isc", "--output", "missing/x.md"),
    ("diff", 5): lambda i: i("diff", recorded(i), "inferscope.isc", "--fail-if", "wall_us > +0%"),
    ("dump", 0): lambda i: i("dump", recorded(i)),
    ("dump", 2): lambda i: i("dump"),
    ("dump", 3): lambda i: i("dump", "nothing.isc"),
    ("dump", 4): lambda i: into_a_full_disk(i, "dump", recorded(i)),
    ("config show", 0): lambda i: i("config", "show"),
    ("config show", 2): lambda i: settings_wrong(i, "config", "show"),
    ("config show", 4): lambda i: into_a_full_disk(i, "config", "show"),
    ("doctor", 0): lambda i: i("doctor"),
    ("doctor", 2): lambda i: i("doctor", "--gpu"),
    ("doctor", 4): lambda i: settings_wrong(i, "doctor"),
    ("watch", 0): lambda i: i("watch", "--help"),
    ("watch", 2): lambda i: i("watch", "--pid", "me"),
    ("watch", 4): lambda i: settings_wrong(i, "watch", "--pid", "1"),
}
RETURNED: dict[int | str, int] = {"program": 7, "signal": -9}
# Doctor's answer is its table on stdout; a program that ends is no error of ours; what could be read is reported;
# a gate has its say in the comparison.
NO_MESSAGE = {("doctor", 4), ("run", "program"), ("run", "signal"), ("analyze", 3), ("diff", 1), ("diff", 5)}


def described() -> set[tuple[str, int | str]]:
    commands = interfaces.built(WHOLE["commands"])
    return {(command["name"], row["code"]) for command in commands for row in command["exit"]}


def test_every_exit_code_described_is_provoked_here_and_no_other() -> None:
    assert set(PROVOKED) == described()


@pytest.mark.plain
@pytest.mark.parametrize("case", PROVOKED, ids=lambda case: f"{case[0] or 'inferscope'}-{case[1]}")
def test_exit_code(inferscope: Command, case: tuple[str, int | str]) -> None:
    run = PROVOKED[case](inferscope)
    code = case[1]
    assert run.returncode == (RETURNED[code] if isinstance(code, str) else code), run.stderr
    if code == 0 or case in NO_MESSAGE:
        return
    assert FORM.fullmatch(run.stderr), run.stderr


# ---- messages ----


def file_with(text: str, *arguments: str) -> Callable[[Command], Run]:
    def provoke(inferscope: Command) -> Run:
        (inferscope.folder / ".inferscope.yaml").write_text(text)
        return inferscope(*(arguments or ("config", "show")))

    return provoke


def in_the_way(make: Callable[[Path], object]) -> Callable[[Command], Run]:
    def provoke(inferscope: Command) -> Run:
        make(inferscope.folder / "r.md")
        return inferscope("run", "--report", "r.md", "--", "true")

    return provoke


def of_another_user(inferscope: Command) -> Run:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a file to somebody else")
    file = inferscope.folder / "open" / ".inferscope.yaml"
    file.parent.mkdir()
    file.write_text("rate: 50\n")
    file.parent.chmod(0o1777)
    os.chown(file, 65534, 65534)
    return inferscope("config", "show", cwd=file.parent)


def while_recording(inferscope: Command) -> Run:
    program = inferscope.start("run", "--no-report", "--", "sleep", "30")
    try:
        deadline = time.monotonic() + 20
        while inferscope("dump", "inferscope.isc").returncode != 0:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return inferscope("run", "--no-report", "--", "true")
    finally:
        program.terminate()
        program.communicate(timeout=20)


def without_its_runtime(inferscope: Command) -> Run:
    alone = inferscope.folder / "alone"
    shutil.copy(inferscope.path, alone)
    command = [str(alone), "run", "--", "true"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=inferscope.folder,
        env=inferscope.environment,
        timeout=20,
    )
    return inferscope.result(done.returncode, done.stdout, done.stderr)


def not_executable(inferscope: Command) -> Run:
    (inferscope.folder / "plain").write_text("no program")
    return inferscope("run", "--", "./plain")


def without_a_python(inferscope: Command) -> Run:
    (inferscope.folder / "bin").mkdir()
    link = inferscope.folder / "bin" / "inferscope"
    shutil.copy(inferscope.path, link)
    done = subprocess.run(
        [link, "run", "-c", "0"],
        capture_output=True,
        text=True,
        check=False,
        cwd=inferscope.folder,
        env={"PATH": "/nowhere"},
        timeout=20,
    )
    return inferscope.result(done.returncode, done.stdout, done.stderr)


SAID: dict[str, Callable[[Command], Run]] = {
    "there is no such setting": file_with(BAD_FILE),
    "a file cannot set this, for safety": file_with("force: true\n"),
    "leads out of the working directory": file_with("trace: ../x.isc\n"),
    "is not allowed in settings": file_with("trace: &a x\n"),
    "a settings file has at most 64 KiB": file_with("#" * 70000),
    "another user put it into a folder that everyone may write to": of_another_user,
    "is no variable of InferScope and is ignored": lambda i: i("config", "show", env={"INFERSCOPE_BUGDET": "3"}),
    "unknown option": lambda i: i("analyze", "--forc"),
    "a file is there that InferScope did not write": in_the_way(lambda path: path.write_text("mine")),
    "a symbolic link is there, and links are not followed": in_the_way(lambda path: path.symlink_to("x")),
    "a named pipe is there, a device is there": in_the_way(os.mkfifo),
    "another inferscope is recording into it": while_recording,
    "make the folder first": lambda i: i("run", "--trace", "no/such/x.isc", "--", "true"),
    "refusing to work with raised rights": lambda i: with_raised_rights(i, "run", "--", "true"),
    "no program was given": lambda i: i("run"),
    "cannot start PROGRAM: No such file or directory": lambda i: i("run", "--", "no-such-program"),
    "cannot start PROGRAM: Permission denied": not_executable,
    "cannot run SCRIPT with Python": lambda i: i("run", "/bin/sh"),
    "cannot write the report to -, cannot write the trace to -": lambda i: i("run", "--report", "-", "--", "true"),
    "cannot find a Python": without_a_python,
    "cannot find libinferscope_rt.so": without_its_runtime,
}
# Mounts, and a machine whose every path has a blank: their words are looked for in the sources.
ONLY_IN_SOURCES = {"the file system is read-only", "their names hold a blank or a colon"}


def test_every_message_described_is_provoked_here_and_no_other() -> None:
    assert set(SAID) | ONLY_IN_SOURCES == {row["text"] for row in WHOLE["errors"]["messages"]}
    text = "".join(path.read_text() for path in (ROOT / "src").rglob("*.c"))
    text = re.sub(r'"\s*\n\s*"', "", text)  # a sentence over several lines of source
    assert not [words for words in ONLY_IN_SOURCES if words not in text]


@pytest.mark.plain
@pytest.mark.parametrize("words", SAID)
def test_message(inferscope: Command, words: str) -> None:
    run = SAID[words](inferscope)
    (level,) = (row["level"] for row in WHOLE["errors"]["messages"] if row["text"] == words)
    first = re.sub(r", (a device|cannot write).*", "", words)  # the other of two
    pattern = re.sub("PROGRAM|SCRIPT", r"\\S+", re.escape(first))
    told = [line for line in run.ours if re.search(pattern, line)]
    assert len(told) == 1, run.stderr
    assert (run.returncode != 0) == (level == "error")
    assert FORM.fullmatch(told[0] + "\n"), told[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nothing"],
        ["config"],
        ["config", "shwo"],
        ["config", "show", "x"],
        ["config", "show", "--rate", "fast"],
        ["config", "show", "--rate"],
        ["config", "show", "--quiet=1"],
        ["config", "show", "--budget", "0"],
        ["config", "show", "--native", "no"],
        ["config", "show", "--trace", ""],
        ["config", "show", "--label", "x" * 2000],
        ["config", "show", "--label", "=x"],
        ["run", "--report", "x.pdf", "--", "true"],
        ["run", "--format", "pdf", "--", "true"],
        ["run", "--trace", "x.md", "--report", "x.md", "--", "true"],
        ["run", "--python", "/nowhere/python3", "x.py"],
        ["run", "--trace", "/", "--", "true"],
        ["analyze"],
        ["analyze", "a", "b"],
        ["analyze", "/dev/null"],
        ["analyze", "x", "--from", "soon"],
        ["diff", "a"],
        ["diff", "a", "b", "--fail-if", "5 > 3"],
        ["dump", "/"],
        ["dump", "x", "--from", "-1"],
        ["doctor", "x"],
        ["watch"],
    ],
    ids=" ".join,
)
def test_an_error_is_one_line_with_what_to_do(inferscope: Command, arguments: list[str]) -> None:
    run = inferscope(*arguments, plain=True)
    assert run.returncode in (2, 3, 4, 125, 126, 127)
    assert run.stdout == ""
    assert FORM.fullmatch(run.stderr), run.stderr


@pytest.mark.parametrize(
    "variable",
    [row["environment"] for row in WHOLE["settings"] if row["type"] in ("count", "budget") and "environment" in row],
)
def test_a_wrong_variable_is_one_line_with_what_to_do(inferscope: Command, variable: str) -> None:
    run = inferscope("config", "show", env={variable: "many"})
    assert run.returncode == 2
    assert FORM.fullmatch(run.stderr), run.stderr
    assert variable in run.stderr
