"""Without native frames nobody knows what was Python: the report says so, and still judges what needs no such split."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

WORK = """
import threading, time, zlib

lock = threading.Lock()
data = bytes(range(256)) * 4000

def hold():
    while not over:
        with lock:
            time.sleep(0.02)
        time.sleep(0.001)

def step():
    with lock:
        zlib.crc32(data)
    for i in range(2000):
        i * i

over = False
holder = threading.Thread(target=hold)
holder.start()
end = time.monotonic() + 3
while time.monotonic() < end:
    step()
over = True
holder.join()
"""


@pytest.fixture
def report(inferscope: Any, tmp_path: Path) -> Any:
    script = tmp_path / "work.py"
    script.write_text(WORK)
    run = inferscope("run", "--python", sys.executable, "--native", "off", "--rate", "500", script)
    assert run.returncode == 0, run.stderr
    return run.report


def test_native_off_has_the_sum_and_judges_waits(report: Any) -> None:
    breakdown = report.breakdown
    assert breakdown.python is None
    assert breakdown.native is None
    assert breakdown.on_cpu is not None
    assert breakdown.on_cpu > 0
    assert breakdown.sources.on_cpu == "sampled"
    for thread in report.threads:
        assert thread.python is None
        assert thread.native is None
    assert report.verdict.cause == "lock_contention"
    assert "no_native_frames" in {warning.id for warning in report.warnings}


def test_the_cost_in_cpu_time_stands_beside_that_in_wall_time(report: Any) -> None:
    overhead = report.overhead
    assert overhead.measured_cpu_pct is not None
    # The program mostly waits for the lock: what it pays is a larger part of its CPU time.
    assert overhead.measured_cpu_pct > overhead.measured_pct
    assert (overhead.startup_pct is None) == (overhead.startup_unknown is not None)
