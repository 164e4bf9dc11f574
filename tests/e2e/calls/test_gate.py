"""Where all calls are worth their trace and the budget does not reach, some units are recorded whole and others not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timed

# On a fast machine 1 % was enough for all of the chain on 3.13, and with 0.4 % recording pauses on 3.11.
BUDGET = "0.7"

# No function is small: each call takes what its forty callees take.
CHAIN = """
import json, sys, time
text = "def f0(n):\\n    return sum(range(n))\\n"
text += "".join(f"def f{k}(n):\\n    return f{k - 1}(n)\\n" for k in range(1, 40))
exec(compile(text, "chain.py", "exec"))
def answer():
    for _ in range(8): f39(20000)
"""
SCOPES = (
    CHAIN
    + """
import inferscope
end, n = time.process_time() + 3, 0
while time.process_time() < end:
    with inferscope.scope("request"):
        answer()
    n += 1
print(json.dumps(n))
"""
)
TASKS = (
    CHAIN
    + """
import asyncio
async def request():
    answer()
    await asyncio.sleep(0)
async def main():
    end, n = time.process_time() + 3, 0
    while time.process_time() < end:
        await asyncio.gather(*(asyncio.create_task(request()) for _ in range(4)))
        n += 4
    print(json.dumps(n))
asyncio.run(main())
"""
)
LOOP = (
    CHAIN
    + """
end, n = time.process_time() + 4, 0
while time.process_time() < end:
    answer()
    n += 1
print(json.dumps(n))
"""
)


def recorded(inferscope: Any, folder: Path, python: str, text: str, *options: str) -> Any:
    program = folder / "program.py"
    program.write_text(text)
    package = next(inferscope.path.parents[1].glob("lib/python*/site-packages"))
    env = {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    run = inferscope("run", "--python", python, *options, program, env=env)
    assert run.returncode == 0, run.stderr
    return run


def gates(run: Any) -> list[tuple[float, float]]:
    """When the gate was closed."""
    found: list[tuple[float, float]] = []
    since = None
    for line in run.dump():
        event = re.match(r"\+([0-9.]+) .* governed all( arg 6)?$", line)
        if event and event[2] and since is None:
            since = float(event[1])
        elif event and not event[2] and since is not None:
            found.append((since, float(event[1])))
            since = None
    return [*found, (since, 1e9)] if since is not None else found


@pytest.mark.parametrize("text", [SCOPES, TASKS, LOOP], ids=["scopes", "tasks", "loop"])
def test_units_are_recorded_whole_or_not_at_all(inferscope: Any, tmp_path: Path, python: str, text: str) -> None:
    run = recorded(inferscope, tmp_path, python, text, "--budget", BUDGET)
    done = json.loads(run.stdout)
    units = run.report.units
    assert gates(run), "the budget was enough: this program proves nothing"
    assert units["count"] == done or units["kind"] == "loop", "every unit has its row"
    # The first iterations of a loop may come before it is known to be one, and the last one is never seen to end.
    assert abs(units["count"] - done) <= 0.02 * done + 2
    # Small functions of asyncio may be left out before units are.
    assert units["whole"] + units["thinned"] > 0 and units["none"] > 0
    assert units["whole"] + units["partial"] + units["none"] == units["count"]
    assert units["partial"] - units["thinned"] <= 0.2 * units["count"], "the gate moves between units"


def test_every_call_behind_the_gate_is_counted(inferscope: Any, tmp_path: Path, python: str) -> None:
    run = recorded(inferscope, tmp_path, python, SCOPES, "--budget", BUDGET)
    done = json.loads(run.stdout)
    found = {f["name"]: f for f in run.report.functions if f["file"] == "chain.py"}
    assert gates(run) and not re.search(r" governed all arg 1$", "\n".join(run.dump()), re.MULTILINE)
    assert not [e for e in run.report.overhead.governed if e["name"] == "f20"], "left out by function"
    assert found["f20"]["calls"] == 8 * done


def test_without_a_budget_there_is_no_gate(inferscope: Any, tmp_path: Path, python: str) -> None:
    run = recorded(inferscope, tmp_path, python, SCOPES, "--budget", "off")
    assert not gates(run)
    assert run.report.units["whole"] == run.report.units["count"] == json.loads(run.stdout)
