"""What comes with samples: counts of the processor, what they cost, and time in slow scopes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timed

# A signal by perf is for a thread outside the kernel: loops of this file ask for the time, which is a system call, now
# and then only.
BUSY = """
import time
def one(end):
    while time.thread_time() < end:
        for _ in range(1000): pass
def two(end):
    while time.thread_time() < end:
        for _ in range(1000): pass
begun = time.thread_time()
one(begun + 0.4)
two(begun + 0.8)
"""

# Twenty times 5 MB that stay, and as much again that was given back.
GROWS = """
import time
def busy():
    end = time.thread_time() + 0.005
    while time.thread_time() < end: pass
def grow():
    kept = []
    for _ in range(20):
        kept.append(bytearray(5 << 20)); busy()
    return kept
def again():
    kept = []
    for _ in range(20):
        kept.append(bytearray(5 << 20)); busy()
busy()
grow()
again()
"""

# Every tenth request tries again.
REQUESTS = """
import time, inferscope
def answer():
    end = time.thread_time() + 0.004
    while time.thread_time() < end:
        for _ in range(1000): pass
def retry():
    end = time.thread_time() + 0.03
    while time.thread_time() < end:
        for _ in range(1000): pass
for n in range(60):
    with inferscope.scope("request"):
        answer()
        if n % 5 == 2: retry()
"""

SPIN = r"""
#include <stdio.h>
#include <time.h>
#include <omp.h>
int main(void)
{
	double end = omp_get_wtime() + 1;
	volatile unsigned long sum = 0;

	#pragma omp parallel num_threads(2)
	{
		/* One works, the other waits for it at the end of the part. */
		if (omp_get_thread_num() == 0) {
			while (omp_get_wtime() < end)
				sum++;
		}
	}
	return sum == 0;
}
"""


def script_of(folder: Path, text: str) -> Path:
    script = folder / "program.py"
    script.write_text(text)
    return script


def time_of(report: Any, key: str, name: str) -> float:
    return float(sum(stack[key] for stack in report.stacks if any(frame.name == name for frame in stack.frames)))


def test_without_counters_instructions_are_null_and_the_reason_is_told(inferscope: Any, tmp_path: Path) -> None:
    run = inferscope("run", "--budget", "off", script_of(tmp_path, BUSY))
    said = {warning.id: warning.text for warning in run.report.warnings}
    counted = [stack.instructions for stack in run.report.stacks]
    if "no_counters" in said:
        assert "instructions" in said["no_counters"] and counted and not any(counted)
    else:
        assert any(counted)


def test_counts_are_those_of_the_stack(inferscope: Any, tmp_path: Path) -> None:
    """Events that every kernel counts stand for those of the processor: CPU time, and page faults."""
    run = inferscope("run", "--budget", "off", script_of(tmp_path, BUSY), env={"INFERSCOPE_TEST_COUNTERS": "software"})
    assert run.returncode == 0, run.stderr
    counted = [line for line in run.dump() if re.search(r" sample .* instructions \d+ cycles \d+", line)]
    if not counted:
        pytest.skip("perf counts nothing here")
    (said,) = (warning for warning in run.report.warnings if warning.id == "no_counters")
    assert said.grave and "stand for them" in said.text
    for name in "one", "two":
        # CPU time in ns, counted and by samples.
        assert time_of(run.report, "instructions", name) / 1e3 == pytest.approx(400_000, rel=0.1)
        assert time_of(run.report, "us", name) == pytest.approx(400_000, rel=0.1)


def test_memory_is_that_of_the_stack_in_which_the_peak_grew(inferscope: Any, tmp_path: Path) -> None:
    run = inferscope("run", "--budget", "off", "--rate", "1000", script_of(tmp_path, GROWS))
    assert run.returncode == 0, run.stderr
    assert time_of(run.report, "memory_bytes", "grow") == pytest.approx(100 << 20, rel=0.15)
    assert time_of(run.report, "memory_bytes", "again") <= 10 << 20


def test_a_configuration_file_cannot_ask_for_other_counters(inferscope: Any, tmp_path: Path) -> None:
    config = Path(inferscope.environment["XDG_CONFIG_HOME"]) / "inferscope" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("sample: true\ntest_counters: software\n")
    run = inferscope("run", script_of(tmp_path, "pass"))
    assert run.returncode == 125 and "test_counters" in run.stderr


def test_what_samples_cost_is_part_of_the_overhead(inferscope: Any, tmp_path: Path) -> None:
    run = inferscope("run", "--no-python", "--budget", "off", "--rate", "1000", script_of(tmp_path, BUSY))
    costs = [int(found[1]) for line in run.dump() if (found := re.search(r" sample .* cost_ns (\d+)", line))]
    assert len(costs) > 200
    share = 100 * sum(costs) / 1e3 / run.report.program.wall_us
    # A signal by perf is taken to be 60 us; twice that would be a handler that was put off its CPU.
    assert 60_000 < sorted(costs)[len(costs) // 2] < 120_000
    assert run.report.overhead.measured_pct >= 0.9 * share > 0


def test_slow_scopes_show_what_makes_them_slow(inferscope: Any, stage: Path, tmp_path: Path, python: str) -> None:
    site = next(stage.glob("lib/python*/site-packages"))
    run = inferscope(
        "run", "--budget", "off", "--rate", "1000", "--python", python, script_of(tmp_path, REQUESTS),
        env={"PYTHONPATH": str(site)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    report = run.report
    assert report.samples.scope == "request" and report.samples.slow_scopes >= 1, report.samples
    assert time_of(report, "us_slow", "retry") > 15_000 > 1_000 > time_of(report, "us_median", "retry")
    assert time_of(report, "us_median", "answer") == pytest.approx(time_of(report, "us_slow", "answer"), rel=0.6)


def test_a_thread_that_waits_in_openmp_spins(inferscope: Any, tmp_path: Path) -> None:
    source, program = tmp_path / "spin.c", tmp_path / "spin"
    source.write_text(SPIN)
    built = subprocess.run(
        ["cc", "-O1", "-fopenmp", str(source), "-o", str(program)], capture_output=True, text=True, check=False
    )
    if built.returncode:
        pytest.skip(f"no OpenMP to build with: {built.stderr[-200:]}")
    run = inferscope("run", "--", str(program), env={"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "infinity"})
    assert run.returncode == 0, run.stderr
    waiting = next(thread for thread in run.report.threads if thread.thread_id != thread.process_id)
    assert waiting.spin > 0.7 * waiting.on_cpu_us, json.dumps(waiting)
    assert waiting.native < 0.3 * waiting.on_cpu_us
    working = next(thread for thread in run.report.threads if thread.thread_id == thread.process_id)
    assert working.spin < 0.2 * working.on_cpu_us, json.dumps(working)


def test_our_own_start_is_part_of_the_overhead(inferscope: Any, tmp_path: Path) -> None:
    run = inferscope("run", "--no-sample", "--no-memory", "--no-syscalls", script_of(tmp_path, "pass"))
    told = run.report.overhead.measured_pct * run.report.program.wall_us / 100
    # Loading the agent and our module takes half a millisecond at least; a few events and switches are far from that.
    assert run.report.overhead.events < 200
    assert told > 500
    assert run.report.overhead.measured_pct <= 150
