"""A sample is charged with what it takes: its parts, by the clock of a program that asks for them, and the signal."""

from __future__ import annotations

import json
import re
import statistics
from typing import Any

PROGRAM = """
import ctypes, json, time

def spin(s):
    end = time.thread_time() + s
    while time.thread_time() < end:
        sum(range(1000))

rt = ctypes.CDLL(None)
rt.isc_rt_ticks.restype = ctypes.c_uint64
ticks, ns = rt.isc_rt_ticks(), time.monotonic_ns()
spin(0.3)
per_ns = (rt.isc_rt_ticks() - ticks) / (time.monotonic_ns() - ns)
table = (ctypes.c_uint32 * (10 * 400))()
rt.isc_rt_sample_parts(table, 400)
spin(2)
n = rt.isc_rt_sample_parts(None, 0)
print(json.dumps([[table[10 * i + k] / per_ns for k in range(10)] for i in range(n)]))
"""
SIGNAL_NS = 7500  # docs/samples.md


def test_a_sample_is_charged_with_its_parts_and_the_signal(inferscope: Any) -> None:
    run = inferscope("run", "--budget", "off", "-c", PROGRAM)
    assert run.returncode == 0
    took = json.loads(run.stdout)
    assert len(took) > 100
    assert all(part >= 0 for sample in took for part in sample)
    parts_ns = statistics.median(sum(sample) for sample in took)
    charged = [int(ns) for line in run.dump() for ns in re.findall(r"sample .* cost_ns (\d+)", line)]
    assert len(charged) > 100
    asked_ns = statistics.median(sample[-1] for sample in took)  # for the next signal, after everything else
    assert abs(statistics.median(charged) - SIGNAL_NS - parts_ns) < max(0.5 * asked_ns, 0.05 * parts_ns)
