"""An hour of PyTorch, OpenBLAS, generators and threads at 1 kHz with whole native stacks, by either source of ticks.

INFERSCOPE_HOUR_MINUTES=10 makes it shorter, for a look by hand.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MINUTES = float(os.environ.get("INFERSCOPE_HOUR_MINUTES", "60"))

pytestmark = [pytest.mark.long, pytest.mark.integration, pytest.mark.plain]


@pytest.mark.parametrize("source", ["perf", "timers"])
def test_H9_an_hour_of_everything_at_1_kHz(
    inferscope: Any, torch_python: str, target: Callable[[str], str], source: str
) -> None:
    seconds = MINUTES * 60
    options = ["--native", "on", "--rate", "1000", "--budget", "off", "--python", torch_python]
    command = inferscope.arguments(("run", *options, target("restless.py"), str(seconds)))
    if source == "timers":
        sandbox = Path(inferscope.path).parents[4] / "tests" / "unit" / "sandbox"
        if not sandbox.exists():
            pytest.skip("the tools of the tests are not built")
        command = [str(sandbox), "--", *command]
    done = subprocess.run(
        command, cwd=inferscope.folder, env=inferscope.environment, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=seconds * 1.5 + 300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "done"
    assert {"generators", "matrices", "tensors", "threads"} <= set(done.stdout.split())
    report = json.loads((inferscope.folder / "report.json").read_text())
    # The timer ticks with the kernel, 100 times a second at least.
    assert report["samples"]["count"] > seconds * (200 if source == "perf" else 40)
    assert report["samples"]["steps"] > seconds * 300
