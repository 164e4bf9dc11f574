"""Which Python ran: the process says so itself, and the report hands it on."""

from __future__ import annotations

import subprocess
from typing import Any

ASK = "import platform, sys; print(platform.python_version()); print(sys.executable)"


def asked(python: str) -> list[str]:
    done = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.splitlines()


def test_the_report_names_the_python_of_the_program(inferscope: Any, python: str) -> None:
    run = inferscope("run", "--python", python, "-c", "pass")
    assert [run.report.program.python, run.report.program.python_path] == asked(python)


def test_it_is_told_when_recording_begins_later(inferscope: Any, python: str) -> None:
    code = "import time\ndef f(): pass\nfor _ in range(100): f(); time.sleep(0.01)"
    run = inferscope("run", "--delay", "0.4", "--python", python, "-c", code)
    assert [run.report.program.python, run.report.program.python_path] == asked(python)


def test_a_python_under_a_shell_is_the_program_s(inferscope: Any, python: str, stage: Any) -> None:
    site = next(stage.glob("lib/python3*/site-packages"))
    inject = {"PYTHONPATH": f"{site}/inferscope/_inject"}
    run = inferscope("run", "--", "sh", "-c", f"{python} -c pass; true", env=inject)
    assert run.report.program.python == asked(python)[0]


def test_a_program_without_python_has_none(inferscope: Any) -> None:
    run = inferscope("run", "--", "true")
    assert run.report.program.python is None
    assert run.report.program.python_path is None


def test_markdown_says_it_too(inferscope: Any, python: str) -> None:
    inferscope("run", "--report", "r.md", "--python", python, "-c", "pass")
    version, path = asked(python)
    assert f"`{version}`, `{path}`" in (inferscope.folder / "r.md").read_text()
