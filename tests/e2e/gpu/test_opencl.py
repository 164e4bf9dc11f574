"""The OpenCL layer: every command of a program is seen, and the program does not notice."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def works(run: Any) -> list[str]:
    return [line for line in run.dump() if " gpu_work " in line]


def test_every_command_of_25_000_kernels(traced: Callable[..., Any]) -> None:
    run = traced("many", "25000")
    (gpu,) = run.report.gpus
    assert (gpu.kernel_count, gpu.copy_count, gpu.d2h_bytes) == (25_000, 1, 4096)
    (kernel,) = run.report.kernels
    assert (kernel.name, kernel.count) == ("add_one", 25_000)
    assert run.report.clock.sync == "direct"
    assert run.report.clock.error_bound_us <= 5
    assert run.report.overhead.lost == 0
    assert not {"gpu_dropped", "unstamped_work", "early_work", "unlinked_work"} & {w.id for w in run.report.warnings}
    # Every command has the call that asked for it.
    calls = Counter(re.findall(r" correlation (\d+)", "\n".join(x for x in run.dump() if " gpu_call " in x)))
    asked = Counter(re.findall(r" correlation (\d+)", "\n".join(works(run))))
    assert set(asked.values()) == {1} and not set(asked) - set(calls)


def test_every_kind_of_command(traced: Callable[..., Any]) -> None:
    run = traced("kinds")
    lines = works(run)
    found = Counter(re.findall(r'gpu_work "[^"]*" (\w+)', "\n".join(lines)))
    assert found["kernel"] == 3
    svm = "svm 1" in run.stdout
    copies = {(c.kind, c.count, c.bytes) for c in run.report.copies}
    assert ("h2d", 5, 400 + 800 + 256 + 2800 + 4096) in copies
    assert ("d2h", 4 + svm, 1200 + 1600 + 256 + 2800 + 3600 * svm) in copies
    assert ("d2d", 2, 2000 + 256) in copies
    assert ("memset", 1 + svm, 2400 + 3200 * svm) in copies
    assert found["barrier"] >= 3
    names = Counter(re.findall(r'gpu_call "([^"]*)"', "\n".join(run.dump())))
    expected = "clFinish clFlush clWaitForEvents clEnqueueTask clEnqueueMarker clEnqueueBarrier clEnqueueUnmapMemObject"
    assert not set(expected.split()) - set(names)
    assert names["clEnqueueReadBuffer"] == 2 and names["clEnqueueReadBuffer (Async)"] == 1
    # What failed is told of, and asked for nothing.
    assert any("gpu_call" in line and " error -" in line for line in run.dump())
    assert "gpu_errors" in [w.id for w in run.report.warnings]
    holding = [line for line in run.dump() if "gpu_call" in line and " holds" in line]
    assert set(re.findall(r'gpu_call "([^"]*)"', "\n".join(holding))) >= {"clFinish", "clEnqueueReadBuffer"}


def test_queues_and_events_are_as_the_program_made_them(traced: Callable[..., Any]) -> None:
    """traced compares what it prints: properties, lists, times that are not available."""
    run = traced("own")
    assert "time of 0: -7" in run.stdout and "time of 1: 0" in run.stdout
    assert run.report.gpus[0].kernel_count == 4


def test_threads_have_queues_of_their_own(traced: Callable[..., Any]) -> None:
    run = traced("threads", "1000", "4")
    (gpu,) = run.report.gpus
    assert gpu.kernel_count == 4000
    assert sorted(s.count for s in gpu.streams) == [1000] * 4
    assert {k.name: k.count for k in run.report.kernels} == {"add_one": 2000, "times_two": 2000}
    launching = {line.split()[2] for line in run.dump() if "clEnqueueNDRangeKernel" in line}
    assert len(launching) == 4


def test_off_means_that_nothing_is_loaded(inferscope: Any, opencl: str) -> None:
    run = inferscope("run", "--follow", "all", "--no-gpu", "--", "strace", "-f", "-e", "openat", opencl, "many", "10")
    assert run.returncode == 0
    assert run.report.gpus == []
    assert "libOpenCL" in run.stderr and "libinferscope_opencl" not in run.stderr
    assert not any(" gpu_" in line for line in run.dump())


def test_the_environment_does_not_name_the_layer(inferscope: Any, opencl: str) -> None:
    run = inferscope("run", "--follow", "all", "--", "sh", "-c", f"env; {opencl} many 10")
    assert "OPENCL_LAYERS" not in run.stdout
    assert run.report.gpus[0].kernel_count == 10


def test_a_layer_of_the_program_stays(inferscope: Any, opencl: str, stage: Path, tmp_path: Path) -> None:
    """The value that was there comes first; a layer that cannot be loaded is the loader's business."""
    inferscope.environment["OPENCL_LAYERS"] = str(tmp_path / "none.so")
    run = inferscope("run", "--follow", "all", "--", opencl, "many", "10")
    assert (run.returncode, run.stdout) == (0, "10\n")
    assert run.report.gpus[0].kernel_count == 10


def test_a_launch_costs_two_microseconds_at_most(inferscope: Any, opencl: str) -> None:
    """At the minimum, and beside the program alone, turn by turn."""
    alone, with_us = [], []
    for _ in range(4):
        bare = subprocess.run([opencl, "cost", "2000"], capture_output=True, text=True, check=True).stdout
        alone.append(int(bare.split()[0]))
        run = inferscope("run", "--force", "--no-report", "--follow", "all", "--", opencl, "cost", "2000")
        with_us.append(int(run.stdout.split()[0]))
    assert min(with_us) - min(alone) <= 2000, (alone, with_us)


