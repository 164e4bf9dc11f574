"""Many calls of a real program: room on disk, and what it takes to analyse them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CALLS_A_TOKEN = 362


MEASURE = """
import json, os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], dict(os.environ))
_, status, usage = os.wait4(pid, 0)
json.dump([status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss], sys.stdout)
"""


def cost(command: list[str]) -> tuple[float, int]:
    """CPU seconds and peak memory in KiB.  The clock on the wall is for idle machines.

    Asked for by a small process: a child's peak begins with that of the process it was made from.
    """
    said = subprocess.run([sys.executable, "-c", MEASURE, *command], stdout=subprocess.PIPE, check=True)
    status, seconds, kib = json.loads(said.stdout)
    assert status == 0
    return seconds, kib


def test_ten_million_calls_are_analysed_in_two_seconds(
    inferscope: Any, tmp_path: Path, python: str, target: Callable[[str], str], count: Callable[[int, int], int]
) -> None:
    """A thirtieth of it in the short run, in a thirtieth of the time.  DESIGN's bounds: 2 s, 256 MB, 4 bytes a call."""
    tokens = count(1_000, 28_000)
    calls = tokens * CALLS_A_TOKEN
    options = ["--budget", "off", "--trace-size-mb", "0", "--python", python]
    run = inferscope("run", *options, target("decoder_calls.py"), str(tokens), timeout=300)
    report = run.report
    found = {f.name: f for f in report.functions}
    assert report.overhead.events + report.overhead.lost >= 2 * calls
    if report.overhead.lost == 0:  # else the machine left the recorder no time, and the count says so
        assert found["token"].calls == tokens
        assert found["matmul"].calls == 12 * 6 * tokens
        assert not any(f.estimated for f in report.functions if f.source != "sampled")
    assert run.trace.stat().st_size / calls < 4
    whole = tmp_path / "whole.json"
    part = tmp_path / "part.json"
    seconds, kib = cost([str(inferscope.path), "analyze", str(run.trace), "--quiet", "--output", str(whole)])
    assert seconds < 0.5 and kib < 64 << 10, "the totals are in the file"
    # A part of the run is counted anew, event by event.
    window = ["--from", "0.001", "--to", "600"]
    seconds, kib = cost([str(inferscope.path), "analyze", str(run.trace), "--quiet", "--output", str(part), *window])
    assert seconds < 0.2 + 2 * calls / 10_000_000
    assert kib < 256 << 10
    assert whole.stat().st_size > 1000 and part.stat().st_size > 1000
