"""What the report says of functions: counts, own and whole times, whoever computes them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import threading
import time


def leaf(n):
    total = 0
    for i in range(n):
        total += i
    return total


def tokens(n):
    for i in range(n):
        yield leaf(i)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def fails():
    raise ValueError


class Model:
    def __init__(self):
        self.seen = 0

    def forward(self, n):
        for _ in tokens(n):
            self.seen += 1
        try:
            fails()
        except ValueError:
            pass
        return fib(7)


def work():
    model = Model()
    for _ in range(10):
        model.forward(5)
    time.sleep(0.01)


def main():
    one = threading.Thread(target=work)
    other = threading.Thread(target=work)
    one.start()
    other.start()
    work()
    one.join()
    other.join()


main()
"""

#: Calls and resumes, on three threads.
CALLS = {
    "leaf": (150, 0),
    "tokens": (180, 150),
    "fib": (3 * 10 * 41, 0),
    "fails": (30, 0),
    "Model": (1, 0),
    "Model.__init__": (3, 0),
    "Model.forward": (30, 0),
    "work": (3, 0),
    "main": (1, 0),
    "<module>": (1, 0),
}

CALL = re.compile(
    r'^\+(\S+) p1 t(\d+) (?:nested )?#\d+ call_(\w+) ("(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*":\d+)(?: arg \d+)?$'
)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "infer.py"
    path.write_text(PROGRAM)
    return path


def exact(inferscope: Any, python: str, program: Path, *options: str) -> Any:
    run = inferscope("run", "--budget", "off", "--all-frames", "--python", python, *options, program)
    assert run.returncode == 0, run.stderr
    return run


def of_file(run: Any, path: Path) -> dict[str, Any]:
    return {f.name: f for f in run.report.functions if f.file == str(path)}


def test_calls_and_resumes_are_exact(inferscope: Any, python: str, program: Path) -> None:
    found = of_file(exact(inferscope, python, program), program)
    assert {name: (f.calls, f.resumes) for name, f in found.items()} == CALLS
    assert not any(f.estimated for f in found.values())
    assert {f.source for f in found.values()} <= {"traced", "both"}
    assert {f.line for f in found.values()} >= {6, 13, 18, 22}


def by_hand(lines: list[str]) -> dict[str, tuple[float, float]]:
    """Own and whole microseconds of each function, from the events as printed."""
    own: dict[str, float] = defaultdict(float)
    whole: dict[str, float] = defaultdict(float)
    stacks: dict[str, list[list[Any]]] = defaultdict(list)
    for line in lines:
        got = CALL.match(line)
        if not got:
            continue
        seconds, thread, kind, name = got.groups()
        now = float(seconds) * 1e6
        stack = stacks[thread]
        if kind != "exit":
            stack.append([name, now, 0.0])
            continue
        if not any(open_name == name for open_name, _, _ in stack):
            continue  # it began before tracing did
        top, began, children = stack.pop()
        assert top == name
        own[name] += now - began - children
        if all(open_name != name for open_name, _, _ in stack):
            whole[name] += now - began
        if stack:
            stack[-1][2] += now - began
    return {name: (own[name], whole[name]) for name in own}


def test_times_add_up(inferscope: Any, python: str, program: Path) -> None:
    run = exact(inferscope, python, program)
    report = {f'"{f.name}" "{f.file}":{f.line}': f for f in run.report.functions}
    expected = by_hand(run.dump())
    assert len(expected) > len(CALLS)
    calls = Counter(f.calls for f in run.report.functions).total()
    for name, (own, whole) in expected.items():
        # The dump prints nanoseconds: each call may be off by one.
        assert report[name].self_us == pytest.approx(own, abs=0.01 * calls, rel=0.001), name
        assert report[name].total_us == pytest.approx(whole, abs=0.01 * calls, rel=0.001), name
    times = {name: (f.self_us, f.total_us) for name, f in of_file(run, program).items()}
    assert times["work"][0] > 3 * 9_000, "it slept three times"
    assert times["leaf"][0] == times["leaf"][1]
    assert times["fib"][0] == pytest.approx(times["fib"][1], rel=0.001), "it calls nothing but itself"
    assert times["main"][1] < run.report.program.wall_us


def test_analyze_says_byte_for_byte_what_run_said(inferscope: Any, python: str, program: Path, tmp_path: Path) -> None:
    reports = [tmp_path / "run.md", tmp_path / "run.json"]
    options = [option for report in reports for option in ("--report", str(report))]
    for budget in ("off", "5"):
        run = inferscope("run", "--budget", budget, "--python", python, *options, program)
        for report in reports:
            again = tmp_path / f"again{report.suffix}"
            inferscope("analyze", run.trace, "--output", again, "--quiet")
            assert again.read_bytes() == report.read_bytes()


def test_people_are_told_where_the_time_went(inferscope: Any, python: str, program: Path, tmp_path: Path) -> None:
    markdown = tmp_path / "report.md"
    run = exact(inferscope, python, program, "--report", str(markdown), "--report", str(tmp_path / "report.json"))
    told = [line for line in run.ours if line.startswith("inferscope: most time in: work (")]
    assert len(told) == 1 and "in 3 calls" in told[0], run.stderr
    assert len(run.ours) <= 12
    rows = [line for line in markdown.read_text().splitlines() if line.startswith("| `work`")]
    assert len(rows) == 1 and "infer.py:40" in rows[0]


def test_a_part_of_the_run_has_the_calls_of_that_part(inferscope: Any, python: str, program: Path) -> None:
    run = exact(inferscope, python, program)
    whole = of_file(run, program)
    middle = run.report.program.wall_us / 1e6 / 2
    parts = []
    for window in (["--to", str(middle)], ["--from", str(middle)]):
        inferscope("analyze", run.trace, "--output", run.report_path, "--quiet", *window)
        parts.append(of_file(run, program))
    for name, function in whole.items():
        assert sum(part[name].calls for part in parts if name in part) == function.calls
        assert sum(part[name].self_us for part in parts if name in part) == pytest.approx(function.self_us, abs=5)


def test_a_small_file_still_knows_every_call(inferscope: Any, python: str, tmp_path: Path) -> None:
    program = tmp_path / "many.py"
    program.write_text(
        "import time\ndef f(): pass\ndef g():\n for i in range(500): f()\n time.sleep(0.0005)\n"
        "for i in range(6000): g()\n"
    )
    run = exact(inferscope, python, program, "--trace-size-mb", "1")
    found = of_file(run, program)
    assert run.report.overhead.lost == 0
    assert run.report.overhead.retired > 0
    assert (found["f"].calls, found["g"].calls) == (3_000_000, 6000)
    assert not found["f"].estimated


def test_what_the_governor_left_out_is_estimated(inferscope: Any, python: str, tmp_path: Path) -> None:
    program = tmp_path / "dense.py"
    program.write_text(
        "import time\ndef f(): pass\ndef g():\n for i in range(100): f()\n"
        "end = time.monotonic() + 1\nn = 0\nwhile time.monotonic() < end:\n g()\n n += 100\nprint(n)\n"
    )
    run = inferscope("run", "--python", python, program)
    called = int(run.stdout)
    found = of_file(run, program)
    assert found["f"].estimated
    governed = {entry.name: entry for entry in run.report.overhead.governed}
    assert governed["f"].calls == found["f"].calls
    assert governed["f"].recorded < called
    assert governed["f"].at_least <= found["f"].calls <= governed["f"].at_most
    assert governed["f"].at_least <= called <= governed["f"].at_most
    assert "governed_functions" in {warning.id for warning in run.report.warnings}
