"""Trace a small C program and its Python child, and show what came of it: demo.py FOLDER."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import tree


def main() -> int:
    build = tree.ROOT / sys.argv[1]
    stage, folder = build / "stage", build / "demo"
    meson = Path(sys.executable).parent / "meson"
    install = [str(meson), "install", "-C", str(build), "--no-rebuild", "--quiet", "--destdir", str(stage)]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    command = next(stage.glob("**/bin/inferscope"))

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    source = tree.ROOT / "tests" / "targets" / "demo.c"
    subprocess.run(
        ["cc", "-O1", "-g", "-pthread", f"-I{tree.ROOT / 'include'}", source, "-o", folder / "demo", "-lm"], check=True
    )
    child = f"{shlex.quote(sys.executable)} -c 'print(sum(i * i for i in range(300000)))'"
    print(f"$ inferscope run -- ./demo {shlex.quote(child)}", flush=True)
    done = subprocess.run([command, "run", "--", "./demo", child], cwd=folder, check=False)
    report = folder / "report.md"
    if done.returncode == 0:
        print(f"\nthe report, {report.relative_to(tree.ROOT)}:\n")
        print(report.read_text())
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
