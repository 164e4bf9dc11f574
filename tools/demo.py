"""Trace a small C program and its Python child, and show what came of it: demo.py FOLDER."""

from __future__ import annotations

import os
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
    shutil.copy(tree.ROOT / "tests" / "targets" / "demo_child.py", folder)
    environment = dict(os.environ, PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    print("$ inferscope run -- ./demo python3 demo_child.py", flush=True)
    program = [str(command), "run", "--", "./demo", "python3", "demo_child.py"]
    done = subprocess.run(program, cwd=folder, env=environment, check=False)
    report = folder / "report.md"
    if done.returncode == 0:
        print(f"\nthe report, {report.relative_to(tree.ROOT)}:\n")
        print(report.read_text())
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
