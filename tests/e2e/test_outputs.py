"""X4 through the whole command: what is in the way of an output is found before the program starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command, Run

OPTIONS = ["--trace", "--report"]


def try_run(inferscope: Command, option: str, path: Path, *more: str) -> tuple[Run, bool]:
    """A run with that output, and whether the program started."""
    started = inferscope.folder / "started"
    run = inferscope("run", *more, option, path, "--", "touch", started)
    return run, started.exists()


def named(folder: Path, option: str) -> Path:
    return folder / ("t.isc" if option == "--trace" else "r.json")


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["plain", "force"])
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "folder"])
def test_what_is_not_a_file_is_refused_before_the_start(
    inferscope: Command, tmp_path: Path, kind: str, option: str, force: list[str]
) -> None:
    path, victim = named(tmp_path, option), tmp_path / "victim"
    if kind == "link":
        victim.write_text("mine")
    if kind in ("link", "dangling"):
        path.symlink_to(victim)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    run, started = try_run(inferscope, option, path, *force)
    assert run.returncode == 125
    assert not started
    assert run.stderr.startswith(f"inferscope: cannot write {path}: ")
    assert run.stderr.count("\n") == 1
    assert victim.exists() == (kind == "link")
    if kind == "link":
        assert victim.read_text() == "mine"


@pytest.mark.parametrize("option", OPTIONS)
def test_a_foreign_file_needs_force_and_ours_does_not(inferscope: Command, tmp_path: Path, option: str) -> None:
    path = named(tmp_path, option)
    path.write_text("ten years of work")
    run, started = try_run(inferscope, option, path)
    assert (run.returncode, started) == (125, False)
    assert "add --force" in run.stderr
    assert path.read_text() == "ten years of work"
    run, started = try_run(inferscope, option, path, "--force")
    assert (run.returncode, started) == (0, True), run.stderr
    run, _ = try_run(inferscope, option, path)
    assert run.returncode == 0, run.stderr
    assert path.stat().st_mode & 0o7777 == 0o600
    assert not list(tmp_path.glob(".inferscope-*"))


@pytest.mark.parametrize("option", OPTIONS)
def test_a_folder_that_is_not_there_is_told_before_the_start(inferscope: Command, tmp_path: Path, option: str) -> None:
    run, started = try_run(inferscope, option, named(tmp_path / "no" / "such", option))
    assert (run.returncode, started) == (125, False)
    assert run.stderr.endswith("make the folder first\n")


def test_a_link_planted_by_the_program_is_not_followed(inferscope: Command, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    report = tmp_path / "r.json"
    run = inferscope("run", "--report", report, "--", "ln", "-s", victim, report)
    assert run.returncode == 0
    assert victim.read_text() == "mine"
    assert any("symbolic link" in line for line in run.ours)


def test_a_folder_exchanged_by_the_program_leads_nowhere_else(inferscope: Command, tmp_path: Path) -> None:
    out, victims = tmp_path / "out", tmp_path / "victims"
    out.mkdir()
    victims.mkdir()
    swap = f"mv {out} {out}.moved && ln -s {victims} {out}"
    run = inferscope("run", "--trace", out / "t.isc", "--report", out / "r.md", "--", "sh", "-c", swap)
    assert run.returncode == 0
    assert not list(victims.iterdir())
    assert (tmp_path / "out.moved" / "t.isc").stat().st_size > 0


@pytest.mark.parametrize("program", ["no-such-program", "/nonexistent/x", "/", "./plain"])
def test_a_program_that_cannot_start_costs_no_earlier_trace(inferscope: Command, program: str) -> None:
    trace = inferscope.folder / "inferscope.isc"
    (inferscope.folder / "plain").write_text("no program")
    assert inferscope("run", "--no-report", "--", "true").returncode == 0
    earlier = trace.read_bytes()
    assert inferscope("run", "--no-report", "--", program).returncode in (126, 127)
    assert trace.read_bytes() == earlier


@pytest.mark.parametrize("spelt", ["both.json", "./both.json", "sub/../both.json"])
def test_a_report_cannot_take_the_place_of_its_trace(inferscope: Command, spelt: str) -> None:
    (inferscope.folder / "sub").mkdir()
    started = inferscope.folder / "started"
    run = inferscope("run", "--force", "--trace", "both.json", "--report", spelt, "--", "touch", started)
    assert (run.returncode, started.exists()) == (125, False)
    assert "the report and the trace are both to be " in run.stderr


HTML = "<!doctype html>\n<!-- inferscope-report-"
HEADS = {"markdown": ("md", "<!-- inferscope-report-"), "html": ("html", HTML), "json": ("json", "{")}


@pytest.mark.parametrize("how", ["option", "file", "variable"])
def test_a_format_holds_whatever_the_ending(inferscope: Command, tmp_path: Path, how: str) -> None:
    page = tmp_path / "x"
    options = [] if how == "file" else ["--format", "html"]
    options += [] if how == "variable" else ["--report", str(page)]
    if how == "file":
        (tmp_path / ".inferscope.yaml").write_text("format: html\n")
    named = {"INFERSCOPE_REPORT": str(page)} if how == "variable" else {}
    run = inferscope("run", *options, "--", "true", plain=True, env=named)
    assert run.returncode == 0, run.stderr
    assert page.read_text().startswith(HTML)
    assert inferscope("analyze", run.trace, "--format", "html", "--output", page).returncode == 0
    assert page.read_text().startswith(HTML)


@pytest.mark.parametrize("name", HEADS)
def test_a_report_without_a_path_has_the_ending_of_its_format(inferscope: Command, tmp_path: Path, name: str) -> None:
    ending, head = HEADS[name]
    for arguments in (["run", "--format", name, "--", "true"], ["analyze", "--format", name, "inferscope.isc"]):
        run = inferscope(*arguments, plain=True)
        assert run.returncode == 0, run.stderr
        (written,) = tmp_path.glob("report.*")
        assert written.name == f"report.{ending}" and written.read_text().startswith(head)
        written.unlink()
