"""Crowds of processes and threads, and a recorder that sleeps or is outlived: nothing blocks, all is counted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.accounting import QUIET
    from tests.e2e.conftest import Command
    from tests.e2e.waiting import program_under, stat_of, until
else:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from accounting import QUIET
    from waiting import program_under, stat_of, until

Target = Callable[[str], str]
Count = Callable[[int, int], int]

# As users have it, and without what is recorded of every program, where counts are exact.
BOTH = pytest.mark.parametrize("options", [(), QUIET], ids=["everything", "marks alone"])


def accounted(report: Any) -> int:
    return int(report.overhead.events) + int(report.overhead.lost)


def test_h2_every_one_of_500_short_processes_is_listed(inferscope: Command, target: Target, count: Count) -> None:
    """H2: children that live for a fraction of a millisecond, one after the other."""
    for _ in range(count(1, 20)):
        run = inferscope("run", "--force", "--", target("crowd.c"), "forks", "500")
        assert (run.returncode, run.stdout, run.theirs) == (0, "children 500, sum 24750\n", "")
        processes = run.report.program.processes
        assert len(processes) == 501
        root = processes[0].process_id
        assert all(p.parent_id == root for p in processes[1:])


def test_h2_every_program_that_a_shell_starts_in_a_loop_is_listed(inferscope: Command, count: Count) -> None:
    n = count(200, 1000)
    script = f"i=0; while [ $i -lt {n} ]; do /bin/true $i; i=$((i+1)); done"
    run = inferscope("run", "--follow", "all", "--", "sh", "-c", script)
    assert run.returncode == 0
    started = [p.argv for p in run.report.program.processes if p.argv[0] == "/bin/true"]
    assert sorted(int(argv[1]) for argv in started) == list(range(n))


@BOTH
def test_d1_a_thousand_threads_at_once_are_listed_and_accounted_for(
    inferscope: Command, target: Target, count: Count, options: tuple[str, ...]
) -> None:
    """D1: all write their first event at the same moment, while the memory for it is being made."""
    for _ in range(count(5, 50)):
        run = inferscope("run", "--force", *options, "--", target("crowd.c"), "threads", "1000")
        assert (run.returncode, run.stdout, run.theirs) == (0, "threads 1000\n", "")
        assert run.made == 1000 or (run.report.overhead.lost > 0 and not options and run.made > 1000)
        assert len(run.report.threads) == 1001


@BOTH
def test_d1_more_threads_than_there_is_room_for_are_accounted_for(
    inferscope: Command, target: Target, options: tuple[str, ...]
) -> None:
    """Beyond the slots of a pool events are lost, and counted."""
    run = inferscope("run", *options, "--", target("crowd.c"), "threads", "3000")
    assert (run.returncode, run.stdout, run.theirs) == (0, "threads 3000\n", "")
    assert accounted(run.report) == 3000 if options else run.made >= 3000


@BOTH
def test_d1_a_stopped_recorder_holds_nobody_up(
    inferscope: Command, target: Target, count: Count, options: tuple[str, ...]
) -> None:
    """The program writes on while the recorder sleeps, and what was overwritten meanwhile is counted."""
    pause = count(2, 10)
    running = inferscope.start("run", *options, "--", target("crowd.c"), "storm", str((pause + 1) * 1000))
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    program = program_under(running.pid, "crowd")
    os.kill(running.pid, signal.SIGSTOP)
    try:
        until(lambda: stat_of(running.pid)[0] == "T", "the recorder to stop")
        end = time.monotonic() + pause
        states = set()
        while time.monotonic() < end:
            states.update(stat_of(program)[:1])
            time.sleep(0.02)
    finally:
        os.kill(running.pid, signal.SIGCONT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    # It never waited for anything, while the recorder was away for much longer than this.
    assert states <= {"R"}
    longest = int(out.split()[1])
    assert longest < 1000 * pause / 2, out
    report = inferscope.result(0).report
    marks = int(out.split()[-1])
    assert report.overhead.lost > 0
    # Every sample is at least 4 ms of CPU time.
    assert marks <= accounted(report) <= marks + (0 if options else 250 * (pause + 1))
    assert "were lost" in str(report.warnings)


@BOTH
def test_a_stopped_recorder_does_not_keep_the_program_from_ending(
    inferscope: Command, target: Target, options: tuple[str, ...]
) -> None:
    running = inferscope.start("run", *options, "--", target("crowd.c"), "storm", "300")
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    program = program_under(running.pid, "crowd")
    os.kill(running.pid, signal.SIGSTOP)
    try:
        until(lambda: stat_of(program)[0] == "Z", "the program's end")
    finally:
        os.kill(running.pid, signal.SIGCONT)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    marks = int(out.split()[-1])
    assert marks <= accounted(inferscope.result(0).report) <= marks + (0 if options else 75)


def test_a_program_that_outlives_the_recorder_goes_on(inferscope: Command, target: Target, tmp_path: Path) -> None:
    """Started in the background by a program that ends: untraced from then on, and undisturbed."""
    script = f"{target('marks.c')} 3000 1 200 > late 2> errors & echo started"
    run = inferscope("run", "--follow", "all", "--", "sh", "-c", script)
    assert (run.returncode, run.stdout) == (0, "started\n")
    assert run.report_path.exists()
    until(lambda: (tmp_path / "late").read_text() == "9001\n", "the program's last word")
    assert (tmp_path / "errors").read_text() == ""


def test_after_duration_a_storm_goes_on_untraced(inferscope: Command, target: Target) -> None:
    begin = time.monotonic()
    run = inferscope("run", "--duration", "0.3", "--", target("crowd.c"), "storm", "1500")
    assert time.monotonic() - begin > 1.4
    assert run.returncode == 0
    assert 0 < accounted(run.report) < int(run.stdout.split()[-1])


@pytest.mark.parametrize("rate", ["200", "1000"])
def test_a_program_that_closes_every_descriptor_keeps_its_files(inferscope: Command, target: Target, rate: str) -> None:
    """Daemons do: no call of ours may land in a file that took a number of ours, nor close it."""
    run = inferscope("run", "--rate", rate, "--", target("crowd.c"), "descriptors", "300")
    assert (run.returncode, run.stdout, run.theirs) == (0, "changed 0\n100001\n", "")
    assert run.made == 100_001


@pytest.mark.plain
@pytest.mark.parametrize("limit", ["-n 10", "-n 16", "-n 20", "-v 70000", "-u 2", "-s 128", "-l 0", "-i 0", "-d 20000"])
def test_little_room_for_the_recorder_is_no_harm_to_the_program(
    inferscope: Command, target: Target, limit: str
) -> None:
    """The recorder works under the caller's limits: the program runs as bare, or 125 is told with a reason."""
    words = inferscope.arguments(("run", "--quiet", "--", target("marks.c"), "1000"))
    line = f'ulimit {limit}; exec "$@"'
    done = subprocess.run(
        ["bash", "-c", line, "-", *words],
        capture_output=True, text=True, env=inferscope.environment, cwd=inferscope.folder, timeout=60, check=False,
    )  # fmt: skip
    if done.returncode == 125:
        assert limit in ("-n 10", "-n 16")
        assert done.stdout == ""
        assert "raise the limit of open files (ulimit -n)" in done.stderr
        assert done.stderr.count("\n") == 1
        return
    assert (done.returncode, done.stdout, done.stderr) == (0, "3001\n", "")
    report = inferscope.result(0).report
    if limit == "-v 70000":  # no room in its address space
        assert "no shared memory could be opened" in str(report.warnings)
    else:
        assert inferscope.result(0).made == 3001
