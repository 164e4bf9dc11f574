"""D4: programs that know where their own CPU time went, in Python, in C, in both, by recursion and in threads.

Two points at 10,000 samples, which takes ten seconds at 1 kHz: with the long counts.  Otherwise there are
fewer samples, and the bounds are as much wider as their spread is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.samples.sampling import native_stacks
else:
    from sampling import native_stacks

pytestmark = pytest.mark.timed

# ms of CPU time for a whole program
SHORT, LONG = 1200, 11_000


def within(samples: int) -> float:
    """Two points at 10,000 samples."""
    return max(2, 2 * math.sqrt(10_000 / max(samples, 1)))


def traced(inferscope: Any, *args: str | Path, budget: str = "off", native: str = "on") -> Any:
    run = inferscope("run", "--native", native, "--rate", "1000", "--budget", budget, *args, timeout=400)
    assert run.returncode == 0, run.stderr
    return run


def function(report: Any, name: str) -> Any:
    found = [f for f in report.functions if f.name.rpartition(".")[2] == name]
    assert len(found) == 1, [f.name for f in report.functions]
    return found[0]


def test_D4_shares_in_c_with_recursion_and_threads(inferscope: Any, target: Callable[[str], str], count: Any) -> None:
    run = traced(inferscope, "--", target("shares.c"), str(count(SHORT, LONG) // 4))
    truth = {int(tid): int(ns) for tid, ns in map(str.split, run.stdout.splitlines())}
    found = native_stacks(run)
    samples = sum(stack.samples for stack in found)
    assert sum(stack.cpu_ns for stack in found) == pytest.approx(sum(truth.values()), rel=0.02)
    for tid, total in truth.items():
        mine = [stack for stack in found if stack.thread == tid]
        # What a function takes is also what it calls: here the clock.
        for name, share in (("heavy", 70), ("middle", 20), ("light", 10)):
            of_name = [stack for stack in mine if name in [called for _, called, _, _ in stack.frames]]
            time = sum(stack.cpu_ns for stack in of_name)
            assert 100 * time / total == pytest.approx(share, abs=within(samples // 4)), (name, tid)
            for stack in of_name:
                names = [called for _, called, _, _ in stack.frames]
                assert names[names.index(name) - 1] == "deeper", names
                assert 1 <= names.count("deeper") <= 10, names
                assert "native_cut" not in stack.flags and "guessed" not in stack.flags, names
    report = run.report
    times = {thread.thread_id: thread.native for thread in report.threads}
    for tid, total in truth.items():
        assert times[tid] * 1000 == pytest.approx(total, rel=0.05), report.threads


# Every function spins until it has had its share, by the clock of its thread.
MIXED = """
import functools, hashlib, json, sys, threading, time, zlib
data = bytes(range(256)) * 300
def until(ns): return time.thread_time_ns() + ns
def in_python(ns):
    end = until(ns)
    while time.thread_time_ns() < end:
        for _ in range(300): pass
def in_c(ns):
    end = until(ns)
    while time.thread_time_ns() < end: zlib.compress(data, 6)
def key(x):
    for _ in range(100): pass
    return -x
def in_both(ns):
    end = until(ns)
    while time.thread_time_ns() < end: sorted(range(50), key=key)
def recursive(n, ns):
    if n: return recursive(n - 1, ns)
    end = until(ns)
    while time.thread_time_ns() < end:
        for _ in range(300): pass
def timed(function, *args):
    begin = time.thread_time_ns()
    function(*args)
    used.append((function.__name__, time.thread_time_ns() - begin))  # an end is met a little late
