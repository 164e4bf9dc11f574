"""`pip install .` into a fresh virtual environment, once for each Python."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Installation:
    """A virtual environment that has the package."""

    prefix: Path
    version: str

    @property
    def python(self) -> Path:
        return self.prefix / "bin" / "python"

    @property
    def command(self) -> Path:
        return self.prefix / "bin" / "inferscope"

    @property
    def site(self) -> Path:
        return self.prefix / "lib" / f"python{self.version}" / "site-packages"

    @property
    def package(self) -> Path:
        return self.site / "inferscope"

    def run(
        self, *arguments: str | Path, cwd: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run something of this environment with nothing of ours in its variables but what is given."""
        clean = {n: v for n, v in os.environ.items() if not n.startswith(("INFERSCOPE_", "LD_", "PYTHON", "VIRTUAL_"))}
        return subprocess.run(
            [str(argument) for argument in arguments],
            env={**clean, **variables},
            cwd=cwd or self.prefix,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def pythons() -> list[str]:
    listed = [path for path in os.environ.get("INFERSCOPE_PYTHONS", "").split(os.pathsep) if path]
    if listed:
        return listed
    finder = [sys.executable, str(ROOT / "tools" / "pythons.py"), "3.11", "3.13"]
    return subprocess.run(finder, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="session", params=pythons(), ids=lambda path: Path(path).name)
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    python = request.param
    prefix = tmp_path_factory.mktemp("venv")
    ask = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    version = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    made = Installation(prefix, version)
    subprocess.run([python, "-m", "venv", prefix], check=True)
    done = made.run(made.python, "-m", "pip", "--disable-pip-version-check", "-q", "install", ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return made
