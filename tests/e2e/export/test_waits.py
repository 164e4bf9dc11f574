"""Waits and slow system calls in exports: whole, in pieces, and of a program that never came back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

SLEEPS = """
import os, time
time.sleep(0.8)
with open("big", "wb") as file:
    file.write(bytes(64 << 20))
    os.fsync(file.fileno())
"""
HANGS = """
import time
def forever():
    time.sleep(0.3)
    print("hanging", flush=True)
    time.sleep(30)
forever()
"""


def slices(inferscope: Any, *options: str) -> list[dict[str, Any]]:
    out = inferscope("export", "inferscope.isc", "--to", "chrome", "--output", "-", *options)
    assert out.returncode == 0, out.stderr
    return [event for event in json.loads(out.stdout)["traceEvents"] if event["ph"] == "X"]


def test_waits_reach_over_the_edges_of_a_piece(inferscope: Any, tmp_path: Path, python: str) -> None:
    script = tmp_path / "sleeps.py"
    script.write_text(SLEEPS)
    run = inferscope("run", "--python", python, "--no-report", script)
    assert run.returncode == 0, run.stderr
    (whole,) = [s for s in slices(inferscope) if s["name"] == "sleep" and s["dur"] > 700_000]
    assert 790_000 < whole["dur"] < 5_000_000 and whole["args"]["call"] == "clock_nanosleep"
    start = whole["ts"] + 200_000
    (piece,) = [
        s
        for s in slices(inferscope, "--from", f"{start:.0f}us", "--to-time", f"{start + 200_000:.0f}us")
        if s["cat"] == "wait" and s["tid"] == whole["tid"]
    ]
    assert (piece["name"], round(piece["dur"], -3), piece["args"]["cut"]) == ("sleep", 200_000, True)
    # Each call once, whether it is a wait as well or not.
    dumped = [line for line in run.dump() if " syscall arg " in line]
    told = [s for s in slices(inferscope) if "call" in s["args"]]
    assert len(told) == len(dumped) > 0
    events = json.loads(inferscope("export", "inferscope.isc", "--to", "events", "--output", "-").stdout)
    calls = [e for e in events if e["event_type"] == "cpu_syscall" and e["bytes"] is not None]
    assert sorted(e["name"] for e in calls) == sorted(s["args"]["call"] for s in told)
    (sync,) = [e for e in calls if e["name"] == "fsync"]
    assert (Path(sync["file"]).name, sync["line"]) == ("sleeps.py", 6)
    assert max(e["bytes"] for e in calls if e["name"] == "write") >= 64 << 20


def test_a_program_killed_in_a_wait_shows_the_wait(stage: Path, inferscope: Any, tmp_path: Path, python: str) -> None:
    script = tmp_path / "hangs.py"
    script.write_text(HANGS)
    line = [str(stage / "bin" / "inferscope"), "run", "--python", python, "--no-report", str(script)]
    with subprocess.Popen(line, cwd=inferscope.folder, stdout=subprocess.PIPE, start_new_session=True) as program:
        assert program.stdout is not None and program.stdout.readline() == b"hanging\n"
        time.sleep(0.5)  # this long it waits at least
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        program.wait(timeout=60)
    sleeps = [s for s in slices(inferscope) if s["name"] == "sleep" and s["args"].get("unfinished")]
    assert len(sleeps) == 1
    assert 400_000 < sleeps[0]["dur"] < 20_000_000
    (around,) = [s for s in slices(inferscope) if s["name"] == "forever"]
    assert around["ts"] + around["dur"] >= sleeps[0]["ts"] + sleeps[0]["dur"] - 1
