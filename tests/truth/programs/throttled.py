"""The control group may use a quarter of a CPU."""

import os
import time
from pathlib import Path

from inferscope import scope
from said import FIXED, SECONDS, Clock, native, queued, skip, truth

root = Path("/sys/fs/cgroup")
own = root / f"truth-{os.getpid()}"
if not (root / "cgroup.controllers").exists() or not (root / "cgroup.procs").exists():
    skip("there is no unified hierarchy of control groups here")
try:
    home = root / Path("/proc/self/cgroup").read_text().split("::")[1].strip().lstrip("/") / "cgroup.procs"
    own.mkdir()
except (OSError, IndexError) as why:
    skip(f"no control group can be made here: {why}")
try:
    (own / "cpu.max").write_text("max" if FIXED else "25000 100000")
    (own / "cgroup.procs").write_text(str(os.getpid()))
except OSError as why:
    own.rmdir()
    skip(f"no CPU limit can be set here: {why}")
all_of_it, behind = Clock(), queued()
end = time.perf_counter() + SECONDS
while time.perf_counter() < end:
    with all_of_it, scope("request"):
        native(5)
late = queued() - behind
home.write_text(str(os.getpid()))
own.rmdir()
truth("cpu_throttled", late / all_of_it.spent * 100, one=all_of_it.mean)
