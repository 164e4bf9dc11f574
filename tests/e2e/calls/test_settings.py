"""What is traced, and when: the settings, the budget, forks, tasks, C functions."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.calls.counting import calls, events, version
else:
    from counting import calls, events, version

SPECIAL = """
class A:
    def __init__(self): pass
    def __new__(cls): return super().__new__(cls)
    def __call__(self): pass
    def __getitem__(self, i): return i
    def __iter__(self): return self
    def __next__(self): raise StopIteration
    def __enter__(self): return self
    def __exit__(self, *a): pass
    def __len__(self): return 1
    def __repr__(self): return 'a'
    def __eq__(self, o): return True
    def __hash__(self): return 1
    def _private(self): pass
    def __mangled(self): pass
    def mangled(self): self.__mangled()
a = A(); a(); a[1]; list(a); len(a); repr(a); a == a; hash(a); a._private(); a.mangled()
with a: pass
import colorsys
"""


def write(folder: Path, text: str) -> Path:
    program = folder / "program.py"
    program.write_text(text)
    return program


def governed(run: Any) -> Counter[str]:
    """How often each thing was said of the governor; without what calls cost."""
    lines = [line for line in run.dump() if re.search(r" governed (?!cost_ns|spent_ns)", line)]
    return Counter(re.sub(r".* governed (?:.*?)(?: arg (\d))?$", r"\1", line) or "0" for line in lines)


def test_noise_is_left_out(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = write(tmp_path, SPECIAL)
    run = inferscope("run", "--no-report", "--budget", "off", "--python", python, program)
    names = {name.partition(":")[0] for name in calls(run, program)}
    assert names == {
        *("<module>", "A", "__init__", "__new__", "__call__", "__getitem__", "__iter__", "__next__", "__enter__"),
        *("__exit__", "_private", "__mangled", "mangled"),
    }
    files = {file for _, _, _, file, _ in events(run)}
    assert not [file for file in files if file.startswith("<frozen") or "inferscope" in Path(file).parts]


def test_all_frames_keeps_everything(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = write(tmp_path, SPECIAL)
    run = inferscope("run", "--no-report", "--budget", "off", "--all-frames", "--python", python, program)
    assert {"__len__", "__repr__", "__eq__", "__hash__"} <= {name.partition(":")[0] for name in calls(run, program)}
    assert any(file.startswith("<frozen importlib") for _, _, _, file, _ in events(run))


def test_no_python_traces_no_call(inferscope: Any, tmp_path: Path, python: str) -> None:
    run = inferscope("run", "--no-report", "--no-python", "--python", python, write(tmp_path, "def f(): pass\nf()"))
    assert run.returncode == 0 and not events(run)


def test_calls_outside_of_delay_and_duration_are_not_recorded(inferscope: Any, tmp_path: Path, python: str) -> None:
    text = "import time\ndef early(): pass\ndef amid(): time.sleep(0.01)\ndef late(): pass\nt = time.monotonic()\n"
    text += "early()\nwhile time.monotonic() < t + 1: amid()\nlate()\n"
    program = write(tmp_path, text)
    run = inferscope(
        *("run", "--no-report", "--budget", "off", "--delay", "0.4", "--duration", "0.2", "--python", python, program)
    )
    assert run.returncode == 0, run.stderr
    seen = calls(run, program)
    assert 0 < seen["amid:3"] < 60
    assert "early:2" not in seen and "late:4" not in seen


def test_a_fork_child_is_traced_under_its_own_name(inferscope: Any, tmp_path: Path, python: str) -> None:
    text = "import os\ndef both(): pass\ndef child(): both()\ndef parent(): both()\nboth()\npid = os.fork()\n"
    text += "if pid == 0:\n    child(); os._exit(0)\nparent(); os.waitpid(pid, 0)\n"
    program = write(tmp_path, text)
    run = inferscope("run", "--no-report", "--budget", "off", "--python", python, program)
    by_process: dict[str, list[str]] = {}
    for where, kind, name, file, _ in events(run):
        if file == str(program) and kind == "call_enter":
            by_process.setdefault(where.partition(".")[0], []).append(name)
    assert sorted(by_process.values()) == [["<module>:1", "both:2", "parent:4", "both:2"], ["child:3", "both:2"]]


def test_a_child_that_is_not_followed_is_not_traced(inferscope: Any, tmp_path: Path, python: str) -> None:
    text = "import os\ndef f(): pass\npid = os.fork()\nif pid == 0:\n    for i in range(1000): f()\n    os._exit(0)\n"
    text += "os.waitpid(pid, 0)\n"
    program = write(tmp_path, text)
    run = inferscope("run", "--no-report", "--follow", "none", "--python", python, program)
    assert calls(run, program) == {"<module>:1": 1}


BUSY = """
import time
def tiny(x): return x
def step():
    for i in range(2000): tiny(i)
