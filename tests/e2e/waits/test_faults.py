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
begun = time.monotonic()
for at in range(0, size, 16384): area[at]
took = time.monotonic() - begun
print(json.dumps([resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before, took * 1e6]))
"""


def test_waits_for_memory_to_be_read_in_are_told(inferscope: Any, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    run = inferscope("run", "--budget", "off", "--", "python3", script, tmp_path / "data")
    assert run.returncode == 0, run.stderr
    faults, took = json.loads(run.stdout)
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
    assert 0.2 * (took - main.run_queue) < main.page_fault <= 1.05 * took
