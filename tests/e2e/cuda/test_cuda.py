"""Work of CUDA devices, from an unmodified program on the double to the report."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import Cuda, copy_of_double, counted, gpu_times, reported, said, warned

STATES = (
    *(
        "python",
        "native",
        "on_cpu",
        "spin",
        "unattributed",
        "gil_wait",
        "lock_wait",
        "io_wait",
        "sleep",
        "idle",
        "syscall",
        "gc",
    ),
    *("page_fault", "gpu_wait", "run_queue", "throttled", "other"),
)
SCENES = [("cpu", 40, 1), ("gpu", 40, 1), ("copy", 20, 1), ("even", 40, 1), ("gpu", 20, 2), ("copy", 10, 2)]
SCENES += [("gpu", 8, 8), ("peer", 10, 2), ("graph", 20, 1)]


@pytest.mark.parametrize(("scene", "steps", "devices"), SCENES)
def test_exactly_what_the_devices_did_is_reported(cuda: Cuda, scene: str, steps: int, devices: int) -> None:
    run = cuda(scene, str(steps), devices=devices)
    assert (run.returncode, run.stdout) == (0, f"done {scene} {steps} on {devices}\n")
    assert reported(run) == counted(run.truth)
    assert len(run.report.gpus) == devices
    assert warned(run) == []
    assert run.report.overhead.lost == 0
    for gpu in run.report.gpus:
        assert gpu.name == f"Double {gpu.device_id}"
        true = [w for w in run.truth if w.device == gpu.device_id and w.kind == "kernel"]
        assert gpu.kernel_us == pytest.approx(sum(w.end_ns - w.start_ns for w in true) / 1000, abs=0.01 * len(true))
        copied = [w.bytes for w in run.truth if w.device == gpu.device_id and w.kind == "h2d"]
        assert gpu.h2d_bytes == sum(copied)


@pytest.mark.parametrize("generation", ["11", "12", "13", "130000"])
@pytest.mark.parametrize("nested", [0, 1])
def test_all_generations_of_records_tell_the_same(cuda: Cuda, generation: str, nested: int) -> None:
    """Work is linked to its call, whether the driver's call inside has a number of its own or not."""
    run = cuda("copy", "12", generation=generation, devices=2, nested=nested)
    assert run.returncode == 0
    true = counted(run.truth)
    if generation == "130000":  # 13.0 has no record of a device that is waited for
        true = counted([w for w in run.truth if w.kind != "sync"])
    assert reported(run) == true
    assert warned(run) == []
    for kind in ("h2d", "d2h"):
        share = {c.pageable_pct for c in run.report.copies if c.kind == kind}
        assert share == {100.0 if kind == "h2d" else 0.0}


