"""Write the files of tests/golden as the reports are now, and show what that changes: golden.py FOLDER.

FOLDER is a compiled build folder.  What is shown is the difference to the last commit: read it before you commit it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent
GOLDEN = Path("tests/golden")
WRITTEN = ("*.report.json", "*.report.md", "*.summary", "*.verdict")


def git(*arguments: str) -> None:
    subprocess.run(["git", "--no-pager", *arguments], cwd=ROOT, check=True)


def main() -> int:
    folder = ROOT / sys.argv[1]
    # All of them, so that none stays behind whose scene is gone.
    for pattern in WRITTEN:
        for file in (ROOT / GOLDEN).glob(pattern):
            file.unlink()
    environment = dict(os.environ, ISC_GOLDEN_UPDATE="1")
    command = [str(TOOLS / "meson"), "test", "-C", str(folder), "--no-rebuild", "--quiet", "--print-errorlogs"]
    command += ["--logbase", "golden", "golden"]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(done.stdout)
        return 1
    # Files that are new are in no difference as long as git does not know them.
    git("add", "--intent-to-add", str(GOLDEN))
    git("diff", "HEAD", "--stat", "--", str(GOLDEN))
    git("diff", "HEAD", "--", str(GOLDEN))
    return 0


if __name__ == "__main__":
    sys.exit(main())
