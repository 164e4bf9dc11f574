"""Configure and compile a build folder: tree.py FOLDER [MESON OPTION...]."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pythons

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent


def options() -> list[str]:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    site = f"/usr/local/lib/python{version}/site-packages"
    others = [str(path) for found, path in pythons.find().items() if found != version]
    return [
        # One layout everywhere, for the staged install that the tests use: Debian's Python has its own ideas.
        "--prefix=/usr/local",
        f"-Dpython.platlibdir={site}",
        f"-Dpython.purelibdir={site}",
        f"-Dmore_pythons={','.join(others)}",
    ]


def compile(folder: Path, extra: list[str], targets: list[str] | None = None) -> int:
    environment = dict(os.environ, PATH=f"{TOOLS}{os.pathsep}{os.environ['PATH']}")
    if not (folder / "build.ninja").exists():
        setup = [str(TOOLS / "meson"), "setup", str(folder), *options(), *extra]
        done = subprocess.run(setup, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            print(done.stdout)
            return 1
    print(f"building {folder.relative_to(ROOT)}", flush=True)
    ninja = [str(TOOLS / "ninja"), "-C", str(folder), "--quiet", *(targets or [])]
    return subprocess.run(ninja, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(compile(ROOT / sys.argv[1], sys.argv[2:]))