def test_without_us_nothing_is_different(cuda: Cuda) -> None:
    run = cuda("copy", "10")
    alone = subprocess.run(
        [cuda.program, "copy", "10"],
        env={**cuda.command.environment, **cuda.environment()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (run.stdout, run.theirs, run.returncode) == (alone.stdout, alone.stderr, 0)


def test_off_is_off(cuda: Cuda) -> None:
    run = cuda("gpu", "10", options=("--no-gpu",))
    assert run.returncode == 0
    assert cuda.log() == []
    assert run.report.gpus == []


def test_records_without_times_are_counted_and_left_out(cuda: Cuda) -> None:
    run = cuda("gpu", "40", zero_every=5)
    (gpu,) = run.report.gpus
    assert gpu.kernel_count == 32
    (warning,) = [w for w in run.report.warnings if w.id == "unstamped_work"]
    assert warning.text.startswith("GPU 0: 8 records have no time stamps")


def test_records_off_by_a_day_are_never_shown(cuda: Cuda) -> None:
    run = cuda("gpu", "40", early_every=8)
    (gpu,) = run.report.gpus
    assert gpu.kernel_count == 35
    assert gpu.span_us < run.report.program.wall_us
    assert "unstamped_work" in warned(run)


def test_dropped_records_are_told_of(cuda: Cuda) -> None:
    run = cuda("gpu", "40", drop_every=7)
    assert run.report.gpus[0].kernel_count == 35
    (warning,) = [w for w in run.report.warnings if w.id == "gpu_dropped"]
    assert "dropped 5 records" in warning.text


def test_records_that_come_late_come_all_the_same(cuda: Cuda) -> None:
    run = cuda("gpu", "40", late=1)
    assert reported(run) == counted(run.truth)


def test_a_reset_device_loses_nothing(cuda: Cuda) -> None:
    run = cuda("reset", "20", devices=2, late=1)
    assert reported(run) == counted(run.truth)


def test_a_program_that_ends_without_an_exit_keeps_what_it_did_before(cuda: Cuda) -> None:
    run = cuda("die", "16")
    assert run.returncode == 7
    assert run.report.gpus[0].kernel_count == 16


def test_the_clock_is_set_once_before_anything_is_on(cuda: Cuda) -> None:
    """The double spoils a record for every further time, as CUPTI does."""
    cuda("gpu", "8")
    log = cuda.log()
    assert log.count("clock") == 1
    assert log.index("subscribe") < log.index("clock") < log.index("enable 10")
    # Kernels must stay concurrent.
    assert "enable 3" not in log


def test_13_0_is_not_asked_for_what_hangs_it(cuda: Cuda) -> None:
    run = cuda("gpu", "8", generation=130000)
    assert run.returncode == 0
    assert not [line for line in cuda.log() if line.startswith("disable")]
    assert "unsubscribe" in cuda.log()


@pytest.mark.parametrize(
    "call",
    [
        "cuptiGetVersion",
        "cuptiSubscribe",
        "cuptiActivityRegisterCallbacks",
        "cuptiActivityEnable",
    ],
)
def test_a_cupti_that_refuses_costs_one_warning(cuda: Cuda, call: str) -> None:
    run = cuda("gpu", "8", fail=call)
    assert (run.returncode, run.stdout) == (0, "done gpu 8 on 1\n")
    (warning,) = [w for w in run.report.warnings if w.id == "gpu_absent"]
    assert call in warning.text
    (line,) = said(run)
    assert f"CUPTI tells of no GPU: {call}" in line and "the report is of the CPU alone" in line
    assert run.report.gpus == []
    assert run.report.threads


@pytest.mark.parametrize(
    ("call", "kernels"),
    [
        ("cuptiActivityRegisterTimestampCallback", 8),
        ("cuptiActivitySetAttribute", 8),
        ("cuptiActivityFlushPeriod", 8),
        ("cuptiActivityGetNumDroppedRecords", 8),
        ("cuptiEnableCallback", 8),
        ("cuptiGetCallbackName", 8),
        ("cuptiUnsubscribe", 8),
        ("cuptiActivityDisable", 8),
        ("cuptiActivityFlushAll", 0),
        ("cuptiActivityGetNextRecord", 0),
    ],
)
def test_one_failing_call_costs_no_more_than_it_must(cuda: Cuda, call: str, kernels: int) -> None:
    run = cuda("gpu", "8", fail=call)
    assert (run.returncode, run.stdout) == (0, "done gpu 8 on 1\n")
    assert sum(k.count for k in run.report.kernels) == kernels
    if kernels == 0:
        (warning,) = [w for w in run.report.warnings if w.id == "gpu_failed"]
        assert call in warning.text


def test_held_by_another_from_the_start(cuda: Cuda) -> None:
    run = cuda("gpu", "8", held=1)
    assert run.returncode == 0
    assert warned(run) == ["gpu_busy"]
    assert len(said(run)) == 1
    assert run.report.gpus == []
    assert "enable 10" not in cuda.log()


def test_the_programs_own_profiler_wins(cuda: Cuda) -> None:
    """It subscribes in the middle: it gets CUPTI, and the report has the first half and a warning."""
    run = cuda("held", "40")
    assert run.returncode == 0
    assert run.stdout == "own profiler 0\ndone held 40 on 1\n"
    assert "gpu_busy" in warned(run)
    assert run.report.gpus[0].kernel_count == 20
    log = cuda.log()
    assert log.index("unsubscribe") < len(log) - 1 - log[::-1].index("subscribe")


@pytest.mark.plain
def test_a_cupti_that_is_not_there_costs_one_line(cuda: Cuda, tmp_path: Path) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()
    copy_of_double(folder, "libcudart.so")
    (folder / "libcuda.so.1").symlink_to("libcudart.so")
    env = {**cuda.environment(), "LD_LIBRARY_PATH": str(folder), "INFERSCOPE_CUPTI": str(folder / "libcupti.so")}
    run = cuda.command("run", "--", cuda.program, "gpu", "8", env=env)
    assert (run.returncode, run.stdout) == (0, "done gpu 8 on 1\n")
    assert warned(run) == ["gpu_absent"]
    (line,) = said(run)
    assert "CUPTI tells of no GPU: INFERSCOPE_CUPTI cannot be loaded; the report is of the CPU alone" in line


@pytest.mark.plain
def test_the_cupti_of_the_programs_own_cuda_is_taken(cuda: Cuda, tmp_path: Path) -> None:
    """A newer one that the loader would find first by name does not fit the CUDA that the program has."""
    own, toolkit = tmp_path / "own", tmp_path / "toolkit"
    own.mkdir()
    toolkit.mkdir()
    copy_of_double(own, "libcudart.so.12")
    (own / "libcupti.so.12").symlink_to("libcudart.so.12")
    (own / "libcuda.so.1").symlink_to("libcudart.so.12")
    (own / "libcudart.so").symlink_to("libcudart.so.12")
    copy_of_double(toolkit, "libcupti.so.13")
    env = {**cuda.environment(generation="12"), "LD_LIBRARY_PATH": f"{toolkit}:{own}"}
    env["LD_PRELOAD"] = str(own / "libcudart.so.12")
    run = cuda.command("run", "--", cuda.program, "gpu", "8", env=env)
    assert run.returncode == 0
    assert run.report.gpus[0].kernel_count == 8
    assert any("gpu_source" in line and "started code 23" in line for line in run.dump())


TRAP = """
#include <fcntl.h>
__attribute__((constructor)) static void loaded(void) { creat("%s", 0600); }
"""


@pytest.mark.plain
@pytest.mark.parametrize(("generation", "newer"), [("12", False), ("13", True)])
def test_a_cupti_that_is_newer_than_the_driver_is_passed_over(
    cuda: Cuda, tmp_path: Path, generation: str, newer: bool
) -> None:
    """The program's runtime has no version in its name, as one that is linked into it has none."""
    folder, marker = tmp_path / "both", tmp_path / "loaded"
    folder.mkdir()
    copy_of_double(folder, "libcudart.so")
    for name in ("libcuda.so.1", "libcupti.so.12"):
        (folder / name).symlink_to("libcudart.so")
    (tmp_path / "trap.c").write_text(TRAP % marker)
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "trap.c", "-o", folder / "libcupti.so.13"], check=True)
    env = {**cuda.environment(generation=generation), "LD_LIBRARY_PATH": str(folder)}
    run = cuda.command("run", "--", cuda.program, "gpu", "8", env=env)
    assert (run.returncode, run.stdout) == (0, "done gpu 8 on 1\n")
    # With a driver of 13 the newer one is tried, and this one is none.
    assert marker.exists() == newer
    assert warned(run) == (["gpu_absent"] if newer else [])
    assert sum(k.count for k in run.report.kernels) == (0 if newer else 8)


