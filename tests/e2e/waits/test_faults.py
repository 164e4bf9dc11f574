"""Memory that has to be read in: counted, and its wait told apart from others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

# A file that is mapped and not in memory any more; every page is a read, and a read ahead at most.
PROGRAM = """
import json, mmap, os, resource, sys, time
path, size = sys.argv[1], 64 << 20
fd = os.open(path, os.O_RDWR | os.O_CREAT)
for _ in range(64): os.write(fd, os.urandom(1 << 20))
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
area = mmap.mmap(fd, size)
area.madvise(mmap.MADV_RANDOM)
before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
def clocks():  # time, and what of it was on a CPU or ready for one
    with open("/proc/thread-self/schedstat") as file: ready = sum(int(ns) for ns in file.read().split()[:2])
    return time.monotonic() * 1e6, ready / 1e3
begun, ready = clocks()
for at in range(0, size, 16384): area[at]
ended, after = clocks()
faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before
print(json.dumps([faults, ended - begun, ended - begun - (after - ready)]))
"""


def test_waits_for_memory_to_be_read_in_are_told(inferscope: Any, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    run = inferscope("run", "--budget", "off", "--", "python3", script, tmp_path / "data")
    assert run.returncode == 0, run.stderr
    faults, took, waited = json.loads(run.stdout)
    main = next(thread for thread in run.report.threads if thread.thread_id == thread.process_id)
    if main.page_fault is None:
        assert main.on_cpu_us is None or run.report.breakdown.sources.page_fault is None
        pytest.skip("switches are not seen here")
    assert run.report.memory.major_faults >= faults
    if faults < 100:
        pytest.skip(f"the file stayed in memory: {faults} faults")
    told = [line for line in run.dump() if line.endswith(" fault") and " switch " in line]
    # One that is pushed off the CPU before it waits may find its page there when it comes back, and did not wait.
    assert len(told) >= 0.75 * faults
    # What the kernel's own clocks leave; a switch takes some microseconds, on whichever side it is counted.
    assert 0.8 * waited - 5 * faults < main.page_fault <= 1.05 * took, (faults, took, waited)
