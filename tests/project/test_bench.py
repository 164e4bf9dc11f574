"""The bench tool is honest: it says no more than its numbers do, and a missed budget is a failure."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]

import kit  # noqa: E402
import sample  # noqa: E402
import table  # noqa: E402

import bench  # noqa: E402


def row(low: float, high: float, limit: float | None) -> table.Row:
    return table.Row("x", sample.Interval((low + high) / 2, low, high, 9), "ms", limit=limit)


def test_a_budget_is_missed_only_when_the_whole_interval_is_over_it() -> None:
    assert row(11, 12, 10).verdict == table.MISSED
    assert row(9, 12, 10).verdict == table.UNCLEAR
    assert row(8, 10, 10).verdict == table.MET
    assert row(8, 10, None).verdict == table.SAID


def test_the_interval_holds_the_true_median_nineteen_times_in_twenty() -> None:
    draw = random.Random(7)
    held = 0
    for _ in range(200):
        found = sample.median([draw.gauss(5, 1) for _ in range(21)])
        held += found.low <= 5 <= found.high
    assert held >= 180


def test_pairs_take_turns_and_end_when_the_answer_is_known() -> None:
    order: list[str] = []

    def run(name: str, value: float) -> tuple[float, ...]:
        order.append(name)
        return (value,)

    (found,) = sample.in_turn(lambda: run("bare", 2), lambda: run("ours", 3), sample.ratio, tight=0.1, seconds=60)
    assert (found.value, found.n) == (1.5, sample.MINIMUM)
    assert order[2:6] == ["bare", "ours", "ours", "bare"]


@pytest.mark.parametrize(("limit", "code"), [(10, 1), (20, 0)])
def test_a_missed_budget_is_a_failure(
    limit: float, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "results.md"
    monkeypatch.setattr(kit, "install", lambda build: None)
    monkeypatch.setattr(bench, "RESULTS", page)
    monkeypatch.setattr(bench, "measure", lambda tools, area: [row(11, 12, limit)])
    monkeypatch.setattr(sys, "argv", ["bench.py", "build-none"])
    assert bench.main() == code
    assert ("over budget: x" in capsys.readouterr().out) == bool(code)
    assert page.read_text().count("| x | ") == len(bench.AREAS) - len(bench.ASKED_FOR)
