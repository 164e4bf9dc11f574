"""Which processes are listed: the same ones, whatever may tell of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("INFERSCOPE_BUILD", ROOT / "build")).resolve()
SANDBOX = BUILD / "tests" / "unit" / "sandbox"
LIKE_DOCKER = ROOT / "tests" / "harness" / "like-docker"

SCRIPT = """
for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done
(exec /bin/true)
(true; true)
/usr/bin/perl -e 'system("/bin/true"); for (1..5) { my $p = fork(); exit 0 unless $p; waitpid($p, 0) }'
(sh -c '(/bin/true; true); true')
exec /bin/sleep 0.2
"""


def images(command, trace: Path) -> list[str]:
    """Each process as flags and arguments, without times, numbers and how perf names a child's parent.

    `gen` numbers the memory that a process writes its events to, and is there if it had any: a wait, or a sample.
    """
    done = subprocess.run([str(command.path), "dump", str(trace)], capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("process ")]
    return sorted(re.sub(r"^process .*? end \S+ | gen \d+", "", line) for line in lines)


def run_script(command, before: list[str], name: str) -> list[str]:
    script = command.folder / "script.sh"
    script.write_text(SCRIPT)
    trace = command.folder / f"{name}.isc"
    done = subprocess.run(
        [*before, str(command.path), "run", "--no-report", "--trace", str(trace), "--", "sh", str(script)],
        cwd=command.folder,
        env=command.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return images(command, trace)


def test_h2_the_same_processes_are_listed_with_and_without_perf(inferscope, count) -> None:
    first = run_script(inferscope, [], "perf")
    assert len([image for image in first if '"/bin/true"' in image and "perl" not in image]) == 13
    for i in range(count(5, 50)):
        assert run_script(inferscope, [], f"perf{i}") == first
        assert run_script(inferscope, [str(SANDBOX), "--"], f"denied{i}") == first


@pytest.mark.plain
def test_d6_processes_are_listed_where_perf_and_pidfds_are_refused(inferscope) -> None:
    first = run_script(inferscope, [], "all")
    for answer in ("EPERM", "ENOSYS"):
        denied = [str(SANDBOX), "--answer", answer, "--deny", "pidfd_open", "--deny", "ptrace", "--"]
        assert run_script(inferscope, denied, answer) == first


def test_d6_a_container_with_default_settings_lists_them_too(inferscope, request) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to make the container")
    # pytest's own folder is closed to others.
    folder = Path(tempfile.mkdtemp(prefix="inferscope-test-"))
    request.addfinalizer(lambda: shutil.rmtree(folder))
    folder.chmod(0o755)
    inferscope.folder = folder
    before = [str(LIKE_DOCKER), str(SANDBOX), "-w", str(inferscope.folder), "--"]
    reachable = subprocess.run(
        [*before, str(inferscope.path), "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    if reachable.returncode == 77:
        pytest.skip(reachable.stderr.strip())
    if reachable.returncode in (126, 127):
        pytest.skip("an ordinary user cannot reach the build folder")
    inside = run_script(inferscope, before, "inside")
    assert inside == run_script(inferscope, [], "outside")
