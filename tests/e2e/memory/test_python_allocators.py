"""Without the agent Python's own allocators tell of memory: what they gave out is known, and what they miss is said."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.memory.test_memory import OFTEN, line_of, near, sites

if TYPE_CHECKING:
    from tests.e2e.conftest import Command


@pytest.mark.parametrize("allocator", ["", "malloc", "debug"])
def test_python_lines_are_known_without_the_agent(
    inferscope: Command, target: Callable[[str], str], python: str, allocator: str
) -> None:
    script = target("memory_known.py")
    env = {"PYTHONMALLOC": allocator} if allocator else {}
    run = inferscope("run", "--no-agent", *OFTEN, "8", "--python", python, script, "exact", env=env)
    assert run.returncode == 0
    memory = run.report.memory
    found = sites(run, "memory_known.py")
    for size, truth in (("100_000", 100e6), ("5_000", 25e6)):
        site = found[f"exact:{line_of(script, f'        bytearray({size})')}"]
        assert site.samples >= 1000
        assert near(site.bytes, truth), (size, site)
        assert site.live_bytes < truth / 100
    # Each of them once, whatever allocator asks which other: two for every bytearray, and what Python itself took.
    assert 125e6 < memory.allocated_bytes < 1.2 * 125e6
    assert memory.allocations > 12_000
    assert memory.allocator == "Python"
    assert memory.mappings is None
    assert memory.mapped_bytes is None


def test_small_objects_are_seen_one_by_one(inferscope: Command, target: Callable[[str], str], python: str) -> None:
    script = target("memory_known.py")
    # Some 9,500 samples, known to 1%.
    run = inferscope("run", "--no-agent", *OFTEN, "2", "--python", python, script, "objects")
    found = sites(run, "memory_known.py")[f"objects:{line_of(script, 'bytes(67)')}"]
    assert near(found.bytes, 200_000 * 100)
    assert near(found.count, 200_000)


def test_what_they_miss_is_said(inferscope: Command, target: Callable[[str], str], numpy_python: str) -> None:
    script = target("memory_known.py")
    run = inferscope("run", "--no-agent", *OFTEN, "64", "--python", numpy_python, script, "arrays")
    found = sites(run, "memory_known.py")
    # The objects around the arrays are Python's: some hundred bytes of 40,000 each.
    seen = found.get(f"arrays:{line_of(script, 'numpy.empty(')}")
    assert seen is None or seen.bytes < 0.05 * 400e6
    (warning,) = [w for w in run.report.warnings if w.id == "memory_of_python"]
    assert "numpy" in warning.text
    assert "--no-agent" in warning.remedy
    assert not [w for w in run.report.warnings if w.id == "no_memory"]


def test_a_leak_is_found_without_the_agent(inferscope: Command, target: Callable[[str], str], python: str) -> None:
    script = target("memory_known.py")
    run = inferscope("run", "--no-agent", *OFTEN, "8", "--python", python, script, "leaks")
    growing = run.report.memory.growing
    assert [(g.function, g.line) for g in growing] == [("leak", line_of(script, "held.append(bytearray(size))"))]
    assert near(growing[0].bytes, 400 * 40_000)


# Threads call the raw allocator without the GIL while it is changed; with the debug allocator the context counts too.
ON_AND_OFF = """
import ctypes, sys, threading, time, tracemalloc
from inferscope import _core, _session
assert _session.join(10) is None
free, stop = ctypes.CDLL(None), False
def allocators():
    found = [(ctypes.c_void_p * 5)() for _ in range(3)]
    for domain, one in enumerate(found):
        ctypes.pythonapi.PyMem_GetAllocator(domain, one)
    return [list(one) for one in found]
before = allocators()
assert _core.memory(True)
# Whoever reads one of them half before and half behind the change finds the same context.
for was, now in zip(before, allocators()):
    assert was[0] == now[0]
    assert all(a != b for a, b in zip(was[1:], now[1:]))
_core.memory(False)
assert allocators() == before
free.PyMem_RawMalloc.restype = ctypes.c_void_p
free.PyMem_RawFree.argtypes = [ctypes.c_void_p]
free.PyMem_RawRealloc.restype = ctypes.c_void_p
free.PyMem_RawRealloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
done = [0] * 3
def storm(me):
    while not stop:
        p = free.PyMem_RawMalloc(600)
        p = free.PyMem_RawRealloc(p, 70000)
        free.PyMem_RawFree(p)
        bytearray(3000)
        done[me] += 1
threads = [threading.Thread(target=storm, args=(n,)) for n in range(3)]
for t in threads: t.start()
for i in range(int(sys.argv[1])):
    assert _core.memory(True)
    words = [str(n) for n in range(50)]
    _core.memory(False)
    del words
stop = True
for t in threads: t.join()
assert min(done) > 0
# Now with another that does the same, over and under us; not with threads, which it does not stand itself.
for i in range(100):
    if i % 4 == 1: tracemalloc.start()
    assert _core.memory(True)
    if i % 4 == 2: tracemalloc.stop()
    if i % 4 == 3: tracemalloc.start()
    words = [str(n) for n in range(50)]
    _core.memory(False)
    tracemalloc.stop()
    del words
print("fine")
"""


@pytest.mark.parametrize("allocator", ["debug", "pymalloc"])
def test_they_are_changed_under_running_threads(
    inferscope: Command, stage: Path, python: str, allocator: str, count: Callable[[int, int], int]
) -> None:
    site = next(stage.glob("lib/python3*/site-packages"))
    done = subprocess.run(
        [python, "-c", ON_AND_OFF, str(count(400, 20000))],
        env={**inferscope.environment, "PYTHONPATH": str(site), "PYTHONMALLOC": allocator},
        cwd=inferscope.folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def test_fork_children_go_on(inferscope: Command, python: str) -> None:
    script = inferscope.folder / "forks.py"
    script.write_text(
        "import os\nfor _ in range(20):\n    pid = os.fork()\n    if pid == 0:\n"
        "        for _ in range(200):\n            bytearray(50_000)\n        raise SystemExit(7)\n"
        "    assert os.waitpid(pid, 0)[1] == 7 << 8\n"
    )
    run = inferscope("run", "--no-agent", *OFTEN, "8", "--python", python, str(script))
    assert run.returncode == 0
    taken = [s for s in run.report.memory.sites if (s.file or "").endswith("forks.py")]
    assert near(sum(s.bytes for s in taken), 20 * 200 * 50_000, 0.1)
    assert len({s.process_id for s in taken if s.bytes > 5e6}) == 20
