"""The table of stacks: it never goes blind, whatever was there before."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.samples.sampling import native_stacks, run_python, samples
else:
    from sampling import native_stacks, run_python, samples

pytestmark = pytest.mark.timed

# Every stack is new: 2,000 functions that call each other by chance, 40 deep.
NEVER_TWICE = """
import random, time
N = 2000
names = {"random": random}
source = "\\n".join(
    f"def f{i}(d):\\n  x = bytearray(3000)\\n  if d: return F[random.randrange({N})](d - 1)\\n  return sum(range(300))"
    for i in range(N)
)
exec(compile(source, "/mod/graph.py", "exec"), names)
names["F"] = [names[f"f{i}"] for i in range(N)]
end = time.thread_time() + 3
while time.thread_time() < end: names["F"][0](40)
def hot(k):
    s = 0
    for i in range(k): s += i * i % 7
    return s
def handle(): return hot(20000)
end = time.thread_time() + 1
while time.thread_time() < end: handle()
"""

GLUE = {"_PyFunction_Vectorcall", "_PyEval_Vector", "method_vectorcall", "slot_tp_call", "_PyObject_FastCallDictTstate"}

NESTED = """
import functools, time
def spin():
    end = time.thread_time() + 0.02
    while time.thread_time() < end: sum(range(50))
class Layer:
    def __call__(self, x): return self.forward(x)
    def forward(self, x):
        spin()
        return x
class Key:
    def __init__(self, x):
        spin()
        self.x = x
    def __lt__(self, other): return self.x < other.x
layer = Layer()
for _ in range(10):
    layer(1)
    sorted([2, 1], key=Key)
    functools.reduce(lambda a, b: layer(a), [1, 2])
"""


def test_stacks_that_never_repeat_leave_no_sample_without_one(inferscope: Any, python: str, tmp_path: Path) -> None:
    run = run_python(inferscope, python, tmp_path, NEVER_TWICE, more=("--no-python",))
    found = samples(run)
    assert len(found) > 500
    assert not [sample for sample in found if "other" in sample.flags or not sample.frames]
    # What comes afterwards is seen whole.
    hot = [sample for sample in found if "handle" in sample.names(tmp_path / "program.py")]
    assert sum(s.cpu_ns for s in hot) > 0.8e9
    cut = [sample for sample in hot if "leaf_cut" in sample.flags]
    assert len(cut) < len(hot) / 50
    named = Counter(sample.names(tmp_path / "program.py")[-1] for sample in hot)
    assert named["hot"] > 0.9 * len(hot)


def test_what_only_stands_between_two_python_frames_is_left_out(inferscope: Any, python: str, tmp_path: Path) -> None:
    run = run_python(inferscope, python, tmp_path, NESTED)
    met: Counter[str] = Counter()
    for stack in native_stacks(run):
        between = False  # below the first Python frame, where the program has begun
        for kind, name, _file, _line in stack.frames:
            between |= kind == "" and name == "<module>"
            if between and kind:
                met[name] += stack.samples
    assert not GLUE & set(met), met
    # What the program does in C stays.
    assert met["functools_reduce"] > 5
    assert any(name.startswith("list_sort") for name in met)


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_a_fork_child_goes_on_with_what_is_known(inferscope: Any, python: str, tmp_path: Path) -> None:
    run = run_python(
        inferscope,
        python,
        tmp_path,
        NESTED + "import os\nif os.fork() == 0:\n    for _ in range(10): layer(1)\n    os._exit(0)\nos.wait()\n",
    )
    found = [sample for sample in samples(run) if sample.process == 2]
    assert found
    spinning = [sample for sample in found if sample.names(tmp_path / "program.py")[-1:] == ["spin"]]
    assert len(spinning) > 0.7 * len(found)
    assert all(sample.names(tmp_path / "program.py")[:1] == ["<module>"] for sample in spinning)
