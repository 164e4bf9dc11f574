"""Which CPython versions are on this machine: the one that runs this, PATH's and pyenv's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SUPPORTED = ("3.9", "3.10", "3.11", "3.12", "3.13")
ASK = (
    "import sys, sysconfig, os, platform; "
    "assert platform.python_implementation() == 'CPython' and 't' not in sys.abiflags; "
    "import ensurepip; "
    "assert os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')); "
    "print('%d.%d' % sys.version_info[:2])"
)


def candidates(version: str) -> list[Path]:
    """Real interpreters first: a pyenv shim answers for whatever version is chosen in the folder it runs in."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(root.glob(f"{version}.*/bin/python{version}"), reverse=True)
    on_path = shutil.which(f"python{version}")
    if on_path and "shims" not in Path(on_path).parts:
        found.append(Path(on_path))
    return found


def usable(python: Path, version: str) -> bool:
    """It starts, can make an environment and has its headers."""
    try:
        said = subprocess.run([python, "-I", "-c", ASK], capture_output=True, text=True, timeout=20, check=False)
    except OSError:
        return False
    return said.returncode == 0 and said.stdout.strip() == version


def find(versions: tuple[str, ...] = SUPPORTED) -> dict[str, Path]:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = {}
    for version in versions:
        tries = [Path(sys.base_prefix) / "bin" / f"python{version}"] if version == own else []
        for python in [*tries, *candidates(version)]:
            if usable(python, version):
                found[version] = python
                break
    return found


def main() -> None:
    """With versions as arguments prints those that were found, else all; one path a line."""
    for python in find(tuple(sys.argv[1:]) or SUPPORTED).values():
        print(python)


if __name__ == "__main__":
    main()
