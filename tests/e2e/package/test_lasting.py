"""H5: a program that starts and stops again and again is left as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MANY = """
def facts():
    with open("/proc/self/statm") as f: rss = int(f.read().split()[1]) * 4
    return [rss, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))]

b = inferscope.TraceBuffer(size_mb=1)
c = inferscope.CpuCollector(b)
p = inferscope.Profiler(size_mb=1)
whole = True
for i in range({times}):
    one = p if i % 8 == 0 else c
    one.start(); work(3); rows = one.stop()
    if rows is None: rows = b.read_all()
    whole = whole and names(rows)["leaf"] == 3 and one.state.name == "Finalized"
    b.clear()
    {leak}
    if i == 99: first = facts()
say(first=first, last=facts(), whole=whole)
"""

Program = Callable[..., Any]


def test_h5_starts_and_stops_leave_nothing_behind(program: Program, python: str, count: Any) -> None:
    said = program(python, MANY.format(times=count(600, 10_000), leak=""), timeout=600)
    (rss, files, threads), (rss_after, files_after, threads_after) = said["first"], said["last"]
    assert said["whole"]
    assert rss_after - rss < 1024
    assert (files_after, threads_after) == (files, threads)


def test_h5_a_leak_would_be_seen(program: Program, python: str) -> None:
    leak = "c.leak = getattr(c, 'leak', []) + [(os.dup(0), bytearray(4096))]"
    said = program(python, MANY.format(times=600, leak=leak))
    assert said["last"][0] - said["first"][0] > 1024
    assert said["last"][1] - said["first"][1] == 500
