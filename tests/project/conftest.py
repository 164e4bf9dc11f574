"""The files of the project: what git knows, or without git everything that is not built or fetched."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = ("build*/*", ".venv/*", ".git/*", "dist/*", ".*cache/*", "*/__pycache__/*", "subprojects/yyjson-*")


def names() -> list[str]:
    # The checkout may belong to another user, as in a container.
    git = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
    try:
        listed = subprocess.run(git, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        return [name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        found = (str(path.relative_to(ROOT)) for path in ROOT.rglob("*"))
        return [name for name in found if not any(fnmatch(name, pattern) for pattern in NOT_OURS)]


@pytest.fixture(scope="session")
def tracked() -> Callable[..., list[Path]]:
    """tracked("src/*.c", ...): the files whose path from the root matches one of the patterns."""
    files = [ROOT / name for name in names() if (ROOT / name).is_file()]

    def matching(*patterns: str) -> list[Path]:
        return [file for file in files if any(fnmatch(str(file.relative_to(ROOT)), p) for p in patterns or ("*",))]

    return matching
