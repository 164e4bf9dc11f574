"""A program of budget_work.py whose samples say what each of their parts takes: parts_work.py NAME PACKAGE SECONDS.

Prints for each part the ticks of every sample after the program has set itself up, as one line of JSON.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time

import budget_work

# As enum isc_sample_part of src/runtime/runtime.h.
PARTS = ("entry", "clock", "guard", "python", "native", "merge", "count", "stack", "rest", "arm")
MOST = 100_000  # samples
PIECE = 50  # of the whole, between two looks at the clock
WARM_S = 1.0  # what is met for the first time is defined, and that is not what a sample takes from then on


def ticks_per_us(runtime: ctypes.CDLL) -> float:
    """The clock of samples against the one that everybody knows."""
    runtime.isc_rt_ticks.restype = ctypes.c_uint64
    ticks, ns = runtime.isc_rt_ticks(), time.monotonic_ns()
    time.sleep(0.2)
    return 1e3 * (runtime.isc_rt_ticks() - ticks) / (time.monotonic_ns() - ns)  # type: ignore[no-any-return]


def main() -> None:
    name, folder, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    sys.path.append(folder)
    make, size = budget_work.KINDS[name]
    work, runtime = make(), ctypes.CDLL(None)
    per_us = ticks_per_us(runtime)

    def work_for(cpu_s: float) -> float:
        begin = time.thread_time()
        while time.thread_time() < begin + cpu_s:
            work(max(1, size // PIECE))
        return time.thread_time() - begin

    work_for(WARM_S)
    table = (ctypes.c_uint32 * (MOST * len(PARTS)))()
    runtime.isc_rt_sample_parts(table, MOST)
    ran_s = work_for(seconds)
    n = runtime.isc_rt_sample_parts(None, 0)
    took = {part: [table[i * len(PARTS) + k] / per_us for i in range(n)] for k, part in enumerate(PARTS)}
    print(json.dumps({"us": took, "hz": n / ran_s}))


if __name__ == "__main__":
    main()
