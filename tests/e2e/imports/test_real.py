"""Traces of real GPUs: every figure is that of interval arithmetic over the file, and HTA's where it agrees."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command, Facts
    from tests.e2e.imports.traces import ROOT, names
else:
    from traces import ROOT, names

SCHEMA = json.loads((ROOT / "schema" / "report-1.json").read_text())
NEAR = 0.0011  # us: a nanosecond, and the rounding of what is printed
DIRECTIONS = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "PtoP": "p2p"}
Oracle = Callable[[str], Any]


def analyse(inferscope: Command, *paths: Path, code: int = 0) -> Facts:
    run = inferscope("analyze", *paths, "--output", inferscope.folder / "report.json", "--force")
    assert run.returncode == code, run.stderr
    report = run.report
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    return report


def close(value: float, expected: float, digits: float = NEAR) -> bool:
    return abs(value - expected) <= digits


def work_of(path: Path) -> dict[str, list[tuple[str, int, int]]]:
    """Category, start and end in nanoseconds of all work, by device, without any rounding."""
    events = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)["traceEvents"]
    work = defaultdict(list)
    for event in events:
        category = str(event.get("cat", "")).lower().removeprefix("gpu_")
        if event["ph"] == "X" and category in ("kernel", "memcpy", "memset"):
            start, length = int(Decimal(event["ts"]) * 1000), int(Decimal(event["dur"]) * 1000)
            work[str(event["args"]["device"])].append((category, start, start + length))
    return work


def union(intervals: list[tuple[str, int, int]], *categories: str) -> int:
    total, to = 0, -(1 << 62)
    for _, start, end in sorted(intervals, key=lambda item: item[1:]):
        if not categories or _ in categories:
            total += max(0, end - max(start, to))
            to = max(to, end)
    return total


@pytest.mark.parametrize("name", names())
def test_device_figures_are_exact_to_the_nanosecond(inferscope: Command, real: Path, name: str) -> None:
    path = real / f"{name}.json.gz"
    expected = work_of(path)
    report = analyse(inferscope, path)
    assert {str(gpu.device_id) for gpu in report.gpus} == set(expected)
    for gpu in report.gpus:
        work = expected[str(gpu.device_id)]
        span = max(end for _, _, end in work) - min(start for _, start, _ in work)
        assert round(gpu.span_us * 1e3) == span
        assert round(gpu.busy_us * 1e3) == union(work)
        assert round(gpu.idle_us * 1e3) == span - union(work)
        assert round(gpu.kernel_us * 1e3) == union(work, "kernel")
        assert round(gpu.copy_us * 1e3) == union(work, "memcpy")
        assert round(gpu.memset_us * 1e3) == union(work, "memset")
        causes = sum(cause.us for cause in gpu.idle_causes.values())
        assert close(causes, gpu.idle_us, 0.01), "the causes of idle time add up to it"


@pytest.mark.parametrize("name", names())
def test_device_figures_are_what_others_computed(inferscope: Command, real: Path, oracle: Oracle, name: str) -> None:
    expected = oracle(name)["exact"]
    report = analyse(inferscope, real / f"{name}.json.gz")
    assert {str(gpu.device_id) for gpu in report.gpus} == set(expected)
    for gpu in report.gpus:
        exact = expected[str(gpu.device_id)]
        # The expected numbers are sums of doubles: each end is off by up to half of what a double of its size resolves.
        count = exact["kernel_count"] + exact["memcpy_count"] + exact["memset_count"]
        whole = all(float(exact[key]).is_integer() for key in ("first_ts_us", "kernel_sum_us", "last_end_us"))
        near = NEAR + (0 if whole else count * math.ulp(exact["last_end_us"]))
        assert close(gpu.span_us, exact["span_us"], near)
        assert close(gpu.busy_us, exact["busy_union_us"], near)
        assert close(gpu.idle_us, exact["idle_us"], near)
        assert close(gpu.idle_pct, exact["idle_pct"], 0.002)
        assert close(gpu.kernel_us, exact["kernel_union_us"], near)
        assert close(gpu.copy_us, exact["memcpy_union_us"], near)
        assert close(gpu.memset_us, exact["memset_union_us"], near)
        assert gpu.kernel_count == exact["kernel_count"]
        assert gpu.copy_count == exact["memcpy_count"]
        assert gpu.memset_count == exact["memset_count"]
        assert gpu.most_at_once == exact["max_concurrent"]
        assert {str(s.stream): s.count for s in gpu.streams} == exact["streams"]


@pytest.mark.parametrize("name", names())
def test_kernels_and_copies_are_exact(inferscope: Command, real: Path, oracle: Oracle, name: str) -> None:
    report = analyse(inferscope, real / f"{name}.json.gz")
    for device, exact in oracle(name)["exact"].items():
        ulp = math.ulp(exact["last_end_us"])
        kernels = {k.name: k for k in report.kernels if str(k.device_id) == device}
        assert len(kernels) == exact["distinct_kernels"]
        assert close(
            sum(k.total_us for k in kernels.values()), exact["kernel_sum_us"], 0.001 + exact["kernel_count"] * ulp
        )
        for top in exact["top_kernels"]:
            kernel = kernels[top["name"]]
            assert kernel["count"] == top["count"]
            assert close(kernel.total_us, top["sum_us"], NEAR + top["count"] * ulp)
            assert close(kernel.max_us, top["max_us"], NEAR + ulp)
        copies = {c.kind: c for c in report.copies if str(c.device_id) == device and c.kind != "memset"}
        assert set(copies) == {DIRECTIONS[way] for way in exact["memcpy_by_direction"]}
        for way, copy in exact["memcpy_by_direction"].items():
            ours = copies[DIRECTIONS[way]]
            assert (ours["count"], ours.bytes) == (copy["count"], copy["bytes"])
            assert close(ours.total_us, copy["sum_us"], NEAR + copy["count"] * ulp)


@pytest.mark.parametrize("name", names())
def test_calls_of_the_program_are_counted(inferscope: Command, real: Path, oracle: Oracle, name: str) -> None:
    report = analyse(inferscope, real / f"{name}.json.gz")
    calls: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    for function in report.functions:
        calls[function.name][0] += function.calls
        calls[function.name][1] += function.total_us
    for call, exact in oracle(name)["runtime_calls"].items():
        assert calls[call][0] == exact["count"], call
        assert close(calls[call][1], exact["sum_us"], 0.02), call


@pytest.mark.parametrize("name", names())
def test_idle_time_is_what_hta_says(inferscope: Command, real: Path, oracle: Oracle, name: str) -> None:
    hta = oracle(name)["hta"]
    if "temporal_breakdown" not in hta or hta["scope_rule"] != "all GPU events":
        pytest.skip("HTA looks at a part of this trace only, or not at all")
    report = analyse(inferscope, real / f"{name}.json.gz")
    (gpu,) = report.gpus
    (temporal,) = hta["temporal_breakdown"]
    agrees = abs(temporal["idle_time_pctg"] - hta["exact_over_hta_scope"]["idle_pct"]) <= 0.02
    if agrees:
        assert abs(gpu.idle_pct - temporal["idle_time_pctg"]) <= 0.02
        assert abs(gpu.compute_pct - temporal["compute_time_pctg"]) <= 0.02
    if not agrees:
        pytest.skip("HTA counts events that are no work of the GPU here")
    # HTA leaves work without a call out before it looks for gaps, and compares times as doubles.
    exact = oracle(name)["exact"][str(gpu.device_id)]
    whole = float(exact["kernel_sum_us"]).is_integer()
    if "unlinked_work" in {warning.id for warning in report.warnings} or (
        not whole and math.ulp(exact["last_end_us"]) > 0.01
    ):
        return
    streams = {s.stream: s for s in gpu.streams}
    for row in hta.get("idle_time_breakdown", []):
        ours = streams[row["stream"]][f"{row['idle_category']}_us"]
        assert abs(ours - row["idle_time"]) <= 0.02 + 1e-4 * row["idle_time"], row


def test_a_trace_without_a_gpu_is_no_error(inferscope: Command, real: Path) -> None:
    report = analyse(inferscope, real / "cpu-only-rank.json.gz")
    assert report.gpus == [] and report.kernels == [] and report.clock.sync is None
    assert "no_gpu" in {warning.id for warning in report.warnings}
    assert report.verdict.bottleneck == "unknown"
    assert report.functions


def test_nsight_systems_is_exact_to_the_nanosecond(inferscope: Command, real: Path, oracle: Oracle) -> None:
    name = "nsys-mfu-2gpu-before.sqlite"
    expected = oracle(name)["exact"]
    packed = real / f"{name}.gz"
    plain = inferscope.folder / "renamed.bin"
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    for path in (packed, plain):
        report = analyse(inferscope, path)
        assert [gpu.device_id for gpu in report.gpus] == [0, 1]
        for gpu in report.gpus:
            exact = expected[str(gpu.device_id)]
            assert round(gpu.span_us * 1e3) == exact["span_ns"]
            assert round(gpu.busy_us * 1e3) == exact["busy_union_ns"]
            assert round(gpu.idle_us * 1e3) == exact["idle_ns"]
            assert round(gpu.copy_us * 1e3) == exact["memcpy_union_ns"]
            assert (gpu.kernel_count, gpu.copy_count, gpu.memset_count) == tuple(
                exact[f"{what}_count"] for what in ("kernel", "memcpy", "memset")
            )
            kernels = [k for k in report.kernels if k.device_id == gpu.device_id]
            assert round(sum(k.total_us for k in kernels) * 1e3) == exact["kernel_sum_ns"]
            for top in exact["top_kernels"]:
                short = re.compile(rf"(^|[ :]){re.escape(top['name'])}([<(]|$)")
                same = [k for k in kernels if short.search(k.name.replace("(anonymous namespace)::", ""))]
                assert sum(k["count"] for k in same) == top["count"], top["name"]
                assert round(sum(k.total_us for k in same) * 1e3) == top["sum_ns"]
            for way, copy in exact["memcpy_by_direction"].items():
                (ours,) = [c for c in report.copies if (c.kind, c.device_id) == (DIRECTIONS[way], gpu.device_id)]
                assert (ours["count"], round(ours.total_us * 1e3), ours.bytes) == (
                    copy["count"],
                    copy["sum_ns"],
                    copy["bytes"],
                )


def test_ranges_and_calls_of_nsight_systems_are_counted_by_their_names(inferscope: Command, real: Path) -> None:
    """Every range of PyTorch has a text of its own there, and calls have versions."""
    report = analyse(inferscope, real / "nsys-mfu-2gpu-before.sqlite.gz")
    assert {s.name: s["count"] for s in report.scopes}["aten::addmm"] == 336
    assert len(report.scopes) < 300
    assert len(json.dumps(report)) < 1_000_000
    assert "aten::addmm" in {k.launched_from for k in report.kernels}
    assert {gpu.idle_causes.host_wait.where for gpu in report.gpus} <= {s.name for s in report.scopes}
    assert not [s.name for s in report.scopes if ", seq =" in s.name or ", op_id =" in s.name]
    called = {function.name for function in report.functions}
    assert {"cudaLaunchKernel", "cudaMemcpyAsync"} <= called
    assert not [name for name in called if re.search(r"_v\d+$", name)]


def test_ranks_stand_beside_each_other(inferscope: Command, real: Path, oracle: Oracle) -> None:
    ranks = [real / f"dlrm8-rank{i}.json.gz" for i in range(4)]
    folder = inferscope.folder / "ranks"
    folder.mkdir()
    for path in ranks:
        (folder / path.name).symlink_to(path)
    (folder / "README").write_text("no trace\n")
    for given in (ranks, [folder]):
        report = analyse(inferscope, *given)
        assert [(gpu.rank, gpu.device_id) for gpu in report.gpus] == [(0, 0), (1, 1), (2, 2), (3, 3)]
        for gpu in report.gpus:
            exact = oracle(f"dlrm8-rank{gpu.rank}")["exact"][str(gpu.device_id)]
            assert close(gpu.busy_us, exact["busy_union_us"]) and gpu.kernel_count == exact["kernel_count"]
    assert "skipped_files" in {warning.id for warning in report.warnings}


def test_work_of_hip_is_linked_to_its_calls(inferscope: Command, real: Path) -> None:
    """Launches, copies and waits of HIP stand under the names that Kineto has for CUDA."""
    for name in ("mi300-qwen1.5-0.5b", "mi250-minitoy"):
        report = analyse(inferscope, real / f"{name}.json.gz")
        (gpu,) = report.gpus
        called = {function.name: function.calls for function in report.functions}
        asking = ("hipLaunchKernel", "hipExtModuleLaunchKernel", "hipModuleLaunchKernel", "hipMemcpyWithStream")
        assert gpu.queue_delay.count == sum(called.get(call, 0) for call in asking) > 0
        assert called["hipDeviceSynchronize"] > 0


def test_kernels_know_the_python_line_that_launched_them(inferscope: Command, real: Path) -> None:
    report = analyse(inferscope, real / "h100-bert-small.json.gz")
    (attention,) = [k for k in report.kernels if k["class"] == "attention"]
    assert "aten::" in attention.launched_from and "modeling_bert.py:" in attention.launched_from
    assert "modeling_bert.py" in report.gpus[0].idle_causes.host_wait.where


def test_kernels_of_a_graph_share_its_launch(inferscope: Command, real: Path) -> None:
    report = analyse(inferscope, real / "mi300-vllm-decode-graph.json.gz")
    (gpu,) = report.gpus
    assert gpu.kernel_count == 425 and gpu.idle_causes.host_wait.us == 0


def test_most_kernels_have_a_class(inferscope: Command, real: Path) -> None:
    for name in ("h100-bert-small", "h100-qwen1.5-0.5b", "mi300-qwen1.5-0.5b", "mi300-vllm-decode-graph"):
        (gpu,) = analyse(inferscope, real / f"{name}.json.gz").gpus
        other = gpu.kernels_by_class.get("other", {"pct": 0})["pct"]
        assert other < 10, (name, gpu.kernels_by_class)
