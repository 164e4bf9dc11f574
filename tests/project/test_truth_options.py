"""What tests/truth/options.py calls a difference."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.truth import options
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "truth"))
    import options


def said(python: float | None = 40.0, native: float | None = 50.0, **changes: Any) -> options.Said:
    fields: dict[str, Any] = {"on_cpu": None, "cause": "hot_path", "place": "load", "withheld": None}
    return options.Said(python, native, **{**fields, **changes})


def sets(**changes: options.Said) -> list[options.Set]:
    """All sets of options alike, but for those that are named (with _ for a space)."""
    off = said(None, None, on_cpu=90.0)
    return [
        options.Set(name, [changes.get(name.replace(" ", "_"), off if name == options.NATIVE_OFF else said())])
        for name in options.OPTIONS
    ]


def test_the_same_everywhere_is_right() -> None:
    assert options.judge("p", sets()) == []


def test_a_share_that_moves_is_named() -> None:
    assert options.judge("p", sets(rate_1000=said(34.0, 56.0))) == [
        "p, rate 1000: python is 34.0%, by default 40.0%",
        "p, rate 1000: native is 56.0%, by default 50.0%",
    ]


def test_a_share_that_is_missing_is_named() -> None:
    (found,) = options.judge("p", sets(native_leaf=said(None)))
    assert found == "p, native leaf: python is null, by default 40.0%"


def test_without_native_frames_the_sum_counts() -> None:
    assert options.judge("p", sets(native_off=said(None, None, on_cpu=80.0))) == [
        "p, native off: both is 80.0%, by default 90.0%"
    ]
    assert options.judge("p", sets(native_off=said()))[0].endswith("are told apart, and cannot be")


def test_another_cause_or_place_is_named() -> None:
    (cause,) = options.judge("p", sets(no_memory=said(cause="gc_pauses")))
    assert cause == "p, no memory: gc_pauses in load, by default hot_path in load"
    (place,) = options.judge("p", sets(no_python=said(place="main")))
    assert place == "p, no python: hot_path in main, by default hot_path in load"


def test_a_verdict_is_withheld_where_it_may_be() -> None:
    held = said(cause=None, place=None, withheld="too little")
    assert options.judge("p", sets(beside_a_busy_program=held, no_python=held)) == []
    assert options.judge("p", sets(budget_off=held)) == ["p, budget off: withheld: too little"]
    assert options.judge("p", sets(no_python=held, native_leaf=held)) == [
        "p: withheld under more than one set of options: no python, native leaf"
    ]


def test_waiting_for_a_cpu_is_not_part_of_the_shares() -> None:
    report = {
        "breakdown": {"python": 20.0, "native": 25.0, "on_cpu": None, "run_queue": 40.0, "throttled": 10.0},
        "verdict": {"cause": "hot_path", "withheld": None},
        "suggestions": [{"rule": "other", "where": "x (a.py:1)"}, {"rule": "hot_path", "where": "load (a.py:7)"}],
    }
    assert options.read(report) == said(40.0, 50.0, waited=50.0)


def test_a_share_that_moves_on_a_busy_machine_is_unclear() -> None:
    moved = sets(rate_1000=said(34.0, 50.0, waited=30.0))
    assert options.judge("p", moved) == [
        "unclear, the machine was busy: p, rate 1000: python is 34.0%, by default 40.0%"
    ]
    beside = sets(beside_a_busy_program=said(34.0, 50.0, waited=60.0))
    assert options.judge("p", beside) == ["p, beside a busy program: python is 34.0%, by default 40.0%"]
