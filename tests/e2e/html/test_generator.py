"""ReportGenerator: the same figures in every format, from an analysis and its events."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command
    from tests.e2e.html.hostile import PAYLOADS, kineto
    from tests.e2e.html.test_page import block
else:
    from hostile import PAYLOADS, kineto
    from test_page import block

PROGRAM = """
import json, sys
from inferscope import ReportGenerator
analysis = json.load(open(sys.argv[1]))
events = json.load(open(sys.argv[2]))
report = ReportGenerator(analysis, events)
assert report.to_json() == analysis and report.to_json() is not analysis
for ending in ("md", "html", "json"):
    report.save(f"{sys.argv[3]}/out.{ending}")
report.save(f"{sys.argv[3]}/other.txt", "markdown")
for wrong in (lambda: report.save("x.pdf"), lambda: report.save("x"), lambda: report.save("x.md", "word"),
              lambda: ReportGenerator({"schema": "other"}).to_html(), lambda: ReportGenerator({}).to_markdown()):
    try:
        wrong()
    except ValueError as error:
        print(error)
    else:
        raise SystemExit("not refused")
try:
    ReportGenerator([])
except TypeError as error:
    print(error)
"""


def events() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for i in range(30):
        at, thread = i * 1000, {"thread_id": 7, "process_id": 7}
        times = {"start_us": at + 10, "end_us": at + 400}
        found += [{"event_type": "cpu_call", "name": "forward", "file": "m.py", "line": 3, **times, **thread}]
    return found


@pytest.fixture
def analysis(inferscope: Command) -> Path:
    names = [name for name in PAYLOADS if len(name) < 1000]
    done = inferscope(
        "analyze", kineto(names, inferscope.folder / "odd.json"), "--output", inferscope.folder / "a.json"
    )
    assert done.returncode == 0, done.stderr
    return inferscope.folder / "a.json"


@pytest.mark.plain
def test_every_format_says_the_same(analysis: Path, stage: Path, tmp_path: Path) -> None:
    (tmp_path / "events.json").write_text(json.dumps(events()))
    (tmp_path / "program.py").write_text(PROGRAM)
    site = next(stage.glob("lib/python3*/site-packages"))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), str(analysis), str(tmp_path / "events.json"), str(tmp_path)],
        env={"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 6
    report = json.loads(analysis.read_text())
    assert json.loads((tmp_path / "out.json").read_text()) == report
    page, text = (tmp_path / "out.html").read_text(), (tmp_path / "out.md").read_text()
    inside = block(page, "report")
    inside.pop("left_out")
    assert inside == report
    assert text == (tmp_path / "other.txt").read_text()
    gpu = report["gpus"][0]
    assert f"{gpu['busy_pct']:.1f}%" in text
    assert f"{report['overhead']['events']:,} events" in text
    lanes = block(page, "detail")["lanes"]
    assert any("forward" in name for name in lanes["names"]) and lanes["pieces"] == 30
    # Names are data here too: nothing of them is a tag.
    assert "<script" not in text and "<img" not in text and "\u2028" not in text
