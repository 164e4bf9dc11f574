"""inferscope analyze: from a trace to a report that holds what it promises."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema  # type: ignore[import-untyped]
import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command, Run

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "schema" / "report-1.json").read_text())
Target = Callable[[str], str]
DEFS = 6  # chunk type of definitions

# The names that a report always has, whatever it knows.
TOP = {
    *("schema", "program", "verdict", "suggestions", "window", "breakdown", "gpus", "scopes", "functions", "lines"),
    *("kernels", "copies", "stacks", "syscalls", "memory", "numa", "threads", "overhead", "clock", "warnings"),
}


def check(report: object) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(report)


def ids(run: Run) -> set[str]:
    return {warning["id"] for warning in run.report["warnings"]}


@pytest.fixture
def traced(inferscope: Command, target: Target) -> Run:
    """A run of the target with known scopes."""
    run = inferscope("run", "--", target("scopes.c"))
    assert run.returncode == 3, run.stderr
    return run


def test_the_schema_is_one_and_the_report_of_every_scene_holds_it(scenes: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    reports = sorted(scenes.glob("*.report.json"))
    assert len(reports) >= 40
    for path in reports:
        check(json.loads(path.read_text(encoding="utf-8", errors="strict")))


def test_the_schema_refuses_what_is_not_a_report(traced: Run) -> None:
    damages: list[dict[str, object]] = [
        {"schema": "inferscope-report-2"},
        {"threads": [{}]},
        {"verdict": {}},
        {"warnings": [{"text": ""}]},
        {"overhead": None},
    ]
    for damage in damages:
        with pytest.raises(jsonschema.ValidationError):
            check({**traced.report, **damage})


def test_a_report_has_every_name_of_the_contract(traced: Run) -> None:
    report = traced.report
    check(report)
    assert set(report) >= TOP
    assert report.schema == "inferscope-report-1"
    assert report.program.exit_code == 3
    assert report.program.signal is None
    assert report.verdict.bottleneck == "unknown"
    assert report.verdict.withheld
    assert {"no_calls", "no_gpu"} <= ids(traced)


def test_scopes_marks_and_counters_are_what_the_program_did(traced: Run) -> None:
    report = traced.report
    request = next(scope for scope in report.scopes if scope.name == "request")
    assert request.count == 20
    assert 5000 <= request.p50_us <= 20000
    assert 60000 <= request.max_us == pytest.approx(request.max_us)
    assert request.p50_us <= request.p90_us <= request.p99_us <= request.max_us
    assert sum(bin.count for bin in request.histogram) == 20
    assert [(mark.name, mark.count) for mark in report.marks] == [("answered", 20)]
    queue = report.counters[0]
    assert (queue.name, queue.count, queue.min, queue.max, queue.last) == ("queue", 20, 1.0, 20.0, 1.0)
    assert report.overhead.lost == 0
    # enter, leave, counter and mark of 20 requests, one more scope, and the thread's name
    assert report.overhead.events >= 83


def test_the_same_trace_gives_the_same_bytes(inferscope: Command, traced: Run, tmp_path: Path) -> None:
    for ending in ("md", "json"):
        for name in ("one", "two"):
            assert inferscope("analyze", traced.trace, "--output", tmp_path / f"{name}.{ending}").returncode == 0
        one, two = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("one", "two"))
        assert one == two
        assert str(tmp_path).encode() not in one.replace(str(traced.report["program"]["argv"][0]).encode(), b"")


def test_reports_are_ours_to_replace_and_others_are_not(inferscope: Command, traced: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    assert inferscope("analyze", traced.trace).returncode == 0
    assert report.read_text().startswith("<!-- inferscope-report-1 -->\n# ")
    assert inferscope("analyze", traced.trace).returncode == 0
    report.write_text("my notes\n")
    refused = inferscope("analyze", traced.trace)
    assert refused.returncode == 4
    assert "--force" in refused.stderr
    assert report.read_text() == "my notes\n"
    assert inferscope("analyze", traced.trace, "--force").returncode == 0
    assert report.read_text() != "my notes\n"


def test_the_summary_is_short_and_on_stderr(inferscope: Command, traced: Run) -> None:
    run = inferscope("analyze", traced.trace, "--format", "json")
    assert run.stdout == ""
    assert 4 <= len(run.ours) <= 12
    assert run.theirs == ""
    assert any("slowest scope: request: 20 times" in line for line in run.ours)
    assert any(line.endswith("report: report.json") for line in run.ours)
    assert inferscope("analyze", traced.trace, "--quiet").stderr == ""


def test_a_scope_can_be_looked_at_alone(inferscope: Command, traced: Run) -> None:
    run = inferscope("analyze", traced.trace, "--format", "json", "--scope", "request")
    assert run.returncode == 0
    check(run.report)
    assert [scope.name for scope in run.report.scopes] == ["request"]
    assert run.report.marks[0].count == 20
    assert run.report.window.why == "inside the scope request, 20 times"


def test_a_time_can_be_looked_at_alone(inferscope: Command, traced: Run) -> None:
    run = inferscope("analyze", traced.trace, "--format", "json", "--from", "10ms", "--to", "0.05")
    assert run.returncode == 0
    assert (run.report.window.from_us, run.report.window.to_us) == (10000.0, 50000.0)
    assert 0 < run.report.marks[0].count < 20
    assert all(thread.wall_us <= 40000 for thread in run.report.threads)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "which trace is missing"),
        (["nothing.isc"], 3, "nothing.isc"),
        (["notes.txt"], 3, "notes.txt"),
        (["T", "--output", "x.pdf"], 2, ".md, .html or .json"),
        (["T", "--format", "pdf"], 2, "markdown, html or json"),
        (["T", "--scope", "nothing"], 2, 'no scope named "nothing"'),
        (["T", "--from", "soon"], 2, "is not a time"),
        (["T", "--from", "2", "--to", "1"], 2, "ends before it begins"),
        (["T", "--from", "1000"], 2, "ends before the time"),
        (["T", "T"], 2, "one trace at a time"),
        (["T", "--outptu", "x.md"], 2, "--output"),
        (["T", "--output", "missing/x.md"], 4, "missing"),
    ],
)
def test_what_goes_wrong_is_one_line(
    inferscope: Command, traced: Run, tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    (tmp_path / "notes.txt").write_text("not a trace\n" * 100)
    run = inferscope("analyze", *[str(traced.trace) if arg == "T" else arg for arg in arguments])
    assert run.returncode == code, run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert run.stderr.startswith("inferscope: ")
    assert words in run.stderr
    assert not list(tmp_path.glob("*.md")) and not list(tmp_path.glob("*.html"))


def test_a_killed_program_is_told_as_such(inferscope: Command, target: Target) -> None:
    run = inferscope("run", "--", target("scopes.c"), "kill")
    assert run.returncode == -9
    assert run.report.program.signal == 9
    assert run.report.program.exit_code is None
    assert "killed" in ids(run)
    assert next(scope.count for scope in run.report.scopes if scope.name == "request") == 20


def test_a_damaged_trace_is_reported_as_far_as_it_goes(inferscope: Command, traced: Run) -> None:
    data = bytearray(traced.trace.read_bytes())
    # The payload of every chunk of names: behind 64 bytes of header, whose fifth byte is the type.
    chunks = [at for at in range(0, len(data) - 64, 8) if data[at : at + 4] == b"ISCc" and data[at + 4] == DEFS]
    assert chunks
    for at in chunks:
        data[at + 64] ^= 0x55
    traced.trace.write_bytes(data)
    run = inferscope("analyze", traced.trace, "--format", "json", "--force")
    assert run.returncode == 3
    check(run.report)
    assert "damaged" in ids(run)
    assert any("warning: the trace is damaged" in line for line in run.ours)


def test_a_trace_is_analysed_while_it_is_written(inferscope: Command, tmp_path: Path) -> None:
    trace = tmp_path / "live.isc"
    program = inferscope.start("run", "--trace", trace, "--no-report", "--", "sleep", "30")
    try:
        deadline = time.monotonic() + 20
        while True:
            run = inferscope("analyze", trace, "--format", "json", "--quiet")
            if run.returncode == 0 and run.report.program.processes:
                break
            assert time.monotonic() < deadline, run.stderr
            time.sleep(0.05)
        check(run.report)
        assert run.report.program.exit_code is None
        assert "unfinished" in ids(run)
        assert run.report.program.processes[0].argv[0] == "sleep"
        assert not run.report.program.processes[0].ended
    finally:
        program.terminate()
        program.communicate(timeout=20)


def test_reports_are_private(inferscope: Command, traced: Run, tmp_path: Path) -> None:
    inferscope("analyze", traced.trace)
    assert (tmp_path / "report.md").stat().st_mode & 0o777 == 0o600


def test_a_trace_without_a_single_chunk_is_damaged_input(inferscope: Command, target: Callable[[str], str]) -> None:
    run = inferscope("run", "--", target("marks.c"), "10")
    cut = inferscope.folder / "cut.isc"
    cut.write_bytes(run.trace.read_bytes()[:1000])
    assert inferscope("analyze", cut, "--output", "cut.json").returncode == 3
