"""The HTML report of a million events in a real browser: its size, how long it opens, and frames while it is zoomed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench_file import make, once
from interval import median
from kit import Kit
from table import Row

HERE = Path(__file__).resolve().parent
MB = 1 << 20


def rows(kit: Kit) -> Iterator[Row]:
    page = kit.scratch / "page.html"
    make(kit, 1, 4)
    kit.run([str(kit.command), "analyze", str(kit.trace), "--output", str(page), "--quiet", "--force"])
    yield Row("HTML report of 1 M events: file", once(page.stat().st_size / MB), "MB", limit=1, digits=2)
    environment = [sys.executable, str(HERE.parent / "tools" / "environments.py"), "browser"]
    made = subprocess.run(environment, capture_output=True, text=True, timeout=600, check=False)
    if made.returncode or not shutil.which("chromium"):
        return
    command = [made.stdout.strip(), str(HERE / "page_times.py"), str(page)]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout)
    yield Row("HTML report of 1 M events: open", median(said["open_ms"]), "ms", limit=1000, digits=0)
    frames = sorted(said["frame_ms"])
    note = f"{len(frames)} frames, the slowest {frames[-1]:.1f} ms"
    p95 = once(frames[int(len(frames) * 0.95)])
    yield Row("HTML report of 1 M events: p95 of a frame while zooming", p95, "ms", limit=16, digits=1, note=note)
