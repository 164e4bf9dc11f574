"""Every Python call is recorded, and the program does not notice."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.calls import programs
    from tests.e2e.calls.counting import calls, events
else:
    import programs
    from counting import calls, events

HERE = Path(__file__).parent


def truth(python: str, program: Path, mode: str) -> tuple[dict[str, int], int]:
    out = program.with_suffix(".json")
    command = [python, str(HERE / "oracle.py"), str(program), str(out), mode]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert out.exists(), done.stderr
    return json.loads(out.read_text()), done.returncode


def traced(inferscope: Any, python: str, program: Path, *options: str) -> Any:
    return inferscope("run", "--budget", "off", "--all-frames", "--no-report", "--python", python, *options, program)


@pytest.mark.parametrize("shape", [*programs.ALONE, *programs.THREADS])
def test_calls_are_counted_as_python_counts_them(inferscope: Any, tmp_path: Path, python: str, shape: str) -> None:
    alone = shape in programs.ALONE
    program = tmp_path / f"calls_{shape}.py"
    program.write_text((programs.ALONE if alone else programs.THREADS)[shape])
    expected, status = truth(python, program, "alone" if alone else "threads")
    run = traced(inferscope, python, program)
    assert run.returncode == status, run.stderr
    assert dict(calls(run, program)) == expected


@pytest.mark.parametrize("shape", [*programs.ALONE, *programs.THREADS])
def test_what_is_entered_is_left(inferscope: Any, tmp_path: Path, python: str, shape: str) -> None:
    program = tmp_path / f"calls_{shape}.py"
    program.write_text({**programs.ALONE, **programs.THREADS}[shape])
    run = traced(inferscope, python, program)
    open_calls: dict[str, list[str]] = {}
    for thread, kind, name, file, _ in events(run):
        stack = open_calls.setdefault(thread, [])
        if file != str(program):
            continue
        if kind == "call_exit":
            assert stack and stack.pop() == name
        else:
            stack.append(name)
    assert not any(open_calls.values()), open_calls
