"""Crowds of processes and threads whose calls are traced: every one of them is there, with its calls."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize("kind, short", [("forks", 300), ("spawns", 30)])
def test_calls_of_a_thousand_processes_are_all_counted(
    inferscope: Any, target: Callable[[str], str], count: Callable[[int, int], int], python: str, kind: str, short: int
) -> None:
    """H2, D1: no process is missing, and none without its functions."""
    number = count(short, 1000)
    options = ["--budget", "off", "--python", python]
    run = inferscope("run", *options, target("crowd.py"), kind, str(number), timeout=600)
    assert (run.returncode, run.stdout, run.theirs) == (0, f"children {number}\n", "")
    report = run.report
    children = {p.process_id for p in report.program.processes} - {report.program.processes[0].process_id}
    assert len(children) == number
    assert report.overhead.lost == 0
    for name, calls in (("in_child", 1), ("leaf", 5)):
        assert {f.process_id: f.calls for f in report.functions if f.name == name} == dict.fromkeys(children, calls)


def test_calls_of_a_thousand_threads_are_all_counted(
    inferscope: Any, target: Callable[[str], str], python: str
) -> None:
    """D1: all of them alive, and calling, at the same time."""
    run = inferscope("run", "--budget", "off", "--python", python, target("crowd.py"), "threads", "1000", timeout=300)
    assert (run.returncode, run.stdout, run.theirs) == (0, "threads 1000\n", "")
    report = run.report
    assert len(report.threads) == 1001
    assert report.overhead.lost == 0
    assert {f.name: f.calls for f in report.functions if f.name in ("in_child", "leaf")} == {
        "in_child": 1000,
        "leaf": 5000,
    }
    with subprocess.Popen([run.command, "dump", run.trace], stdout=subprocess.PIPE, text=True) as dump:
        assert dump.stdout is not None
        seen = Counter(line.split()[2] for line in dump.stdout if ' call_enter "in_child"' in line)
    assert len(seen) == 1000, "each of them in its own thread"
