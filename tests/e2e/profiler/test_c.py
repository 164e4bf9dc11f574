"""The profiler in C and C++ programs that are linked with libinferscope."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timed

ROOT = Path(__file__).resolve().parents[3]
Profiled = Callable[..., str]
Shares = Callable[[dict[str, Any], set[str]], dict[str, float]]
EMPTY = {"interval_us", "total_samples", "elapsed_us", "stacks"}


def profile_in(folder: Path) -> dict[str, Any]:
    profile: dict[str, Any] = json.loads((folder / "profile.json").read_text())
    assert set(profile) == EMPTY
    for stack in profile["stacks"]:
        assert set(stack) == {"frames", "count", "instructions", "memory_delta", "thread_id"}
        assert stack["frames"] and all(set(frame) == {"symbol", "file", "line"} for frame in stack["frames"])
    assert sum(stack["count"] for stack in profile["stacks"]) == profile["total_samples"]
    return profile


def test_D4_known_shares_are_found_in_every_thread(
    profiled: Profiled, tmp_path: Path, shares: Shares, count: Callable[[int, int], int]
) -> None:
    seconds, within = count(3, 10), count(3, 2)
    state = json.loads(profiled("shares", seconds, tmp_path))
    profile = profile_in(tmp_path)
    found = shares(profile, {"seventy", "thirty"})
    assert found == {"seventy": pytest.approx(70, abs=within), "thirty": pytest.approx(30, abs=within)}
    # Every step of both threads, also of the one that the other waited for.
    by_thread: dict[int, int] = {}
    for stack in profile["stacks"]:
        by_thread[stack["thread_id"]] = by_thread.get(stack["thread_id"], 0) + stack["count"]
    assert sorted(by_thread.values()) == [pytest.approx(1000 * seconds, rel=0.02)] * 2
    assert state["samples"] == profile["total_samples"] and not state["running"]
    assert state["interval_us"] == profile["interval_us"] == 1000
    top = profile["stacks"][0]["frames"]
    assert [frame["symbol"] for frame in top][-2:] == ["seventy", "spin"]
    assert top[-2]["file"].endswith("profiled.c") and top[-2]["line"] > 0
    names = [frame["symbol"] for stack in profile["stacks"] for frame in stack["frames"]]
    assert "main" in names and not [name for name in names if name.startswith(("isc_", "profiler_"))]
    summary = (tmp_path / "profile.txt").read_text()
    assert "seventy" in summary and "Threads" in summary
    if state["instructions"]:
        assert {stack["instructions"] for stack in profile["stacks"]} == {None}
        assert f"Instructions are not counted: {state['instructions']}" in summary


def test_h5_starts_and_stops_leave_nothing_behind(profiled: Profiled, count: Callable[[int, int], int]) -> None:
    found = json.loads(profiled("cycles", count(1000, 10_000), timeout=count(120, 1200)))
    assert found["growth"] < 1 << 20
    assert (found["fds"], found["tasks"], found["handlers"]) == (0, 0, 0)


def test_wrong_calls_say_so_and_lose_nothing(profiled: Profiled, tmp_path: Path) -> None:
    said = profiled("hostile", tmp_path).splitlines()
    assert said == [
        "stop 0 0",
        f"write before -1 {errno.ENODATA}",
        "note nothing was profiled yet",
        f"interval -1 {errno.EINVAL}",
        f"size -1 {errno.EINVAL}",
        f"native -1 {errno.EINVAL}",
        f"frames -1 {errno.EINVAL}",
        "start 0 0",
        "again 0 0",
        f"while running -1 {errno.ENOTDIR}",
        "stop 0 0",
        "again 0 0",
        f"no folder -1 {errno.ENOENT}",
        f"null -1 {errno.EINVAL}",
        f"empty -1 {errno.EINVAL}",
        f"folder -1 {errno.EEXIST}",
        f"link -1 {errno.EEXIST}",
        "json 0 0",
        "json again 0 0",
        "samples 1",
    ]
    assert profile_in(tmp_path)["total_samples"] >= 18


def test_a_fork_child_does_not_go_on_and_may_start_its_own(profiled: Profiled, tmp_path: Path) -> None:
    found = json.loads(profiled("fork", tmp_path))
    assert found["status"] == 0
    assert found["samples"] == pytest.approx(100, abs=10)


def test_H3_handlers_of_the_program_run_as_often_as_without_us(profiled: Profiled) -> None:
    found = json.loads(profiled("urgent"))
    # One stray signal at most, after the program put a handler in the place of ours.
    assert found["urgent"] - found["sent"] in (0, 1)
    assert found["prof"] and found["kept"]
    assert found["samples"] == pytest.approx(10, abs=2)
    assert "SIGURG" in found["note"]


def test_threads_that_live_for_a_moment_have_their_time(profiled: Profiled, tmp_path: Path) -> None:
    state = json.loads(profiled("dying", tmp_path))
    profile = profile_in(tmp_path)
    # 800 of them, 2 ms each, and what making them takes.
    assert 1550 <= state["samples"] <= 2400
    assert state["other"] == 0 and state["refused"] == 0
    assert sum("moment" in str(stack["frames"]) for stack in profile["stacks"]) > 500


def test_starts_and_stops_race_with_threads_and_children(
    profiled: Profiled, tmp_path: Path, count: Callable[[int, int], int]
) -> None:
    found = json.loads(profiled("race", count(200, 3000), tmp_path, timeout=300))
    assert found["failed"] == 0
    assert found["samples"] == pytest.approx(50, abs=6)
    profile_in(tmp_path)


def test_H9_a_deep_stack_is_cut_at_128_frames_and_says_so(profiled: Profiled, tmp_path: Path) -> None:
    profiled("deep", tmp_path)
    top = profile_in(tmp_path)["stacks"][0]
    names = [frame["symbol"] for frame in top["frames"]]
    assert len(names) == 128 and names[0] == "(cut)" and names[-1] == "spin"
    assert set(names[1:-1]) == {"recurse"}


def test_more_stacks_than_there_is_room_for_are_other(profiled: Profiled, tmp_path: Path) -> None:
    state = json.loads(profiled("many", tmp_path))
    profile = profile_in(tmp_path)
    other = [stack for stack in profile["stacks"] if stack["frames"][0]["symbol"] == "(other)"]
    assert state["stacks"] == 10_000 and state["other"] > 0
    assert [stack["count"] for stack in other] == [state["other"]]
    assert "are under (other)" in (tmp_path / "profile.txt").read_text()


def test_counters_belong_to_the_stacks_they_were_counted_in(profiled: Profiled, tmp_path: Path) -> None:
    """perf's clock counts nanoseconds, so what is right is known."""
    state = json.loads(profiled("counter", tmp_path))
    if state["instructions"]:
        pytest.skip(state["instructions"])
    profile = profile_in(tmp_path)
    counted = {name: 0 for name in ("seventy", "thirty")}
    for stack in profile["stacks"]:
        for name in counted:
            if name in str(stack["frames"]):
                counted[name] += stack["instructions"]
    assert sum(counted.values()) == pytest.approx(1e9, rel=0.03)
    assert counted["seventy"] == pytest.approx(0.7e9, rel=0.06)


