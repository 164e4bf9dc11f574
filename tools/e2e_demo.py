#!/usr/bin/env python3
"""Set up, build, trace a small model and show the report, from nothing: the same as `make demo`.

tools/e2e_demo.py [minilm|numpy]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    python = str(ROOT / ".venv" / "bin" / "python")
    steps = [
        [str(ROOT / "tools" / "setup")],
        [python, str(ROOT / "tools" / "tree.py"), "build"],
        [python, str(ROOT / "tools" / "demo.py"), "build", *sys.argv[1:]],
    ]
    for step in steps:
        code = subprocess.run(step, cwd=ROOT, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
