"""D4: samples say what the program did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.samples.sampling import samples, shares, totals
else:
    from sampling import samples, shares, totals

pytestmark = pytest.mark.timed

# Each function spins until it has had its share of the CPU time, by its own clock: the
# truth does not depend on how fast the machine is.
SHARES = """
import time
begin = time.thread_time_ns()
import json, sys
def heavy(ns): spin_heavy(ns)
def spin_heavy(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        for _ in range(20): pass
def middle(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        for _ in range(20): pass
def light(ns):
    def inner():
        end = time.thread_time_ns() + ns
        while time.thread_time_ns() < end:
            for _ in range(20): pass
    inner()
for _ in range(int(sys.argv[1])):
    heavy(7_000_000); middle(2_000_000); light(1_000_000)
print(json.dumps({"cpu_ns": time.thread_time_ns() - begin}))
"""


def test_D4_known_shares_are_found(inferscope: Any, python: str, tmp_path: Path, count: Any) -> None:
    program = tmp_path / "shares.py"
    program.write_text(SHARES)
    rounds = count(200, 1100)
    run = inferscope(
        "run", "--no-report", "--rate", "1000", "--budget", "off", "--python", python, program, str(rounds)
    )
    assert run.returncode == 0, run.stderr
    taken = samples(run)
    found = shares(taken, program)
    # 2 points at 10,000 samples; a fifth of them spreads more than twice as wide.
    within = 2 if rounds > 1000 else 4
    assert found["spin_heavy"] == pytest.approx(70, abs=within)
    assert found["middle"] == pytest.approx(20, abs=within)
    assert found["inner"] == pytest.approx(10, abs=within)
    for sample in taken:
        names = sample.names(program)
        assert names in (
            [],
            ["<module>"],
            ["<module>", "heavy"],
            ["<module>", "heavy", "spin_heavy"],
            ["<module>", "middle"],
            ["<module>", "light"],
            ["<module>", "light", "inner"],
        )


def test_D4_every_step_is_accounted_for(inferscope: Any, python: str, tmp_path: Path, count: Any) -> None:
    program = tmp_path / "shares.py"
    program.write_text(SHARES)
    for rate in ("100", "200", "1000"):
        run = inferscope(
            "run", "--no-report", "--rate", rate, "--budget", "off", "--python", python, program, str(count(100, 1000))
        )
        truth = json.loads(run.stdout)["cpu_ns"]
        found = sum(s.cpu_ns for s in samples(run) if s.names(program))
        assert found == pytest.approx(truth, rel=0.01, abs=2 * 1e9 / int(rate))


# Work in pieces of all lengths, with waits between them, in threads of which some live for one piece only.  Mostly
# outside the kernel: there a signal by perf would come later, with the weight of those before it.
PIECES = """
import sys, threading, time
def piece(ms):
    end = time.thread_time_ns() + int(ms * 1_000_000)
    while time.thread_time_ns() < end:
        for _ in range(1000): pass
def work(pieces):
    for n in range(pieces):
        piece(1 + n * 7 % 13 / 2)
        time.sleep(0.001)
for _ in range(int(sys.argv[1])):
    threads = [threading.Thread(target=work, args=(n,)) for n in (40, 25, 1, 2, 3)]
    for t in threads: t.start()
    for t in threads: t.join()
print(time.process_time_ns())
"""


@pytest.mark.parametrize("rate", ["10", "100", "200", "1000", "10000"])
def test_D4_ticks_are_accounted_for_in_threads_that_come_and_go(
    inferscope: Any, python: str, tmp_path: Path, count: Any, rate: str
) -> None:
    program = tmp_path / "pieces.py"
    program.write_text(PIECES)
    rounds = count(2, 20)
    run = inferscope(
        "run", "--no-report", "--rate", rate, "--budget", "off", "--python", python, program, str(rounds), timeout=200
    )
    assert run.returncode == 0, run.stderr
    truth, taken = int(run.stdout), samples(run)
    # A thread that ends between two ticks is right on average: half a step of each, either way.  What the
    # interpreter does at its end comes after the truth was told.
    threads, step = 5 * rounds, 1e9 / int(rate)
    found, slack = sum(s.cpu_ns for s in taken), 2 * step * threads**0.5
    assert truth * 0.99 - slack < found < truth * 1.01 + slack + 30_000_000
    # Different moments, not the same ones with more weight; above 1 kHz a signal takes its time.
    assert len(taken) > truth / step * (0.1 if rate == "10000" else 0.5)


def test_totals_hold_the_same_time_as_the_samples(inferscope: Any, tmp_path: Path) -> None:
    program = tmp_path / "shares.py"
    program.write_text(SHARES)
    run = inferscope("run", "--no-report", program, "20")
    assert sum(totals(run).values()) == sum(s.cpu_ns for s in samples(run)) > 0


# About as long in the generator as in the sort: samples meet each many times.
LINES = """
import time
def work():
    end = time.process_time() + 1
    while time.process_time() < end:
        x = sum(i * i for i in range(6000))
        y = sorted(
            range(2000),
            key=lambda v:
                max(-v, 0, v),
        )
work()
"""


def test_samples_name_the_line(inferscope: Any, python: str, tmp_path: Path) -> None:
    program = tmp_path / "lines.py"
    program.write_text(LINES)
    # Without tracing of calls and a budget that lowers the rate: on a busy machine ten a second would be left.
    run = inferscope("run", "--no-report", "--no-python", "--budget", "off", "--python", python, program)
    lines: dict[str, set[int]] = {}
    for sample in samples(run):
        for name, file, line in sample.frames:
            if file == str(program):
                lines.setdefault(name, set()).add(line)
    # It begins with an import and a definition, which a sample may meet.
    assert 12 in lines["<module>"] <= {2, 3, 12}
    assert lines["work"] <= {4, 5, 6, 7, 8, 9} and lines["work"] >= {6, 7}
    assert lines["<genexpr>"] == {6}
    assert lines["<lambda>"] <= {9, 10}


SHAPES = """
import sys, threading, time
sys.setrecursionlimit(20000)
def busy(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end: pass
def down(n):
    if n: return down(n - 1)
    busy(400)
def generate():
    for _ in range(4):
        busy(100)
        yield
def through():
    yield from generate()
class Thing:
    def __init__(self): busy(400)
    def __lt__(self, other):
        busy(40)
        return False
def in_thread(): busy(400)
down(30)
for _ in through(): pass
things = [Thing.__new__(Thing) for _ in range(12)]
sorted(things)
Thing()
threads = [threading.Thread(target=in_thread) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
"""


def test_stacks_are_those_of_the_program(inferscope: Any, python: str, tmp_path: Path) -> None:
    program = tmp_path / "shapes.py"
    program.write_text(SHAPES)
    run = inferscope("run", "--no-report", "--rate", "1000", "--budget", "off", "--python", python, program)
    allowed = [
        ["<module>", *["down"] * 31, "busy"],
        ["<module>", "through", "generate", "busy"],
        ["<module>", "__lt__", "busy"],
        ["<module>", "__init__", "busy"],
        ["in_thread", "busy"],
    ]
    every = [sample.names(program) for sample in samples(run)]
    # The interpreter starts and ends outside the program, for as long as the machine makes it.
    inside = [k for k, names in enumerate(every) if names]
    seen = every[inside[0] : inside[-1] + 1]
    for stack in allowed:
        assert sum(names == stack for names in seen) >= 20, stack
    # What is left are the moments of entering and leaving, each a beginning of one that is allowed, and the list's own.
    odd = [names for names in seen if names not in allowed]
    known = [*allowed, ["<module>", "<listcomp>"]]
    assert all(any(whole[: len(names)] == names for whole in known) for names in odd), [n for n in odd if n]
    assert len(odd) < len(seen) / 20
    threads = {sample.thread for sample in samples(run) if sample.names(program)[:1] == ["in_thread"]}
    assert len(threads) == 3


def test_H9_a_deep_stack_is_cut_and_says_so(inferscope: Any, python: str, tmp_path: Path) -> None:
    program = tmp_path / "deep.py"
    program.write_text(
        SHAPES.split("down(30)")[0] + "threading.stack_size(512 << 20)\n"
        "t = threading.Thread(target=down, args=(10000,)); t.start(); t.join()\n"
    )
    # A walk of 512 frames is dear: within the budget it is taken less often.
    run = inferscope("run", "--no-report", "--no-python", "--budget", "off", "--python", python, program)
    assert run.returncode == 0, run.stderr
    deep = [s for s in samples(run) if s.names(program)[-1:] == ["busy"]]
    assert len(deep) >= 20
    assert all("cut" in s.flags and len(s.frames) == 512 for s in deep)


TASKS = """
import asyncio, json, time
took = {"heavy": 0, "light": 0}
async def step(ms):
    begun = time.thread_time_ns()
    while time.thread_time_ns() < begun + ms * 1_000_000: pass
    took[asyncio.current_task().get_name()] += time.thread_time_ns() - begun
    await asyncio.sleep(0)
async def work(ms):
    for _ in range(40): await step(ms)
async def main():
    await asyncio.gather(asyncio.create_task(work(15), name="heavy"), asyncio.create_task(work(5), name="light"))
asyncio.run(main())
print(json.dumps(took))
"""


def test_samples_carry_the_task(inferscope: Any, python: str, tmp_path: Path) -> None:
    program = tmp_path / "tasks.py"
    program.write_text(TASKS)
    run = inferscope("run", "--no-report", "--rate", "1000", "--budget", "off", "--python", python, program)
    took = json.loads(run.stdout)
    time = {"heavy": 0, "light": 0}
    taken = [sample for sample in samples(run) if sample.names(program)[-1:] == ["step"]]
    for sample in taken:
        time[sample.task] += sample.cpu_ns
    # A kernel that looks at timers 100 to 250 times a second takes that many samples, each for more time.
    assert len(taken) >= 60
    share = took["heavy"] / sum(took.values())
    spread = 100 * (share * (1 - share) / len(taken)) ** 0.5
    assert 100 * time["heavy"] / sum(time.values()) == pytest.approx(100 * share, abs=4 * spread)
    assert time["heavy"] > 1.5 * time["light"]


def test_nothing_is_sampled_when_that_is_not_wanted(inferscope: Any, tmp_path: Path) -> None:
    program = tmp_path / "shares.py"
    program.write_text(SHARES)
    run = inferscope("run", "--no-report", "--no-sample", program, "10")
    assert run.returncode == 0 and samples(run) == []
