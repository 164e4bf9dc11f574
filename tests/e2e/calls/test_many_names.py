"""A program whose start-up has thousands of functions: what serves is still named, and takes no more than its loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROGRAM = """
import sys, time
for m in range(400):
    names = {}
    body = "\\n".join(
        f"def fn_{m}_{i}(x):\\n  return leaf_{m}_{i}(x)\\ndef leaf_{m}_{i}(x):\\n  return x + {i}" for i in range(50)
    )
    exec(compile(body, f"/mod/pkg_{m}.py", "exec"), names)
    for i in range(50):
        for _ in range(20):
            names[f"fn_{m}_{i}"](i)
def hot_serving(k):
    s = 0
    for i in range(k):
        s += i * i % 7
    return s
def handle_request():
    hot_serving(50000)
    hot_serving(50000)
begin = time.time()
while time.time() - begin < 3:
    handle_request()
print(time.time() - begin)
"""


def test_what_serves_is_named_after_a_start_up_with_many_names(inferscope: Any, tmp_path: Path, python: str) -> None:
    script = tmp_path / "many.py"
    script.write_text(PROGRAM)
    run = inferscope("run", "--python", python, script)
    assert run.returncode == 0, run.stderr
    loop_us = float(run.stdout) * 1e6
    functions = {f.name: f for f in run.report.functions}
    hot = functions["hot_serving"]
    assert "hot_serving" in json.dumps(run.report.verdict)
    assert 0 < hot.self_us <= loop_us * 1.001
    assert hot.self_us <= functions["handle_request"].total_us * 1.01
    assert "?" not in functions


def test_totals_without_room_name_what_they_fold(inferscope: Any, tmp_path: Path, python: str) -> None:
    script = tmp_path / "many.py"
    script.write_text(PROGRAM.replace("< 3:", "< 1:"))
    run = inferscope("run", "--python", python, "--budget", "off", "--trace-size-mb", "30", script)
    assert run.returncode == 0, run.stderr
    functions = {f.name: f for f in run.report.functions}
    rests = [f for f in run.report.functions if f.name.startswith("(other functions of pkg_")]
    assert rests and "hot_serving" in functions and "?" not in functions
    # 400 modules of 50 pairs, 20 calls each, whoever they are counted as.
    calls = sum(f.calls for f in run.report.functions if f.calls and (f.file or "").startswith("/mod/pkg_"))
    modules = sum(
        f.calls for n, f in functions.items() if f.calls and n.startswith("<module>") and "/mod/" in (f.file or "")
    )
    assert calls - modules in range(400 * 50 * 2 * 20, 400 * 50 * 2 * 20 + 401)
    folded = next(w for w in run.report.warnings if w.id == "too_many_names")
    assert "functions" in folded.text and "--trace-size-mb" in folded.remedy and not folded.grave
