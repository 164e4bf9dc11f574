"""numpy's own tests give the same results, test by test, when its calls are traced (H1)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.plain]
ROOT = Path(__file__).resolve().parents[3]
NEEDED = ["numpy", "pytest", "hypothesis"]

# Those that compile programs measure how long that takes.
LEFT_OUT = "not slow"


def numpy_python(python: str) -> str:
    """That Python with numpy and what its tests need, in an environment that later runs find again."""
    folder = ROOT / f".venv-numpy-{Path(python).name}"
    found = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(found), "-m", "pip", "install", "--quiet", *NEEDED], check=True, timeout=900)
        (folder / "complete").touch()
    return str(found)


def results(file: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        said = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[f"{case.get('classname')}::{case.get('name')}"] = ", ".join(said) or "passed"
    return found


def outcome_of(inferscope: Any, start: list[str], name: str, more: list[str]) -> dict[str, str]:
    file = inferscope.folder / name
    words = ["-m", "pytest", "-q", "-m", LEFT_OUT, "-p", "no:cacheprovider", f"--junitxml={file}", *more]
    done = subprocess.run(
        [*start, *words],
        env=inferscope.environment,
        cwd=inferscope.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=3600,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-1000:]
    return results(file)


PARTS = {
    "linalg": ["numpy.linalg"],
    "lib": ["numpy.lib"],
    "random": ["numpy.random"],
    "core": ["numpy._core"],
    "rest": ["numpy.ma", "numpy.fft", "numpy.polynomial", "numpy.matrixlib"],
}
SHORT = ("linalg", "rest")
MODES = {"default": [], "all": ["--all-frames", "--budget", "off"]}

# Of a Python and a part: what it said without us.
BARE: dict[tuple[str, str], dict[str, str]] = {}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "part", [name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in PARTS]
)
def test_h1_the_tests_of_numpy_give_the_same(
    inferscope: Any, python: str, part: str, mode: str, was_traced: Callable[[], bool]
) -> None:
    """H1: thousands of tests of an extension module that calls Python and is called by it."""
    if Path(python).name in ("python3.9", "python3.10"):
        pytest.skip("the numpy of these Pythons is no longer tested")
    interpreter = numpy_python(python)
    more = ["--pyargs", *PARTS[part]]
    options = ("run", "--quiet", "--force", "--no-report", *MODES[mode], "--python", interpreter)
    if (python, part) not in BARE:
        BARE[python, part] = outcome_of(inferscope, [interpreter], "bare.xml", more)
    expected = BARE[python, part]
    found = outcome_of(inferscope, inferscope.arguments(options), "traced.xml", more)
    assert len(expected) > 200
    assert {name: said for name, said in found.items() if expected.get(name) != said} == {}
    assert len(found) == len(expected)
    assert was_traced()
