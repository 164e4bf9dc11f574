"""Test modules are not packages; this is how they share sampling.py."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def inferscope(inferscope: Any) -> Any:
    """The command, with samples and waits."""
    config = Path(inferscope.environment["XDG_CONFIG_HOME"]) / "inferscope"
    config.mkdir(parents=True)
    (config / "config.yaml").write_text("sample: true\nsyscalls: true\n")
    return inferscope
