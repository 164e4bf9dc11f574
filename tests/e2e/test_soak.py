"""A minute of the torch server of bench/soak_server.py; `make soak` runs an hour of it, and of vLLM."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.long, pytest.mark.integration]
Checks = dict[str, list[str]]


@pytest.fixture(scope="module")
def soak(stage: Path, torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Checks:
    """What the tool says of each thing that it checks."""
    build = os.environ.get("INFERSCOPE_BUILD", "build")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "soak.py"), build, "--minutes", "1", "--python", torch_python,
         "--keep", str(tmp_path_factory.mktemp("soak"))],
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    said: Checks = {}
    for check, line in re.findall(r"^(\w+): (met|MISSED: .*)$", done.stdout, re.MULTILINE):
        said.setdefault(check, []).extend([] if line == "met" else [line])
    assert set(said) >= {"explained", "covered", "told", "budget", "names", "rate", "memory", "trace"}, done.stdout
    return said


@pytest.mark.parametrize("check", ["explained", "covered", "steady", "budget", "trace"])
def test_v3_no_minute_of_a_varied_torch_server_is_worse_explained_than_the_first(soak: Checks, check: str) -> None:
    assert soak[check] == []


def test_v3_every_function_with_a_thousandth_of_the_time_is_named(soak: Checks) -> None:
    assert soak["names"] == []


def test_v3_the_busiest_thread_is_sampled_as_often_as_asked(soak: Checks) -> None:
    assert soak["rate"] == []


def test_v3_rows_over_time_tell_the_whole_cost(soak: Checks) -> None:
    assert soak["told"] == []


def test_h10_memory_stays_inside_its_budget(soak: Checks) -> None:
    assert soak["memory"] == []
