"""The runner of the tests names what failed, and lets a test through that fails only in company, within bounds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools")]

import suite  # noqa: E402


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().out.splitlines() if line and not line.startswith("running ")]


def flaky(*names: str) -> list[suite.Failure]:
    return [suite.Failure(name, lambda: True) for name in names]


def real(*names: str) -> list[suite.Failure]:
    return [suite.Failure(name, lambda: False) for name in names]


def test_names_of_failures_come_just_before_the_total(capsys: pytest.CaptureFixture[str]) -> None:
    unit = suite.Part((9, 2, 0), [suite.Failure("inferscope:ring", lambda: False, ["it_wraps", "it_grows"])])
    whole = suite.Part((5, 1, 1), real("tests/e2e/test_x.py::test_y[a b]"))
    assert suite.conclude([unit, whole], strict=False) == 1
    assert lines(capsys) == [
        "failed: inferscope:ring (it_wraps, it_grows)",
        "failed: tests/e2e/test_x.py::test_y[a b]",
        "total: 14 passed, 3 failed, 1 skipped",
    ]


def test_what_passes_alone_is_named_and_lets_the_run_pass(capsys: pytest.CaptureFixture[str]) -> None:
    part = suite.Part((7, 3, 0), flaky("a", "b", "c"))
    assert suite.conclude([part], strict=False) == 0
    assert lines(capsys) == [
        *(f"passed only when run alone: {n}" for n in "abc"),
        "total: 10 passed, 0 failed, 0 skipped",
    ]


def test_more_than_three_that_pass_alone_fail_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.conclude([suite.Part((6, 4, 0), flaky(*"abcd"))], strict=False) == 1
    assert lines(capsys)[-2:] == [
        "failed: 4 tests passed only when run alone; 3 are let through",
        "total: 6 passed, 4 failed, 0 skipped",
    ]


def test_a_sanitizer_lets_nothing_through(capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.conclude([suite.Part((9, 1, 0), flaky("a"))], strict=True) == 1
    assert lines(capsys)[-1] == "total: 9 passed, 1 failed, 0 skipped"


def test_one_that_passes_alone_does_not_cover_for_one_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.conclude([suite.Part((8, 2, 0), flaky("a") + real("b"))], strict=False) == 1
    assert lines(capsys) == ["failed: b", "passed only when run alone: a", "total: 9 passed, 1 failed, 0 skipped"]


def test_a_crash_that_no_claim_tells_of_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.conclude([suite.Part((4, 0, 0), real("inferscope:ring"))], strict=False) == 1
    assert lines(capsys)[-1] == "total: 4 passed, 1 failed, 0 skipped"


def test_a_runner_that_names_nothing_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.conclude([suite.Part((4, 0, 0), [], "pytest ended with 3")], strict=False) == 1
    assert lines(capsys) == ["failed: pytest ended with 3", "total: 4 passed, 1 failed, 0 skipped"]


def test_a_broken_tree_is_not_run_twice(capsys: pytest.CaptureFixture[str]) -> None:
    def alone() -> bool:
        raise AssertionError("ran again")

    failures = [suite.Failure(f"t{n}", alone) for n in range(suite.AGAIN_MAX + 1)]
    assert suite.conclude([suite.Part((0, len(failures), 0), failures)], strict=False) == 1
    assert lines(capsys)[0] == "13 tests failed, too many to run each again"


# What follows starts pytest and Meson themselves, over tests that are written for it.
PYTEST = """
from pathlib import Path

import pytest


def ran_before(name):
    seen = Path(__file__).with_name(name)
    before = seen.exists()
    seen.touch()
    return before


@pytest.mark.parametrize("word", ["a b"])
def test_second_time(word):
    assert ran_before("second")


def test_never():
    assert False


def test_skipped_the_second_time():
    assert ran_before("skip")
    pytest.skip("proves nothing")


def test_fine():
    pass
"""


def test_failed_python_tests_run_again_by_name(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(PYTEST)
    part = suite.whole(tmp_path, dict(os.environ), ["test_it.py"], tmp_path)
    assert part.counts == (1, 3, 0)
    assert part.broken is None
    kept, lenient = suite.again(part.failures)
    assert [str(f) for f in lenient] == ["test_it.py::test_second_time[a b]"]
    assert [str(f) for f in kept] == ["test_it.py::test_never", "test_it.py::test_skipped_the_second_time"]


def test_a_wrong_argument_of_pytest_is_said(tmp_path: Path) -> None:
    part = suite.whole(tmp_path, dict(os.environ), ["--no-such-option"], tmp_path)
    assert part.broken == "pytest ended with 4 before it was through"


TAP = """#!/bin/sh
case $1 in
second) [ -e "$2/seen" ] && a= || a="not "; touch "$2/seen" ;;
never) a="not " ;;
crash) echo 1..2; echo ok 1 - one; kill -SEGV $$ ;;
fine) a= ;;
esac
printf '1..2\\nok 1 - it_starts\\n%sok 2 - it_ends\\n' "$a"
[ -z "$a" ]
"""
MESON = """project('tiny')
tap = find_program('tap.sh')
foreach name : ['second', 'never', 'crash', 'fine']
  test(name, tap, args: [name, meson.current_build_dir()], protocol: 'tap', suite: 'some')
endforeach
"""


def test_failed_c_tests_run_again_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "build"
    (tmp_path / "meson.build").write_text(MESON)
    (tmp_path / "tap.sh").write_text(TAP)
    (tmp_path / "tap.sh").chmod(0o755)
    environment = dict(os.environ, PATH=f"{suite.TOOLS}{os.pathsep}{os.environ['PATH']}")
    subprocess.run(
        ["meson", "setup", str(folder), str(tmp_path)], env=environment, stdout=subprocess.DEVNULL, check=True
    )
    part = suite.unit(folder, environment)
    assert part.broken is None
    kept, lenient = suite.again(part.failures)
    assert sorted(map(str, lenient)) == ["tiny:second (it_ends)"]
    assert sorted(f.name for f in kept) == ["tiny:crash", "tiny:never"]


def test_a_sanitizer_is_known_by_the_options_of_the_build(tmp_path: Path) -> None:
    assert not suite.sanitized(tmp_path)
    info = tmp_path / "meson-info"
    info.mkdir()
    for value, strict in (("none", False), ([], False), ("thread", True), (["address", "undefined"], True)):
        (info / "intro-buildoptions.json").write_text(json.dumps([{"name": "b_sanitize", "value": value}]))
        assert suite.sanitized(tmp_path) is strict
