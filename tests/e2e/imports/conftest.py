"""Fixtures: traces of real GPUs and what is known of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # test modules are not packages
if TYPE_CHECKING:
    from tests.e2e.imports.traces import ABSENT, TRACES
else:
    from traces import ABSENT, TRACES


@pytest.fixture
def real() -> Path:
    """The folder of real traces."""
    if not (TRACES / "oracle").is_dir():
        pytest.skip(ABSENT)
    return TRACES


@pytest.fixture
def oracle(real: Path) -> Any:
    """oracle(name): what is known of a trace."""
    return lambda name: json.loads((real / "oracle" / f"{name}.oracle.json").read_text())
