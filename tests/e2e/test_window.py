"""--delay and --duration choose the time that is judged, and the report says which."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command

# Start-up that only waits, then a loop with one hot function.  All of the traced time is `hot`.
PROGRAM = """
import time
time.sleep(1)
def hot(k):
    s = 0
    for i in range(k): s += i * i % 7
    return s
t = time.time()
while time.time() - t < {busy}: hot(20000)
"""


def windowed(inferscope: Command, folder: Path, busy: float, *options: str) -> Any:
    script = folder / "program.py"
    script.write_text(PROGRAM.format(busy=busy))
    return inferscope("run", *options, script)


def seconds(window: Any) -> tuple[float, float]:
    return window.from_us / 1e6, window.to_us / 1e6


def test_delay_and_duration_are_judged_as_that_window(inferscope: Command, tmp_path: Path) -> None:
    report = windowed(inferscope, tmp_path, 8, "--delay", "2", "--duration", "2").report
    begin, end = seconds(report.window)
    # Later by what it takes the recorder to start and to notice, never earlier.
    assert 2 <= begin < 4
    assert 2 <= end - begin < 4
    assert "--delay" in report.window.why
    assert "--duration" in report.window.why
    # The second of sleep lies before it: nothing of it is anywhere in what was judged.
    assert report.breakdown.sleep < 2
    assert report.breakdown.idle < 2
    assert report.window.judged_us > 0.9 * (report.window.to_us - report.window.from_us)
    main = report.threads[0]
    assert main.wall_us < 1.05 * (report.window.to_us - report.window.from_us)
    # No call is longer than the window that it was seen in; samples stand for a little more or less.
    assert all(f.total_us <= 1.01 * main.wall_us for f in report.functions if f.source != "sampled")
    assert "hot" in report.verdict.headline


def test_delay_alone_is_judged_up_to_the_end(inferscope: Command, tmp_path: Path) -> None:
    report = windowed(inferscope, tmp_path, 2.5, "--delay", "1.5").report
    begin, end = seconds(report.window)
    assert 1.5 <= begin < 3
    assert end > begin + 1
    assert report.window.why == "the time after --delay"
    assert report.breakdown.sleep < 2


def test_another_part_can_still_be_asked_for(inferscope: Command, tmp_path: Path) -> None:
    run = windowed(inferscope, tmp_path, 6, "--delay", "1.5", "--duration", "2")
    begin, _ = seconds(run.report.window)
    asked = inferscope(
        "analyze", run.trace, "--from", str(begin + 0.5), "--to", str(begin + 1.5), "--output", "part.json"
    )
    assert asked.returncode == 0, asked.stderr
    asked.report_path = tmp_path / "part.json"
    assert asked.report.window.why == "the time asked for"
    assert abs(asked.report.window.from_us / 1e6 - begin - 0.5) < 1e-3


# A server by the hour, in seconds: start-up, then requests that call many functions, in no order.
SERVER = """
import inferscope, random, time

def boot(k):
    for i in range(k): i * i

for i in range(64):
    exec(f"def inner{i}(k):\\n    for i in range(k): i * i")
inner = [globals()[f"inner{i}"] for i in range(64)]

calls = [(random.choice(inner), random.randrange(400)) for _ in range(40000)]

def serve(n):
    for f, k in calls[n % 1000 * 40:][:40]: f(k)

t = time.time()
while time.time() - t < 1: boot(2000)
n = 0
t = time.time()
while time.time() - t < 11:
    with inferscope.scope("request"):
        serve(n)
    time.sleep(0.0005)
    n += 1
print(n)
"""


@pytest.fixture
def package(stage: Path) -> Path:
    """The folder that holds the package."""
    return next(stage.glob("**/inferscope/__init__.py")).parents[1]


def test_what_was_judged_is_exact_when_most_events_are_gone(inferscope: Command, package: Path, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    # A run in which the machine had time to read the shared memory, if there is one.
    for _ in range(3):
        run = inferscope("run", "--budget", "off", "--trace-size-mb", "2", script, env={"PYTHONPATH": str(package)})
        if run.report.overhead.lost == 0:
            break
    report, requests = run.report, int(run.stdout)
    assert report.overhead.retired > report.overhead.events / 4
    kept = {line.split()[2] for line in run.dump() if line.startswith("snapshot ")}
    assert {"first_unit", "last_unit", "retained"} <= kept
    # Where events were lost, counts are as far off as they are.
    lost = report.overhead.lost / (report.overhead.events + report.overhead.lost)
    functions = {f.name: f for f in report.functions}
    inner = [f for f in report.functions if f.name.startswith("inner")]
    scope = next(s for s in report.scopes if s.name == "request")
    serve = functions["serve"]
    assert requests * (1 - 2 * lost) <= scope.count <= requests
    assert requests * (1 - 2 * lost) <= serve.calls <= requests
    assert 40 * requests * (1 - 2 * lost) <= sum(f.calls for f in inner) <= 40 * requests
    # Of the judged part as many as its requests made, though most of their events are gone.
    assert 0 < serve.judged_calls < requests / 2
    assert abs(serve.judged_calls - report.window.scopes) <= 2 + 2 * lost * requests
    assert abs(sum(f.judged_calls for f in inner) - 40 * serve.judged_calls) <= 40 + 80 * lost * requests
    assert all(0 < f.judged_us < f.self_us for f in inner)
    assert functions["boot"].judged_calls == 0
    assert functions["boot"].judged_us == 0
    assert not [w for w in report.warnings if w.id == "judged_unknown"]


def test_rows_over_time_add_up_to_the_totals(inferscope: Command, package: Path, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    run = inferscope("run", script, timeout=120, env={"PYTHONPATH": str(package)})
    overhead = run.report.overhead
    rows = overhead.over_time
    assert sum(row.events for row in rows) == overhead.events
    assert sum(row.lost for row in rows) == overhead.lost
    # One that is over after 10 s, and the rest.
    assert len({row.from_us for row in rows}) == 2
    assert any(9e6 < row.to_us - row.from_us < 12e6 for row in rows)
    busiest = max(rows, key=lambda row: row.samples)
    assert busiest.samples > 20
    assert busiest.unattributed_us < busiest.sampled_us / 100
    assert 0 < busiest.cost_us < busiest.to_us - busiest.from_us
