"""What the report makes of calls: counts, entries and resumes, own and whole time, as Python itself has them."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.calls import programs
    from tests.e2e.calls.counting import Span, spans
else:
    import programs
    from counting import Span, spans

pytestmark = pytest.mark.timed

HERE = Path(__file__).parent
SHAPES = {**programs.ALONE, **programs.THREADS}
#: Those in which something is entered again.
RESUMED = [
    "generators", "yield_from", "send", "throw_through_delegation", "generator_raises", "generator_expressions",
    "context_managers", "iterators", "awaitables", "async_generators", "async_context",
]  # fmt: skip


def reported(inferscope: Any, python: str, program: Path, *options: str) -> Any:
    run = inferscope("run", "--budget", "off", "--all-frames", "--python", python, *options, program)
    assert run.report.overhead.lost == 0
    return run


def truth(python: str, program: Path, mode: str) -> tuple[dict[str, Any], str]:
    """What Python saw, and what the program said."""
    out = program.with_suffix(".json")
    command = [python, str(HERE / "oracle.py"), str(program), str(out), mode]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert out.exists(), done.stderr
    return json.loads(out.read_text()), done.stdout


def merged(run: Any, program: Path) -> dict[str, list[int]]:
    """Calls and resumes of the program's own functions; the name as cProfile has it."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for f in run.report.functions:
        if f.file == str(program):
            both = found[f"{f.name.rpartition('.')[2]}:{f.line}"]
            both[0] += f.calls
            both[1] += f.resumes
    return dict(found)


@pytest.mark.parametrize("shape", RESUMED)
def test_entries_and_resumes_are_told_apart(inferscope: Any, tmp_path: Path, python: str, shape: str) -> None:
    """A frame that is entered for the first time is a call; each time after that is a resume as well."""
    program = tmp_path / "resumed.py"
    program.write_text(SHAPES[shape])
    expected, _ = truth(python, program, "resumes")
    assert sum(resumes for _, resumes in expected.values()) > 0
    assert merged(reported(inferscope, python, program), program) == expected


def test_a_throw_is_a_resume_and_a_coroutine_that_never_waits_has_none(
    inferscope: Any, tmp_path: Path, python: str
) -> None:
    program = tmp_path / "thrown.py"
    text = "def g():\n    while True:\n        try: yield 1\n        except ValueError: yield 2\n"
    text += "x = g(); next(x); x.throw(ValueError); next(x); x.close()\n"
    text += "y = g()\ntry: y.throw(KeyError)\nexcept KeyError: pass\n"
    text += "async def c(): return await d()\nasync def d(): pass\ntry: c().send(None)\nexcept StopIteration: pass\n"
    program.write_text(text)
    found = merged(reported(inferscope, python, program), program)
    # Started, thrown into, gone on with, closed; and thrown into before it had begun, which is told as a resume too.
    assert found["g:1"] == [5, 4]
    assert found["c:9"] == found["d:10"] == [1, 0]


# ---- time -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", ["recursion", "yield_from", "exceptions", "async_generators", "threads", "thread_pool"]
)
def test_own_times_add_up_to_the_time_in_calls(inferscope: Any, tmp_path: Path, python: str, shape: str) -> None:
    program = tmp_path / "adds_up.py"
    program.write_text(SHAPES[shape])
    run = reported(inferscope, python, program)
    # What samples alone have met is not traced: imports, and native functions.
    functions = [f for f in run.report.functions if f.source != "sampled"]
    seen: list[Span] = spans(run)
    outermost = sum(s.took_us for s in seen if s.depth == 0)
    rounding = 0.002 * len(seen) + 0.002 * len(functions)
    assert sum(f.self_us for f in functions) == pytest.approx(outermost, abs=rounding)
    assert all(f.total_us >= f.self_us - 0.002 >= -0.002 for f in functions)
    # No thread was longer in calls than from its first to its last.
    for thread in {s.thread for s in seen}:
        mine = [s for s in seen if s.thread == thread]
        within = max(s.ended_us for s in mine) - min(s.began_us for s in mine)
        assert sum(s.took_us for s in mine if s.depth == 0) <= within + rounding


def test_the_time_of_a_caller_contains_that_of_what_it_calls(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = tmp_path / "contains.py"
    program.write_text(SHAPES["decorators"] + SHAPES["exceptions_changed"])
    run = reported(inferscope, python, program)
    total = {f"{f.name}:{f.file}:{f.line}": f.total_us for f in run.report.functions}
    inside: dict[str, float] = defaultdict(float)
    for s in spans(run):
        if s.caller is not None and not s.caller.repeated and s.caller.function != s.function:
            inside[s.caller.function] += s.took_us
    assert len(inside) > 5
    for caller, took in inside.items():
        assert total[caller] >= took - 0.01, caller


#: Says itself how long each of its parts took: on a busy machine a millisecond may take five.
SPLIT = """
import json, time

took = {}


def spin(name, ms, now=time.perf_counter):
    begun = now()
    while now() < begun + ms / 1000:
        pass
    took[name] = took.get(name, 0) + now() - begun


def seventy(): spin("seventy", 7)
def twenty(): spin("twenty", 2)
def ten(): spin("ten", 1)


def outer():
    seventy()
    twenty()
    ten()


def down(n):
    spin("down", 1)
    if n > 1:
        down(n - 1)


def produce():
    for i in range(10):
        spin("produce", 1)
        yield i


for i in range(40):
    outer()
down(50)
list(produce())
print(json.dumps(took))
"""


def test_known_shares_are_found_as_cprofile_finds_them(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = tmp_path / "split.py"
    program.write_text(SPLIT)
    run = reported(inferscope, python, program)
    found = {f.name: f for f in run.report.functions if f.file == str(program)}
    ours = {name: (f.self_us / 1e6, f.total_us / 1e6) for name, f in found.items()}
    times, said = truth(python, program, "times")
    theirs = {key.partition(":")[0]: value for key, value in times.items()}
    for table, took in ((ours, json.loads(run.stdout)), (theirs, json.loads(said))):
        whole = sum(took.values())
        for name, seconds in took.items():
            # Of a function inside itself only the outermost call counts, and of a generator the time inside it.
            assert 100 * table[name][1] / whole == pytest.approx(100 * seconds / whole, abs=2), name
        # All own time is that of the loop; its callers have next to none.
        assert 100 * table["spin"][0] / whole == pytest.approx(100, abs=2)
        assert all(table[name][0] < 0.02 * whole for name in ("outer", "seventy", "twenty", "ten", "produce"))
        split = [took["seventy"], took["twenty"], took["ten"]]
        for share, name in zip(split, ("seventy", "twenty", "ten")):
            assert 100 * table[name][1] / table["outer"][1] == pytest.approx(100 * share / sum(split), abs=2), name
    assert (found["produce"].calls, found["produce"].resumes) == (11, 10)
    assert (found["down"].calls, found["outer"].calls, found["spin"].calls) == (50, 40, 180)
