"""Programs say themselves when they imported, loaded, served and ended: the report's phases are no further than 50 ms
or 2% of the run from that, whichever is more."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command, Run

PROGRAMS = Path(__file__).parent / "programs"
LEAST_US = 50e3
SHARE = 0.02
START_NS_AT = 48  # in the header of a trace


def moments(run: Run, trace: Path) -> dict[int, dict[str, float]]:
    """What each process said, in microseconds of the session."""
    (start_ns,) = struct.unpack_from("<Q", trace.read_bytes(), START_NS_AT)
    told: dict[int, dict[str, float]] = {}
    for pid, name, ns in re.findall(r"^(\d+) (\w+) (\d+)$", run.stdout, re.MULTILINE):
        told.setdefault(int(pid), {})[name] = (int(ns) - start_ns) / 1e3
    return told


def recorded(inferscope: Command, python: str, name: str, *options: str) -> tuple[Run, dict[int, dict[str, float]]]:
    run = inferscope("run", "--python", python, *options, PROGRAMS / name, timeout=120)
    assert run.returncode == 0, run.stderr
    return run, moments(run, inferscope.folder / "inferscope.isc")


def of(run: Run, pid: int, name: str) -> list[Any]:
    return [p for p in run.report.phases if p["process_id"] == pid and p["name"] == name]


def near(run: Run, found: float, told: float) -> bool:
    return bool(abs(found - told) <= max(LEAST_US, SHARE * run.report.program.wall_us))


def only(told: dict[int, dict[str, float]]) -> tuple[int, dict[str, float]]:
    ((pid, said),) = told.items()
    return pid, said


def check_ends(run: Run, pid: int, said: dict[str, float], *, imported: bool = True) -> None:
    """The imports end where the program says so, and so does its work."""
    if imported:
        before = [p for p in of(run, pid, "imports") if p["from_us"] < said["imported"]]
        assert near(run, before[-1]["to_us"], said["imported"]), (before, said)
    (shutdown,) = of(run, pid, "shutdown")
    assert near(run, shutdown["from_us"], said["left"]), (shutdown, said)
    (startup,) = of(run, pid, "startup")
    assert startup["to_us"] <= before[0]["from_us"] if imported else True


def check_serving(run: Run, pid: int, said: dict[str, float], name: str = "served") -> None:
    found = [p for p in of(run, pid, "serving") if near(run, p["from_us"], said[f"{name}_from"])]
    assert len(found) == 1, (of(run, pid, "serving"), said)
    assert near(run, found[0]["to_us"], said[f"{name}_to"]), (found, said)


def check_judged(run: Run, said: dict[str, float]) -> None:
    assert run.report.window.why == "serving"
    assert near(run, run.report.window.from_us, said["served_from"]), (run.report.window, said)
    assert near(run, run.report.window.to_us, said["served_to"]), (run.report.window, said)


@pytest.mark.timed
@pytest.mark.parametrize("program", ["one_shot", "mapped", "epochs"])
def test_serving_is_from_the_first_to_the_last_unit(inferscope: Command, python: str, program: str) -> None:
    run, told = recorded(inferscope, python, f"{program}.py")
    pid, said = only(told)
    check_ends(run, pid, said)
    check_serving(run, pid, said)
    check_judged(run, said)


@pytest.mark.timed
def test_what_lies_between_imports_and_the_first_unit_is_loading(inferscope: Command, python: str) -> None:
    run, told = recorded(inferscope, python, "one_shot.py")
    pid, said = only(told)
    loading = of(run, pid, "loading")[-1]
    assert near(run, loading["from_us"], said["imported"]), (loading, said)
    assert near(run, loading["to_us"], said["served_from"]), (loading, said)
    startup = run.report.startup
    assert near(run, startup.loading_us, said["served_from"] - said["imported"])
    assert startup.top[0]["name"] == "heavy"
    assert startup.top[0]["us"] >= 300e3
    assert "heavy" in startup.headline


@pytest.mark.timed
@pytest.mark.parametrize(("program", "first"), [("index_query", "indexed"), ("changes", "gathered")])
def test_of_two_jobs_the_longer_is_judged_and_both_are_shown(
    inferscope: Command, python: str, program: str, first: str
) -> None:
    run, told = recorded(inferscope, python, f"{program}.py")
    pid, said = only(told)
    check_ends(run, pid, said)
    check_serving(run, pid, said, first)
    check_serving(run, pid, said)
    check_judged(run, said)


@pytest.mark.timed
def test_forked_workers_serve_and_did_not_import(inferscope: Command, python: str) -> None:
    run, told = recorded(inferscope, python, "preload.py")
    parent = next(pid for pid, said in told.items() if "left" in said)
    check_ends(run, parent, told[parent])
    assert not of(run, parent, "serving")
    workers = {pid: said for pid, said in told.items() if pid != parent}
    assert len(workers) == 2
    for pid, said in workers.items():
        check_serving(run, pid, said)
        assert not of(run, pid, "imports")
        (loading,) = of(run, pid, "loading")
        assert near(run, loading["from_us"], said["forked"]), (loading, said)


@pytest.mark.timed
def test_a_server_without_load_does_not_serve(inferscope: Command, python: str) -> None:
    run, told = recorded(inferscope, python, "unused.py")
    pid, said = only(told)
    check_ends(run, pid, said)
    assert not of(run, pid, "serving")
    loading = of(run, pid, "loading")[-1]
    assert near(run, loading["to_us"], said["ready"]), (loading, said)


@pytest.mark.timed
def test_shutdown_begins_when_the_last_thread_has_ended(inferscope: Command, python: str) -> None:
    run, told = recorded(inferscope, python, "threads.py")
    pid, said = only(told)
    check_ends(run, pid, said)
    check_serving(run, pid, said)


@pytest.mark.timed
def test_a_request_that_imports_is_warm_up_if_it_is_the_first(inferscope: Command, python: str) -> None:
    run, told = recorded(inferscope, python, "lazy.py")
    pid, said = only(told)
    check_ends(run, pid, said)
    (warm,) = of(run, pid, "warm_up")
    assert near(run, warm["from_us"], said["warm_from"]), (warm, said)
    assert near(run, warm["to_us"], said["warm_to"]), (warm, said)
    check_serving(run, pid, said)
    inside = [p for p in of(run, pid, "imports") if p["from_us"] > said["served_from"]]
    assert any("later_needed" in p["why"] for p in inside), inside
    check_judged(run, said)


@pytest.mark.timed
def test_waiting_for_the_first_request_is_no_loading(inferscope: Command, python: str) -> None:
    run, told = recorded(inferscope, python, "waiting.py")
    pid, said = only(told)
    check_ends(run, pid, said)
    loading = of(run, pid, "loading")[-1]
    assert near(run, loading["to_us"], said["ready"]), (loading, said)
    check_serving(run, pid, said)


@pytest.mark.timed
def test_without_calls_samples_tell_imports_and_work_apart(inferscope: Command, python: str) -> None:
    run, told = recorded(inferscope, python, "sampled.py", "--no-python")
    pid, said = only(told)
    check_ends(run, pid, said)
    check_serving(run, pid, said)
    check_judged(run, said)
