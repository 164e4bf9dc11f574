"""Every example runs, with its fault and without, and the report shows what its page says of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command, Run

pytestmark = pytest.mark.timed

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(inferscope: Command, stage: Path, python: str, name: str, *how: str) -> Run:
    site = str(next(stage.glob("lib/python3*/site-packages")))
    env = {"PYTHONPATH": site, "OPENBLAS_NUM_THREADS": "1"}
    done = inferscope("run", "--python", python, EXAMPLES / f"{name}.py", *how, env=env, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


def p50(done: Run, scope: str) -> float:
    return float(next(s.p50_us for s in done.report.scopes if s.name == scope))


def blames(done: Run, cause: str, function: str | None = None) -> None:
    """It is the verdict, or next to it, with this function where it has a place; a verdict's suggestion comes first."""
    assert cause in [e.rule for e in done.verdict.evidence[:2]], done.verdict
    assert done.report.suggestions[0].rule == done.verdict.cause, done.report.suggestions
    own = next(row for row in done.report.suggestions if row.rule == cause)
    assert function is None or function in (own.where or ""), done.report.suggestions


#: What is done again that was done before, as the decoder does it, has no rule.
CAUSES = {"cnn": ("hot_function", "normalise_slowly"), "lstm": ("gc_pauses", None), "decoder": (None, None)}


@pytest.mark.parametrize("name", CAUSES)
def test_a_model_in_numpy_is_told_its_fault_and_is_faster_when_it_is_fixed(
    inferscope: Command, stage: Path, numpy_python: str, name: str
) -> None:
    slow = run(inferscope, stage, numpy_python, name)
    cause, function = CAUSES[name]
    if cause is not None:
        blames(slow, cause, function)
    before = p50(slow, "request")  # the next run writes to the same place
    after = p50(run(inferscope, stage, numpy_python, name, "--fixed"), "request")
    assert after < before


def test_a_transformer_that_keeps_nothing_spends_its_requests_on_the_index(
    inferscope: Command, stage: Path, numpy_python: str
) -> None:
    slow = run(inferscope, stage, numpy_python, "transformer_numpy", "20")
    request = next(s for s in slow.report.scopes if s.name == "request")
    inside = {row.name: row.total_us for row in request.nested}
    assert inside["index"] > 5 * inside["forward"]
    before = p50(slow, "request")  # the next run writes to the same place
    assert p50(run(inferscope, stage, numpy_python, "transformer_numpy", "--fixed", "20"), "request") < before / 3


def test_requests_of_the_asyncio_server_stand_in_line(inferscope: Command, stage: Path) -> None:
    done = run(inferscope, stage, sys.executable, "asyncio_server")
    assert p50(done, "request") > 3 * p50(done, "model")
    blames(done, "event_loop_blocked", "model")
    assert done.verdict.cause == "event_loop_blocked"
    fixed = run(inferscope, stage, sys.executable, "asyncio_server", "--fixed")
    assert fixed.verdict.cause != "event_loop_blocked", fixed.verdict


def test_workers_of_the_threaded_server_wait_for_the_lock(inferscope: Command, stage: Path) -> None:
    done = run(inferscope, stage, sys.executable, "threaded_server")
    workers = [t for t in done.report.threads if t.name.startswith("worker-")]
    assert len(workers) == 2 and all(t.gil_wait > 0 for t in workers)
    blames(done, "gil_contention", "metrics")
    assert done.verdict.cause == "gil_contention"
    assert "in thread metrics" in done.verdict.headline
    run(inferscope, stage, sys.executable, "threaded_server", "--fixed")


def first_reason(done: Run) -> tuple[str, str]:
    """The first function that is blamed, and for what; that others had the CPU is no reason of the program."""
    request = next(s for s in done.report.scopes if s.name == "request")
    own = [reason for reason in request.slow_because if reason.cause not in ("run_queue", "other")]
    return (str(own[0].function), own[0].cause) if own else ("", "")


def test_the_step_that_makes_every_20th_request_slow_is_named(inferscope: Command, stage: Path, count: Any) -> None:
    """At the default settings, in 19 of 20 runs, and all of it is Python."""
    said = []
    for seed in range(count(3, 20)):
        done = run(inferscope, stage, sys.executable, "slow_tail", "--seed", str(seed))
        said.append((done.stdout.split()[-1], *first_reason(done)))
    right = sum((told, state) == (step, "python") for step, told, state in said)
    assert right >= len(said) - len(said) // 20, said
