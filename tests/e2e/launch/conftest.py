"""What is put in front of a program: the launching alone, or the whole command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command

FOLDER = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("INFERSCOPE_BUILD", FOLDER.parents[2] / "build")).resolve()

# Test modules are not packages; this is how they share launching.py.
sys.path.insert(0, str(FOLDER))


@pytest.fixture(params=["launcher", "run"])
def wrap(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """The words in front of a program."""
    if request.param == "launcher":
        return [str(BUILD / "tests" / "unit" / "launcher")]
    command: Command = request.getfixturevalue("inferscope")
    trace = ["--trace", str(tmp_path / "t.isc"), "--force"]
    return [str(command.path), "run", "--quiet", "--no-report", *trace, "--"]
