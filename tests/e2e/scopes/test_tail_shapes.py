"""Whatever share of the requests is slow, and wherever they run, the function at fault is named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.truth.tail_shapes import SHAPES, SPARSE
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "truth"))
    from tail_shapes import SHAPES, SPARSE

pytestmark = pytest.mark.timed

TRIES = 3
BUSY = 0.25  # of what slow requests take longer, while others had the CPU


def request_of(run: Any) -> Any:
    return next(scope for scope in run.report.scopes if scope.name == "request")


def is_calm(scope: Any) -> bool:
    """The machine had time for the program: its own reasons are what makes requests slow."""
    more = scope.groups.slow.mean_us - scope.groups.median.mean_us
    return bool(sum(r.extra_us for r in scope.slow_because if r.cause in ("run_queue", "other")) < BUSY * more)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_function_at_fault_is_named(inferscope: Any, package: Path, tmp_path: Path, shape: str) -> None:
    program, cause, functions = SHAPES[shape]
    script = tmp_path / "program.py"
    script.write_text(program)
    for _ in range(TRIES):
        run = inferscope(
            "run", "--python", sys.executable, script,
            env={"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        scope = request_of(run)
        if is_calm(scope):
            break
    own = [reason for reason in scope.slow_because if reason.cause not in ("run_queue", "other")]
    assert own, scope
    if shape in SPARSE and own[0].cause == "not_seen":
        return
    assert own[0].cause == cause and str(own[0].function).rpartition(".")[2] in functions, scope.slow_because
