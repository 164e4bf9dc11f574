"""A Python stack of some depth, with C functions in it, under the profiler: sample_work.py PACKAGE HZ NATIVE SECONDS.

Prints what a sample took in its handler, in microseconds of CPU time (median, mean), and how deep stacks were.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(sys.argv[1])

from inferscope import CPUProfiler

DEPTH = 25  # Python frames


def leaf(values: list[float]) -> float:
    """Enough memory between two samples that caches are as cold as they are in place."""
    return sum(sorted(values)[::7])


def down(depth: int, values: list[float]) -> float:
    if depth <= 0:
        return leaf(values)
    return down(depth - 1, values)


def middle(took: list[float]) -> float:
    """A median that whole microseconds do not round: the mean of the middle fifth."""
    took = sorted(took)
    return statistics.mean(took[2 * len(took) // 5 : 3 * len(took) // 5 + 1])


def main() -> None:
    rate, native, seconds = int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    draw = random.Random(0)
    values = [draw.random() for _ in range(20_000)]
    profiler = CPUProfiler(interval_us=1_000_000 // rate, native=native, counter="nothing")
    if not profiler.start():
        raise SystemExit(profiler.state()["note"])
    took: list[float] = []
    before = profiler.state()
    end = time.process_time() + seconds
    while time.process_time() < end:
        down(DEPTH - 3, values)  # and main, the module, leaf
        now = profiler.state()
        # A whole number of microseconds: of one sample it is off by less than one.
        if now["signals"] > before["signals"]:
            took.append((now["spent_us"] - before["spent_us"]) / (now["signals"] - before["signals"]))
        before = now
    profiler.stop()
    state = profiler.state()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        profiler.write_json(str(path))
        stacks = json.loads(path.read_text())["stacks"]
    deep = max(stacks, key=lambda stack: stack["count"])["frames"]
    mean = state["spent_us"] / max(1, state["signals"])
    print(json.dumps({"us": middle(took), "mean_us": mean, "frames": len(deep)}))


if __name__ == "__main__":
    main()
