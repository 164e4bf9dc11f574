"""Programs that use the package, run by each Python with the staged installation on their path."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BEGIN = """
import collections, json, os, sys, threading, time
import inferscope

def say(**facts):
    print(json.dumps(facts, default=str))

def leaf(x):
    return x

def work(n):
    return [leaf(i) for i in range(n)]

def names(events):
    # Samples come when they come.
    return collections.Counter(e["name"].rpartition(".")[2] for e in events if e["event_type"] != "cpu_sample")
"""


@pytest.fixture
def program(stage: Path, tmp_path: Path) -> Callable[..., Any]:
    """program(python, code) runs code behind BEGIN and gives what it said; it must end well and quietly."""
    site = next(stage.glob("lib/python*/site-packages"))
    clean = {n: v for n, v in os.environ.items() if not n.startswith(("INFERSCOPE_", "LD_", "PYTHON", "VIRTUAL_"))}

    def run(
        python: str, code: str, *, under: tuple[str, ...] = (), timeout: float = 120, stderr: str = "", **variables: str
    ) -> Any:
        script = tmp_path / "program.py"
        script.write_text(BEGIN + textwrap.dedent(code))
        env = {**clean, "PYTHONPATH": str(site), "TMPDIR": str(tmp_path), **variables}
        done = subprocess.run(
            [*under, python, str(script)],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        ours = [line for line in done.stderr.splitlines() if not line.startswith("inferscope:")]
        assert "\n".join(ours) == stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
