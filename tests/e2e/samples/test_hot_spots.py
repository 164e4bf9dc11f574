"""D4: what the report makes of samples is what the program did."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timed

# Each function spins until it has had its share of the CPU time, by its own clock: the truth does not
# depend on how fast the machine is.  The clock is asked seldom, so that tracing has little to do.
SPIN = """
import json, sys, threading, time
def spin_until(end):
    while time.thread_time_ns() < end:
        for _ in range(200): pass
"""

SHARES = (
    SPIN
    + """
def heavy(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end:
        for _ in range(200): pass
def middle(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end:
        for _ in range(200): pass
def light(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end:
        for _ in range(200): pass
def work(rounds):
    for _ in range(rounds):
        heavy(7); middle(2); light(1)
begin = time.thread_time_ns()
work(int(sys.argv[1]))
print(json.dumps({"cpu_us": (time.thread_time_ns() - begin) / 1000}))
"""
)


def function(report: Any, name: str) -> Any:
    """The function of that name, without what it is inside of."""
    found = [f for f in report.functions if f.name.rpartition(".")[2] == name]
    assert len(found) == 1, [f.name for f in report.functions]
    return found[0]


def run_program(inferscope: Any, tmp_path: Path, code: str, *options: str, arguments: tuple[str, ...] = ()) -> Any:
    program = tmp_path / "program.py"
    program.write_text(code)
    run = inferscope("run", "--rate", "1000", *options, program, *arguments, timeout=300)
    assert run.returncode == 0, run.stderr
    return run


def test_D4_known_shares_are_in_the_report(inferscope: Any, python: str, tmp_path: Path, count: Any) -> None:
    rounds = count(150, 1100)
    run = run_program(inferscope, tmp_path, SHARES, "--budget", "off", "--python", python, arguments=(str(rounds),))
    report, truth = run.report, json.loads(run.stdout)["cpu_us"]
    # 2 points at 10,000 samples; few of them spread wider.
    within = 2 if rounds > 1000 else 5
    for name, share in (("heavy", 70), ("middle", 20), ("light", 10)):
        f = function(report, name)
        assert 100 * f.cpu_self_us / truth == pytest.approx(share, abs=within), name
        assert f.source == "both" and f.calls == rounds and not f.by_samples
        # Tracing saw the same function, with the time in which others had the CPU.
        assert f.cpu_self_us <= f.self_us + 3 * f.cpu_error_us
    assert function(report, "work").cpu_total_us == pytest.approx(truth, rel=0.03)
    assert report.samples.us == pytest.approx(sum(s.us for s in report.stacks), rel=1e-6)
    assert report.samples.covered_pct is None or 90 < report.samples.covered_pct < 110
    if report.samples.count >= 200:
        line = next(line for line in run.ours if "CPU time in: " in line)
        assert "heavy (" in line and f"{report.samples.count:,} samples" in line


def test_functions_that_are_not_traced_are_sampled(inferscope: Any, python: str, tmp_path: Path) -> None:
    run = run_program(
        inferscope, tmp_path, SHARES, "--budget", "off", "--no-python", "--python", python, arguments=("60",)
    )
    f = function(run.report, "heavy")
    assert (f.source, f.calls, f.resumes) == ("sampled", None, None)
    assert f.by_samples and f.estimated
    assert f.self_us == f.cpu_self_us == pytest.approx(420_000, rel=0.15)


GOVERNED = """
import json, time
def tiny(n):
    return n + 1
def also(n):
    return tiny(n) + tiny(n)
def work(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    n = 0
    while time.thread_time_ns() < end:
        for i in range(300): n += also(i)
def idle():
    time.sleep(0.3)
work(2500)
idle()
"""


def test_D4_governed_functions_have_their_times_from_samples(inferscope: Any, python: str, tmp_path: Path) -> None:
    run = run_program(inferscope, tmp_path, GOVERNED, "--budget", "3", "--python", python)
    report = run.report
    tiny = function(report, "tiny")
    if not any(g.name == "tiny" for g in report.overhead.governed):
        pytest.skip("nothing was governed on this machine")
    assert tiny.source == "both" and tiny.estimated
    # All of it is CPU time: the three share what work() was given, however it is seen.
    parts = [function(report, name) for name in ("tiny", "also", "work")]
    if all(f.by_samples or f.source == "both" for f in parts) and tiny.by_samples:
        assert sum(f.cpu_self_us for f in parts) == pytest.approx(2_500_000, rel=0.1)
        assert tiny.self_us == pytest.approx(tiny.cpu_self_us, rel=0.2)
        # Before 3.12 its one call may lie in a pause, and it has no samples.
        assert all(f.self_us >= 0 for f in report.functions if f.name == "idle")


SHAPES = (
    SPIN
    + """
def busy(ms): spin_until(time.thread_time_ns() + ms * 1_000_000)
def down(n):
    if n: return down(n - 1)
    busy(400)
def generate():
    for _ in range(4):
        busy(100)
        yield
def through():
    yield from generate()
def in_thread(): busy(400)
down(10)
for _ in through(): pass
threads = [threading.Thread(target=in_thread) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
"""
)


def test_D4_recursion_generators_and_threads(inferscope: Any, python: str, tmp_path: Path) -> None:
    report = run_program(inferscope, tmp_path, SHAPES, "--budget", "off", "--no-python", "--python", python).report
    # Ten calls inside each other are one; three threads are three times the CPU time.
    for name, ms in (("down", 400), ("generate", 400), ("through", 400), ("in_thread", 1200), ("busy", 2000)):
        assert function(report, name).cpu_total_us == pytest.approx(ms * 1000, rel=0.1), name
    assert function(report, "down").cpu_self_us < 20_000
    # What the clock itself takes is native code below.
    hottest = [f for f in report.stacks[0].frames if f.kind == "python"]
    assert [f.name.rpartition(".")[2] for f in hottest][-3:] == ["in_thread", "busy", "spin_until"]
    assert hottest[-1].file == str(tmp_path / "program.py")


LINES = """
import time
def work(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end:
        x = sum(range(20000))
        for i in range(50): x += i
        y = sorted(
            range(200), key=None,
        )
work(600)
"""


def test_D4_lines_are_right_to_the_line(inferscope: Any, python: str, tmp_path: Path) -> None:
    report = run_program(inferscope, tmp_path, LINES, "--budget", "off", "--python", python).report
    program = str(tmp_path / "program.py")
    lines = {line.line: line for line in report.lines if line.file == program and line.function.endswith("work")}
    assert set(lines) <= set(range(3, 11))  # the moment of entering belongs to the line of the def
    hottest = max(lines.values(), key=lambda line: line.self_us)
    assert hottest.line == 6
    assert hottest.self_us > 0.6 * sum(line.self_us for line in lines.values())
    assert sum(line.samples for line in report.lines) + report.samples.other_line_samples <= report.samples.count


NATIVE = """
import time, zlib
def pack(data):
    return zlib.compress(data, 9)
def loop(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    data = bytes(range(256)) * 400
    while time.thread_time_ns() < end: pack(data)
loop(500)
"""


def test_D4_native_code_is_below_the_line_that_called_it(inferscope: Any, python: str, tmp_path: Path) -> None:
    report = run_program(inferscope, tmp_path, NATIVE, "--budget", "off", "--native", "leaf", "--python", python).report
    hottest = report.lines[0]
    assert (hottest.line, hottest.function) == (4, "pack")
    assert hottest.self_us == pytest.approx(500_000, rel=0.15)
    assert hottest.native_us > 0.9 * hottest.self_us
    # It is the time of the Python function too, and once in the time of its caller.
    assert function(report, "pack").native_us == pytest.approx(hottest.native_us, rel=0.01)
    assert function(report, "loop").cpu_total_us == pytest.approx(500_000, rel=0.15)
    *_, caller, newest = report.stacks[0].frames
    assert (caller.kind, caller.name, newest.kind) == ("python", "pack", "native")


def test_a_part_of_the_run_has_its_own_samples(inferscope: Any, stage: Path, tmp_path: Path) -> None:
    code = SPIN + (
        "import inferscope\n"
        "def inside(): spin_until(time.thread_time_ns() + 300_000_000)\n"
        "def outside(): spin_until(time.thread_time_ns() + 300_000_000)\n"
        "outside()\n"
        "with inferscope.scope('part'): inside()\n"
        "outside()\n"
    )
    inferscope.environment["PYTHONPATH"] = str(next(stage.glob("**/inferscope/__init__.py")).parents[1])
    run = run_program(inferscope, tmp_path, code, "--budget", "off", "--python", sys.executable)
    assert function(run.report, "outside").cpu_total_us == pytest.approx(600_000, rel=0.1)
    part = tmp_path / "part.json"
    inferscope("analyze", run.trace, "--scope", "part", "--output", part)
    found = json.loads(part.read_text())
    names = {f["name"].rpartition(".")[2]: f for f in found["functions"]}
    assert names["inside"]["cpu_total_us"] == pytest.approx(300_000, rel=0.1)
    assert "outside" not in names
    assert found["samples"]["us"] == pytest.approx(300_000, rel=0.1)


def test_too_few_samples_are_said(inferscope: Any, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(SPIN + "spin_until(time.thread_time_ns() + 100_000_000)\n")
    run = inferscope("run", "--rate", "50", "--report", tmp_path / "report.md", program)
    assert "too few to say where it went" in (tmp_path / "report.md").read_text()
    assert any(", only " in line and " sample" in line for line in run.ours)