def test_memory_belongs_to_who_took_it(profiled: Profiled, tmp_path: Path) -> None:
    profiled("memory", tmp_path)
    taken = sum(s["memory_delta"] for s in profile_in(tmp_path)["stacks"] if "take_memory" in str(s["frames"]))
    assert 220 << 20 < taken < 270 << 20


def test_a_session_and_a_profile_share_the_steps(
    profiled: Profiled, stage: Path, tmp_path: Path, shares: Shares
) -> None:
    run = (str(stage / "bin/inferscope"), "run", "--no-report", "--quiet", "--native", "on", "--trace")
    state = json.loads(profiled("shares", 2, tmp_path, under=(*run, str(tmp_path / "x.isc"), "--")))
    assert state["shared"] and state["interval_us"] == 5000 and "session" in state["note"]
    assert shares(profile_in(tmp_path), {"seventy", "thirty"})["seventy"] == pytest.approx(70, abs=6)
    assert profile_in(tmp_path)["total_samples"] == pytest.approx(4000 / 5, rel=0.05)
    dump = [str(stage / "bin/inferscope"), "dump", str(tmp_path / "x.isc")]
    text = subprocess.run(dump, capture_output=True, text=True, check=True, timeout=60).stdout
    assert '"seventy"' in text


def test_a_profile_under_run_without_samples_has_its_own_steps(profiled: Profiled, stage: Path, tmp_path: Path) -> None:
    run = (str(stage / "bin/inferscope"), "run", "--no-report", "--quiet", "--no-sample", "--trace")
    state = json.loads(profiled("shares", 1, tmp_path, under=(*run, str(tmp_path / "x.isc"), "--")))
    assert not state["shared"] and state["samples"] == pytest.approx(2000, rel=0.02)


def test_where_perf_is_refused_all_the_time_is_still_there(profiled: Profiled, tmp_path: Path, shares: Shares) -> None:
    """As in a container: timers that tick with the kernel, so a sample stands for several steps."""
    sandbox = Path(os.environ.get("INFERSCOPE_BUILD", ROOT / "build")).resolve() / "tests/unit/sandbox"
    state = json.loads(profiled("shares", 2, tmp_path, under=(str(sandbox), "--deny", "process_vm_readv", "--")))
    assert state["samples"] == pytest.approx(4000, rel=0.02) and state["signals"] < 4000
    assert state["instructions"] and "not permitted" in state["instructions"]
    assert shares(profile_in(tmp_path), {"seventy", "thirty"})["seventy"] == pytest.approx(70, abs=6)


def test_names_of_cpp_are_as_they_were_written(linked: Callable[[str], str], tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    done = subprocess.run([linked("profiled.cc"), str(path)], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) == pytest.approx(400, rel=0.05)
    symbols = [frame["symbol"] for stack in profile_in(tmp_path)["stacks"] for frame in stack["frames"]]
    assert any(symbol.startswith("model::layer<unsigned long>::forward") for symbol in symbols), symbols