@pytest.mark.plain
def test_a_cupti_of_another_major_is_refused(cuda: Cuda, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    copy_of_double(folder, "libcudart.so.12")
    (folder / "libcudart.so").symlink_to("libcudart.so.12")
    (folder / "libcupti.so.12").symlink_to("libcudart.so.12")
    (folder / "libcuda.so.1").symlink_to("libcudart.so.12")
    env = {**cuda.environment(generation="13"), "LD_LIBRARY_PATH": str(folder)}
    env["LD_PRELOAD"] = str(folder / "libcudart.so.12")
    run = cuda.command("run", "--", cuda.program, "gpu", "8", env=env)
    assert run.returncode == 0
    assert warned(run) == ["gpu_absent"]


CLOCKS: list[dict[str, Any]] = [
    {},
    {"offset_us": 3000},
    {"offset_us": -2500, "devices": 2},
    {"drift_ppm": "500/-500", "devices": 2},
    {"drift_ppm": 500, "offset_us": 20000, "wander_us": 50, "wander_s": 1},
    {"step_us": 200000, "step_at_ms": 60},
    {"step_us": -200000, "step_at_ms": 60, "drift_ppm": -300},
    {"offset_us": -1000, "generation": 11, "fail": "cuptiActivityRegisterTimestampCallback"},
    {"step_us": -200000, "step_at_ms": 60, "fail": "cuptiActivityRegisterTimestampCallback"},
]


@pytest.mark.parametrize("clock", CLOCKS, ids=[" ".join(clock) or "right" for clock in CLOCKS])
def test_times_are_off_by_no_more_than_is_said(cuda: Cuda, clock: dict[str, Any]) -> None:
    """Offset, drift, wander and steps of the clock; every kernel and copy against its true time."""
    run = cuda("copy", "120", **clock)
    assert run.returncode == 0
    assert run.report.clock.sync == "causality"
    true = {(w.device, w.correlation): w for w in run.truth if w.kind != "sync"}
    told = gpu_times(run.trace)
    assert len(told) == len(true)
    worst = 0.0
    for device, correlation, start, end, bound in told:
        w = true[(device, correlation)]
        if start == 0 and "step_us" in clock:
            continue  # the step fell into it: it has no times that could be right
        off = abs(start - w.start_ns)
        assert off <= bound
        assert start >= w.called_ns  # nothing begins before it was asked for
        worst = max(worst, off / 1000)
        if "step_us" not in clock:
            assert abs((end - start) - (w.end_ns - w.start_ns)) <= 0.01 * (w.end_ns - w.start_ns)
    assert worst <= run.report.clock.error_bound_us
    assert "early_work" not in warned(run)
    # What a clock that is behind put before its call was mended, all of it, and counted.
    if set(clock) <= {"offset_us", "devices", "generation", "fail"}:
        off_ns = 1000 * clock.get("offset_us", 0)
        early = sum(w.start_ns + off_ns < w.called_ns for w in true.values())
        assert (early > 0) == (off_ns < 0)
        assert early <= run.report.clock.causality_fixes <= (len(told) if early else 0)
    if "step_us" not in clock:
        assert run.report.clock.error_bound_us < 1000
        assert {g.kernel_count for g in run.report.gpus} == {120}


def test_several_processes_on_the_same_devices(cuda: Cuda) -> None:
    """Each counts its correlations and contexts from the beginning; together they are what the devices did."""
    line = f"{cuda.program} gpu 24 & {cuda.program} copy 12; wait"
    run = cuda.command(
        "run", "--follow", "all", "--", "/bin/sh", "-c", line, env=cuda.environment(devices=2), timeout=120
    )
    assert run.returncode == 0
    truth = cuda.truth()
    assert {w.kind for w in truth if w.device == 1} == {"kernel", "h2d", "d2h", "memset", "sync"}
    assert reported(run) == counted(truth)
    assert len(run.report.gpus) == 2
    assert warned(run) == []


def test_delay_and_duration(cuda: Cuda) -> None:
    """Nothing is on before and after; work in between is there."""
    run = cuda("cpu", "1800", options=("--delay", "0.1", "--duration", "0.4"))
    assert run.returncode == 0
    (gpu,) = run.report.gpus
    assert 50 < gpu.kernel_count < 1000
    assert run.report.program.wall_us > 0
    assert "unsubscribe" in cuda.log()


@pytest.mark.parametrize("steps", [20, pytest.param(500, marks=pytest.mark.long)])
def test_a_million_kernels_a_minute(cuda: Cuda, steps: int) -> None:
    """40,000, and at length a million, as fast as the double can, which is more than that: none is lost."""
    run = cuda("storm", str(steps), options=("--trace-size-mb", "0"), devices=2, launch_us=0)
    assert run.returncode == 0
    assert counted(run.truth)[("kernel", 0)] == counted(run.truth)[("kernel", 1)] == 1000 * steps
    assert reported(run) == counted(run.truth)
    assert run.report.overhead.lost == 0
    assert warned(run) == []
    first = min(w.start_ns for w in run.truth)
    seconds = (max(w.end_ns for w in run.truth) - first) / 1e9
    assert len(run.truth) / seconds > 1e6 / 60


def test_another_tool_in_the_variable_stays(cuda: Cuda, libraries: Path) -> None:
    env = {**cuda.environment(), "CUDA_INJECTION64_PATH": str(libraries / "libcuda.so.1")}
    run = cuda.command("run", "--", cuda.program, "gpu", "8", env=env)
    assert run.returncode == 0
    assert run.report.gpus == []
    assert any("another tool is to watch CUDA" in w.text for w in run.report.warnings)


PYTHON = """
import ctypes, sys
cuda = ctypes.CDLL("libcudart.so")
class Dim(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]
cuda.cudaLaunchKernel.argtypes = [ctypes.c_void_p, Dim, Dim, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
def layer():
    cuda.cudaLaunchKernel(1, Dim(1, 1, 1), Dim(32, 1, 1), None, 0, None)
def forward():
    for _ in range(50):
        layer()
    cuda.cudaDeviceSynchronize()
forward()
"""


def test_the_python_line_that_launched_is_named(cuda: Cuda, python: str, tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text(PYTHON)
    run = cuda.command("run", "--python", python, str(script), env=cuda.environment())
    assert run.returncode == 0
    (kernel,) = run.report.kernels
    assert (kernel.name, kernel.count) == ("unregistered", 50)
    assert kernel.launched_from is not None
    assert kernel.launched_from.startswith("layer (")
    assert kernel.launched_from.endswith("model.py:8)")


def test_children_that_are_not_traced_do_not_get_it(cuda: Cuda, python: str, tmp_path: Path) -> None:
    """A child of another kind finds the environment as it would be without us."""
    script = tmp_path / "parent.py"
    script.write_text("import subprocess; subprocess.run(['env'], check=True)")
    run = cuda.command("run", "--python", python, "--follow", "none", str(script), env=cuda.environment())
    assert run.returncode == 0
    assert "inferscope_cuda" not in run.stdout


def test_the_real_cupti_without_a_driver(inferscope: Any, target: Any) -> None:
    """It refuses, and that costs one warning."""
    found = [f for place in ("/usr/local/cuda/lib64", "/opt/cuda/lib64") for f in Path(place).glob("libcupti.so.1*")]
    if not found:
        pytest.skip("CUPTI is not installed: the real one is not tried")
    (library,) = inferscope.path.parents[1].glob("**/libinferscope_cuda.so")
    env = {"LD_LIBRARY_PATH": str(found[0].parent)}
    run = inferscope("run", "--", target("cuda_inject.c"), str(library), env=env)
    assert (run.returncode, run.stdout) == (5, "1\n")
    assert warned(run) == ["gpu_absent"]
    (line,) = said(run)
    assert line.startswith("inferscope: warning: CUPTI tells of no GPU: cupti")
    assert run.report.threads and run.report.gpus == []


DRIVER = (
    *("cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuModuleLoadData"),
    *("cuModuleGetFunction", "cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuLaunchKernel", "cuCtxSynchronize"),
    *("cuMemcpyDtoH_v2", "cuMemFree_v2"),
)


@pytest.mark.plain
def test_selftest(cuda: Cuda) -> None:
    good = cuda.command("doctor", "--gpu-selftest", env=cuda.environment(devices=2), plain=True)
    assert good.returncode == 0, good.stderr
    lines = good.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["ok", "ok"]
    assert "GPU 1, Double 1: 100 of 100 kernels and 200 of 200 copies recorded" in lines[1]


@pytest.mark.plain
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"drop_every": 10}, "90 of 100 kernels"),
        ({"fail": "cuptiActivityEnable"}, "cuptiActivityEnable"),
        ({"held": 1}, "held by another profiler"),
        ({"devices": 0}, "cuInit failed (100)"),
        *(({"fail": call, "fail_code": 700}, f"{call.removesuffix('_v2')} failed (700)") for call in DRIVER),
        ({"fail": "cuLaunchKernel", "fail_after": 50}, "cuLaunchKernel failed (999); nvidia-smi may say why"),
    ],
)
def test_selftest_says_what_is_wrong(cuda: Cuda, script: dict[str, Any], words: str) -> None:
    bad = cuda.command("doctor", "--gpu-selftest", env=cuda.environment(**script), plain=True)
    assert bad.returncode == 4
    assert words in bad.stdout + bad.stderr


