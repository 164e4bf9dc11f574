"""CPython's own test modules give the same results, test by test, when calls are traced (H1): docs/compatibility.md."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

# Limits of a sanitizer are not those of an interpreter that tests itself.
pytestmark = pytest.mark.plain

SHORT = [
    "test_generators",
    "test_coroutines",
    "test_sys_setprofile",
    "test_sys_settrace",
    "test_monitoring",
    "test_code",
]
MEDIUM = ["test_asyncgen", "test_exceptions", "test_threading", "test_signal", "test_subprocess", "test_sys",
          "test_cprofile", "test_fork1", "test_atexit", "test_gc", "test_weakref"]  # fmt: skip
SLOW = ["test_asyncio", "test_concurrent_futures", "test_multiprocessing_fork", "test_multiprocessing_spawn"]
MODES = {"default": [], "all": ["--all-frames", "--budget", "off"]}
# Every hook, frame and sample there is, as often as can be.
MORE = MODES | {
    "everything": [
        *MODES["all"], "--c-calls", "--native=on", "--rate=1000", "--memory-sample-kb=1", "--syscall-args",
        "--follow=all",
    ]
}  # fmt: skip
# What a module finds out, as docs/compatibility.md tells: it runs without that.
FOUND_OUT = {"test_cprofile": "--c-calls", "test_subprocess": "--rate=1000"}
LIMIT = 1200.0

# Of a Python and a module: what it said without us.
BARE: dict[tuple[str, str], tuple[int, dict[str, str]]] = {}

# Some versions are installed without the folders of these tests, but with the file that makes them.
MULTIPROCESSING = """
from test._test_multiprocessing import install_tests_in_module_dict
install_tests_in_module_dict(globals(), "{method}")
"""


def has(python: str, environment: dict[str, str], module: str) -> bool:
    ask = f"import importlib.util as u, sys; sys.exit(not u.find_spec('test') or not u.find_spec('test.{module}'))"
    return subprocess.run([python, "-c", ask], env=environment, check=False).returncode == 0


def words_for(python: str, environment: dict[str, str], module: str, folder: Path) -> list[str]:
    """What runs that module's tests, or skips where there are none."""
    if module == "test_monitoring":
        script = Path(__file__).resolve().parents[2] / "targets" / "cpython_tests.py"
        start = [str(script)]
    else:
        start = ["-m", "test"]
    if has(python, environment, module):
        return [*start, "-v", module]
    if module.startswith("test_multiprocessing") and has(python, environment, "_test_multiprocessing"):
        made = folder / "made"
        made.mkdir(exist_ok=True)
        method = module.rpartition("_")[2]
        (made / f"test_with_{method}.py").write_text(MULTIPROCESSING.format(method=method))
        return [*start, "-v", "--testdir", str(made), f"test_with_{method}"]
    pytest.skip(f"{python} comes without {module}")


def results(file: Path) -> dict[str, str]:
    """Of each test: passed, failed, or skipped with its reason."""
    found: dict[str, str] = {}
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        name = str(case.get("name"))
        skipped = case.find("skipped")
        failed = case.find("failure") is not None or case.find("error") is not None
        said = "failed" if failed else "passed" if skipped is None else f"skipped {skipped.text}"
        while name in found:
            name += " again"
        found[name] = said
    return found


def outcome_of(command: list[str], inferscope: Any, file: Path) -> tuple[int, dict[str, str], str]:
    """Exit code, results and output; nothing that it started is left behind if it hangs."""
    file.unlink(missing_ok=True)
    with subprocess.Popen(
        [*command, "--junit-xml", str(file)], env=inferscope.environment, cwd=inferscope.folder, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
        start_new_session=True,
    ) as running:  # fmt: skip
        try:
            said, _ = running.communicate(timeout=LIMIT)
        except BaseException:
            os.killpg(running.pid, signal.SIGKILL)
            raise
    assert file.exists(), f"{running.returncode}, and no results: {said[-3000:]}"
    return running.returncode, results(file), said


def compare(inferscope: Any, python: str, module: str, options: list[str]) -> None:
    words = words_for(python, inferscope.environment, module, inferscope.folder)
    options = [option for option in options if option != FOUND_OUT.get(module)]
    traced = inferscope.arguments(("run", "--quiet", "--force", "--no-report", *options, "--python", python))
    before, after = inferscope.folder / "bare.xml", inferscope.folder / "traced.xml"
    if (python, module) not in BARE:
        BARE[python, module] = outcome_of([python, *words], inferscope, before)[:2]
    code, expected = BARE[python, module]
    ours, found, said = outcome_of([*traced, *words], inferscope, after)
    assert expected, "there are tests"
    differs = {name for name in {*expected, *found} if expected.get(name) != found.get(name)}
    if differs:
        # On a loaded machine one that measures time may fail, with us or without: it counts when it does again.
        _, expected, _ = outcome_of([python, *words], inferscope, before)
        ours, found, said = outcome_of([*traced, *words], inferscope, after)
        assert not {name: found.get(name) for name in differs if expected.get(name) != found.get(name)}, said[-5000:]
    elif code != ours:
        raise AssertionError(f"the tests are the same, but the exit is {ours} and not {code}: {said[-3000:]}")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("module", SHORT)
def test_h1_short_test_modules_of_cpython_give_the_same(
    inferscope: Any, python: str, module: str, mode: str, was_traced: Callable[[], bool]
) -> None:
    """H1."""
    compare(inferscope, python, module, MODES[mode])
    assert was_traced()


@pytest.mark.integration
@pytest.mark.parametrize("mode", MORE)
@pytest.mark.parametrize("module", MEDIUM)
def test_h1_test_modules_of_cpython_give_the_same(
    inferscope: Any, python: str, module: str, mode: str, was_traced: Callable[[], bool]
) -> None:
    """H1."""
    compare(inferscope, python, module, MORE[mode])
    assert was_traced()


@pytest.mark.long
@pytest.mark.integration
@pytest.mark.parametrize("mode", MORE)
@pytest.mark.parametrize("module", SLOW)
def test_h1_slow_test_modules_of_cpython_give_the_same(
    inferscope: Any, python: str, module: str, mode: str, was_traced: Callable[[], bool]
) -> None:
    """H1."""
    compare(inferscope, python, module, MORE[mode])
    assert was_traced()
