"""Waits for others as events of a collector, where the hooks are there to tell them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROGRAM = """
import json, threading, time
import inferscope
lock, ready = threading.Lock(), threading.Event()
def hold():
    with lock:
        ready.set()
        time.sleep(0.1)
def spin():
    end = time.monotonic() + 0.2
    while time.monotonic() < end: pass
buffer = inferscope.TraceBuffer(size_mb=16)
collector = inferscope.CpuCollector(buffer)
collector.start()
holder = threading.Thread(target=hold); holder.start()
ready.wait()
begun = time.monotonic_ns()
with lock: pass
waited = time.monotonic_ns() - begun
holder.join()
others = [threading.Thread(target=spin) for _ in range(2)]
for thread in others: thread.start()
for thread in others: thread.join()
collector.stop()
waits = [event for event in buffer.read_all() if event["event_type"] in ("lock_wait", "gil_wait")]
print(json.dumps({"waits": waits, "waited": waited, "begun": begun, "holder": holder.native_id,
                  "self": threading.get_native_id(), "others": [thread.native_id for thread in others]}))
"""


def test_waits_for_locks_and_the_gil_are_events(inferscope: Any, stage: Path, tmp_path: Path, python: str) -> None:
    site = next(stage.glob("lib/python*/site-packages"))
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    run = inferscope("run", "--no-report", "--python", python, script, env={"PYTHONPATH": str(site)})
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    locks = [wait for wait in told["waits"] if wait["event_type"] == "lock_wait" and wait["thread_id"] == told["self"]]
    mine = [wait for wait in locks if wait["end_ns"] >= told["begun"]]
    took = max(wait["end_ns"] - wait["start_ns"] for wait in mine)
    assert 0.5 * told["waited"] < took <= told["waited"] + 1_000_000
    assert any(wait["name"] == "sem" and wait["metadata"] == {"holder": told["holder"]} for wait in mine), mine
    gil = [wait for wait in told["waits"] if wait["event_type"] == "gil_wait" and wait["thread_id"] in told["others"]]
    assert gil and all(wait["name"] == "gil" for wait in gil)
