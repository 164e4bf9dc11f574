"""Waits: what the report says of a thread is what the program itself measured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timed

STATES = (
    *(
        "python",
        "native",
        "on_cpu",
        "spin",
        "unattributed",
        "gil_wait",
        "lock_wait",
        "io_wait",
        "sleep",
        "idle",
        "syscall",
        "gc",
    ),
    *("page_fault", "gpu_wait", "run_queue", "throttled", "other"),
)
WITHIN = 0.05
SLACK_US = 15_000  # a thread that is ready and gets no CPU has not been measured yet

# Each thread adds up what it waits, by its own clock.
PROGRAM = """
import json, os, sys, threading, time
told = {}
def timed(state, call, *args):
    begin = time.monotonic()
    result = call(*args)
    mine = told.setdefault(threading.get_native_id(), {})
    mine[state] = mine.get(state, 0) + (time.monotonic() - begin) * 1e6
    return result
def threads(*targets):
    made = [threading.Thread(target=target) for target in targets]
    for thread in made: thread.start()
    for thread in made: thread.join()
"""

LOCK = """
lock, ready = threading.Lock(), threading.Event()
def holder():
    told["holder"] = threading.get_native_id()
    for _ in range(8):
        with lock:
            ready.set()
            time.sleep(0.05)
        time.sleep(0.01)
def waiter():
    ready.wait()
    told["waiter"] = threading.get_native_id()
    for _ in range(8):
        timed("lock_wait", lock.acquire)
        lock.release()
        timed("sleep", time.sleep, 0.005)
threads(holder, waiter)
"""

PIPE = """
reading, writing = os.pipe()
def reader():
    told["reader"] = threading.get_native_id()
    for _ in range(10):
        timed("io_wait", os.read, reading, 100)
def writer():
    for _ in range(10):
        time.sleep(0.04)
        os.write(writing, b"x")
threads(reader, writer)
"""

SLEEP = """
def sleeper():
    told["sleeper"] = threading.get_native_id()
    for step in range(10):
        timed("sleep", time.sleep, 0.03)
threads(sleeper)
"""


def thread_of(run: Any, tid: int) -> Any:
    return next(thread for thread in run.report.threads if thread.thread_id == tid)


def check_sums(run: Any) -> None:
    for thread in run.report.threads:
        assert sum(thread[state] or 0 for state in STATES) == pytest.approx(thread.wall_us, abs=1), thread
    breakdown = run.report.breakdown
    assert sum(breakdown[state] or 0 for state in STATES) == pytest.approx(100, abs=0.1)
    for state in STATES:
        assert (breakdown[state] is None) == (breakdown.sources[state] is None), state


@pytest.mark.parametrize(
    ("program", "who", "states"),
    [(LOCK, "waiter", ["lock_wait", "sleep"]), (PIPE, "reader", ["io_wait"]), (SLEEP, "sleeper", ["sleep"])],
    ids=["lock", "pipe", "sleep"],
)
def test_waits_are_what_the_program_measured(
    inferscope: Any, python: str, tmp_path: Path, program: str, who: str, states: list[str]
) -> None:
    script = tmp_path / "waits.py"
    script.write_text(PROGRAM + program + "print(json.dumps(told))")
    run = inferscope("run", "--python", python, script)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    thread = thread_of(run, told[who])
    for state in states:
        assert thread[state] == pytest.approx(told[str(told[who])][state], rel=WITHIN, abs=SLACK_US), state
    assert thread.idle < 0.1 * thread.wall_us
    check_sums(run)


def test_who_held_the_lock_is_known(inferscope: Any, python: str, tmp_path: Path) -> None:
    script = tmp_path / "lock.py"
    script.write_text(PROGRAM + LOCK + "print(json.dumps(told))")
    run = inferscope("run", "--no-report", "--python", python, script)
    told = json.loads(run.stdout)
    waits = [line for line in run.dump() if "wait_exit sem" in line and '"waiter"' in line and '"timed"' in line]
    assert len(waits) >= 3
    known = [line for line in waits if f" holder {told['holder']} " in line]
    assert len(known) >= len(waits) - 1, waits


GIL = """
def spin():
    end = time.monotonic() + 1
    while time.monotonic() < end:
        pass
    told.setdefault(threading.get_native_id(), {})["cpu"] = time.thread_time() * 1e6
