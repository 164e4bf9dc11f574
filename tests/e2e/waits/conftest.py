"""Tests with everything that is recorded."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def inferscope(inferscope: Any) -> Any:
    """The command, with samples and waits."""
    config = Path(inferscope.environment["XDG_CONFIG_HOME"]) / "inferscope"
    config.mkdir(parents=True)
    (config / "config.yaml").write_text("sample: true\nsyscalls: true\n")
    return inferscope
