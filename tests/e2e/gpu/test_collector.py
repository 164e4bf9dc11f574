"""GpuCollector: what GPUs did for this process, as event dictionaries."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.plain  # a Python that knows of no sanitizer loads the package itself

PROGRAM = """
import json, sys, warnings
import inferscope
from inferscope import GpuCollector, Profiler, State, TraceBuffer

buffer = TraceBuffer(size_mb=4)
collector = GpuCollector(buffer)
said = []
warnings.showwarning = lambda message, *rest: said.append(str(message))
collector.start()
collector.start()
assert collector.state is State.Collecting
sys.argv = ["loop", "50"]
{body}
collector.stop()
collector.stop()
assert collector.state is State.Finalized
stats = collector.get_stats()
print(json.dumps([buffer.read_all(), {{**stats, "state": stats["state"].name}}, said]))
"""


@pytest.fixture
def site(stage: Path) -> str:
    """Where the package is."""
    return str(next(stage.glob("lib/python*/site-packages")))


@pytest.fixture
def alone(inferscope: Any, opencl_python: str, site: str) -> Callable[[Path], subprocess.CompletedProcess[str]]:
    """Runs a script with the package, and without `run`."""

    def go(script: Path) -> subprocess.CompletedProcess[str]:
        env = {**inferscope.environment, "PYTHONPATH": site}
        return subprocess.run([opencl_python, str(script)], env=env, capture_output=True, text=True, timeout=120)

    return go


@pytest.fixture
def collected(
    inferscope: Any, opencl_python: str, alone: Callable[..., Any], site: str, tmp_path: Path
) -> Callable[..., Any]:
    """Runs the body between start() and stop(), under `run` or alone."""

    def go(body: str, under_run: bool) -> Any:
        script = tmp_path / "collect.py"
        script.write_text(PROGRAM.format(body=body))
        run = ("run", "--python", opencl_python, str(script))
        done = inferscope(*run, env={"PYTHONPATH": site}) if under_run else alone(script)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return go


@pytest.mark.parametrize("under_run", [True, False])
def test_kernels_and_their_calls(collected: Callable[..., Any], target: Callable[[str], str], under_run: bool) -> None:
    body = f"exec(compile(open({target('opencl_loop.py')!r}).read(), 'loop', 'exec'))"
    events, stats, said = collected(body, under_run)
    kernels = [e for e in events if e["event_type"] == "gpu_kernel"]
    assert len(kernels) == 50 and not said
    assert {e["name"] for e in kernels} == {"add_one"}
    assert all(e["grid_dim"] == [16, 1, 1] and e["block_dim"] == [64, 1, 1] and e["device_id"] == 0 for e in kernels)
    calls = {e["correlation"]: e for e in events if e["event_type"] == "gpu_api"}
    for e in kernels:
        assert calls[e["correlation"]]["start_ns"] <= e["start_ns"] + e["metadata"]["clock_error_ns"]
    every = {"event_type", "name", "start_us", "end_us", "start_ns", "end_ns", "thread_id", "process_id", "cpu_id"}
    every |= {"file", "line", "task", "metadata", "device_id", "correlation"}
    assert set(kernels[0]) == every | {"stream", "grid_dim", "block_dim"}
    assert set(next(iter(calls.values()))) == every
    (copy,) = [e for e in events if e["event_type"] == "d2h_copy"]
    assert set(copy) == every | {"stream", "bytes", "pageable"}
    assert copy["bytes"] == 4096 and copy["pageable"] is None
    assert {e["event_type"] for e in events} <= {"gpu_kernel", "d2h_copy", "gpu_api", "gpu_sync", "h2d_copy"}
    assert [e["start_ns"] for e in events] == sorted(e["start_ns"] for e in events)
    assert stats["events"] == len(events) and stats["lost"] == 0 and stats["reason"] is None


def test_the_profiler_has_both_sides(collected: Callable[..., Any], target: Callable[[str], str]) -> None:
    body = f"""
with Profiler() as profiler:
    exec(compile(open({target("opencl_loop.py")!r}).read(), 'loop', 'exec'))
types = {{e["event_type"] for e in profiler.get_unified_timeline()}}
assert {{"gpu_kernel", "gpu_api", "d2h_copy", "cpu_call"}} <= types, types
assert profiler.analyze()["gpus"][0]["kernel_count"] == 50
"""
    collected(body, True)


def test_injected_events_are_events(collected: Callable[..., Any]) -> None:
    body = """
assert collector._inject_kernel_event("gemm", 10, 12.5, device_id=1, stream=3, correlation=9)
assert collector._inject_kernel_event("up", 13, 14, event_type="h2d_copy", bytes=64)
for wrong in ({"event_type": "cpu_call"}, {"start_us": 5, "end_us": 4}):
    try:
        collector._inject_kernel_event(**wrong)
    except ValueError:
        continue
    raise AssertionError(wrong)
"""
    (kernel, copy), stats, _said = collected(body, True)
    assert (kernel["name"], kernel["start_ns"], kernel["end_ns"], kernel["end_us"]) == ("gemm", 10_000, 12_500, 12)
    assert (kernel["device_id"], kernel["stream"], kernel["correlation"]) == (1, 3, 9)
    assert (copy["event_type"], copy["bytes"]) == ("h2d_copy", 64)
    assert stats["events"] == 2


def test_without_any_gpu_one_line_says_so(collected: Callable[..., Any], inferscope: Any, tmp_path: Path) -> None:
    inferscope.environment["OCL_ICD_VENDORS"] = str(tmp_path)
    events, stats, said = collected("pass", True)
    assert events == [] and len(said) == 1 and said[0].startswith("inferscope: there is no CUDA or OpenCL device here")
    assert stats["reason"] and stats["state"] == "Finalized"


def test_opencl_that_was_in_use_before_is_told(alone: Callable[..., Any], tmp_path: Path) -> None:
    """Without `run` the loader has looked for layers already."""
    script = tmp_path / "late.py"
    script.write_text(
        "import pyopencl, warnings\n"
        "pyopencl.get_platforms()\n"
        "from inferscope import GpuCollector, TraceBuffer\n"
        "said = []\n"
        "warnings.showwarning = lambda message, *rest: said.append(str(message))\n"
        "c = GpuCollector(TraceBuffer(1))\n"
        "c.start(); c.stop()\n"
        "print(said, c._inject_kernel_event())\n"
    )
    done = alone(script)
    assert done.returncode == 0, done.stderr
    assert "OpenCL was in use before start()" in done.stdout and done.stdout.endswith("False\n")


def test_a_buffer_has_to_be_one(alone: Callable[..., Any], tmp_path: Path) -> None:
    script = tmp_path / "wrong.py"
    script.write_text(
        "from inferscope import GpuCollector\ntry:\n    GpuCollector([])\nexcept TypeError as e:\n    print(e)\n"
    )
    assert alone(script).stdout == "trace_buffer has to have enqueue(event), and list has not\n"
