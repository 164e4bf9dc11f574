"""The sitecustomize that carries us into a Python without the package: it hides nothing and bothers nobody."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
OLD = [path for version in ("2.7", "3.6", "3.7", "3.8") for path in sorted(PYENV.glob(f"{version}.*/bin/python"))[-1:]]


def run(python: str | Path, code: str, stage: Path, *more: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    (inject,) = stage.glob("lib/python*/site-packages/inferscope/_inject")
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(map(str, [inject, *more])),
        "INFERSCOPE_SESSION": "/nonexistent/session",
        "PYTHONDONTWRITEBYTECODE": "1",
        **variables,
    }
    command = [str(python), "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)


def test_the_process_is_joined_and_nothing_becomes_importable(python: str, stage: Path) -> None:
    (site,) = stage.glob("lib/python*/site-packages")
    (site / "beside_us.py").write_text("")
    code = "import os, sys\nmaps = open('/proc/self/maps').read()\n"
    code += "print(sys._inferscope_boot == os.getpid(), '_core.cpython' in maps)\n"
    code += "print([m for m in sys.modules if 'inferscope' in m], 'stage' in str(sys.path))\n"
    code += "for name in 'inferscope', 'beside_us':\n  try: __import__(name)\n  except ImportError: print('no', name)"
    said = run(python, code, stage)
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.splitlines() == ["True True", "[] False", "no inferscope", "no beside_us"]


def test_without_a_session_nothing_is_loaded(python: str, stage: Path) -> None:
    code = "import sys; print('inferscope' in sys.modules, hasattr(sys, '_inferscope_boot'))"
    assert run(python, code, stage, INFERSCOPE_SESSION="").stdout == "False False\n"


def test_the_sitecustomize_behind_ours_runs(python: str, stage: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('theirs', __name__)\nvalue = 7\n")
    said = run(python, "import sitecustomize as s; print(s.value, s.__file__)", stage, tmp_path)
    assert said.stdout == f"theirs sitecustomize\n7 {tmp_path / 'sitecustomize.py'}\n"
    assert said.stderr == ""


def test_what_the_one_behind_ours_raises_is_shown_as_ever(python: str, stage: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise ValueError('theirs')\n")
    said = run(python, "print('ok')", stage, tmp_path)
    assert (said.returncode, said.stdout) == (0, "ok\n")
    assert "ValueError: theirs" in said.stderr


@pytest.mark.skipif(not OLD, reason="no old Python here")
@pytest.mark.parametrize("old", OLD, ids=lambda path: path.parents[1].name)
def test_an_old_python_does_not_notice(old: Path, stage: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('theirs')\n")
    said = run(old, "print('ok')", stage, tmp_path)
    assert (said.returncode, said.stdout, said.stderr) == (0, "theirs\nok\n", "")
    said = run(old, "print('ok')", stage)
    assert (said.returncode, said.stdout, said.stderr) == (0, "ok\n", "")