threads(spin, spin, spin)
"""


def test_threads_that_fight_for_the_gil_are_told_so(inferscope: Any, python: str, tmp_path: Path) -> None:
    script = tmp_path / "gil.py"
    script.write_text(PROGRAM + GIL + "print(json.dumps(told))")
    run = inferscope("run", "--python", python, script)
    told = json.loads(run.stdout)
    for tid, mine in told.items():
        thread = thread_of(run, int(tid))
        # What a spinning thread had no CPU for, it waited for the lock or for a CPU.
        without = thread.gil_wait + thread.run_queue
        assert without == pytest.approx(thread.wall_us - mine["cpu"], rel=0.05, abs=2 * SLACK_US), thread
        assert thread.gil_wait > 0.2 * thread.wall_us
        assert (thread.lock_wait or 0) + (thread.idle or 0) < 0.1 * thread.wall_us
    check_sums(run)
    holders = [line for line in run.dump() if re.search(r"wait_exit gil ticks \d+ holder \d+", line)]
    version = re.search(r"3\.(\d+)", run.report.program.python)
    assert version is not None
    # Older ones do not tell a thread's number.
    assert int(version.group(1)) < 11 or any('"spin"' in line.partition(" holder ")[2] for line in holders), holders[:9]


IDLE = """
import queue, socket, socketserver
from concurrent.futures import ThreadPoolExecutor
work, done = queue.Queue(), threading.Event()
def worker():
    told["queue"] = threading.get_native_id()
    while work.get() is not None:
        sum(range(1000))
def serve(server):
    told["server"] = threading.get_native_id()
    server.serve_forever(poll_interval=0.5)
def pool_job():
    told["pool"] = threading.get_native_id()
def event():
    told["event"] = threading.get_native_id()
    done.wait()
pool = ThreadPoolExecutor(1)
pool.submit(pool_job).result()
server = socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler)
made = [threading.Thread(target=worker), threading.Thread(target=serve, args=(server,)), threading.Thread(target=event)]
for thread in made: thread.start()
for _ in range(20):
    work.put(1)
    time.sleep(0.02)
socket.create_connection(server.server_address).close()
work.put(None); server.shutdown(); done.set(); pool.shutdown()
for thread in made: thread.join()
"""


def test_an_idle_server_is_idle_and_not_contended(inferscope: Any, python: str, tmp_path: Path) -> None:
    script = tmp_path / "idle.py"
    script.write_text(PROGRAM + IDLE + "print(json.dumps(told))")
    run = inferscope("run", "--python", python, script)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    for name in ("queue", "server", "event", "pool"):
        thread = thread_of(run, told[name])
        assert thread.idle > 0.85 * thread.wall_us, (name, thread)
        assert thread.lock_wait + thread.io_wait < 0.02 * thread.wall_us, (name, thread)
    check_sums(run)


def test_without_the_agent_waits_are_null(inferscope: Any, python: str, tmp_path: Path) -> None:
    script = tmp_path / "sleep.py"
    script.write_text(PROGRAM + SLEEP)
    run = inferscope("run", "--no-agent", "--python", python, script)
    assert all(thread.sleep is None and thread.gil_wait is None for thread in run.report.threads)
    assert "no_waits" in {warning.id for warning in run.report.warnings}
    check_sums(run)


def test_without_the_agent_a_program_that_waits_gets_no_verdict(inferscope: Any, python: str) -> None:
    code = "import time\ndef rest(n): time.sleep(n)\nfor _ in range(1500): rest(0.0005)"
    verdict = inferscope("run", "--no-agent", "--budget", "off", "--python", python, "-c", code).report.verdict
    assert verdict.headline is None and "without --no-agent" in verdict.withheld, verdict


def test_a_wait_that_the_program_is_killed_in_is_seen(inferscope: Any, python: str, tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(
        "import os, threading, time\nthreading.Timer(0.4, os.kill, (os.getpid(), 9)).start()\ntime.sleep(100)\n"
    )
    run = inferscope("run", "--python", python, script)
    main = next(thread for thread in run.report.threads if thread.thread_id == thread.process_id)
    assert 300_000 < main.sleep < 1_000_000
    assert run.report.breakdown.sleep > 50


def test_C_programs_are_told_what_they_wait_for(inferscope: Any, target: Any) -> None:
    run = inferscope("run", "--", target("waits.c"))
    assert run.returncode == 0, run.stderr
    for line in run.stdout.splitlines():
        tid, state, us = line.split()
        assert thread_of(run, int(tid))[state] == pytest.approx(float(us), rel=WITHIN, abs=SLACK_US), line
    assert len(run.stdout.splitlines()) == 5
    check_sums(run)
