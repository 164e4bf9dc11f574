"""Exports of Nsight Systems of several versions: the same run gives the same figures."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command

PID, TID = 41 << 24, 41 << 24 | 42
NAMES = ["void gemm<float>(float*)", "gemm", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaGraphLaunch", "main thread"]
NAMES += ["cudaStreamSynchronize", "step", "_Z4gemmIfEvPf"]
STEPS = 50


class Export:
    """Writes what happened; names as text, or as numbers of StringIds."""

    def __init__(self, path: Path, numbers: bool) -> None:
        self.db = sqlite3.connect(path)
        self.numbers = numbers
        if numbers:
            rows = [{"id": i + 1, "value": name} for i, name in enumerate(NAMES)]
            self.table("StringIds", *rows)

    def name(self, text: str, version: str = "") -> Any:
        return NAMES.index(text) + 1 if self.numbers else text + version

    def table(self, name: str, *rows: dict[str, Any]) -> None:
        self.db.execute(f"CREATE TABLE {name} ({', '.join(rows[0])})")
        places = ", ".join("?" * len(rows[0]))
        self.db.executemany(f"INSERT INTO {name} VALUES ({places})", [tuple(row.values()) for row in rows])
        self.db.commit()


def work(start: int, length: int, correlation: int, **more: Any) -> dict[str, Any]:
    place = {"deviceId": 1, "contextId": 1, "streamId": 7, "correlationId": correlation, "globalPid": PID}
    return {"start": start, "end": start + length, **place, **more}


def call(start: int, length: int, correlation: int, name: Any, **more: Any) -> dict[str, Any]:
    place = {"globalTid": TID, "correlationId": correlation, "nameId": name}
    return {"start": start, "end": start + length, **place, **more}


def write(path: Path, old: bool) -> Path:
    """A step: a copy in, a kernel, a graph, a wait, inside of a range."""
    x = Export(path, numbers=not old)
    new: dict[str, Any] = {} if old else {"greenContextId": None, "graphNodeId": None}
    called: dict[str, Any] = {} if old else {"eventClass": 0, "returnValue": 0, "callchainId": None}
    kernels, copies, graphs, calls, syncs, ranges = [], [], [], [], [], []
    for step in range(STEPS):
        at, one = 1_000_000 + step * 200_000, 4 * step + 1
        kinds = {} if old else {"srcKind": 0, "dstKind": 2}
        grid = {} if old else dict.fromkeys(("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"), 8)
        names = {"demangledName": x.name(NAMES[0]), "shortName": x.name("gemm")}
        copies.append(work(at + 10_000, 4_000, one, bytes=4096, copyKind=1, **kinds, **new))
        kernels.append(work(at + 20_000, 50_000, one + 1, **names, **grid, **new))
        graphs.append(work(at + 80_000, 30_000, one + 2, **({} if old else {"graphId": 5, "graphExecId": 6})))
        syncs.append(work(at + 60_000, 55_000, one + 3, **({} if old else {"syncType": 3, "eventId": None})))
        for n, name in enumerate(("cudaMemcpyAsync", "cudaLaunchKernel", "cudaGraphLaunch")):
            calls.append(call(at + 3_000 * n, 2_000, one + n, x.name(name, "_v7000"), **called))
        calls.append(call(at + 60_000, 55_000, one + 3, x.name("cudaStreamSynchronize", "_v3020"), **called))
        text = {"text": "step"} if old else {"text": None, "textId": x.name("step"), "domainId": 0}
        ranges.append({"start": at, "end": at + 120_000, "eventType": 59, "globalTid": TID, **text})
    x.table("CUPTI_ACTIVITY_KIND_MEMCPY", *copies)
    x.table("CUPTI_ACTIVITY_KIND_KERNEL", *kernels)
    x.table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", *graphs)
    x.table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", *syncs)
    x.table("CUPTI_ACTIVITY_KIND_RUNTIME", *calls)
    x.table("NVTX_EVENTS", *ranges)
    x.table("ThreadNames", {"nameId": x.name("main thread"), "priority": 0, "globalTid": TID})
    if old:
        x.table("TARGET_INFO_CUDA_GPU", {"cuDevice": 1, "name": "Tesla"})
    else:
        x.table("TARGET_INFO_GPU", {"id": 1, "name": "Tesla", "busLocation": "0000:01:00.0"})
        x.table("PROCESSES", {"globalPid": PID, "pid": 41, "name": "python"})
        x.table("SOME_TABLE_OF_LATER", {"a": 1})
    return path


def report_of(inferscope: Command, path: Path) -> Any:
    run = inferscope("analyze", path, "--output", inferscope.folder / "report.json", "--force")
    assert run.returncode == 0, run.stderr
    return run.report


def test_old_and_new_exports_give_the_same_figures(inferscope: Command) -> None:
    path = inferscope.folder / "run.sqlite"
    old = report_of(inferscope, write(path, True))
    path.unlink()
    new = report_of(inferscope, write(path, False))
    (gpu,) = new.gpus
    assert (gpu.device_id, gpu.name, gpu.kernel_count, gpu.copy_count) == (1, "Tesla", 2 * STEPS, STEPS)
    assert gpu.busy_us == pytest.approx(84 * STEPS)
    assert gpu.sync_count == STEPS and gpu.queue_delay["count"] == 3 * STEPS
    assert {k.name: k["count"] for k in new.kernels} == {NAMES[0]: STEPS, "CUDA graph": STEPS}
    assert {k.scope for k in new.kernels} == {"step"}
    assert [(s.name, s["count"]) for s in new.scopes] == [("step", STEPS)]
    assert [t.name for t in new.threads] == ["main thread"]
    for part in ("gpus", "kernels", "scopes", "functions", "clock"):
        assert json.dumps(old[part]) == json.dumps(new[part]), part
    # Which memory it was is said by the newer one alone.
    (before,), (now,) = old.copies, new.copies
    assert (before.pop("pageable_pct"), now.pop("pageable_pct")) == (None, 100.0)
    assert before == now


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "gridX"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "contextId"),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", "srcKind"),
        ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "contextId"),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "returnValue"),
        ("NVTX_EVENTS", "domainId"),
    ],
)
def test_a_column_that_is_missing_costs_no_more_than_itself(inferscope: Command, table: str, column: str) -> None:
    whole = report_of(inferscope, write(inferscope.folder / "whole.sqlite", False))
    less = write(inferscope.folder / "less.sqlite", False)
    with sqlite3.connect(less) as db:
        db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    report = report_of(inferscope, less)
    for part in ("scopes", "functions"):
        assert report[part] == whole[part]
    for figure in ("kernel_count", "copy_count", "busy_us", "idle_us", "h2d_bytes", "queue_delay"):
        assert report.gpus[0][figure] == whole.gpus[0][figure], figure
    named = {k.name for k in report.kernels}
    assert named == ({"gemm", "CUDA graph"} if column == "demangledName" else {NAMES[0], "CUDA graph"})
