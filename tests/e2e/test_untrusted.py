"""X5: what a trace or a session names is data; nothing is read or written for its sake."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.accounting import QUIET
    from tests.e2e.conftest import Command
    from tests.e2e.waiting import program_under, until
else:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from accounting import QUIET
    from waiting import program_under, until

Target = Callable[[str], str]
PATHS = [
    "../../outside",
    "/etc/hostname",
    "/dev/zero",
    "/proc/self/environ",
    "..",
    "a/../../b",
    "~/.ssh/id_rsa",
    "x\ny",
]
TRACE_PATH_AT = 256  # in the control file of a session


def test_x5_names_in_a_trace_open_no_file(inferscope: Command, tmp_path: Path) -> None:
    """X5: arguments and labels that look like paths."""
    if shutil.which("strace") is None:
        pytest.fail("strace is not installed; run make setup")
    labels = [word for path in PATHS for word in ("--label", f"key{PATHS.index(path)}={path}")]
    run = inferscope("run", *labels, "--", "sh", "-c", "true", *PATHS)
    assert run.returncode == 0
    assert run.report.program.argv[3:] == PATHS
    for words in (["analyze", str(run.trace), "--output", "again.json"], ["dump", str(run.trace)]):
        opened = opened_by(inferscope, tmp_path, words)
        assert [path for path in opened if path in PATHS or "outside" in path or "id_rsa" in path] == []
        assert str(run.trace) in opened


def opened_by(inferscope: Command, folder: Path, words: list[str]) -> list[str]:
    """Every path that the command asked the kernel for."""
    log = folder / "calls"
    command = ["strace", "-f", "-qq", "-e", "trace=%file", "-o", str(log), str(inferscope.path), *words]
    done = subprocess.run(
        command, cwd=folder, env=inferscope.environment, capture_output=True, text=True, timeout=60, check=False
    )
    if "strace: " in done.stderr:
        pytest.skip("strace may not watch here")
    assert done.returncode == 0, done.stderr
    return re.findall(r'"((?:[^"\\]|\\.)*)"', "\n".join(log.read_text().splitlines()[1:]))


def test_x6_no_source_file_is_read(inferscope: Command, python: str, tmp_path: Path) -> None:
    """X6: functions, lines and native code of a program are named, and none of the files that they name is opened."""
    if shutil.which("strace") is None:
        pytest.fail("strace is not installed; run make setup")
    program = tmp_path / "its_source.py"
    program.write_text("def work():\n    return sum(i * i for i in range(300_000))\nfor _ in range(8): work()\n")
    run = inferscope("run", "--native", "on", "--python", python, program)
    assert run.returncode == 0
    assert any(f.file == str(program) for f in run.report.functions)
    for words in (
        ["analyze", str(run.trace), "--output", "again.json"],
        ["analyze", str(run.trace), "--output", "again.md"],
        ["analyze", str(run.trace), "--output", "again.html"],
        ["export", str(run.trace), "--to", "chrome", "--output", "again.trace.json"],
        ["dump", str(run.trace)],
    ):
        opened = opened_by(inferscope, tmp_path, words)
        assert str(run.trace) in opened
        assert [path for path in opened if path.endswith(".py") or path == python] == []


@pytest.fixture
def dead_session(inferscope: Command, target: Target, tmp_path: Path) -> Path:
    """The folder of a session whose recorder was killed and whose program has ended; beside another trace."""
    other = inferscope("run", "--trace", tmp_path / "other.isc", "--no-report", "--", target("marks.c"), "10")
    assert other.returncode == 0
    before = set(Path("/dev/shm").glob(f"inferscope-{os.getuid()}-*"))
    running = inferscope.start("run", "--", target("marks.c"), "500", "1", "500")
    until(lambda: program_under(running.pid, "marks"), "the program")
    mine = [
        folder
        for folder in Path("/dev/shm").glob(f"inferscope-{os.getuid()}-*")
        if folder not in before and str(tmp_path).encode() in (folder / "control").read_bytes()
    ]
    running.kill()
    running.communicate(timeout=60)  # the program holds stdout until it has ended
    assert len(mine) == 1
    return mine[0]


def name_trace(session: Path, path: Path | str) -> None:
    with (session / "control").open("r+b") as file:
        file.seek(TRACE_PATH_AT)
        file.write(str(path).encode() + b"\0")


@pytest.mark.parametrize("kind", ["foreign", "link", "device", "another trace", "folder", "pipe", "missing"])
def test_x5_a_session_that_names_another_file_writes_nothing_there(
    inferscope: Command, dead_session: Path, tmp_path: Path, kind: str
) -> None:
    """X5: salvage goes on with the session's own trace, or not at all."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"not yours\n" * 1000)
    named: Path | str = victim
    if kind == "link":
        named = tmp_path / "link"
        named.symlink_to(victim)
    elif kind == "device":
        named = "/dev/zero"
    elif kind == "another trace":
        victim = named = tmp_path / "other.isc"
    elif kind == "folder":
        named = tmp_path / "folder"
        named.mkdir()
    elif kind == "pipe":
        named = tmp_path / "pipe"
        os.mkfifo(named)
    elif kind == "missing":
        named = tmp_path / "missing.isc"
    if not dead_session.exists():
        pytest.skip("another command on this machine has salvaged the session already")
    kept = victim.read_bytes()
    name_trace(dead_session, named)
    done = inferscope("doctor", plain=True, timeout=20)
    assert done.returncode in (0, 4)
    assert victim.read_bytes() == kept
    assert not (tmp_path / "missing.isc").exists()
    assert not dead_session.exists()


def test_t2_a_program_that_cuts_its_shared_memory_short_harms_itself_alone(inferscope: Command, target: Target) -> None:
    """T2: the recorder goes on, and knows how the program ended."""
    script = """
echo "$INFERSCOPE_SESSION" >>sessions
"$0" 100000000 2 &
until ls "$INFERSCOPE_SESSION"/p* >/dev/null 2>&1; do sleep 0.01; done
sleep 0.1
for file in "$INFERSCOPE_SESSION"/[cdp]*; do : > "$file"; done
wait
sleep 0.2
exit 5
"""
    # The shell that does it has nothing of its own in there.
    run = inferscope("run", *QUIET, "--follow", "all", "--", "bash", "-c", script, target("marks.c"))
    assert run.returncode == 5
    assert run.report.program.exit_code == 5
    # With all that is recorded of it, it has, and may meet what it did.
    run = inferscope("run", "--force", "--follow", "all", "--", "bash", "-c", script, target("marks.c"))
    assert run.returncode in (5, -signal.SIGBUS)
    program = run.report.program
    assert run.returncode == (program.exit_code if program.signal is None else -program.signal)
    # What it cut short has lost our mark, and with it the right to be removed.
    for session in (inferscope.folder / "sessions").read_text().split():
        assert [file.name for file in Path(session).iterdir() if file.name == "control"] == ["control"]
        shutil.rmtree(session)