t = time.process_time()
n = 0
while time.process_time() < t + 0.5: step(); n += 1
print(n)
"""


def test_the_budget_holds_and_says_what_it_left_out(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = write(tmp_path, BUSY)
    run = inferscope("run", "--no-report", "--python", python, program)
    seen, made = calls(run, program)["tiny:3"], int(run.stdout) * 2000
    assert 0 < seen < made / 2
    assert governed(run)["1"] + governed(run)["4"] >= 1


def test_calls_take_hardly_longer_inside_the_budget(inferscope: Any, tmp_path: Path, python: str) -> None:
    """In CPU time, the quickest of some runs each: without the governor these calls take three times as long."""
    program = write(
        tmp_path,
        BUSY.replace("0.5", "0.2")
        + "t = time.process_time()\nfor i in range(150): step()\nprint(time.process_time() - t)\n",
    )

    def took(text: str) -> float:
        return float(text.split()[1])

    bare, traced = [], []
    for _ in range(5):
        bare.append(took(subprocess.run([python, program], capture_output=True, text=True, check=True).stdout))
        traced.append(took(inferscope("run", "--no-report", "--python", python, program).stdout))
    assert min(traced) < 1.25 * min(bare)


def test_the_thread_that_helps_is_none_of_the_programs(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = write(
        tmp_path, "import threading\nt = threading.Thread(target=sum, args=([],)); t.start(); t.join()\n" + BUSY
    )
    run = inferscope("run", "--report", "report.json", "--python", python, program)
    assert run.returncode == 0, run.stderr
    report = json.loads((inferscope.folder / "report.json").read_text())
    names = [thread["name"] for thread in report["threads"]]
    assert len(names) >= 2 and "inferscope" not in names


def test_without_a_budget_everything_is_recorded(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = write(tmp_path, BUSY.replace("while time.process_time() < t + 0.5:", "while n < 20:"))
    run = inferscope("run", "--no-report", "--budget", "off", "--trace-size-mb", "0", "--python", python, program)
    lost = sum(int(line.rpartition(" ")[2]) for line in run.dump() if line.startswith("account "))
    assert not governed(run)
    assert lost == 0
    assert calls(run, program)["tiny:3"] == 40000


def test_a_quiet_program_is_never_governed(inferscope: Any, tmp_path: Path, python: str) -> None:
    text = "import time\ndef f(): time.sleep(0.0005)\nfor i in range(400): f()\n"
    program = write(tmp_path, text)
    run = inferscope("run", "--no-report", "--python", python, program)
    assert not governed(run)
    assert calls(run, program)["f:2"] == 400


def test_a_stack_that_is_nearly_used_up_is_said(inferscope: Any, tmp_path: Path, python: str) -> None:
    if version(python) >= (3, 12):
        pytest.skip("no stack is used from 3.12 on")
    text = "import sys, threading\nthreading.stack_size(256 * 1024)\nsys.setrecursionlimit(10**6)\n"
    text += "def down(n): return n if n == 0 else down(n - 1)\n"
    text += "depth = 480 if sys.version_info < (3, 11) else 5000\n"
    text += "t = threading.Thread(target=down, args=(depth,)); t.start(); t.join()\n"
    text += "def after(): pass\nafter()\n"
    program = write(tmp_path, text)
    run = inferscope("run", "--no-report", "--budget", "off", "--python", python, program)
    assert (run.returncode, run.theirs) == (0, "")
    missed = [line.rpartition(" missed")[2] for line in run.dump() if line[0] == "+" and " missed" in line]
    assert missed == [" arg 1", ""]
    assert calls(run, program)["after:7"] == 1


TASKS = """
import asyncio
def inside(): pass
def outside(): pass
async def leaf():
    inside()
    await asyncio.sleep(0)
    inside()
