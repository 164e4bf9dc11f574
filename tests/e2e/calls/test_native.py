"""--c-calls: calls of C functions, counted as cProfile counts them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.calls import programs
    from tests.e2e.calls.counting import TEXT
else:
    import programs
    from counting import TEXT

HERE = Path(__file__).parent
#: Every third shape; all of them in the long run.
SHAPES = list(programs.ALONE)[:: 1 if os.environ.get("INFERSCOPE_LONG") == "1" else 3]
PYTHON = re.compile(rf" call_(enter|resume|exit) {TEXT} {TEXT}:(\d+)(?: arg \d+)?$")
NATIVE = re.compile(rf" c_(enter|exit) {TEXT}(?: arg \d+)?$")


def plain(name: str) -> str:
    """The function's own name in cProfile's words for it, of which there are several."""
    method = re.fullmatch(r"<method '(.*)' of '.*' objects>", name)
    if method:
        return method.group(1)
    builtin = re.fullmatch(r"<built-in method (\S+).*>", name)
    return builtin.group(1).rpartition(".")[2] if builtin else name


def truth(python: str, program: Path) -> Counter[tuple[str, str]]:
    out = program.with_suffix(".json")
    command = [python, str(HERE / "oracle.py"), str(program), str(out), "native"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert out.exists(), done.stderr
    counts: Counter[tuple[str, str]] = Counter()
    for caller, called in json.loads(out.read_text()).items():
        for name, times in called:
            counts[caller, plain(name)] += times
    return counts


def traced(run: Any, program: Path) -> Counter[tuple[str, str]]:
    """How often each function of the program called each C function; what is entered is left."""
    counts: Counter[tuple[str, str]] = Counter()
    stack: list[tuple[str, str]] = []
    for line in run.dump():
        python, native = PYTHON.search(line), NATIVE.search(line)
        if python:
            kind, name, file, first = python.groups()
            here = (f"{name.rpartition('.')[2]}:{first}", file)
        elif native:
            kind, name = native.groups()
            here = (name, "")
            if kind == "enter" and stack and stack[-1][1] == str(program):
                counts[stack[-1][0], name.rpartition(".")[2]] += 1
        else:
            continue
        if kind != "exit":
            stack.append(here)
        elif stack:  # else it began before tracing did
            assert stack.pop() == here
    return counts


@pytest.mark.parametrize("shape", SHAPES)
def test_c_functions_are_counted_for_each_caller_as_cprofile_counts_them(
    inferscope: Any, tmp_path: Path, python: str, shape: str
) -> None:
    program = tmp_path / f"native_{shape}.py"
    program.write_text(programs.ALONE[shape])
    run = inferscope("run", "--no-report", "--budget", "off", "--all-frames", "--c-calls", "--python", python, program)
    assert traced(run, program) == truth(python, program)


def test_a_report_lists_c_functions_beside_the_others(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = tmp_path / "listed.py"
    program.write_text("def work():\n    for i in range(9): [].append(len('x'))\nwork()\n")
    run = inferscope("run", "--budget", "off", "--c-calls", "--python", python, program)
    found = {f.name: f for f in run.report.functions}
    assert found["builtins.len"].calls >= 9 and found["list.append"].calls >= 9
    assert found["work"].total_us >= found["work"].self_us + 0.001
    assert "builtins.len" not in {
        f.name for f in inferscope("run", "--budget", "off", "--python", python, program).report.functions
    }


def test_what_is_no_c_function_is_not_counted(inferscope: Any, tmp_path: Path, python: str) -> None:
    """As in cProfile: classes, operators, and what C functions call among themselves."""
    program = tmp_path / "none.py"
    program.write_text("def work():\n    int('1'); list(); 'a' + 'b'; [1][0]; {}.items; {**{}}; f'{1}'\nwork()\n")
    run = inferscope("run", "--no-report", "--budget", "off", "--c-calls", "--python", python, program)
    assert not {name for caller, name in traced(run, program) if caller.startswith("work")}
    program.write_text("def work():\n    sorted([1, -2], key=abs)\nwork()\n")
    run = inferscope("run", "--no-report", "--budget", "off", "--c-calls", "--python", python, program)
    assert {name for caller, name in traced(run, program) if caller.startswith("work")} == {"sorted"}
