"""Programs that know what is wrong with them: the verdict has to agree.  `make truth` runs them all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytestmark = pytest.mark.timed

TRUTH = Path(__file__).resolve().parents[1] / "truth"
if TYPE_CHECKING:
    from tests.truth import tails, truth
else:
    sys.path.insert(0, str(TRUTH))
    import tails
    import truth

QUICK = ["loading", "hot_function", "lock_unmarked", "remote", "pressed", "near_limit", "ones", "blocked_loop_short"]
FIXED = ["sleeping", "blocked_loop"]
GPU = ["gpu_starved", "syncs", "copy_small"]
HEALTHY = ["healthy_native", "healthy_asyncio", "healthy_nodes"]


@pytest.fixture
def cuda() -> Path:
    found = Path(__file__).resolve().parents[2] / os.environ.get("INFERSCOPE_BUILD", "build")
    return found / "tests" / "double" / "libcuda_double.so"


@pytest.fixture
def judged(stage: Path, tmp_path: Path, python: str) -> Callable[[str], truth.Outcome]:
    return lambda name: truth.judge(stage / "bin" / "inferscope", python, name, 1.5, tmp_path)


@pytest.mark.parametrize("name", QUICK)
def test_the_verdict_names_the_cause_its_size_and_its_place(judged: Callable[[str], truth.Outcome], name: str) -> None:
    outcome = judged(name)
    assert outcome.cause_right and outcome.size_right and outcome.where_right, outcome.row()


def test_fast_calls_are_found_where_they_are_made(judged: Callable[[str], truth.Outcome]) -> None:
    """Not where the CPU was found most often: samples of the calls themselves say so."""
    outcome = judged("chatty")
    name, line = outcome.truth["places"][0]
    read = next(call for call in outcome.report["syscalls"] if call["name"] == "read")
    assert f"chatty.py:{line}" in read["where"]
    site = next(site for site in read["sites"] if site["line"] == line)
    assert site["samples"] >= 10
    assert site["fast_count"] > read["count"] * 0.8
    # Whichever cause is the largest on a machine with other work to do.
    (told,) = [s for s in outcome.report["suggestions"] if s["rule"] == "chatty_syscalls"]
    assert f"most of them in {name} (programs/chatty.py:{line})" in told["why"]


@pytest.mark.parametrize("name", FIXED)
def test_without_the_cause_no_more_is_saved_than_the_verdict_said(
    stage: Path, tmp_path: Path, python: str, name: str
) -> None:
    outcome = truth.judge(stage / "bin" / "inferscope", python, name, 1.5, tmp_path, fix=True)
    assert outcome.cause_right and outcome.size_right and outcome.where_right, outcome.row()
    assert outcome.bound_holds and outcome.bound_useful, outcome.row()


@pytest.mark.parametrize("name", GPU)
def test_causes_on_a_gpu_are_named_by_what_its_double_tells(
    stage: Path, tmp_path: Path, python: str, cuda: Path, name: str
) -> None:
    outcome = truth.judge(stage / "bin" / "inferscope", python, name, 1.0, tmp_path, cuda)
    assert outcome.cause_right and outcome.size_right, outcome.row()


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_made_up_about_a_healthy_program(judged: Callable[[str], truth.Outcome], name: str) -> None:
    outcome = judged(name)
    assert outcome.verdict["kind"] != "fault", outcome.row()
    assert outcome.report["suggestions"] == []


def test_a_server_without_load_gets_no_verdict(judged: Callable[[str], truth.Outcome]) -> None:
    outcome = judged("no_load")
    assert outcome.cause_right, outcome.row()


def outcome(name: str, cause: str | None = "sleeping", share: float = 50.0, line: int = 7) -> truth.Outcome:
    """A program that sleeps for half of its time at line 7, and what was said of it."""
    said = {"cause": "sleeping", "share": 50.0, "places": [["nap", 7]], "one": None}
    verdict = {"cause": cause, "share": share, "confidence": 0.9, "device_id": None, "headline": "", "withheld": None}
    rows = [{"rule": "sleeping", "where": f"nap (app/x.py:{line})", "saves_at_most_us": 1.0}]
    return truth.Outcome(name, None, said, {"verdict": verdict, "suggestions": rows, "gpus": []})


def test_the_marks_fail_on_causes_sizes_and_places() -> None:
    good = [outcome("sleeping") for _ in range(24)]
    wrong = [outcome("sleeping", cause="io_wait"), outcome("sleeping", share=30.0), outcome("sleeping", line=8)]
    assert truth.describe(good)[1]
    for bad in wrong:
        assert truth.describe([*good[2:], bad, bad])[1]
        assert not truth.describe([*good[3:], bad, bad, bad])[1]
        # Of half as many, half as many.
        assert not truth.describe([*good[14:], bad, bad])[1]
    # What stands for the machine is ours to choose: it counts by itself, and has to be right.
    _, met = truth.describe([*good, outcome("pressed", share=30.0)])
    assert not met


def test_the_marks_fail_on_tails() -> None:
    reason = {"cause": "sleep", "function": "backoff", "extra_us": 60e3}
    groups = {"slow": {"count": 6}}
    report = {"scopes": [{"name": "request", "slow_because": [reason], "groups": groups}]}
    right, off = tails.Tail("sleep", 60e3, 6, report), tails.Tail("sleep", 30e3, 6, report)
    other = tails.Tail("lock", 60e3, 6, report)
    assert tails.describe([right] * 9 + [off])[1] and tails.describe([right] * 9 + [other])[1]
    assert not tails.describe([right] * 8 + [off] * 2)[1]
    assert not tails.describe([right] * 8 + [other] * 2)[1]


@pytest.mark.long
def test_all_of_them_meet_the_marks(stage: Path, tmp_path: Path, python: str, cuda: Path) -> None:
    command = stage / "bin" / "inferscope"
    outcomes = [truth.judge(command, python, name, 2.5, tmp_path, cuda, fix=True) for name in truth.names()]
    assert truth.summarise(outcomes, []), "\n".join(outcome.row() for outcome in outcomes)
