"""Collections of garbage: told of, and nothing of that to be seen in gc.callbacks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

# Each thread measures its own collections as any program may.
MEASURED = """
import gc, json, threading, time
told, began = {}, {}
def watch(phase, info):
    tid, now = threading.get_native_id(), time.perf_counter()
    if phase == "start":
        began[tid] = now
    else:
        mine = told.setdefault(tid, [0, 0])
        mine[0] += 1
        mine[1] += (now - began[tid]) * 1e6
gc.callbacks.append(watch)
kept = [[] for _ in range(200_000)]
def work():
    for _ in range(10):
        gc.collect()
        time.sleep(0.01)
threads = [threading.Thread(target=work) for _ in range(2)]
# One after the other: between their callback and ours the lock could go to the next.
for thread in threads: thread.start(); thread.join()
gc.callbacks.clear()
told.pop(threading.get_native_id(), None)  # which has collected before, and will again
print(json.dumps(told))
"""

# What a program may do with the list, and all that it may look at.
SHOWN = """
import gc, sys
print(gc.callbacks, len(gc.callbacks), sys.getrefcount(gc.callbacks), type(gc.callbacks))
print([type(one).__name__ for one in gc.get_referrers(gc.callbacks)])
print([one for one in gc.get_objects() if getattr(one, "__self__", None) is gc.callbacks])
said = []
def first(phase, info): said.append(("first", phase, sorted(info)))
def second(phase, info):
    said.append(("second", phase))
    if phase == "stop":
        gc.callbacks.remove(second)
def third(phase, info): said.append(("third", phase))
def wrong(phase, info): raise ValueError("as it is meant to be")
gc.callbacks.extend([first, second, third])
gc.collect()
gc.collect(0)
print(said)
said.clear()
gc.callbacks[:] = [wrong, first]
gc.collect(1)
print(said, gc.callbacks == [wrong, first])
gc.callbacks.clear()
said.clear()
gc.collect()
print(said, gc.callbacks, gc.get_count()[1:], gc.get_stats()[2]["collections"] > 0)
gc.callbacks = None
gc.collect()
class Loop: pass
for _ in range(100):
    loop = Loop(); loop.loop = loop
del loop
print(gc.collect())
"""

INTERPRETERS = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
run = getattr(interpreters, "exec", None) or interpreters.run_string
import gc
for _ in range(3):
    one = interpreters.create()
    run(one, "import gc; assert gc.callbacks == []; gc.collect(1); gc.collect(1)")
    interpreters.destroy(one)
    gc.collect(0)
print("end")
"""


def script_of(folder: Path, text: str) -> Path:
    script = folder / "program.py"
    script.write_text(text)
    return script


def test_collections_take_what_the_program_measured(inferscope: Any, python: str, tmp_path: Path) -> None:
    run = inferscope("run", "--python", python, script_of(tmp_path, MEASURED))
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    threads = {thread.thread_id: thread for thread in run.report.threads}
    for tid, (_, us) in told.items():
        # Ours leave out what the program's own callback takes, and others that get the CPU meanwhile.
        thread = threads[int(tid)]
        assert 0.95 * us - 300 - thread.run_queue <= thread.gc <= us + 300, tid
    assert run.report.breakdown.sources.gc == "agent"
    ends = [line for line in run.dump() if " gc " in line and "unseen" in line]
    assert len(ends) >= sum(count for count, _ in told.values())


def test_gc_callbacks_look_and_work_as_ever(inferscope: Any, python: str, tmp_path: Path) -> None:
    script = script_of(tmp_path, SHOWN)
    bare = subprocess.run(
        [python, script], env=inferscope.environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    run = inferscope("run", "--python", python, script)
    assert run.returncode == 0
    assert run.stdout == bare.stdout
    # Addresses differ.
    assert [line.partition(" at 0x")[0] for line in run.theirs.splitlines()] == [
        line.partition(" at 0x")[0] for line in bare.stderr.splitlines()
    ]
    assert "as it is meant to be" in run.theirs
    assert sum("unseen 0" in line and " gc " in line for line in run.dump()) >= 6


def test_a_run_without_a_collection_has_none(inferscope: Any, python: str, tmp_path: Path) -> None:
    """Known to be zero is not the same as not known."""
    run = inferscope("run", "--python", python, script_of(tmp_path, "import gc, time\ngc.disable()\ntime.sleep(0.1)"))
    assert run.report.breakdown.sources.gc == "agent" and run.report.breakdown.gc is not None
    part = inferscope("analyze", run.trace, "--from", "90ms", "--output", tmp_path / "part.json")
    assert part.returncode == 0, part.stderr
    assert json.loads((tmp_path / "part.json").read_text())["breakdown"]["gc"] == 0
    script = script_of(tmp_path, "import gc\ngc.collect()")
    without = inferscope("run", "--no-python", "--no-sample", "--python", python, script)
    assert without.report.breakdown.gc is None and without.report.breakdown.sources.gc is None


def test_collections_are_timed_where_calls_are_not(inferscope: Any, python: str, tmp_path: Path) -> None:
    """Samples of them would be Python code of whoever they interrupted."""
    script = script_of(
        tmp_path, "import gc\nkept = [[i] for i in range(300000)]\nfor _ in range(20):\n    gc.collect()"
    )
    with_calls, without = (
        inferscope("run", *options, "--python", python, script).report.breakdown for options in ((), ("--no-python",))
    )
    assert without.sources.gc == "agent"
    assert without.gc > 0.6 * with_calls.gc > 0


def test_collections_of_subinterpreters_are_told(inferscope: Any, python: str, tmp_path: Path) -> None:
    if python.endswith("3.9"):
        pytest.skip("3.9 has callbacks in the main interpreter alone")
    run = inferscope("run", "--python", python, script_of(tmp_path, INTERPRETERS))
    assert run.returncode == 0 and run.stdout == "end\n", run.stderr
    ends = [line for line in run.dump() if " gc arg 1 " in line]
    assert len(ends) >= 6, [line for line in run.dump() if " gc" in line]
