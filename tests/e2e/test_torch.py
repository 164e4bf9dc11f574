"""PyTorch on the CPU behaves with us as without us (H1), and its loader workers are all there (H2)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("workers", ["fork", "spawn"])
def test_a_model_and_its_loader_behave_as_without_us(
    inferscope: Any, target: Callable[[str], str], torch_python: str, workers: str
) -> None:
    """H1, H2."""
    script = target("torch_cpu.py")
    bare = subprocess.run(
        [torch_python, script, workers],
        env=inferscope.environment,
        cwd=inferscope.folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    run = inferscope("run", "--python", torch_python, script, workers, timeout=300)
    assert (run.returncode, run.stdout, run.theirs) == (bare.returncode, bare.stdout, bare.stderr)
    assert bare.returncode == 0
    assert len(run.report.program.processes) >= 3
    assert all(p.traced for p in run.report.program.processes)
