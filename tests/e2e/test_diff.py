"""diff: what got slower is found in real runs, gates end with their exit code, and what cannot be told is said."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "schema" / "diff-1.json").read_text()))
PROGRAM = """
import sys, time
from inferscope import scope
def load(ms):
    time.sleep(ms / 1e3)
def answer(ms):
    with scope("request"):
        load(ms)
for _ in range(30):
    answer(float(sys.argv[1]))
"""


@pytest.fixture
def record(inferscope: Any, stage: Path, tmp_path: Path) -> Callable[[str, float], Path]:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    package = next(stage.glob("**/inferscope/__init__.py")).parents[1]

    def go(name: str, ms: float) -> Path:
        trace = tmp_path / name
        trace.parent.mkdir(exist_ok=True)
        run = inferscope(
            "run", "--no-report", "--trace", trace, script, str(ms), env={"PYTHONPATH": str(package)}
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        return trace

    return go


def test_what_got_slower_is_named_and_the_gate_fails(inferscope: Any, record: Callable[[str, float], Path]) -> None:
    base, new = record("base.isc", 5), record("new.isc", 15)
    out = Path(inferscope.folder) / "diff.json"
    diff = inferscope("diff", base, new, "--fail-if", "p50_us(request) > +50%", "--output", out)
    assert diff.returncode == 1, diff.stderr
    assert "request is slower: p50_us from" in diff.stderr and "gate failed" in diff.stderr
    told = json.loads(out.read_text())
    SCHEMA.validate(told)
    assert told["schema"] == "inferscope-diff-1" and told["gates"][0]["outcome"] == "failed"
    (request,) = told["scopes"]
    assert request["p50_us"]["result"] == "more" and request["p50_us"]["noise_source"] == "assumed"
    assert request["p50_us"]["change"] == pytest.approx(10_000, rel=0.25)
    sleep = request["states"]["sleep"]
    assert sleep["new_us"] - sleep["base_us"] == pytest.approx(10_000, rel=0.4)
    assert told["functions"][0]["name"] == "load" and told["functions"][0]["file"].endswith("program.py")
    # The other way round nothing is slower; Markdown goes to stdout.
    back = inferscope("diff", new, base, "--fail-if", "p50_us(request) > +5%")
    assert back.returncode == 0 and "request is faster" in back.stdout and "| passed" in back.stdout


def test_sets_measure_their_noise(inferscope: Any, record: Callable[[str, float], Path]) -> None:
    for i in range(3):
        record(f"a/{i}.isc", 5)
    record("b/1.isc", 20)
    record("b/2.isc", 20)
    folder = Path(inferscope.folder)
    diff = inferscope(
        "diff", folder / "a", "--new", folder / "b", "--format", "json", "--fail-if", "p50_us(request) > +20%"
    )  # fmt: skip
    assert diff.returncode == 1, diff.stderr
    told = json.loads(diff.stdout)
    SCHEMA.validate(told)
    # Every name is described, and a figure that is missing or of another kind is found.
    assert set(told) == set(SCHEMA.schema["properties"])
    del told["scopes"][0]["p50_us"]["noise"]
    assert not SCHEMA.is_valid(told)
    assert (told["base"]["runs"], told["new"]["runs"]) == (3, 2)
    assert told["scopes"][0]["p50_us"]["noise_source"] == "measured"
    # Runs of one side against each other: whatever the limit inside their noise, nothing is claimed.
    same = inferscope("diff", folder / "a" / "0.isc", folder / "a" / "1.isc", "--fail-if", "p50_us(request) > +3%")
    assert same.returncode in (0, 5), same.stdout
    unsure = inferscope("diff", folder / "a" / "0.isc", folder / "a" / "1.isc", "--fail-if", "p50_us(request) > +0%")
    assert unsure.returncode == 5 and "inconclusive" in unsure.stderr, unsure.stdout


def test_wrong_usage_is_refused_with_the_place(inferscope: Any, record: Callable[[str, float], Path]) -> None:
    trace = record("base.isc", 1)
    for words, said in {
        ("diff", trace): "the new trace is missing",
        ("diff", trace, trace, trace): "is the third",
        ("diff", trace, trace, "--fail-if", "p99(request) > 5"): "at character 1",
        ("diff", trace, trace, "--fail-if", "wall_us > 5%"): "at character 12",
        ("diff", trace, trace, "--fail-if", "p99_us(requst) > 5"): 'named "requst"',
        ("diff", trace, trace, "--output", "x.txt"): "names no report format",
        ("diff", trace, trace, "--scope", "nothing"): "no scope named",
    }.items():
        diff = inferscope(*words)
        assert diff.returncode == 2 and said in diff.stderr, (words, diff.stderr)
        assert diff.stdout == ""
    absent = inferscope("diff", trace, "absent.isc")
    assert absent.returncode == 3 and "absent.isc" in absent.stderr
    kept = Path(inferscope.folder) / "kept.md"
    kept.write_text("mine")
    refused = inferscope("diff", trace, trace, "--output", kept)
    assert refused.returncode == 4 and kept.read_text() == "mine"
    listed = inferscope("diff", "--metrics")
    assert listed.returncode == 0 and "p99_us(scope)" in listed.stdout


def test_another_machine_is_refused(inferscope: Any, record: Callable[[str, float], Path]) -> None:
    """Its processor is part of the trace: one that says another is one of another machine."""
    base = record("base.isc", 1)
    dump = inferscope("dump", base).stdout
    assert 'meta "cpu"' in dump and 'meta "cpus"' in dump
    (cpus,) = (line.split()[-1] for line in dump.splitlines() if line.startswith('meta "cpus"'))
    if cpus == "1" or shutil.which("taskset") is None:
        pytest.skip("there is no way to have one CPU less")
    less = Path(inferscope.folder) / "less.isc"
    subprocess.run(
        ["taskset", "-c", "0", str(inferscope.path), "run", "--no-report", "--trace", str(less), "--", "true"],
        env=inferscope.environment, cwd=inferscope.folder, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    refused = inferscope("diff", base, less)
    assert refused.returncode == 2 and "different machines" in refused.stderr and "--any-machine" in refused.stderr
    forced = inferscope("diff", base, less, "--any-machine")
    assert forced.returncode == 0 and "The machines differ" in forced.stdout
