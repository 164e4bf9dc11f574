"""Every example runs, with its fault and without, and the report shows what its page says of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command, Run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(inferscope: Command, stage: Path, python: str, name: str, *how: str) -> Run:
    site = str(next(stage.glob("lib/python3*/site-packages")))
    env = {"PYTHONPATH": site, "OPENBLAS_NUM_THREADS": "1"}
    done = inferscope("run", "--python", python, EXAMPLES / f"{name}.py", *how, env=env, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


def p50(done: Run, scope: str) -> float:
    return float(next(s.p50_us for s in done.report.scopes if s.name == scope))


@pytest.mark.parametrize("name", ["cnn", "decoder", "lstm"])
def test_a_model_in_numpy_is_faster_when_it_is_fixed(
    inferscope: Command, stage: Path, numpy_python: str, name: str
) -> None:
    before = p50(run(inferscope, stage, numpy_python, name), "request")
    after = p50(run(inferscope, stage, numpy_python, name, "--fixed"), "request")
    assert after < before


def test_a_transformer_that_keeps_nothing_spends_its_requests_on_the_index(
    inferscope: Command, stage: Path, numpy_python: str
) -> None:
    slow = run(inferscope, stage, numpy_python, "transformer_numpy", "20")
    request = next(s for s in slow.report.scopes if s.name == "request")
    inside = {row.name: row.total_us for row in request.nested}
    assert inside["index"] > 5 * inside["forward"]
    before = p50(slow, "request")  # the next run writes to the same place
    assert p50(run(inferscope, stage, numpy_python, "transformer_numpy", "--fixed", "20"), "request") < before / 3


def test_requests_of_the_asyncio_server_stand_in_line(inferscope: Command, stage: Path) -> None:
    done = run(inferscope, stage, sys.executable, "asyncio_server")
    assert p50(done, "request") > 3 * p50(done, "model")
    run(inferscope, stage, sys.executable, "asyncio_server", "--fixed")


def test_workers_of_the_threaded_server_wait_for_the_lock(inferscope: Command, stage: Path) -> None:
    done = run(inferscope, stage, sys.executable, "threaded_server")
    workers = [t for t in done.report.threads if t.events > 100]
    assert sum(t.gil_wait or 0 for t in workers) > 0
    run(inferscope, stage, sys.executable, "threaded_server", "--fixed")
