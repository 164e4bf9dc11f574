"""Rules of a file, and the verdict by the package."""

from __future__ import annotations

import base64
import html
import json
import re
import subprocess
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command

pytestmark = pytest.mark.timed

# A GPU that works for 80 of every 100 us, asked for in time, beside a host that works all the time.
STEPS = 800


def events() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for i in range(STEPS):
        at, thread = i * 100_000, {"thread_id": 7, "process_id": 5}
        found.append(
            {
                "event_type": "gpu_api",
                "name": "launch",
                "start_ns": at,
                "end_ns": at + 20_000,
                "correlation": i + 1,
                **thread,
            }
        )
        found.append(
            {
                "event_type": "gpu_kernel",
                "name": "gemm",
                "start_ns": at + 20_000,
                "end_ns": at + 100_000,
                "correlation": i + 1,
                "device_id": 0,
                "stream": 1,
            }
        )
        found.append(
            {"event_type": "cpu_call", "name": "prepare", "start_ns": at + 20_000, "end_ns": at + 100_000, **thread}
        )
    return found


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "events.json"
    path.write_text(json.dumps(events()))
    return path


def analysed(inferscope: Command, trace: Path, rules: str | None, tmp_path: Path) -> Any:
    options: list[str | Path] = []
    if rules is not None:
        (tmp_path / "rules.yaml").write_text(rules)
        options = ["--rules-file", tmp_path / "rules.yaml"]
    run = inferscope("analyze", trace, "--format", "json", *options)
    assert run.returncode == 0, run.stderr
    return run.report


def test_a_file_of_rules_changes_the_verdict(inferscope: Command, trace: Path, tmp_path: Path) -> None:
    plain = analysed(inferscope, trace, None, tmp_path)
    assert (plain.verdict.bottleneck, plain.verdict.cause) == ("cpu_bound", "gpu_idle")
    assert abs(plain.verdict.share - 20) < 0.1 and plain.gpus[0].bottleneck == "cpu_bound"
    off = analysed(inferscope, trace, "rules:\n  gpu_idle: off\n  launch_bound: off\n", tmp_path)
    assert (off.verdict.bottleneck, off.verdict.cause, off.suggestions) == ("balanced", None, [])
    higher = analysed(inferscope, trace, "rules: {gpu_idle: {threshold: 25}}\n", tmp_path)
    assert higher.verdict.cause is None
    rule = "rules:\n  half_idle: {metric: gpu_idle_pct, threshold: 5, title: Ours, fix: magic, check: ask}\n"
    new = analysed(inferscope, trace, rule, tmp_path)
    assert new.verdict.cause == "half_idle" and "magic" in new.verdict.headline
    assert {row.rule for row in new.suggestions} == {"half_idle", "gpu_idle"}


def test_the_verdict_says_the_same_everywhere(inferscope: Command, trace: Path, tmp_path: Path) -> None:
    report = analysed(inferscope, trace, None, tmp_path)
    text = inferscope("analyze", trace, "--output", "-")
    number = f"{report.verdict.confidence:.2f}"
    assert report.verdict.headline in text.stdout.replace("&#58;", ":")
    assert any(report.verdict.headline in line and number in line for line in text.ours)
    assert f"confidence {number}" in text.stdout
    assert len(text.ours) <= 12
    # The page is made of the JSON report, and shows the same first.
    assert inferscope("analyze", trace, "--output", "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    (held,) = re.findall(r'<script type="text/plain" id="report">([A-Za-z0-9+/=]*)</script>', page)
    assert json.loads(zlib.decompress(base64.b64decode(held)))["verdict"] == report.verdict
    # Figures and words, however they are laid out.
    shown = html.unescape(re.sub(r"<[^>]*>", "", page.partition("<main")[2].partition("<script")[0]))
    for figure in re.findall(r"\d[\d.,]*(?:%| [mun]?s)", report.verdict.headline):
        assert figure in shown, (figure, shown)
    assert number in shown


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("rules:\n  gpu_idel: {threshold: 3}\n", "rules.yaml:2: gpu_idel: there is no such rule"),
        ("rules:\n  gpu_idle: {threshold: much}\n", "rules.yaml:2: threshold: it is a number"),
        ("rules: !!python/name:os.system x\n", "rules.yaml:1: a tag"),
    ],
)
def test_a_wrong_rule_is_told_with_its_line(
    inferscope: Command, trace: Path, tmp_path: Path, rules: str, words: str
) -> None:
    (tmp_path / "rules.yaml").write_text(rules)
    run = inferscope("analyze", trace, "--rules-file", tmp_path / "rules.yaml")
    assert run.returncode == 2
    assert words in run.stderr and len(run.ours) == 1


def test_the_package_gives_the_same_verdict(inferscope: Command, stage: Path, trace: Path, python: str) -> None:
    package = next(stage.glob("**/inferscope/__init__.py")).parents[1]
    program = (
        "import json, sys, inferscope\n"
        "events = json.load(open(sys.argv[1]))\n"
        "by_list = inferscope.BottleneckAnalyzer(events).analyze()\n"
        "by_path = inferscope.BottleneckAnalyzer(sys.argv[1], {'gpu_idle': {'threshold': 25}}).analyze()\n"
        "try:\n"
        "    inferscope.BottleneckAnalyzer(events, {'gpu_idle': {'treshold': 25}}).analyze()\n"
        "    raise SystemExit('a wrong rule was taken')\n"
        "except inferscope.Error as error:\n"
        "    assert 'treshold' in str(error), error\n"
        "print(json.dumps([by_list['verdict'], by_path['verdict']]))\n"
    )
    done = subprocess.run(
        [python, "-c", program, str(trace)],
        env={**inferscope.environment, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    by_list, by_path = json.loads(done.stdout)
    report = inferscope("analyze", trace, "--format", "json").report
    assert by_list == report.verdict and by_list["cause"] == "gpu_idle"
    assert by_path["cause"] is None
