"""What a person meets who uses the command for the first time."""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command

pytestmark = pytest.mark.timed

Target = Callable[[str], str]


@pytest.fixture
def trace(inferscope: Command, target: Target) -> Path:
    run = inferscope("run", "--no-report", "--", target("scopes.c"))
    assert run.returncode == 3, run.stderr
    return run.trace


# ---- the report on stdout ----


def test_a_report_goes_to_stdout_and_our_lines_to_stderr(inferscope: Command, trace: Path, tmp_path: Path) -> None:
    shown = inferscope("analyze", trace, "--output", "-")
    assert shown.returncode == 0
    assert inferscope("analyze", trace, "--output", "r.md").returncode == 0
    assert shown.stdout == (tmp_path / "r.md").read_text()
    assert shown.ours and shown.theirs == ""
    assert not any(" report: " in line for line in shown.ours)
    assert not (tmp_path / "-").exists()
    quiet = inferscope("analyze", trace, "--output", "-", "--format", "json", "--quiet")
    assert json.loads(quiet.stdout)["schema"] == "inferscope-report-1" and quiet.stderr == ""


def test_a_report_that_cannot_be_printed_is_told(inferscope: Command, trace: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = inferscope.start("analyze", trace, "--output", "-", "--quiet", stdout=full)
        _, stderr = process.communicate(timeout=20)
    assert process.returncode == 4
    assert stderr.startswith("inferscope: cannot print the report: ") and "; " in stderr


def test_a_file_of_that_name_can_still_be_had(inferscope: Command, trace: Path, tmp_path: Path) -> None:
    assert inferscope("analyze", trace, "--output", "./-", "--format", "markdown").stdout == ""
    assert (tmp_path / "-").read_text().startswith("<!-- inferscope-report-1 -->")


@pytest.mark.parametrize(("option", "variable"), [("--report", "INFERSCOPE_REPORT"), ("--trace", "INFERSCOPE_TRACE")])
def test_run_leaves_stdout_to_the_program(inferscope: Command, tmp_path: Path, option: str, variable: str) -> None:
    for run in (
        inferscope("run", option, "-", "--", "touch", "started"),
        inferscope("run", "--", "touch", "started", plain=True, env={variable: "-"}),
    ):
        assert run.returncode == 125
        assert run.stderr.count("\n") == 1 and "; " in run.stderr
        assert f"cannot write the {option[2:]} to -" in run.stderr
        assert not (tmp_path / "started").exists() and not (tmp_path / "-").exists()


# ---- what is not Python's ----


@pytest.mark.parametrize("line", ["#!/bin/sh", "#! /bin/bash -eu", "#!/usr/bin/env -S perl -w"])
def test_a_script_of_another_language_is_told_how_to_run_it(inferscope: Command, tmp_path: Path, line: str) -> None:
    script = tmp_path / "start.sh"
    script.write_text(f"{line}\necho hello\n")
    run = inferscope("run", "./start.sh")
    assert run.returncode == 125
    assert run.stderr.startswith("inferscope: cannot run ./start.sh with Python: it is a script for ")
    assert run.stderr.endswith("; write inferscope run -- ./start.sh\n")


def test_a_program_is_told_how_to_run_it(inferscope: Command, target: Target) -> None:
    program = target("scopes.c")
    run = inferscope("run", program)
    assert run.returncode == 125
    assert (
        run.stderr
        == f"inferscope: cannot run {program} with Python: it is a program; write inferscope run -- {program}\n"
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain", "print('python ran it')\n"),
        ("named", "#!/usr/bin/env python3\nprint('python ran it')\n"),
        ("both", "#!/bin/sh\n'''exec' python3 \"$0\" \"$@\"\n'''\nprint('python ran it')\n"),
        ("odd.py", "#!/bin/sh\nprint('python ran it')\n"),
        ("unknown", "#!/opt/own/launcher\nprint('python ran it')\n"),
    ],
)
def test_what_python_can_run_is_run(inferscope: Command, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    run = inferscope("run", name)
    assert (run.returncode, run.stdout) == (0, "python ran it\n"), run.stderr


def test_a_script_from_a_pipe_keeps_its_first_line(inferscope: Command) -> None:
    readable, writable = os.pipe()
    os.write(writable, b"#!/bin/sh\nprint('python ran it')\n")
    os.close(writable)
    assert stat.S_ISFIFO(os.fstat(readable).st_mode)
    process = inferscope.start("run", f"/dev/fd/{readable}", pass_fds=[readable])
    os.close(readable)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout) == (0, "python ran it\n"), stderr


# ---- the summary ----


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_the_signal_that_ended_the_program_is_named(inferscope: Command, number: signal.Signals) -> None:
    run = inferscope("run", "-c", f"import os; os.kill(os.getpid(), {int(number)})")
    assert run.returncode == -number
    assert any(f"was ended by {number.name}, signal {int(number)} (" in line for line in run.ours)
    (told,) = (warning.text for warning in run.report.warnings if warning.id == "killed")
    assert number.name in told


def test_paths_are_shown_as_they_were_given(inferscope: Command, tmp_path: Path) -> None:
    run = inferscope("run", "--", "true", plain=True)
    assert run.ours[-2:] == ["inferscope: report: report.md", "inferscope: trace: inferscope.isc"]
    run = inferscope("run", "--report", tmp_path / "r.md", "--trace", "./t.isc", "--", "true")
    assert run.ours[-2:] == [f"inferscope: report: {tmp_path}/r.md", "inferscope: trace: ./t.isc"]


def test_what_to_do_is_promised_only_where_something_can_be_done(inferscope: Command, trace: Path) -> None:
    run = inferscope("analyze", trace, "--format", "json")
    (line,) = (line for line in run.ours if " in the report" in line)
    shown = sum(" warning: " in ours for ours in run.ours)
    rest = run.report.warnings[shown:]
    remedies = sum(warning.remedy is not None for warning in rest)
    assert 0 < remedies < len(rest)
    assert line.endswith(f"are in the report, with what to do about {remedies} of them")


def test_a_tiny_run_does_not_say_what_the_recorder_costs(inferscope: Command) -> None:
    tiny = inferscope("run", "--", "true").report
    assert tiny.overhead.recorder_cpu_pct is None
    (told,) = (warning for warning in tiny.warnings if warning.id == "short_run")
    assert "recorder_cpu_pct" in told.text and told.remedy
    longer = inferscope("run", "--", "sleep", "0.3").report
    assert longer.overhead.recorder_cpu_pct is not None
    assert "short_run" not in {warning.id for warning in longer.warnings}


def test_help_offers_the_formats_that_are_taken(inferscope: Command, tmp_path: Path) -> None:
    assert "markdown, html or json" in " ".join(inferscope("analyze", "--help", plain=True).stdout.split())
    for name in ("report.md", "report.html", "report.json"):
        assert inferscope("run", "--report", tmp_path / name, "--", "true").returncode == 0
        assert (tmp_path / name).stat().st_size > 0
