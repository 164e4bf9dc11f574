"""The verdict on traces of real GPUs, against what others measured of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command

# What is known of them: batches of one on a large GPU, a model that fills it, a loader without workers.
KNOWN = {
    "h100-bert-small": ("cpu_bound", "launch_bound", "modeling_bert.py"),
    "h100-vit-nsfw": ("cpu_bound", "launch_bound", "modeling_vit.py"),
    "h100-timesformer": ("gpu_bound", "gpu_bound", "SoftMax"),
    "v100-ns-resolution": ("gpu_bound", "gpu_bound", ""),
    "v100-resnet50-nw0": ("cpu_bound", "gpu_idle", "enumerate(DataLoader)"),
    "a100-nccl": ("cpu_bound", "gpu_idle", ""),
    "resnet-param": ("cpu_bound", "gpu_idle", ""),
}


def analyse(inferscope: Command, path: Path) -> Any:
    run = inferscope("analyze", path, "--format", "json")
    assert run.returncode == 0, run.stderr
    return run.report


@pytest.mark.parametrize("name", KNOWN)
def test_the_cause_is_what_is_known_of_the_trace(inferscope: Command, real: Path, oracle: Any, name: str) -> None:
    bottleneck, cause, where = KNOWN[name]
    report = analyse(inferscope, real / f"{name}.json.gz")
    verdict, exact = report.verdict, next(iter(oracle(name)["exact"].values()))
    assert (verdict.bottleneck, verdict.cause) == (bottleneck, cause), verdict.headline
    assert report.gpus[0].bottleneck == bottleneck
    suggestion = next(row for row in report.suggestions if row.rule == cause)
    assert where in suggestion.where and suggestion.saves_at_most_us <= exact["span_us"]
    for row in verdict.evidence:
        if row.metric == "gpu_idle_pct":
            assert abs(row.value - exact["idle_pct"]) < 0.01


@pytest.mark.parametrize("name", ["h100-qwen1.5-0.5b", "mi300-qwen1.5-0.5b"])
def test_where_neither_side_dominates_nothing_is_made_up(inferscope: Command, real: Path, name: str) -> None:
    report = analyse(inferscope, real / f"{name}.json.gz")
    assert (report.verdict.bottleneck, report.verdict.cause, report.suggestions) == ("balanced", None, [])


@pytest.mark.parametrize("name", ["a100-triton", "mi250-minitoy", "old-inference-rank1", "cpu-only-rank"])
def test_too_little_gets_no_verdict(inferscope: Command, real: Path, name: str) -> None:
    verdict = analyse(inferscope, real / f"{name}.json.gz").verdict
    assert verdict.bottleneck == "unknown" and verdict.withheld and verdict.confidence == 0
