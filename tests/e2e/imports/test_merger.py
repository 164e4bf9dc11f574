"""TimelineMerger: events of CPU and GPU on one clock, through the package."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command

# A clock that is 3 ms ahead and runs 200 ppm fast; 1,000 launches, each with its kernel 20 us later.
PROGRAM = """
import json, random, sys
import inferscope
random.seed(7)
device = lambda host: round(3_000_000 + host * 1.0002)
calls, work, truth = [], [], {}
for i in range(1000):
    call = i * 1_000_000
    start = call + 20_000 + random.randrange(5_000)
    truth[i + 1] = start
    name = "cudaMemcpy" if i % 10 == 0 else "cudaLaunchKernel"
    end = start + 60_000 if i % 10 == 0 else call + 5_000
    calls.append({"event_type": "gpu_api", "name": name, "start_ns": call, "end_ns": end, "correlation": i + 1})
    kind = "d2h_copy" if i % 10 == 0 else "gpu_kernel"
    work.append({"event_type": kind, "name": "k", "start_ns": device(start), "end_ns": device(start + 50_000),
                 "correlation": i + 1, "device_id": 0, "stream": 7})
readings = [(t, device(t + 300), t + 1500) for t in range(0, 1_000_000_000, 125_000_000)]

def run(cpu, gpu, **options):
    merger = inferscope.TimelineMerger(cpu, gpu, **options)
    clock = merger.synchronize_clocks()
    events = merger.get_sorted_events()
    placed = [e for e in events if e["event_type"] in ("gpu_kernel", "d2h_copy")]
    return {
        **clock,
        "sorted": events == sorted(events, key=lambda e: (e["start_ns"], e["end_ns"])) and events == merger.merge(),
        "inside": all(abs(e["start_ns"] - truth[e["correlation"]]) <= e["clock_error_ns"] for e in placed),
        "worst": max(abs(e["start_ns"] - truth[e["correlation"]]) for e in placed),
        "before": sum(e["start_ns"] < (e["correlation"] - 1) * 1_000_000 for e in placed),
        "given": work[0]["start_ns"] == device(truth[1]),
    }

buffer = inferscope.TraceBuffer(size_mb=10)
for event in work:
    assert buffer.enqueue(event)
wrong = []
for bad in ({"margin_us": -1}, {"readings": [(1, 2)]}):
    try:
        inferscope.TimelineMerger(calls, work, **bad).merge()
    except (ValueError, TypeError) as error:
        wrong.append(type(error).__name__)
print(json.dumps({
    "direct": run(calls, buffer, readings=readings),
    "causality": run(calls, work),
    "assumed": inferscope.TimelineMerger([], work, margin_us=5).synchronize_clocks(),
    "wrong": wrong,
}))
"""


@pytest.mark.plain
def test_clocks_are_put_on_one(inferscope: Command, stage: Path) -> None:
    site = next(stage.glob("**/site-packages/inferscope")).parent
    program = inferscope.folder / "merge.py"
    program.write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**inferscope.environment, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    direct, causality = said["direct"], said["causality"]
    assert direct["method"] == "direct" and direct["inside"] and direct["sorted"] and direct["given"]
    assert direct["worst"] <= 1000 and direct["before"] == 0 and direct["error_bound_us"] <= 2
    assert causality["method"] == "causality" and causality["inside"] and causality["before"] == 0
    assert causality["error_bound_us"] < 40
    assert said["assumed"]["method"] == "assumed" and said["assumed"]["error_bound_us"] == 5
    assert said["wrong"] == ["ValueError", "TypeError"]


@pytest.mark.parametrize(("given", "bound"), [(None, 1000), ("250", 250), ("0", 0), ("-1", 1000), ("soon", 1000)])
def test_the_margin_is_that_of_the_environment(
    inferscope: Command, stage: Path, given: str | None, bound: float
) -> None:
    """Unless it is given to the merger itself."""
    code = "import inferscope as i; print([i.TimelineMerger([], [], **m).synchronize_clocks()['error_bound_us']"
    code += " for m in ({}, {'margin_us': 7})])"
    env = {**inferscope.environment, "PYTHONPATH": str(next(stage.glob("lib/python*/site-packages")))}
    if given is not None:
        env["INFERSCOPE_SYNC_ERROR_MARGIN_US"] = given
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == [bound, 7]
