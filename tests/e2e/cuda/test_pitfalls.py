"""What goes wrong with CUPTI, case by case: docs/gpu.md has the table of cases and tests."""

from __future__ import annotations

import re

import pytest

from .conftest import ROOT, Cuda, counted, reported, warned


def test_no_lock_of_ours_is_held_over_a_call_of_cupti(cuda: Cuda) -> None:
    """Two threads fill buffers, which asks us for more with CUPTI's lock held, while our thread flushes and asks for
    what was dropped."""
    run = cuda("storms", "25", launch_us=0)
    assert (run.returncode, run.stdout) == (0, "done storms 25 on 1\n")
    assert counted(run.truth)[("kernel", 0)] == 50_000
    assert reported(run) == counted(run.truth)


@pytest.mark.parametrize("generation", ["130000", "13"])
def test_waits_are_known_where_cupti_has_no_record_of_them(cuda: Cuda, generation: str) -> None:
    """13.0 does not tell of devices that are waited for: the call does."""
    run = cuda("whole", "60", generation=generation)
    assert run.returncode == 0
    assert [g.sync_count > 0 for g in run.report.gpus] == [generation == "13"]
    (main,) = [t for t in run.report.threads if t["gpu_wait"]]
    waited = sum(w.end_ns - w.start_ns for w in run.truth if w.kind == "sync") / 1000
    assert main["gpu_wait"] == pytest.approx(waited, rel=0.15)


@pytest.mark.parametrize("scene", ["paged", "pinned"])
def test_a_copy_that_is_called_asynchronous_is_a_wait_when_it_waits(cuda: Cuda, scene: str) -> None:
    """Which one, its memory tells: the program makes the same calls."""
    run = cuda(scene, "60")
    assert run.returncode == 0
    waits = sum(t["gpu_wait"] or 0 for t in run.report.threads)
    kernels = sum(w.end_ns - w.start_ns for w in run.truth if w.kind == "kernel") / 1000
    if scene == "paged":
        assert waits > 0.9 * kernels
    else:
        assert waits < 0.2 * kernels


def test_what_must_come_before_cuda_is_not_asked_for_later(cuda: Cuda) -> None:
    """Latency stamps and hardware traces: CUDA has begun when we come."""
    for scene in ("gpu", "graph"):
        assert cuda(scene, "8").returncode == 0
        assert not [line for line in cuda.log() if line.startswith(("latency", "hardware"))]


def test_cupti_is_not_torn_down(cuda: Cuda) -> None:
    """That is allowed inside of one kind of callback only; the double ends programs that do it elsewhere."""
    for scene in ("gpu", "held", "reset"):
        assert cuda(scene, "16").returncode == 0
        assert "finalize" not in cuda.log()
        assert "unsubscribe" in cuda.log()


def test_kernels_of_a_graph_are_all_linked_to_the_call_that_launched_it(cuda: Cuda) -> None:
    run = cuda("graph", "20", options=("--budget", "off"))
    launches = {w.correlation for w in run.truth if w.kind == "kernel"}
    assert len(launches) == 20
    calls = [line for line in run.dump() if "gpu_call" in line and "cudaGraphLaunch" in line]
    assert {int(line.split("correlation ")[1].split()[0]) for line in calls} == launches
    assert "unlinked_work" not in warned(run)


def test_every_pitfall_in_the_table_has_its_test() -> None:
    """Names in docs/gpu.md are tests that exist."""
    section = (ROOT / "docs" / "gpu.md").read_text().split("### Pitfalls")[1].split("\n## ")[0]
    named = re.findall(r"`(\w+\.(?:py|c))`: `(\w+)`", section)
    assert len(named) >= 12
    for file, test in named:
        found = [path.read_text() for path in (ROOT / "tests").rglob(file)]
        assert any(re.search(rf"\b{test}\(", text) for text in found), (file, test)
