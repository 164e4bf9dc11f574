"""Names that a program makes up for every request: bounded in the program, one row in the report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

TASKS = """
import asyncio
from inferscope import counter, mark_event, scope
async def handle(i):
    with scope(f"request-{i}"):
        await asyncio.sleep(0)
    mark_event(f"answered {i:016x}")
    counter(f"queue of user {i}", i)
async def main():
    for first in range(0, 20000, 100):
        await asyncio.gather(*[handle(first + i) for i in range(100)])
    await asyncio.create_task(handle(0), name="given by the program")
asyncio.run(main())
"""

LAYERS = """
from inferscope import scope
for layer in range(126):
    with scope(f"layer.{layer}.attn"):
        pass
"""


def record(inferscope: Any, package: Path, folder: Path, python: str, program: str, *options: str) -> Any:
    script = folder / "program.py"
    script.write_text(program)
    run = inferscope("run", "--python", python, *options, script, env={"PYTHONPATH": str(package)})
    assert run.returncode == 0, run.stderr
    return run


def warning_of(run: Any, name: str) -> Any:
    return next((w for w in run.report.warnings if w.id == name), None)


def test_twenty_thousand_tasks_define_no_name_each(inferscope: Any, package: Path, tmp_path: Path, python: str) -> None:
    run = record(inferscope, package, tmp_path, python, TASKS, "--budget", "off")
    scopes = {scope.name: scope.count for scope in run.report.scopes}
    assert scopes == {"request-#": 20001}
    assert {mark.name: mark.count for mark in run.report.marks} == {"answered #": 20001}
    assert [counter.name for counter in run.report.counters] == ["queue of user #"]
    folded = warning_of(run, "folded_names")
    counts = re.findall(r'"request-#" \(about ([0-9,]+) names\)', folded.text)
    assert 14000 < int(counts[0].replace(",", "")) < 26000
    assert folded.remedy and not folded.grave
    dump = run.dump()
    tasks = [line for line in dump if " task " in line and "#" in line]
    assert any('task "Task-19999"' in line for line in tasks)
    assert any('task "given by the program"' in line for line in tasks)
    assert not any('"?"' in line for line in dump)


def test_a_few_names_with_numbers_keep_them(inferscope: Any, package: Path, tmp_path: Path, python: str) -> None:
    run = record(inferscope, package, tmp_path, python, LAYERS)
    assert sorted(scope.name for scope in run.report.scopes) == sorted(f"layer.{n}.attn" for n in range(126))
    assert warning_of(run, "folded_names") is None
