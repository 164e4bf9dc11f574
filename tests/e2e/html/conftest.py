"""Pages of reports, read as text and in a real browser."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # test modules are not packages
Open = Callable[..., dict[str, Any]]


def environment_python(name: str) -> str:
    """The Python of an environment of tools/environments.py, made now or found again."""
    command = [sys.executable, str(HERE.parents[2] / "tools" / "environments.py"), name]
    made = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if made.returncode:
        pytest.skip(made.stderr.strip().splitlines()[-1])
    return made.stdout.strip()


@pytest.fixture(scope="session")
def browser() -> Open:
    """browser(page, [step, ...]): what chromium saw, and what the steps answered."""
    if not shutil.which("chromium"):
        pytest.skip("chromium is not here: tools/setup test installs it")
    python = environment_python("browser")

    def run(page: Path, steps: list[list[str]]) -> dict[str, Any]:
        done = subprocess.run(
            [python, str(HERE / "browser.py"), str(page)],
            input=json.dumps(steps),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        seen: dict[str, Any] = json.loads(done.stdout)
        return seen

    return run
