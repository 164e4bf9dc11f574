"""INFERSCOPE_ENABLED=1: a process that has the package traces itself and its children, without the command."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(\"child\")'], check=True)"


def report_when(installation: Any, trace: Path, complete: Any, patience_s: float = 20) -> dict[str, Any]:
    """The report of a trace that is still being written, as soon as it satisfies."""
    deadline = time.monotonic() + patience_s
    output = trace.with_suffix(".json")
    report: dict[str, Any] = {}
    while time.monotonic() < deadline:
        done = installation.run(installation.command, "analyze", trace, "--output", output)
        if done.returncode == 0:
            report = json.loads(output.read_text())
            if complete(report):
                return report
        time.sleep(0.1)
    raise AssertionError(f"not in the report after {patience_s} s: {json.dumps(report.get('program'), indent=1)}")


def test_a_process_and_its_child_are_in_the_trace(installation: Any, tmp_path: Path) -> None:
    code = f"import os; print(os.getpid(), flush=True); {CHILD}"
    said = installation.run(installation.python, "-c", code, cwd=tmp_path, INFERSCOPE_ENABLED="1")
    pid, child = said.stdout.split()
    assert (said.returncode, child, said.stderr) == (0, "child", "")

    trace = tmp_path / f"inferscope-{socket.gethostname()}-{pid}.isc"
    report = report_when(installation, trace, lambda report: len(report["program"]["processes"]) == 2)
    first, second = sorted(report["program"]["processes"], key=lambda process: process["process_id"] != int(pid))
    assert first["process_id"] == int(pid)
    assert second["parent_id"] == int(pid)
    assert first["traced"] and second["traced"]


def test_no_session_and_no_recorder_stay_behind(installation: Any, tmp_path: Path) -> None:
    code = "import os; print(os.getpid(), os.environ['INFERSCOPE_SESSION'])"
    said = installation.run(installation.python, "-c", code, cwd=tmp_path, INFERSCOPE_ENABLED="1")
    _, folder = said.stdout.split()
    deadline = time.monotonic() + 20
    while Path(folder).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(folder).exists()


def test_who_reads_our_output_is_not_kept_waiting(installation: Any, tmp_path: Path) -> None:
    """The recorder holds no descriptor of the program: a child that lives on keeps the recorder, not the reader."""
    code = "import subprocess, sys; n = subprocess.DEVNULL; print('done');"
    code += "subprocess.Popen(['sleep', '6'], stdin=n, stdout=n, stderr=n)"
    start = time.monotonic()
    said = installation.run(installation.python, "-c", code, cwd=tmp_path, INFERSCOPE_ENABLED="1")
    assert said.stdout == "done\n"
    assert time.monotonic() - start < 5


def test_an_unwritable_folder_is_not_noticed(installation: Any) -> None:
    said = installation.run(installation.python, "-c", "print('ok')", cwd=Path("/proc"), INFERSCOPE_ENABLED="1")
    assert (said.returncode, said.stdout, said.stderr) == (0, "ok\n", "")
    assert "INFERSCOPE_ENABLED" not in os.environ
