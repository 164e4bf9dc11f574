"""Run every benchmark of a build folder: those of Meson, then the scripts in bench/.

bench.py FOLDER [NAME...]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tree


def main() -> int:
    folder, names = tree.ROOT / sys.argv[1], sys.argv[2:]
    environment = dict(os.environ, INFERSCOPE_BUILD=str(folder))
    meson = [str(Path(sys.executable).parent / "meson"), "test", "-C", str(folder), "--no-rebuild"]
    codes = [subprocess.run([*meson, "--benchmark", "--verbose", *names], env=environment, check=False).returncode]
    for script in sorted((tree.ROOT / "bench").glob("bench_*.py")):
        if not names or script.stem.removeprefix("bench_") in names:
            codes.append(subprocess.run([sys.executable, script], env=environment, check=False).returncode)
    return 1 if any(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
