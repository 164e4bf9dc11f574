"""Profiler: start, stop, and what was seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Program = Callable[..., Any]


def test_a_window_gives_its_timeline_its_report_and_its_figures(program: Program, python: str) -> None:
    said = program(
        python,
        """
        work(50)
        with inferscope.Profiler(budget="off") as p:
            work(4)
            during = names(p.get_unified_timeline())["leaf"]
        work(50)
        a = p.analyze()
        leaf_row = [f for f in a["functions"] if f["name"].endswith("leaf")][0]
        say(during=during, timeline=names(p.get_unified_timeline()), again=p.stop() == p.get_unified_timeline(),
            calls=leaf_row["calls"], schema=a["schema"], report=p.report(), state=p.state.name, stats=p.get_stats())
        """,
    )
    assert (said["during"], said["timeline"]["leaf"], said["timeline"]["work"], said["calls"]) == (4, 4, 1, 4)
    assert said["again"] and said["schema"] == "inferscope-report-1" and said["state"] == "Finalized"
    assert "leaf" in said["report"] and said["stats"]["trace"] is None


def test_a_second_start_forgets_the_first(program: Program, python: str) -> None:
    said = program(
        python,
        """
        p = inferscope.Profiler(size_mb=8)
        first = names(p.stop())
        p.start(); work(2); one = names(p.stop()); p.start(); work(3); two = names(p.stop())
        say(first=first, one=one["leaf"], two=two["leaf"])
        """,
    )
    assert said == {"first": {}, "one": 2, "two": 3}


def test_scopes_marks_and_counters_are_in_the_timeline(program: Program, python: str) -> None:
    said = program(
        python,
        """
        import asyncio
        async def step():
            with inferscope.scope("inner"):
                await asyncio.sleep(0)
        with inferscope.Profiler() as p:
            with inferscope.scope("outer"):
                inferscope.mark_event("moment", {"tokens": [1, 2], "text": "\\u00e9"})
                inferscope.counter("queue", 2.5)
            asyncio.run(step())
        rows = [e for e in p.get_unified_timeline() if not e["event_type"].startswith(("cpu_", "gc_"))]
        say(rows=[[e["event_type"], e["name"], e["metadata"]] for e in rows],
            moments=all(e["start_ns"] == e["end_ns"] for e in rows),
            tasks=[e["task"] is not None for e in rows if e["name"] == "inner"])
        """,
    )
    kinds = [(kind, name) for kind, name, _ in said["rows"]]
    assert kinds == [
        ("scope_enter", "outer"),
        ("instant", "moment"),
        ("counter", "queue"),
        ("scope_exit", "outer"),
        ("scope_enter", "inner"),
        ("scope_exit", "inner"),
    ]
    assert said["rows"][1][2] == {"tokens": [1, 2], "text": "é"}
    assert said["rows"][2][2] == {"value": 2.5}
    assert said["moments"]


def test_the_trace_can_be_kept_and_analysed(program: Program, python: str, inferscope: Any, tmp_path: Path) -> None:
    said = program(
        python,
        """
        import warnings
        with inferscope.Profiler(trace="kept.isc", budget="off") as p:
            work(7)
        with open("mine.txt", "w") as f: f.write("mine")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            with inferscope.Profiler(trace="mine.txt") as q: work(1)
        say(trace=p.get_stats()["trace"], other=q.get_stats()["trace"], told=[str(w.message) for w in seen],
            mode=oct(os.stat("kept.isc").st_mode & 0o777), leaf=names(q.get_unified_timeline())["leaf"])
        """,
    )
    assert (said["trace"], said["other"], said["mode"], said["leaf"]) == ("kept.isc", None, "0o600", 1)
    assert len(said["told"]) == 1 and "mine.txt" in said["told"][0]
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert inferscope("analyze", tmp_path / "kept.isc", "--output", tmp_path / "r.json").returncode in (0, 3)
    report = json.loads((tmp_path / "r.json").read_text())
    assert [f["calls"] for f in report["functions"] if f["name"] == "leaf"] == [7]


def test_what_cannot_be_answered_is_an_error_with_its_reason(program: Program, python: str) -> None:
    said = program(
        python,
        """
        told = []
        p = inferscope.Profiler(size_mb=1)
        try: p.report()
        except inferscope.Error as error: told.append(str(error))
        p.start(); work(1); p.stop()
        for _ in range(70):
            q = inferscope.Profiler(size_mb=1)
            q.start(); q.stop()
        try: p.report()
        except inferscope.Error as error: told.append(str(error))
        try: q.report("pdf")
        except ValueError as error: told.append(str(error))
        kept = names(p.get_unified_timeline())["leaf"]
        say(told=told, kept=kept)
        """,
    )
    assert "call start() first" in said["told"][0]
    assert "many others came since" in said["told"][1]
    assert "markdown, html or json" in said["told"][2]
    assert said["kept"] == 1


def test_every_docstring_example_runs(program: Program, python: str) -> None:
    said = program(
        python,
        """
        import doctest, importlib
        failed = attempted = 0
        for name in (
            "", ".cpu", ".profiler", ".sampling", ".timeline", ".notebook", ".gpu", ".analysis", ".report",
            "._core", "._errors", "._offline",
        ):
            result = doctest.testmod(importlib.import_module("inferscope" + name))
            failed, attempted = failed + result.failed, attempted + result.attempted
        say(failed=failed, attempted=attempted)
        """,
    )
    assert said["failed"] == 0 and said["attempted"] > 20


def test_importing_the_package_loads_none_of_it(program: Program, python: str) -> None:
    said = program(
        python,
        """
        loaded = sorted(m for m in sys.modules if m.startswith("inferscope"))
        say(loaded=loaded, names=[n for n in inferscope.__all__ if n not in dir(inferscope)])
        """,
    )
    assert said["loaded"] == ["inferscope", "inferscope._core"]
    assert said["names"] == []