async def main():
    a = asyncio.ensure_future(leaf())
    b = asyncio.ensure_future(leaf())
    a.set_name('one')
    b.set_name('zwei \\u00fc')
    asyncio.get_running_loop().call_soon(outside)
    await a
    await b
asyncio.run(main())
outside()
"""


def test_events_know_their_task(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = write(tmp_path, TASKS)
    run = inferscope("run", "--no-report", "--budget", "off", "--python", python, program)
    task, seen = "none", []
    for line in run.dump():
        changed = re.search(r" task (none|\".*\")( arg \d+)?$", line)
        if changed:
            task = changed.group(1)
        named = re.search(r' call_enter "(inside|outside)"', line)
        if named:
            seen.append((named.group(1), task))
    assert Counter(seen) == {
        ("inside", '"one"'): 2,
        ("inside", '"zwei ü"'): 2,
        ("outside", "none"): 2,
    }


def test_c_functions_are_counted_as_cprofile_counts_them(inferscope: Any, tmp_path: Path, python: str) -> None:
    text = "def work():\n    for i in range(7): len([1]); [].append(i); 'a'.upper(); sorted([2, 1])\n"
    text += "    try: next(iter([]))\n    except StopIteration: pass\n    max(range(3), key=abs)\n"
    program = write(tmp_path, text + "work()\n")
    oracle = tmp_path / "oracle.py"
    oracle.write_text(
        text + "import cProfile\np = cProfile.Profile(); p.runcall(work)\n"
        "print(*sorted(e.callcount for e in p.getstats() if isinstance(e.code, str) and 'disable' not in e.code))\n"
    )
    said = subprocess.run([python, oracle], capture_output=True, text=True, check=True).stdout.split()
    run = inferscope("run", "--no-report", "--budget", "off", "--c-calls", "--python", python, program)
    lines = run.dump()
    begin = next(i for i, line in enumerate(lines) if f' call_enter "work" "{program}"' in line)
    end = next(i for i, line in enumerate(lines) if f' call_exit "work" "{program}"' in line)
    entered = Counter(re.findall(r' c_enter "(.*)"', "\n".join(lines[begin:end])))
    left = Counter(re.findall(r' c_exit "(.*)"', "\n".join(lines[begin:end])))
    assert sorted(entered.values()) == sorted(map(int, said))
    assert entered == left
    assert entered["builtins.len"] == 7 and entered["list.append"] == 7


def test_code_that_comes_and_goes_leaves_no_memory_behind(inferscope: Any, tmp_path: Path, python: str) -> None:
    text = "import resource\ndef round():\n    for i in range(3000): exec('def f(): pass\\nf()', {})\n"
    text += "round(); round()\na = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\nfor i in range(4): round()\n"
    text += "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - a)\n"
    run = inferscope("run", "--no-report", "--python", python, write(tmp_path, text))
    assert int(run.stdout) < 1024, "KiB"
    assert len([line for line in run.dump("--defs") if ' code "f"' in line]) < 3
