"""One program, recorded once, with something of everything that exports hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

#: Known numbers of calls, calls that yield and raise, a collection, scopes on two threads, marks, counters and
#: enough samples to be read.
PROGRAM = """
import gc, threading, time
import inferscope

def spin(n):
    total = 0
    for i in range(n):
        total += i * i
    return total

def handle(i):
    with inferscope.scope("request"):
        inferscope.mark_event("token", {"i": i})
        inferscope.counter("queue", i * 1.5)
        spin(20000)

def serve():
    for i in range(50):
        handle(i)

def numbers():
    yield 1
    yield 2

def fail():
    raise KeyError

def oddly():
    sum(numbers())
    try:
        fail()
    except KeyError:
        gc.collect()

def main():
    oddly()
    threads = [threading.Thread(target=serve, name=f"worker-{k}") for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    end = time.process_time() + 1.5
    while time.process_time() < end:
        spin(20000)

main()
"""


@dataclass
class Recorded:
    """A trace, and what the command makes of it."""

    command: Path
    folder: Path
    trace: Path

    def export(self, to: str, *options: str, of: Path | None = None) -> Path:
        out = self.folder / (f"out.{to}" if of is None else f"again.{to}")
        line = [self.command, "export", of or self.trace, "--to", to, "--output", out, "--force", *options]
        done = subprocess.run([str(part) for part in line], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return out

    def analyze(self, file: Path, *options: str) -> dict[str, Any]:
        out = self.folder / f"{file.name}.report.json"
        line = [self.command, "analyze", file, "--output", out, "--force", "--quiet", *options]
        done = subprocess.run([str(part) for part in line], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads(out.read_text())
        return report


@pytest.fixture(scope="session")
def sample(stage: Path, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    listed = [path for path in os.environ.get("INFERSCOPE_PYTHONS", "").split(os.pathsep) if path]
    finder = [sys.executable, str(Path(__file__).resolve().parents[3] / "tools" / "pythons.py"), "3.11", "3.13"]
    python = (listed or subprocess.run(finder, capture_output=True, text=True, check=True).stdout.split())[0]
    folder = tmp_path_factory.mktemp("sample")
    script = folder / "program.py"
    script.write_text(PROGRAM)
    package = next(stage.glob("**/inferscope/__init__.py")).parents[1]
    trace = folder / "trace.isc"
    command = stage / "bin" / "inferscope"
    line = [command, "run", "--python", python, "--budget", "off", "--trace", trace, "--no-report", script]
    environment = {"PYTHONPATH": str(package), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    subprocess.run(
        [str(part) for part in line], cwd=folder, env=environment, check=True, capture_output=True, timeout=60
    )
    return Recorded(command, folder, trace)
