"""A program that nvcc made runs on the double unchanged, and everything in it is reported."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT, Cuda, counted, reported, warned

STEPS = 12
SAYS = "Double 0 9.0, 100 processors, 16 GiB, 4711\nas long as the kernels\nbefore and after the graph: 4\ndone 12\n"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed: the same is asked of a plain C program in test_cuda.py")
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    if "release 13." not in version:
        pytest.skip("the double has the structs and symbol versions of CUDA 13, and this is another nvcc")
    out = tmp_path_factory.mktemp("nvcc") / "cuda_app"
    source = ROOT / "tests" / "targets" / "cuda_app.cu"
    subprocess.run([nvcc, "-O1", "-cudart", "shared", "-arch=sm_75", str(source), "-o", str(out)], check=True)
    return out


@pytest.fixture
def nvcc(cuda: Cuda, app: Path) -> Cuda:
    cuda.program = app
    return cuda


def test_it_runs_on_the_double_as_it_is(nvcc: Cuda) -> None:
    """The loader finds all its symbols, in the version that it asks for."""
    env = {**nvcc.command.environment, **nvcc.environment(), "LD_BIND_NOW": "1"}
    done = subprocess.run([nvcc.program, str(STEPS)], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, SAYS, "")


def test_kernels_events_and_graphs_are_reported(nvcc: Cuda) -> None:
    run = nvcc(str(STEPS))
    assert (run.returncode, run.stdout, run.theirs) == (0, SAYS, "")
    assert warned(run) == []
    assert reported(run) == counted(run.truth)
    assert counted(run.truth)[("kernel", 0)] == 2 * STEPS + 1
    assert {re.split(r"[<(]", k.name)[0]: k["count"] for k in run.report.kernels} == {
        "scale": 2 * STEPS,
        "void fill": 1,
    }
    assert {c.kind: (c["count"], c.bytes) for c in run.report.copies} == {
        "d2h": (STEPS, STEPS << 20),
        "memset": (STEPS, STEPS << 20),
    }
    # The host waited for an event, and for the device.
    assert {w.kind for w in run.truth} == {"kernel", "d2h", "memset", "sync"}
    assert run.report.gpus[0].sync_count == 2
    # The second stream began when the event of the first was there.
    (behind,) = [w for w in run.truth if w.stream == 2]
    assert behind.start_ns >= max(w.end_ns for w in run.truth if w.kind == "kernel" and w.start_ns < behind.start_ns)
