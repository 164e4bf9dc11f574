"""Where `ulimit -s` is small: names and lines are found all the same, by the recorder and afterwards."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SMALL_KB = 128
FORMATS = ["report.json", "report.md", "report.html"]


@pytest.fixture
def small(inferscope: Any, tmp_path: Path) -> Any:
    """The command on a small stack, which all that it starts inherits."""
    script = tmp_path / "small"
    script.write_text(f'#!/bin/sh\nulimit -s {SMALL_KB}\nexec {shlex.quote(str(inferscope.path))} "$@"\n')
    script.chmod(0o755)
    inferscope.path = script
    return inferscope


def hot(report: dict[str, Any]) -> set[tuple[str, int]]:
    """Functions by file and line that took more than a tenth of the samples."""
    least = sum(line["samples"] for line in report["lines"]) / 10
    return {(Path(line["file"]).name, line["line"]) for line in report["lines"] if line["samples"] > least}


def test_names_and_lines_are_found_on_a_small_stack(small: Any, target: Callable[[str], str]) -> None:
    program = target("hot_line.c")
    run = small("run", "--rate", "1000", "--budget", "off", "--", program)
    assert (run.returncode, run.stdout, run.theirs) == (0, "done\n", "")
    lines = hot(run.report)
    assert lines == {("hot_line.c", 8)}
    assert "hot_function" in [function.name for function in run.report.functions]
    # Once more from the file itself, by the main thread.
    out = small.folder / "again.json"
    done = small("analyze", run.trace, "--symbols", Path(program).parent, "--output", out)
    assert done.returncode == 0, done.stderr
    assert hot(json.loads(out.read_text())) == lines


def test_a_python_program_is_recorded_on_a_small_stack(small: Any, python: str) -> None:
    code = "import json, time\nwhile time.process_time() < 0.6: json.dumps(list(range(2000)))\nprint('done')"
    run = small("run", "--rate", "1000", "--budget", "off", "--", python, "-c", code)
    assert (run.returncode, run.stdout, run.theirs) == (0, "done\n", "")
    assert len(run.report.functions) > 3
    for name in FORMATS:
        done = small("analyze", run.trace, "--output", small.folder / f"again-{name}")
        assert done.returncode == 0, done.stderr
    for to in ("perfetto", "pprof", "speedscope"):
        assert small("export", run.trace, "--to", to).returncode == 0
    assert small("diff", run.trace, run.trace).returncode == 0
