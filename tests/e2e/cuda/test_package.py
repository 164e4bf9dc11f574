"""CUDA watched from the package: INFERSCOPE_ENABLED=1, GpuCollector and Profiler, on the double."""

from __future__ import annotations

import fcntl
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .conftest import Cuda

if TYPE_CHECKING:
    from tests.e2e.waiting import until
else:
    from waiting import until

CUDA = """
import ctypes, json, os
cuda = ctypes.CDLL("libcudart.so")
class Dim(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]
cuda.cudaLaunchKernel.argtypes = [ctypes.c_void_p, Dim, Dim, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
def launch(n):
    for _ in range(n):
        cuda.cudaLaunchKernel(1, Dim(2, 1, 1), Dim(32, 1, 1), None, 0, None)
    cuda.cudaDeviceSynchronize()
def kernels(events):
    return sum(event["event_type"] == "gpu_kernel" for event in events)
"""

# CUDA is in use before anybody wants to know.
LATE = """
launch(3)
from inferscope import GpuCollector, TraceBuffer
found = []
for n in (5, 7):
    buffer = TraceBuffer(size_mb=4)
    collector = GpuCollector(buffer)
    collector.start()
    launch(n)
    collector.stop()
    found.append(kernels(buffer.read_all()))
    launch(100)
print(json.dumps([found, "CUDA_INJECTION64_PATH" in os.environ, collector.get_stats()["reason"]]))
"""

EARLY = """
from inferscope import GpuCollector, Profiler, TraceBuffer
buffer = TraceBuffer(size_mb=4)
collector = GpuCollector(buffer)
collector.start()
with Profiler(size_mb=4) as profiler:
    launch(5)
launch(4)
collector.stop()
launch(100)
inside = profiler.get_unified_timeline()
waits = [event for event in inside if event["event_type"] == "gpu_sync"]
print(json.dumps([kernels(inside), kernels(buffer.read_all()), bool(waits), "CUDA_INJECTION64_PATH" in os.environ]))
"""


def is_written(trace: Path) -> bool:
    """The recorder, which outlives the program a little, has let go of it."""
    with trace.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@pytest.fixture
def alone(cuda: Cuda, python: str, site: str, tmp_path: Path) -> Callable[..., Any]:
    """Runs Python on the double with the package, and without the command."""

    def go(code: str, **more: str) -> subprocess.CompletedProcess[str]:
        env = {**cuda.command.environment, **cuda.environment(), "PYTHONPATH": site, **more}
        return subprocess.run(
            [python, "-c", code], env=env, capture_output=True, text=True, timeout=120, cwd=tmp_path, check=True
        )

    return go


def test_a_collector_that_comes_late(alone: Callable[..., Any], cuda: Cuda) -> None:
    """Exactly what ran between start and stop, twice; nothing is on outside of that."""
    done = alone(CUDA + LATE)
    assert done.stderr == ""
    assert json.loads(done.stdout) == [[5, 7], False, None]
    log = cuda.log()
    assert [line for line in log if line.endswith("subscribe")] == ["subscribe", "unsubscribe"] * 2
    # A second time the first records would be wrong.
    assert log.count("clock") == 1


def test_a_collector_that_comes_first(alone: Callable[..., Any]) -> None:
    """The driver loads the part when it is initialised; two windows, one in the other."""
    done = alone(CUDA + EARLY)
    assert done.stderr == ""
    assert json.loads(done.stdout) == [5, 9, True, False]


def test_a_program_that_traces_itself(alone: Callable[..., Any], cuda: Cuda, tmp_path: Path) -> None:
    alone("import _inferscope_boot\n" + CUDA + "launch(20)", INFERSCOPE_ENABLED="1", INFERSCOPE_TRACE="own.isc")
    trace = tmp_path / "own.isc"
    until(lambda: is_written(trace), "the end of the trace")
    done = cuda.command("analyze", str(trace), "--output", str(tmp_path / "own.json"))
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "own.json").read_text())
    (kernel,) = report["kernels"]
    assert kernel["count"] == 20
    assert kernel["launched_from"].startswith("launch (")


def test_under_run_a_collector_sees_its_window(cuda: Cuda, python: str, site: str, tmp_path: Path) -> None:
    script = tmp_path / "late.py"
    script.write_text(CUDA + LATE)
    run = cuda.command("run", "--python", python, str(script), env={**cuda.environment(), "PYTHONPATH": site})
    assert json.loads(run.stdout)[0] == [5, 7]
    assert sum(k.count for k in run.report.kernels) == 215


def test_a_fork_child_is_left_alone(alone: Callable[..., Any]) -> None:
    code = """
from inferscope import GpuCollector, TraceBuffer
collector = GpuCollector(TraceBuffer(size_mb=4))
collector.start()
launch(5)
pid = os.fork()
if pid == 0:
    own = GpuCollector(TraceBuffer(size_mb=4))
    own.start()
    own.stop()
    os._exit(9)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
collector.stop()
print(collector.get_stats()["events"] > 5)
"""
    assert alone(CUDA + code).stdout == "True\n"
