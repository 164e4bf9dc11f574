"""A limit of CPU time: what it took is told apart from others that had the CPU."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

OLD, NEW = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
BUSY = """
import time
end = time.monotonic() + 1.5
while time.monotonic() < end: pass
"""


@pytest.fixture
def limited() -> Iterator[Path]:
    """A control group that has a twentieth of a CPU."""
    old = (OLD / "cpu.cfs_quota_us").exists()
    group = (OLD if old else NEW) / f"inferscope-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        if old:
            (group / "cpu.cfs_quota_us").write_text("5000")
        else:
            (group / "cpu.max").write_text("5000 100000")
        yield group
    except OSError as error:
        pytest.skip(f"no limit can be set here: {error}")
    finally:
        group.rmdir()


def counted_us(group: Path) -> float:
    counts = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return float(counts.get("throttled_usec", 0)) + float(counts.get("throttled_time", 0)) / 1e3


def test_a_limit_of_cpu_time_is_told(inferscope: Any, tmp_path: Path, limited: Path) -> None:
    script = tmp_path / "busy.py"
    script.write_text(BUSY)
    words = inferscope.arguments(("run", str(script)))
    command = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", command, str(limited), *words], env=inferscope.environment, cwd=tmp_path, timeout=120,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = inferscope.result(done.returncode, done.stdout, done.stderr)
    breakdown = run.report.breakdown
    assert breakdown.sources.throttled == "estimated"
    told = breakdown.throttled / 100 * run.report.program.wall_us
    counted = counted_us(limited)
    if counted < 200_000:
        pytest.skip(f"others left the group less than its limit: it was held up for {counted:.0f} us only")
    # The kernel adds up over CPUs, and the recorder lives in the same group.
    assert 0.3 * counted <= told <= 1.05 * counted, (told, counted)
    assert (run.report.memory.minor_faults, run.report.memory.major_faults) >= (100, 0)


def test_without_a_limit_nothing_is_throttled(inferscope: Any, tmp_path: Path) -> None:
    script = tmp_path / "busy.py"
    script.write_text("sum(range(1000000))")
    run = inferscope("run", script)
    if run.report.breakdown.throttled is None:
        assert "no_throttling" in {warning.id for warning in run.report.warnings}
    else:
        assert run.report.breakdown.throttled == 0
