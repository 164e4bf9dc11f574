"""Slow requests: what makes them slow is named, and what it takes is what the program measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.truth.tails import BEGIN, CASES, SLACK_US, WITHIN
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "truth"))
    from tails import BEGIN, CASES, SLACK_US, WITHIN

pytestmark = pytest.mark.timed

BUSY_PCT = 5  # of a request, in which others had the CPU
STATES = (
    *(
        "python",
        "native",
        "on_cpu",
        "spin",
        "unattributed",
        "gil_wait",
        "lock_wait",
        "io_wait",
        "sleep",
        "idle",
        "syscall",
        "gc",
    ),
    *("page_fault", "gpu_wait", "run_queue", "throttled", "other"),
)


@pytest.fixture
def slow(inferscope: Any, package: Path, tmp_path: Path) -> Callable[..., Any]:
    def go(program: str, python: str, *options: str) -> Any:
        script = tmp_path / "program.py"
        script.write_text(BEGIN + program)
        run = inferscope(
            "run", "--python", python, *options, script,
            env={"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        return run

    def calm(program: str, python: str, *options: str) -> Any:
        """A run in which the machine had time for the program, if there is one."""
        for _ in range(4):
            run = go(program, python, *options)
            if is_calm(run):
                break
        return run

    return calm


def request_of(run: Any, name: str = "request") -> Any:
    (found,) = (scope for scope in run.report.scopes if scope.name == name)
    return found


def is_calm(run: Any) -> bool:
    """Of tasks it is not known what they wait for a CPU: then it is their thread that counts."""
    queued = request_of(run).breakdown.run_queue
    return (run.report.breakdown.run_queue or 0 if queued is None else queued) < BUSY_PCT


def first_of(scope: Any) -> Any:
    """The first reason that is the program's own: that a task waits for a CPU nobody tells, so it is `other`."""
    return next(reason for reason in scope.slow_because if reason.cause not in ("run_queue", "other"))


@pytest.mark.parametrize("case", CASES)
def test_the_reason_is_named_and_measured(slow: Callable[..., Any], python: str, case: str) -> None:
    program, cause, function = CASES[case]
    run = slow(program, python)
    truth = json.loads(run.stdout)
    scope = request_of(run)

    def fits(reason: Any) -> bool:
        # The interpreter's own functions, which add numbers and step through a range, are native code.
        named = reason.cause if case != "function" else reason.cause.replace("native", "python")
        return (named, str(reason.function).split(".")[-1]) == (cause, function)

    # On a machine that has no time for it, what the program does in every request may be slower by more than that.
    first = first_of(scope) if is_calm(run) else next(filter(fits, scope.slow_because), None)
    assert first is not None and fits(first), scope.slow_because
    if is_calm(run):
        # Those that the program made slow, and others only as far as it saw them take longer itself; they have no part
        # of the reason.
        slow_ones = scope.groups.slow.count
        assert truth["made"] == 6 <= slow_ones <= 6 + truth["odd"], (truth, scope)
        mean_us = truth["spent"] * 6 / slow_ones
        # What of a slow one the report does not know, while tracing pauses, it has to call that.
        unknown_us = sum(r.extra_us for r in scope.slow_because if r.cause in ("run_queue", "other"))
        within_us = max(mean_us * WITHIN, SLACK_US)
        # While tracing pauses it may not be seen which task runs: then it is told of the same place as another state.
        told_us = sum(r.extra_us for r in scope.slow_because if r.function == first.function)
        assert mean_us - within_us - unknown_us <= told_us, scope.slow_because
        assert 0.5 * (mean_us - within_us) <= first.extra_us <= mean_us + within_us, scope.slow_because
        assert unknown_us <= mean_us / 4, scope.slow_because
    assert f"{function} (" in first.where and "program.py:" in first.where
    # Six were made slow; a busy machine makes others slow as well.
    assert 1 <= scope.groups.slow.count <= scope.count // 3 and scope.groups.median.count >= 4
    # What the middle had more of, on a busy machine, may come on top of what there is to explain.
    assert sum(reason.extra_us for reason in scope.slow_because) <= scope.groups.slow.mean_us * 1.02, scope
    for group in (scope, scope.groups.median, scope.groups.slow):
        assert sum(getattr(group.breakdown, state) or 0 for state in STATES) == pytest.approx(100, abs=0.1)


def test_a_lock_and_the_interpreter_say_who_held_them(slow: Callable[..., Any], python: str) -> None:
    run = slow(CASES["lock"][0], python)
    threads = {thread.thread_id for thread in run.report.threads}
    first = first_of(request_of(run))
    assert first.cause == "lock_wait" and first.holder_thread_id in threads, first
    run = slow(CASES["gil"][0], python)
    first = first_of(request_of(run))
    assert first.cause == "gil_wait" and "detokenise" in first.held_by, first
    assert first.holder_thread_id in {thread.thread_id for thread in run.report.threads}


def test_scopes_inside_are_listed_with_their_part(slow: Callable[..., Any], python: str) -> None:
    run = slow(CASES["nested"][0], python)
    inside = {nested.name: nested for nested in request_of(run).nested}
    assert set(inside) == {"prefill", "decode"} and all(nested.count == 60 for nested in inside.values())
    truth = json.loads(run.stdout)
    if is_calm(run):
        mean_us = truth["spent"] * truth["made"] / max(6, request_of(run).groups.slow.count)
        assert inside["decode"].us_slow - inside["decode"].us_median == pytest.approx(mean_us, rel=WITHIN)
    assert inside["prefill"].us_slow < inside["decode"].us_slow / 2
    assert first_of(request_of(run, "decode")).function.endswith("attend")


def test_the_slowest_are_listed_and_the_words_agree(slow: Callable[..., Any], python: str, inferscope: Any) -> None:
    run = slow(CASES["sleep"][0], python)
    scope = request_of(run)
    times = [one.dur_us for one in scope.slowest]
    assert len(times) == 10 and times == sorted(times, reverse=True)
    assert times[0] == pytest.approx(scope.max_us, rel=0.001)
    assert all(one.thread_id for one in scope.slowest) and all(time > 50_000 for time in times[:6])
    assert "its slow ones take" in run.stderr and "sleep in backoff" in run.stderr
    shown = inferscope("analyze", run.trace, "--output", "words.md", "--force")
    assert shown.returncode == 0
    words = (Path(inferscope.folder) / "words.md").read_text()
    assert "### Why some are slow: `request`" in words and "`backoff (" in words


def test_the_interpreter_is_python_and_no_native_code(slow: Callable[..., Any], python: str) -> None:
    """A scope and its thread are told apart in the same way: a loop of Python is Python in both."""
    loop = "with scope('request'):\n    for _ in range(20_000_000): pass\n"
    part = request_of(slow(loop, python, "--rate", "1000", "--budget", "off")).breakdown
    had = 100 - (part.run_queue or 0) - (part.throttled or 0)  # what a busy machine left it
    assert part.python > 0.8 * had > 0.2 * had > (part.native or 0), part
