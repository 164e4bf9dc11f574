"""What bench/soak_minutes.py finds wrong with a long run, and that it finds nothing wrong with a good one."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import soak_load  # noqa: E402
import soak_minutes  # noqa: E402
import soak_plants  # noqa: E402

SECONDS = 180
ROW_US = 10e6


def report(**changes: Any) -> dict[str, Any]:
    """Three minutes of a process that uses a whole CPU; changes: minute -> fields of its rows."""
    rows = []
    for number in range(SECONDS // 10):
        row: dict[str, Any] = {
            "from_us": number * ROW_US, "to_us": (number + 1) * ROW_US, "process_id": 7, "samples": 2000,
            "sampled_us": ROW_US, "unattributed_us": 20e3, "events": 9, "lost": 0, "thinned": 0, "cost_us": 100e3,
        }  # fmt: skip
        rows.append({**row, **changes.get(f"minute_{number // 6 + 1}", {})})
    return {
        "overhead": {"over_time": rows, "measured_cpu_pct": 1.05, "measured_pct": 1.0, "budget_pct": 5.0},
        "samples": {"count": 36_000, "us": SECONDS * 1e6, "cut_us": 0, "unattributed_us": {"not_sampled": 0}},
        "functions": [{"name": "plant_loop", "file": "a.py", "cpu_total_us": 5.4e6}],
    }


def watched() -> soak_minutes.Watched:
    return soak_minutes.Watched(
        [soak_minutes.Look(at * 1e6, at * 1e6, 300.0, 200.0, 20.0, 40.0, 30.0) for at in range(5, SECONDS + 10, 5)]
    )


def wrong(said: dict[str, Any]) -> list[str]:
    rows = soak_minutes.minutes(said, watched())
    checks = (soak_minutes.check_explained, soak_minutes.check_covered, soak_minutes.check_steady)
    return [line for check in checks for line in check(rows)]


def test_a_good_run_has_nothing_wrong() -> None:
    rows = soak_minutes.minutes(report(), watched())
    assert [row.number for row in rows] == [0, 1, 2]
    assert [row.samples for row in rows] == [12_000] * 3
    assert all(row.covered == 1.0 and row.rate_hz == 200 for row in rows)
    assert wrong(report()) == []
    assert soak_minutes.check_rows(report()) == []
    assert soak_minutes.check_totals(report()) == []


def test_a_minute_without_known_stacks_is_named() -> None:
    found = wrong(report(minute_2={"unattributed_us": 150e3}))
    assert len(found) == 1 and found[0].startswith("minute 2: 1.50% of the CPU time is unattributed")


def test_a_last_minute_that_is_worse_than_the_first_is_found_below_the_limit() -> None:
    found = wrong(report(minute_3={"unattributed_us": 60e3}))
    assert found == ["the last minute has 0.60% unattributed, the first 0.20%"]


def test_a_minute_without_samples_for_its_cpu_time_is_named() -> None:
    found = wrong(report(minute_3={"sampled_us": 8e6, "unattributed_us": 0.0, "cost_us": 80e3}))
    assert len(found) == 1 and found[0].startswith("minute 3: samples stand for 80.0%")


def test_a_cost_that_changes_is_named() -> None:
    found = wrong(report(minute_3={"cost_us": 400e3}))
    assert found == ["minute 3: recording cost 4.00% of the CPU time, minute 2 1.00%"]


def test_an_idle_run_is_not_called_good() -> None:
    idle = {"sampled_us": 1e6, "unattributed_us": 0.0}
    assert wrong(report(minute_1=idle, minute_2=idle, minute_3=idle)) == [
        "no minute has 20 s of CPU time: nothing can be judged"
    ]


def test_rows_that_are_missing_or_too_long_are_found() -> None:
    said = report()
    del said["overhead"]["over_time"][5:8]
    assert soak_minutes.check_rows(said) == ["overhead.over_time lacks 50 s to 80 s"]
    said = report()
    said["overhead"]["over_time"][0]["to_us"] = 60e6
    assert soak_minutes.check_rows(said) == ["a row of overhead.over_time is 60 s long"]
    assert soak_minutes.check_rows({"overhead": {"over_time": []}}) == ["overhead.over_time is empty"]


def test_a_process_that_sleeps_needs_no_rows() -> None:
    said = report()
    for row in said["overhead"]["over_time"][2:5]:
        row["process_id"] = 8
    assert soak_minutes.check_rows(said) == []


def test_rows_that_tell_a_part_of_the_cost_and_a_budget_that_is_exceeded_are_found() -> None:
    said = report()
    said["overhead"].update(measured_cpu_pct=4.0, measured_pct=5.6)
    assert soak_minutes.check_rows(said) == ["rows over time tell 1.80 s of the 7.20 s that recording cost"]
    assert soak_minutes.check_budget(said) == ["recording cost 5.60% of the time by its own account (budget 5%)"]
    assert soak_minutes.check_budget(report()) == []


def truth(cpu_us: float, name: str = "plant_loop") -> dict[str, Any]:
    return {"cpu_us": 180e6, "plants": [{"name": name, "file": "a.py", "line": 1, "cpu_us": cpu_us}]}


def test_a_function_that_counted_what_the_report_says_is_right() -> None:
    assert soak_minutes.check_names(soak_minutes.names(report(), truth(5.5e6))) == []


def test_a_function_without_its_name_or_its_time_is_named() -> None:
    assert soak_minutes.check_names(soak_minutes.names(report(), truth(5.5e6, "plant_lost"))) == [
        "plant_lost has 3.06% of the CPU time and is not in the report"
    ]
    (found,) = soak_minutes.check_names(soak_minutes.names(report(), truth(8e6)))
    assert found.startswith("plant_loop counted 8.00 s, the report says 5.40 s")


def test_a_function_below_a_thousandth_is_not_asked_for() -> None:
    assert soak_minutes.names(report(), truth(100e3)) == []
    assert soak_minutes.check_names([]) == ["the program planted nothing that has 0.1% of its time"]


def test_memory_and_trace_are_held_to_their_limits() -> None:
    assert soak_minutes.check_memory(soak_minutes.Memory(300, 340, 20, 5, 30)) == []
    (found,) = soak_minutes.check_memory(soak_minutes.Memory(300, 345, 20, 5, 30))
    assert found.startswith("the program has 45 MB more with us (limit 41")
    assert soak_minutes.Memory(300, 345, 20, 5, 30, processes=2).limit_mb == 57
    assert soak_minutes.check_trace(99, 104) == []
    assert soak_minutes.check_trace(105, 104) == ["the trace had 105.0 MB (limit 104)"]


def test_cut_stacks_and_threads_without_samples_are_found() -> None:
    said = report()
    said["samples"]["cut_us"] = 3.6e6
    said["samples"]["unattributed_us"]["not_sampled"] = 1.8e6
    assert [line.split(" (")[0] for line in soak_minutes.check_totals(said)] == [
        "2.00% of the CPU time is of stacks without their deeper frames",
        "1.00% of the CPU time is of threads without a sample",
    ]


def test_plants_run_until_they_have_their_share() -> None:
    garden = soak_plants.Garden()
    garden.plants = [soak_plants.Plant(soak_plants.plant_loop, "pool", 0.5)]
    for _ in range(20):
        soak_plants.plant_rare()
        garden.tend("pool")
        garden.tend("loop")
    (said,) = garden.said()
    assert said["name"] == "plant_loop" and said["file"].endswith("soak_plants.py") and said["cpu_us"] > 0
    garden.retire(garden.plants[0])
    before = garden.plants[0].all_ns
    garden.tend("pool")
    assert garden.plants[0].all_ns == before


def test_every_kind_of_request_comes_in_every_part_of_a_run() -> None:
    draw = random.Random(1)
    for part in range(10):
        kinds = {soak_load.torch_server(draw, part / 10)[0] for _ in range(300)}
        assert len(kinds) == 7
