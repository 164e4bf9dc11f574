"""Traces of torch.profiler beside HolisticTraceAnalysis (PyPI, 0.5.0 with pandas < 3), in one run and turn by turn.

INFERSCOPE_HTA names a Python that has it; INFERSCOPE_TRACES a folder of real traces.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench_import import TRACES
from interval import Interval, median
from kit import Kit
from table import Row
from trace_repeat import repeat
from turns import Failed

HERE = Path(__file__).resolve().parent
PYTHON = os.environ.get("INFERSCOPE_HTA", "")
REAL = ("v100-resnet50-nw4", "a100-nccl", "v100-ns-resolution")
LARGE = "v100-resnet50-nw4"
PATIENCE_S, PATIENCE_LARGE_S = 300, 1200
GB, MIB = 10**9, 1024


def ours(kit: Kit, path: Path) -> dict[str, float]:
    report = kit.scratch / "hta.json"
    line = [str(kit.command), "analyze", str(path), "--output", str(report), "--quiet", "--force"]
    begin = time.monotonic()
    done = kit.run([kit.program("memory_peak"), str(kit.scratch / "peak"), *line])
    wall = time.monotonic() - begin
    gpus = json.loads(report.read_text())["gpus"]
    return {
        "wall_s": wall,
        "cpu_s": done.cpu_s,
        "peak_kb": float((kit.scratch / "peak").read_text()),
        "idle": gpus[0]["idle_pct"] if gpus else -1.0,
    }


def theirs(path: Path, most_s: int) -> dict[str, float] | str:
    """A sentence: why it was not done."""
    try:
        done = subprocess.run(
            [PYTHON, str(HERE / "hta_read.py"), str(path)],
            capture_output=True,
            text=True,
            timeout=most_s,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s)),
        )
    except subprocess.TimeoutExpired:
        return f"HTA was not done in {most_s} s"
    if done.returncode == -signal.SIGXCPU:
        return f"HTA was not done with {most_s} s of CPU"
    if done.returncode == -signal.SIGKILL:
        return "HTA was killed: for its memory, or its CPU time"
    if done.returncode != 0:
        raise Failed(f"HolisticTraceAnalysis: {done.stderr[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def one(value: float) -> Interval:
    return Interval(value, value, value, 1)


def beside(kit: Kit, name: str, path: Path, turns: int, patience_s: int = PATIENCE_S) -> Iterator[Row]:
    pairs = []
    for _ in range(turns):
        mine = ours(kit, path)
        his = theirs(path, patience_s)
        if isinstance(his, str):
            yield Row(f"{name}: CPU time", one(mine["cpu_s"]), "s", digits=1, note=his)
            yield Row(f"{name}: memory", one(mine["peak_kb"] / MIB), "MB", digits=0)
            return
        pairs.append((mine, his))
    mine, his = pairs[-1]
    size = path.stat().st_size
    times = median([a["cpu_s"] / b["cpu_s"] for a, b in pairs])
    memory = median([a["peak_kb"] / b["peak_kb"] for a, b in pairs])
    idle = f"idle {mine['idle']:.2f} % beside {his['idle']:.2f} %"
    note = f"{mine['cpu_s']:.2f} s of CPU beside {his['cpu_s']:.1f} s; {idle}"
    yield Row(f"{name}: of HTA's time", times, "", limit=1 / 20, digits=3, note=note)
    note = f"{mine['peak_kb'] / MIB:.0f} MB beside {his['peak_kb'] / MIB:.0f} MB, trace {size / 1e6:.0f} MB"
    yield Row(f"{name}: of HTA's memory", memory, "", limit=1 / 20, digits=3, note=note)


def rows(kit: Kit) -> Iterator[Row]:
    if not (TRACES / f"{LARGE}.json.gz").exists():
        raise Failed(f"no traces in {TRACES}: set INFERSCOPE_TRACES")
    if not PYTHON:
        raise Failed("set INFERSCOPE_HTA to a Python with HolisticTraceAnalysis 0.5.0 and pandas < 3")
    for name in REAL:
        path = kit.scratch / f"{name}.json"
        path.write_bytes(gzip.decompress((TRACES / f"{name}.json.gz").read_bytes()))
        yield from beside(kit, name, path, 5 if kit.long else 3)
        path.unlink()
    path = kit.scratch / "large.json"
    turns = repeat(TRACES / f"{LARGE}.json.gz", path, GB)
    yield from beside(kit, f"1 GB, {turns} times {LARGE}", path, 1, PATIENCE_LARGE_S)
    if kit.long:
        turns = repeat(TRACES / f"{LARGE}.json.gz", path, 10 * GB)
        mine = ours(kit, path)
        speed = path.stat().st_size / 1e6 / mine["wall_s"]
        note = f"{mine['wall_s']:.0f} s, {speed:.0f} MB/s, {turns} times {LARGE}"
        yield Row("10 GB: memory", one(mine["peak_kb"] / MIB), "MB", limit=1024, digits=0, note=note)
    path.unlink()
