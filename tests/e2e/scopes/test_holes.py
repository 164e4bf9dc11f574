"""Where the budget leaves calls out, an explanation names who was at fault, or says that it was not seen."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timed

# Calls are dense, so that a small budget cannot record them all.  Every tenth request also goes through cull().
SERVER = """
import time
from inferscope import scope

def leaf(x):
    return x + 1

def speck(x):
    return x + 2

def parse(ms):
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        for i in range(100):
            leaf(i)

def cull(ms):
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        for i in range(100):
            speck(i)

def handle(slow):
    parse(8)
    if slow:
        cull(40)

def main():
    for i in range(120):
        with scope("request"):
            handle(i % 10 == 7)

main()
"""
AT_FAULT = {"cull", "speck"}


@pytest.fixture
def served(inferscope: Any, package: Path, tmp_path: Path) -> Callable[..., Any]:
    script = tmp_path / "server.py"
    script.write_text(SERVER)

    def go(*options: str) -> Any:
        run = inferscope(
            "run", "--python", sys.executable, *options, script,
            env={"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        (scope,) = (scope for scope in run.report.scopes if scope.name == "request")
        return run, scope

    return go


def blamed(scope: Any, least: float = 0.15) -> set[str]:
    """Functions that are named for a good part of what slow requests take longer; what waits for a CPU is nobody's."""
    more = scope.groups.slow.mean_us - scope.groups.median.mean_us
    return {
        str(reason.function).rpartition(".")[2]
        for reason in scope.slow_because
        if reason.cause in ("python", "native") and reason.function and reason.extra_us > more * least
    }


def test_all_calls_name_the_function_at_fault(served: Callable[..., Any]) -> None:
    _, scope = served("--budget", "off")
    assert blamed(scope)
    assert blamed(scope) <= AT_FAULT


@pytest.mark.parametrize("rate", ["20", "200"])
def test_a_small_budget_names_the_same_or_nobody(served: Callable[..., Any], rate: str) -> None:
    run, scope = served("--budget", "0.5", "--rate", rate)
    assert run.report.overhead.governed, "the budget left nothing out: this test says nothing"
    assert blamed(scope) <= AT_FAULT
    assert blamed(scope) or any(reason.cause == "not_seen" for reason in scope.slow_because)
    more = scope.groups.slow.mean_us - scope.groups.median.mean_us
    ran = [r.extra_us for r in scope.slow_because if r.cause in ("python", "native", "not_seen")]
    assert sum(ran) <= more * 1.15
