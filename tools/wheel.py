"""Build a wheel into dist/, with _core for every Python found beside that of the one that builds it."""

from __future__ import annotations

import subprocess
import sys

import pythons
import tree


def main() -> int:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    others = [str(path) for found, path in pythons.find().items() if found != version]
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tree.ROOT / "dist")]
    more = f"-Csetup-args=-Dmore_pythons={','.join(others)}"
    return subprocess.run([*build, more, str(tree.ROOT)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
