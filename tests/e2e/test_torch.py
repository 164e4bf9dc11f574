"""PyTorch on the CPU behaves with us as without us (H1), and its loader workers are all there (H2)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
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


MODES = {"default": [], "all": ["--all-frames", "--budget", "off"]}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("backend", ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.long)])
@pytest.mark.parametrize("order", ["hook after us", "hook before us"])
def test_a_compiled_model_behaves_as_without_us(
    inferscope: Any, target: Callable[[str], str], torch_python: str, stage: Path, order: str, backend: str, mode: str
) -> None:
    """H1: torch.compile and the tracer both evaluate frames, whoever comes first."""
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("inductor compiles with g++, which is not here")
    script = target("torch_compile.py")

    def with_cache(name: str) -> dict[str, str]:
        """Each run compiles for itself: what the first one left would spare the second all of it."""
        return {"TORCHINDUCTOR_CACHE_DIR": str(inferscope.folder / name)}

    bare = subprocess.run(
        [torch_python, script, backend],
        env={**inferscope.environment, **with_cache("bare")},
        cwd=inferscope.folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    if order == "hook before us":
        package = next(stage.glob("lib/python3*/site-packages"))
        command = ["--", torch_python, "-S", script, backend, package]
    else:
        command = ["--python", torch_python, script, backend]
    run = inferscope("run", "--no-report", *MODES[mode], *command, env=with_cache("traced"), timeout=600)
    assert (run.returncode, run.stdout, run.theirs) == (bare.returncode, bare.stdout, bare.stderr)
    assert bare.returncode == 0
    with subprocess.Popen([run.command, "dump", run.trace], stdout=subprocess.PIPE, text=True) as dump:
        assert dump.stdout is not None
        assert any("torch_compile.py" in line and "call_enter" in line for line in dump.stdout)
