"""The C library as another project gets it: built, installed, and linked by the program on its page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MESON = Path(sys.executable).parent / "meson"


@pytest.mark.long
def test_the_program_on_the_page_reads_a_trace_and_writes_a_report(tmp_path: Path) -> None:
    build, prefix = tmp_path / "build", tmp_path / "root"
    options = ["-Dshared_library=true", "-Dpython=disabled", "-Dtests=disabled", "-Dlibdir=lib", f"--prefix={prefix}"]
    steps: list[list[str | Path]] = [["setup", build, *options], ["install", "-C", build, "--quiet"]]
    for command in steps:
        done = subprocess.run([MESON, *command], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    source = tmp_path / "gate.c"
    (code,) = re.findall(r"```c\n(.*?)```", (ROOT / "docs" / "library.md").read_text(), re.DOTALL)
    source.write_text(code)
    gate, lib = tmp_path / "gate", prefix / "lib"
    flags = ["-Wall", "-Werror", f"-I{prefix / 'include'}", f"-L{lib}", f"-Wl,-rpath,{lib}"]
    subprocess.run(["cc", str(source), "-o", str(gate), *flags, "-linferscope"], check=True)
    line = [str(prefix / "bin" / "inferscope"), "run", "--quiet", "--no-report", "--", "true"]
    subprocess.run(line, cwd=tmp_path, check=True)
    done = subprocess.run([gate], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    done = subprocess.run([gate, "absent.isc"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "absent.isc" in done.stderr
