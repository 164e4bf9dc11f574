"""--delay and --duration choose the time that is judged, and the report says which."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

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
