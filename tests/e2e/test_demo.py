"""The programs of `make demo`: the same output with and without us, and a report that names their parts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timed

ROOT = Path(__file__).resolve().parents[2]
REQUESTS = 20


def both(inferscope: Any, stage: Path, python: str, program: str) -> Any:
    """Runs it bare and traced; the traced run."""
    site = next(stage.glob("lib/python3*/site-packages"))
    env = {**inferscope.environment, "PYTHONPATH": str(site)}
    script = [str(ROOT / "examples" / program), str(REQUESTS), "--fixed"]
    bare = subprocess.run(
        [python, *script], env=env, cwd=inferscope.folder, capture_output=True, text=True, timeout=300, check=False
    )
    run = inferscope("run", "--python", python, *script, env={"PYTHONPATH": str(site)}, timeout=300)
    assert bare.returncode == 0, bare.stderr
    assert (run.returncode, run.stdout, run.theirs) == (bare.returncode, bare.stdout, bare.stderr)
    assert f"{REQUESTS} requests answered" in run.stdout
    return run


def check_report(run: Any, functions: set[str]) -> dict[str, Any]:
    scopes = {scope.name: scope for scope in run.report.scopes}
    requests = scopes["request"]
    assert requests.count == REQUESTS
    assert 0 < requests.p50_us <= requests.p90_us <= requests.p99_us
    assert not functions - {function.name for function in run.report.functions}
    assert run.report.program.python
    assert len(run.ours) <= 12
    assert any(line.startswith(("inferscope: most time in: ", "inferscope: CPU time in: ")) for line in run.ours)
    return scopes


def test_the_transformer_in_numpy(inferscope: Any, stage: Path, numpy_python: str) -> None:
    run = both(inferscope, stage, numpy_python, "transformer_numpy.py")
    named = {"answer", "Encoder.encode", "EncoderLayer.forward", "SelfAttention.forward", "FeedForward.forward", "gelu"}
    if sys.version_info < (3, 11):
        named = {name.rpartition(".")[2] for name in named}
    scopes = check_report(run, named)
    assert scopes["layer"].count == 6 * (REQUESTS + 12)
    assert scopes["forward"].total_us <= scopes["request"].total_us


@pytest.mark.integration
def test_minilm(inferscope: Any, stage: Path, torch_python: str) -> None:
    run = both(inferscope, stage, torch_python, "minilm.py")
    named = {"answer", "Embedder.encode", "BertSelfAttention.forward", "Linear.forward", "Module._call_impl"}
    scopes = check_report(run, named)
    assert scopes["forward"].count == REQUESTS + 1
    assert "Bread dough rises" in run.stdout


def test_the_tutorial_counts_right(inferscope: Any, stage: Path, python: str) -> None:
    """docs/tutorial.md: the same answers with a third of the calls."""
    env = {"PYTHONPATH": str(next(stage.glob("lib/python3*/site-packages")))}
    calls, said = {}, {}
    for which in ("slow", "fast"):
        script = str(ROOT / "examples" / f"search_{which}.py")
        run = inferscope("run", "--budget", "off", "--python", python, script, env=env)
        assert run.returncode == 0, run.stderr
        calls[which] = next(f.calls for f in run.report.functions if f.name == "dot")
        said[which] = run.stdout
    assert said["slow"] == said["fast"] == "60 of 60 found their passage\n"
    assert calls == {"slow": 90_000, "fast": 30_560}


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    """tools/demo.py over the build folder under test."""
    build = Path(os.environ.get("INFERSCOPE_BUILD", ROOT / "build")).resolve()
    command = [sys.executable, str(ROOT / "tools" / "demo.py"), str(build.relative_to(ROOT)), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_the_demo_shows_the_report_and_leaves_it(stage: Path, numpy_python: str) -> None:
    done = demo("numpy")
    assert done.returncode == 0, done.stderr
    assert "64 requests answered, 64 found their row" in done.stdout
    assert "## Scopes" in done.stdout and "`SelfAttention.forward`" in done.stdout
    report = stage.parents[2] / "demo" / "report.md"
    assert report.read_text() in done.stdout
    assert report.with_suffix(".json").stat().st_size > 0
    assert "<html" in report.with_suffix(".html").read_text()


def test_a_model_that_is_not_there_is_named(stage: Path) -> None:
    done = demo("gpt")
    assert done.returncode == 2
    assert "minilm|numpy" in done.stderr