used = []
def work(ms):
    for _ in range(ms // 10):
        timed(in_python, 3_000_000); timed(in_c, 4_000_000); timed(in_both, 2_000_000); timed(recursive, 9, 1_000_000)
def thread(ms):
    begin = time.thread_time_ns()
    work(ms)
    told[threading.get_native_id()] = time.thread_time_ns() - begin
told = {}
ms = int(sys.argv[1])
threads = [threading.Thread(target=thread, args=(part,)) for part in (ms // 5 * 3, ms // 5 * 2)]
for t in threads: t.start()
for t in threads: t.join()
print(json.dumps([told, used]))
"""


@pytest.mark.parametrize("native", ["leaf", "on"])
def test_D4_shares_in_python_and_c_and_both(
    inferscope: Any, python: str, tmp_path: Path, count: Any, native: str
) -> None:
    program = tmp_path / "mixed.py"
    program.write_text(MIXED)
    run = traced(inferscope, "--python", python, program, str(count(SHORT, LONG)), native=native)
    report, (told, used) = run.report, json.loads(run.stdout)
    truth = sum(told.values()) / 1000
    samples = report.samples.count
    for name in ("in_python", "in_c", "in_both", "recursive"):
        ns = sum(ns for called, ns in used if called == name)
        share = 100 * function(report, name).cpu_total_us / truth
        assert share == pytest.approx(ns / 10 / truth, abs=within(samples)), name
    # Ten calls inside each other are one; compression is C below its line, sorting calls back.
    assert function(report, "in_c").native_us > 0.9 * function(report, "in_c").cpu_self_us
    key = function(report, "key")
    assert 0.5 * function(report, "in_both").cpu_total_us < key.cpu_total_us < function(report, "in_both").cpu_total_us
    assert function(report, "work").cpu_total_us == pytest.approx(truth, rel=0.03)
    for tid, ns in told.items():
        thread = next(t for t in report.threads if t.thread_id == int(tid))
        # To compress takes new pages each time; what their faults take of the CPU depends on the machine.
        on_cpu = thread.python + thread.native + thread.page_fault
        assert on_cpu * 1000 == pytest.approx(ns, rel=0.05), thread
        assert thread.page_fault < 0.4 * on_cpu, thread  # the part of in_c


# The same with functions so small and so many that tracing gives them up.
TINY = """
import json, sys, time
def small_a(n):
    for _ in range(12): pass
def small_b(n):
    for _ in range(12): pass
def phase_a(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        for i in range(200): small_a(i)
def phase_b(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        for i in range(200): small_b(i)
def rest(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        for i in range(200): pass
begin = time.thread_time_ns()
for _ in range(int(sys.argv[1]) // 50):
    phase_a(30_000_000); phase_b(15_000_000); rest(5_000_000)
print(json.dumps({"ns": time.thread_time_ns() - begin}))
"""


def test_D4_shares_of_governed_functions(inferscope: Any, python: str, tmp_path: Path, count: Any) -> None:
    program = tmp_path / "tiny.py"
    program.write_text(TINY)
    run = traced(inferscope, "--python", python, program, str(count(2500, LONG)), budget="5", native="leaf")
    report, truth = run.report, json.loads(run.stdout)["ns"] / 1000
    assert report.overhead.governed, "so many calls are more than the budget"
    for phase, small, share in (("phase_a", "small_a", 60), ("phase_b", "small_b", 30), ("rest", None, 10)):
        f = function(report, phase)
        assert 100 * f.cpu_total_us / truth == pytest.approx(share, abs=within(report.samples.count)), phase
        if small is not None:
            inside = function(report, small)
            assert inside.estimated
            # Its time is the phase's without the loop, however much of it was traced.
            assert inside.cpu_self_us + f.cpu_self_us == pytest.approx(f.cpu_total_us, rel=0.05)
            assert 0.5 < inside.cpu_self_us / f.cpu_total_us < 0.99
    # Twice the time in the same loop is twice the time in the same function.
    a, b = function(report, "small_a"), function(report, "small_b")
    assert a.cpu_self_us / b.cpu_self_us == pytest.approx(2, rel=0.3)


AGREE = """
import json, sys, time
def clocks(): return time.thread_time_ns(), time.monotonic_ns()
told = {}
def timed(function, ns):
    cpu, wall = clocks()
    function(cpu + ns)
    cpu, wall = (now - then for now, then in zip(clocks(), (cpu, wall)))
    mine = told.setdefault(function.__name__, [0, 0])
    mine[0] += cpu; mine[1] += wall
def alpha(end):
    while time.thread_time_ns() < end:
        for _ in range(300): pass
def beta(end):
    while time.thread_time_ns() < end:
        for _ in range(300): pass
def gamma(end):
    alpha(time.thread_time_ns() + (end - time.thread_time_ns()) // 2)
    while time.thread_time_ns() < end:
        for _ in range(300): pass
for _ in range(int(sys.argv[1]) // 10):
    timed(alpha, 5_000_000); timed(beta, 3_000_000); timed(gamma, 2_000_000)
print(json.dumps(told))
"""


def test_D4_sampled_and_traced_self_time_agree(inferscope: Any, python: str, tmp_path: Path, count: Any) -> None:
    program = tmp_path / "agree.py"
    program.write_text(AGREE)
    run = traced(inferscope, "--python", python, program, str(count(SHORT, LONG)), native="leaf")
    report, told = run.report, json.loads(run.stdout)
    wall = sum(both[1] for both in told.values()) / 1000
    cpu = sum(both[0] for both in told.values()) / 1000
    bound = within(report.samples.count)
    for name in ("alpha", "beta", "gamma"):
        f = function(report, name)
        assert f.source == "both" and not f.by_samples
        # Tracing counts time by the clock, samples count CPU time: compared as shares of what each can see.
        assert 100 * f.self_us / wall == pytest.approx(100 * f.cpu_self_us / cpu, abs=bound), name
    # And both are what the program measured.
    beta = function(report, "beta")
    assert beta.self_us == pytest.approx(told["beta"][1] / 1000, rel=0.02)
    assert 100 * beta.cpu_self_us / cpu == pytest.approx(100 * told["beta"][0] / 1000 / cpu, abs=bound)


BLAS = """
import numpy, sys, time
a = numpy.random.rand(400, 400)
def multiply():
    return a @ a
def decompose():
    return numpy.linalg.svd(a[:120, :120])
def main(ms):
    end = time.process_time() + ms / 1000
    while time.process_time() < end:
        multiply()
        decompose()
main(int(sys.argv[1]))
"""


@pytest.mark.parametrize("threads", ["1", "3"])
def test_D4_blas_lies_below_the_line_that_called_it(
    inferscope: Any, numpy_python: str, tmp_path: Path, count: Any, threads: str
) -> None:
    program = tmp_path / "blas.py"
    program.write_text(BLAS)
    inferscope.environment["OPENBLAS_NUM_THREADS"] = threads
    run = traced(inferscope, "--python", numpy_python, program, str(count(1500, 10_000)))
    below = above = pool = lost = all_of_it = 0
    for stack in native_stacks(run):
        blas = [at for at, (_, _, file, _) in enumerate(stack.frames) if "openblas" in file]
        python = [at for at, (kind, _, _, _) in enumerate(stack.frames) if kind == ""]
        # To load the library takes it a while too, and lies below the line that imports it.
        if not blas or (python and not {"main"} & {stack.frames[at][1].rpartition(".")[2] for at in python}):
            continue
        all_of_it += stack.samples
        lost += stack.samples if stack.flags & {"native_cut", "unplaced", "fault"} else 0
        if not python:
            pool += stack.samples
            continue
        name, line = stack.frames[python[-1]][1], stack.frames[python[-1]][3]
        if python[-1] < blas[0]:
            below += stack.samples
            assert name.rpartition(".")[2] in ("multiply", "decompose", "svd"), stack.frames
            assert name != "multiply" or line == 5, stack.frames
            # Between the line and the library are numpy's own functions.
            between = stack.frames[python[-1] + 1 : blas[0]]
            assert any("_multiarray_umath" in file or "_umath_linalg" in file for _, _, file, _ in between) or (
                stack.flags & {"guessed", "native_cut"}
            ), stack.frames
        else:
            above += stack.samples
    assert all_of_it > 300 and above == 0
    assert lost < 0.02 * all_of_it
    assert pool > 0 if threads == "3" else pool < 0.01 * all_of_it
    line = run.report.lines[0]
    assert (line.function, line.line) in (("multiply", 5), ("svd", line.line)), line
    assert line.native_us > 0.95 * line.self_us


def test_time_in_system_calls_is_not_that_of_page_faults(inferscope: Any, python: str, tmp_path: Path) -> None:
    """At 1 kHz perf meets a thread only in its own code: the time in its calls says what the kernel did."""
    program = tmp_path / "copies.py"
    program.write_text(
        """
import mmap, sys, time
path = sys.argv[1]
with open(path, "wb") as f:
    f.write(bytes(8 << 20))
buffer = bytearray(8 << 20)
end = time.process_time() + 1.5
with open(path, "rb", buffering=0) as f:
    while time.process_time() < end:
        f.seek(0)
        f.readinto(buffer)
        with mmap.mmap(-1, 65536) as few:
            few[:] = bytes(65536)
"""
    )
    run = inferscope("run", "--python", python, "--rate", "1000", program, tmp_path / "data", timeout=100)
    assert run.returncode == 0, run.stderr
    share = run.report.breakdown
    assert share.syscall > 2 * share.page_fault, share
