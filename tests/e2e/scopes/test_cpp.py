"""inferscope::scope of inferscope/mark.h."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_a_scope_ends_with_its_block(inferscope: Any, tmp_path: Path, standard: str) -> None:
    program = tmp_path / "raii"
    compiler = ["c++", f"-std={standard}", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}"]
    subprocess.run([*compiler, str(ROOT / "tests/targets/raii.cc"), "-o", str(program), "-ldl"], check=True)
    bare = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    run = inferscope("run", "--follow", "all", "--", program)
    assert (run.returncode, run.stdout) == (0, bare.stdout)
    kinds = [line.split(" ", 4)[4] for line in run.dump() if "#" in line and " scope_" in line]
    nested = ['scope_enter "outer"', 'scope_enter "inner"', 'scope_exit "inner"', 'scope_exit "outer"']
    turns = ['scope_enter "turn"', 'scope_exit "turn"'] * 3
    assert kinds == [*nested, *turns, 'scope_enter "macro"', 'scope_exit "macro"']
