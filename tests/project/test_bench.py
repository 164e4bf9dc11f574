"""The bench tool is honest: it says no more than its numbers do, and a missed budget is a failure."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]

import interval  # noqa: E402
import kit  # noqa: E402
import table  # noqa: E402
import turns  # noqa: E402

import bench  # noqa: E402


def row(low: float, high: float, limit: float | None) -> table.Row:
    return table.Row("x", interval.Interval((low + high) / 2, low, high, 9), "ms", limit=limit)


def test_a_budget_is_missed_only_when_the_whole_interval_is_over_it() -> None:
    assert row(11, 12, 10).verdict == table.MISSED
    assert row(9, 12, 10).verdict == table.UNCLEAR
    assert row(8, 10, 10).verdict == table.MET
    assert row(8, 10, None).verdict == table.SAID


def test_the_interval_holds_the_true_median_nineteen_times_in_twenty() -> None:
    draw = random.Random(7)
    held = 0
    for _ in range(200):
        found = interval.median([draw.gauss(5, 1) for _ in range(21)])
        held += found.low <= 5 <= found.high
    assert held >= 180


def test_pairs_take_turns_and_end_when_the_answer_is_known() -> None:
    order: list[str] = []

    def run(name: str, value: float) -> tuple[float, ...]:
        order.append(name)
        return (value,)

    (found,) = interval.in_turn(lambda: run("bare", 2), lambda: run("ours", 3), interval.ratio, tight=0.1, seconds=60)
    assert (found.value, found.n) == (1.5, interval.MINIMUM)
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


SAYS = """
import sys
for n, _ in enumerate(sys.stdin):
    if n == {most}: sys.exit("enough")
    print("other words")
    print('{{"work_ms": {ms}, "work_cpu_ms": 1.0, "turn_ms": 20.0}}', flush=True)
"""


def says(ms: float, folder: Path, most: int = 1_000_000) -> turns.Player:
    return turns.Player([sys.executable, "-c", SAYS.format(ms=ms, most=most)], {}, folder / f"err-{ms}")


def test_two_programs_that_take_turns_are_compared_turn_by_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "ROUND_S", 0.02)
    ended: list[turns.Player] = []
    wall, cpu = turns.play(lambda: says(10, tmp_path), lambda: says(12, tmp_path), 0.1, ended.append)
    assert (wall.value, wall.low, wall.high, cpu.value) == (1.2, 1.2, 1.2, 1.0)
    assert wall.n >= len(ended) >= turns.LEAST_ROUNDS
    assert all(player.process.returncode == 0 and player.worked_ms % 20 == 0 for player in ended)


def test_a_program_that_ends_before_its_turn_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(turns.Failed, match="enough"):
        turns.play(lambda: says(10, tmp_path), lambda: says(12, tmp_path, most=3), 0.1)


def test_processes_that_differ_widen_the_interval() -> None:
    found = interval.clustered([[1.0] * 40, [1.1] * 40, [1.2] * 40])
    assert (found.low, found.value, found.high) == (1.0, 1.1, 1.2)
