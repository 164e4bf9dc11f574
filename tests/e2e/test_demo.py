"""The programs of `make demo`: the same output with and without us, and a report that names their parts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
REQUESTS = 20


def both(inferscope: Any, stage: Path, python: str, program: str) -> Any:
    """Runs it bare and traced; the traced run."""
    site = next(stage.glob("lib/python3*/site-packages"))
    # Their thread pools would show in the figures of a busy machine; where the package lies is the user's matter.
    env = {**inferscope.environment, "PYTHONPATH": str(site)}
    script = [str(ROOT / "examples" / program), str(REQUESTS)]
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
    assert any(line.startswith("inferscope: most time in: ") for line in run.ours)
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


def demo(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """tools/demo.py, with environments where the variable says."""
    import os

    build = Path(os.environ.get("INFERSCOPE_BUILD", ROOT / "build")).resolve()
    command = [sys.executable, str(ROOT / "tools" / "demo.py"), str(build.relative_to(ROOT)), *arguments]
    return subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, timeout=300, check=False)


def test_the_demo_shows_the_report_and_leaves_it(stage: Path, numpy_python: str) -> None:
    done = demo("numpy")
    assert done.returncode == 0, done.stderr
    assert "64 requests answered, 64 found their row" in done.stdout
    assert "## Scopes" in done.stdout and "`SelfAttention.forward`" in done.stdout
    report = stage.parents[2] / "demo" / "report.md"
    assert report.read_text() in done.stdout
    assert report.with_suffix(".json").stat().st_size > 0


def test_a_model_that_is_not_there_is_named(stage: Path) -> None:
    done = demo("gpt")
    assert done.returncode == 2
    assert "minilm|numpy" in done.stderr
