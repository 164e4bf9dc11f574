"""Records of GPUs from the program to the report, whoever writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def told(inferscope: Any, target: Callable[[str], str]) -> Callable[..., Any]:
    def go(count: int, threads: int, *options: str) -> Any:
        run = inferscope("run", "--follow", "all", *options, "--", target("gpu_told.c"), str(count), str(threads))
        assert run.returncode == 0
        return run

    return go


def test_every_record_of_every_thread_is_in_the_report(told: Callable[..., Any]) -> None:
    run = told(2000, 4)
    assert run.stdout == "8000\n"
    (gpu,) = run.report.gpus
    assert (gpu.device_id, gpu.name, gpu.kernel_count) == (0, "made up", 8000)
    (kernel,) = run.report.kernels
    assert (kernel.name, getattr(kernel, "class"), kernel.count) == ("gemm", "gemm", 8000)
    assert len(gpu.streams) == 4
    assert run.report.overhead.lost == 0
    assert run.report.clock.sync == "direct"
    # What three seconds of difference come to: the clock was read within microseconds.
    assert run.report.clock.error_bound_us < 1000
    # Moments count from the start of the session, which is a little before that of the program.
    assert gpu.first_us > 0 and gpu.span_us < run.report.program.wall_us
    assert gpu.queue_delay.count == 8000
    lines = run.dump()
    assert sum(" gpu_work " in line for line in lines) == sum(" gpu_call " in line for line in lines) == 8000
    assert sum(" gpu_clock " in line for line in lines) == 500
    assert any('gpu_source "made up" started code 1' in line for line in lines)
    assert "GPU 0: busy" in run.stderr


def test_off_is_off(told: Callable[..., Any]) -> None:
    run = told(10, 1, "--no-gpu")
    assert run.stdout == "10\n"
    assert run.report.gpus == []
    assert not any(" gpu_" in line for line in run.dump())


def test_old_records_go_and_the_report_says_so(told: Callable[..., Any]) -> None:
    """Retention is counted apart from loss, and what is left is still read."""
    run = told(40_000, 2, "--trace-size-mb", "1")
    assert run.report.overhead.retired > 0
    (gpu,) = run.report.gpus
    stored = sum(" gpu_work " in line for line in run.dump())
    assert gpu.kernel_count == stored < 80_000
    assert "gpu_retired" in [w.id for w in run.report.warnings]
    assert run.report.overhead.events + run.report.overhead.lost >= 160_000