@pytest.mark.plain
def test_selftest_without_a_driver(inferscope: Any) -> None:
    bad = inferscope("doctor", "--gpu-selftest", plain=True)
    assert bad.returncode == 4
    assert "cannot load libcuda.so.1: no NVIDIA driver; install it" in bad.stderr


def test_the_kernel_of_the_selftest_is_one_that_nvidias_compiler_takes(inferscope: Any, tmp_path: Path) -> None:
    """As it stands in the command; devices get it from their driver in the same way."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed: the kernel is not compiled")
    command = inferscope.path.read_bytes()
    text = command[command.index(b".version 6.0\n") :].split(b"\0")[0]
    assert b".entry" in text
    source = tmp_path / "kernel.ptx"
    source.write_bytes(text)
    done = subprocess.run(
        [ptxas, "-arch=sm_75", source, "-o", tmp_path / "kernel.cubin"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "kernel.cubin").stat().st_size > 500


def test_waiting_for_a_device_is_gpu_wait(cuda: Cuda) -> None:
    """2 ms of 2.5 ms are waited for; what the double sleeps in meanwhile is not the program's sleep."""
    run = cuda("wait", "100")
    report = run.report
    shares = [report.breakdown[state] for state in STATES]
    assert sum(share for share in shares if share is not None) == pytest.approx(100, abs=0.1)
    waited = sum(w.end_ns - w.start_ns for w in run.truth if w.kind == "sync") / 1000
    assert report.breakdown["gpu_wait"] == pytest.approx(100 * waited / report.window.judged_us, abs=3)
    assert report.breakdown["gpu_wait"] > 50
    assert report.breakdown["sleep"] < 5
    (main,) = [t for t in report.threads if t["gpu_wait"]]
    assert main["gpu_wait"] == pytest.approx(waited, rel=0.1)


def test_kernels_are_named_as_they_were_written(cuda: Cuda) -> None:
    run = cuda("mangled", "5")
    assert [(k.name, k.count) for k in run.report.kernels] == [("axpy_50us(float*, float const*, float)", 5)]


def test_graphs_are_told_as_a_whole_when_their_parts_cost_too_much(cuda: Cuda) -> None:
    """20,000 kernels a second in graphs against a tenth of a percent: nodes first, whole graphs from then on."""
    run = cuda("graph", "6000", options=("--budget", "0.1"), call_us=450)
    assert "gpu_reduced" in warned(run)
    true = counted(run.truth)
    assert true[("kernel", 0)] > 1000 and true[("graph", 0)] > 100
    assert reported(run) == true
    assert run.report.overhead.lost == 0


def test_graphs_are_told_by_their_parts_without_a_budget(cuda: Cuda) -> None:
    run = cuda("graph", "1000", options=("--budget", "off"))
    assert warned(run) == []
    assert counted(run.truth)[("kernel", 0)] == 10_000
    assert reported(run) == counted(run.truth)