def test_pyopencl_and_the_line_that_launches(inferscope: Any, opencl_python: str, target: Callable[[str], str]) -> None:
    program = target("opencl_loop.py")
    lines = Path(program).read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if "the line that launches" in text)
    run = inferscope("run", "--budget", "off", "--python", opencl_python, program, "400")
    assert (run.returncode, run.stdout) == (0, "400 0\n")
    (kernel,) = run.report.kernels
    assert (kernel.name, kernel.count) == ("add_one", 400)
    assert kernel.launched_from == f"launch ({program}:{line})"
    assert run.report.gpus[0].d2h_bytes == 4096
    assert run.report.clock.error_bound_us <= 20


def test_the_events_of_an_export(inferscope: Any, traced: Callable[..., Any], tmp_path: Path) -> None:
    run = traced("many", "200")
    trace = str(run.report_path.parent / "inferscope.isc")
    for form in ("events", "chrome", "perfetto"):
        out = tmp_path / f"out.{form}"
        done = inferscope("export", trace, "--to", form, "--output", str(out))
        assert done.returncode == 0, done.stderr
    events = json.loads((tmp_path / "out.events").read_text())
    kinds = Counter(e["event_type"] for e in events)
    assert kinds["gpu_kernel"] == 200 and kinds["d2h_copy"] == 1 and kinds["gpu_api"] >= 200 and kinds["gpu_sync"] == 1
    kernel = next(e for e in events if e["event_type"] == "gpu_kernel")
    assert kernel["name"] == "add_one" and kernel["grid_dim"] == [16, 1, 1] and kernel["block_dim"] == [64, 1, 1]
    asked = {e["correlation"]: e for e in events if e["event_type"] == "gpu_api"}
    for e in (e for e in events if e["event_type"] == "gpu_kernel"):
        assert asked[e["correlation"]]["start_ns"] <= e["start_ns"] + e["clock_error_ns"]
    chrome = json.loads((tmp_path / "out.chrome").read_text())["traceEvents"]
    arrows = Counter(e["ph"] for e in chrome if e.get("cat") == "ac2g")
    assert arrows["f"] == 201 and arrows["s"] >= 201
    assert any(e["ph"] == "M" and "GPU 0: " in e["args"]["name"] for e in chrome)
    # Our own events are read again, with the same figures.
    again = inferscope("analyze", str(tmp_path / "out.events"), "--output", str(tmp_path / "again.json"))
    assert again.returncode == 0
    report = json.loads((tmp_path / "again.json").read_text())
    assert report["gpus"][0]["kernel_count"] == 200


def test_tinygrad_answers_the_same(inferscope: Any, opencl_python: str, target: Callable[[str], str]) -> None:
    program = target("opencl_inference.py")
    environment = {**inferscope.environment, "DEV": "CL"}
    # The first run compiles for PoCL, the second finds it done.
    for _ in range(2):
        bare = subprocess.run(
            [opencl_python, program, "40"], env=environment, capture_output=True, text=True, timeout=300, check=True
        )
    inferscope.environment["DEV"] = "CL"
    run = inferscope("run", "--python", opencl_python, program, "40")
    assert (run.returncode, run.stdout) == (0, bare.stdout)
    assert bare.stdout.endswith("CL\n")
    (gpu,) = run.report.gpus
    assert gpu.kernel_count >= 40 * 5 and gpu.copy_count >= 80
    assert not {"gpu_dropped", "unstamped_work", "unlinked_work"} & {w.id for w in run.report.warnings}
    assert any(k.launched_from and "opencl_inference.py" in k.launched_from for k in run.report.kernels)
    assert os.environ.get("OPENCL_LAYERS") is None


def test_doctor_says_whether_commands_are_seen(inferscope: Any, opencl: str, tmp_path: Path) -> None:
    assert opencl

    def line(**env: str) -> str:
        rows: list[str] = inferscope("doctor", env=env).stdout.splitlines()
        return next(row for row in rows if "opencl" in row.split()[:2])

    assert ".icd" in line() and "through a layer" in line()
    assert "missing" in line(OCL_ICD_VENDORS=str(tmp_path)) and str(tmp_path) in line(OCL_ICD_VENDORS=str(tmp_path))


def test_without_the_agent_the_environment_names_the_layer(inferscope: Any, opencl: str) -> None:
    run = inferscope("run", "--no-agent", "--follow", "all", "--", opencl, "many", "100")
    assert (run.returncode, run.stdout) == (0, "100\n")
    assert run.report.gpus[0].kernel_count == 100
    off = inferscope("run", "--no-agent", "--no-gpu", "--force", "--follow", "all", "--", opencl, "many", "100")
    assert off.report.gpus == []


def test_who_asks_for_a_gpu_hears_that_there_is_none(inferscope: Any, tmp_path: Path) -> None:
    nothing = {"OCL_ICD_VENDORS": str(tmp_path)}
    if Path("/dev/nvidiactl").exists():
        pytest.skip("there is a GPU here")
    asked = inferscope("run", "--gpu", "--", "true", env=nothing)
    assert asked.returncode == 0
    assert sum("no GPU was found" in line for line in asked.stderr.splitlines()) == 1
    assert any("no GPU was found" in w.text for w in asked.report.warnings)
    plain = inferscope("run", "--force", "--", "true", env=nothing)
    assert "no GPU was found" not in plain.stderr
