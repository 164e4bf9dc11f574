"""More than one stack of calls on a thread: subinterpreters, which are not traced, and greenlets, which do not nest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

INTERPRETERS = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
run = getattr(interpreters, "exec", None) or interpreters.run_string
def outside(n): return n if n < 2 else outside(n - 1) + outside(n - 2)
for _ in range(3):
    one = interpreters.create()
    run(one, "def inside(n): return n if n < 2 else inside(n - 1) + inside(n - 2)\\ninside(10)")
    interpreters.destroy(one)
outside(10)
print("end")
"""

# Each is left in the middle of a call, and goes on when calls of the other are open.
GREENLETS = """
import greenlet
def spin():
    for i in range(500): pass
def left():
    spin(); b.switch(); spin()
def right():
    spin(); a.switch(); spin()
def ping():
    for _ in range(100): left()
def pong():
    while True: right()
a, b = greenlet.greenlet(ping), greenlet.greenlet(pong)
a.switch()
print("end")
"""


def test_subinterpreters_are_counted_and_left_alone(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(INTERPRETERS)
    run = inferscope("run", "--budget", "off", "--python", python, program)
    assert run.returncode == 0 and run.stdout == "end\n", run.stderr
    calls = {f.name: f.calls for f in run.report.functions}
    assert calls["outside"] == 177 and "inside" not in calls
    (said,) = (w for w in run.report.warnings if w.id == "subinterpreters")
    assert said.text.startswith("subinterpreters: 3;")


def test_without_subinterpreters_nothing_is_said_of_them(inferscope: Any, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("def f(): pass\nf()\n")
    run = inferscope("run", program)
    assert not [w for w in run.report.warnings if w.id == "subinterpreters"]


@pytest.mark.integration
def test_greenlets_are_counted_and_their_times_marked(inferscope: Any, tmp_path: Path, greenlet_python: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(GREENLETS)
    run = inferscope("run", "--budget", "off", "--python", greenlet_python, program)
    assert run.returncode == 0 and run.stdout == "end\n", run.stderr
    found = {f.name: f for f in run.report.functions if f.file == str(program)}
    counts = {name: f.calls for name, f in found.items()}
    assert counts == {"<module>": 1, "ping": 1, "pong": 1, "spin": 399, "left": 100, "right": 100}
    # It went on beneath calls of the other, so where it ended is a guess.
    assert found["right"].estimated and found["pong"].estimated and not found["spin"].estimated
    assert all(0 <= f.self_us <= f.total_us for f in found.values())
    within = sum(f.self_us for f in found.values())
    assert within <= found["<module>"].total_us * 1.001
