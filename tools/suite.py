"""Run the tests of a build folder and close with the names of what failed and one line that counts them all.

suite.py FOLDER [--unit] [--quick] [--suite NAME] [--long] [--pythons 3.11,3.13] [PYTEST ARGUMENT...]

A failed test runs a second time, alone, when everything else is done: a busy machine can make a test late that nothing
is wrong with.  One that then passes is named, and fails the run only under a sanitizer or as one of many.  Tests
that are marked `timed` had two more tries before that (tests/e2e/conftest.py).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pythons

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent
LENIENT_MAX = 3  # so many may pass only alone: with more, it is not the machine
LONG_SUITES = ("fuzz", "torture")  # of the C tests: two thirds of their time
AGAIN_MAX = 12  # with more failures than this the tree is broken, and a second run of each tells nothing new


@dataclass
class Failure:
    name: str
    alone: Callable[[], bool]  # whether it passes when it runs by itself
    claims: list[str] = field(default_factory=list)  # of a C test: which of its cases

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.claims)})" if self.claims else self.name


@dataclass
class Part:
    """What one runner of tests did."""

    counts: tuple[int, int, int]  # passed, failed, skipped
    failures: list[Failure] = field(default_factory=list)
    broken: str | None = None  # it ended in a way that names no test


def cases(file: Path) -> list[ElementTree.Element]:
    return list(ElementTree.parse(file).getroot().iter("testcase")) if file.exists() else []


def failed(case: ElementTree.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


def tally(file: Path) -> tuple[int, int, int]:
    """Passed, failed and skipped of a JUnit file; none written is one failure."""
    if not file.exists():
        return 0, 1, 0
    all_cases = cases(file)
    bad = sum(map(failed, all_cases))
    skipped = sum(1 for case in all_cases if case.find("skipped") is not None)
    return len(all_cases) - bad - skipped, bad, skipped


def clean(code: int, file: Path) -> bool:
    """A second run counts when it ran something and all of that passed; a skip proves nothing."""
    passed, bad, _ = tally(file)
    return code == 0 and passed > 0 and bad == 0


def sanitized(folder: Path) -> bool:
    options = folder / "meson-info" / "intro-buildoptions.json"
    if not options.exists():
        return False
    return any(o["name"] == "b_sanitize" and o["value"] not in ("none", []) for o in json.loads(options.read_text()))


def unit(folder: Path, environment: dict[str, str], chosen: Sequence[str] = ()) -> Part:
    """The C tests; chosen: options of meson test that name suites."""
    command = [str(TOOLS / "meson"), "test", "-C", str(folder), "--no-rebuild", "--print-errorlogs"]
    logs = folder / "meson-logs"

    def run(log: str, *more: str) -> tuple[int, Path]:
        file = logs / f"{log}.junit.xml"
        file.unlink(missing_ok=True)
        (logs / f"{log}.json").unlink(missing_ok=True)
        done = subprocess.run([*command, "--logbase", log, *more], cwd=ROOT, env=environment, check=False)
        return done.returncode, file

    def alone(name: str) -> Callable[[], bool]:
        return lambda: clean(*run("alone", "--num-processes", "1", name))

    code, file = run("testlog", *chosen)
    claims: dict[str, list[str]] = {}
    for case in filter(failed, cases(file)):
        # "inferscope.torture - inferscope:torture_D1_rate" and "3 - what_it_claims"
        name = case.get("classname", "").split(".", 1)[-1]
        claims.setdefault(name, []).append(case.get("name", "").split(" - ", 1)[-1])
    log = logs / "testlog.json"
    entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    failures = []
    for name in (entry["name"] for entry in entries if entry["is_fail"]):
        test = name.split(" - ", 1)[-1]
        failures.append(Failure(test, alone(test), claims.get(name, [])))
    broken = f"meson test ended with {code} and names no test" if code and (not failures or code < 0) else None
    return Part(tally(file), failures, broken)


def whole(folder: Path, environment: dict[str, str], arguments: list[str], root: Path = ROOT) -> Part:
    cache = folder / "pytest-cache"
    last = cache / "v" / "cache" / "lastfailed"
    last.unlink(missing_ok=True)

    def run(log: str, *more: str) -> tuple[int, Path]:
        file = folder / f"{log}.junit.xml"
        file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-o", f"cache_dir={cache}", f"--junitxml={file}", *more]
        return subprocess.run(command, cwd=root, env=environment, check=False).returncode, file

    def alone(name: str) -> Callable[[], bool]:
        return lambda: clean(*run("pytest-alone", name))

    code, file = run("pytest", *arguments)
    names = sorted(json.loads(last.read_text())) if last.exists() else []
    failures = [Failure(name, alone(name)) for name in names]
    # 0: passed; 1: some failed; 5: nothing was selected
    broken = (
        f"pytest ended with {code} before it was through"
        if code not in (0, 1, 5) or (code == 1 and not names)
        else None
    )
    return Part(tally(file), failures, broken)


def again(failures: list[Failure]) -> tuple[list[Failure], list[Failure]]:
    """Those that fail still, and those that pass alone."""
    if len(failures) > AGAIN_MAX:
        print(f"{len(failures)} tests failed, too many to run each again", flush=True)
        return failures, []
    kept: list[Failure] = []
    lenient: list[Failure] = []
    for failure in failures:
        print(f"\nrunning {failure.name} again, alone", flush=True)
        (lenient if failure.alone() else kept).append(failure)
    return kept, lenient


def conclude(parts: list[Part], strict: bool) -> int:
    """Prints what there is to say of the parts, and returns the status of the run."""
    kept, lenient = again([failure for part in parts for failure in part.failures])
    broken = [part.broken for part in parts if part.broken]
    passed, bad, skipped = (sum(column) for column in zip(*(part.counts for part in parts)))
    pardoned = not strict and len(lenient) <= LENIENT_MAX
    if pardoned:
        moved = min(bad, sum(len(failure.claims) or 1 for failure in lenient))
        passed, bad = passed + moved, bad - moved
    # A program that crashed has not told of the claim that failed.
    bad = max(bad, len(kept) + len(broken) + (0 if pardoned else len(lenient)))

    print()
    for failure in kept:
        print(f"failed: {failure}")
    for words in broken:
        print(f"failed: {words}")
    for failure in lenient:
        print(f"passed only when run alone: {failure}")
    if lenient and strict:
        print("failed: in a build with a sanitizer a test has to pass at the first go")
    elif lenient and not pardoned:
        print(f"failed: {len(lenient)} tests passed only when run alone; {LENIENT_MAX} are let through")
    print(f"total: {passed} passed, {bad} failed, {skipped} skipped", flush=True)
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("folder")
    parser.add_argument("--unit", action="store_true", help="the C tests alone")
    parser.add_argument("--no-unit", action="store_true", help="the Python tests alone")
    parser.add_argument("--quick", action="store_true", help="of the C tests those that take no minutes")
    parser.add_argument("--suite", help="only this suite of the C tests")
    parser.add_argument("--long", action="store_true", help="long counts")
    parser.add_argument("--pythons", default="3.11,3.13", help="versions to test, where they are found")
    asked, arguments = parser.parse_known_args()

    folder = ROOT / asked.folder
    found = pythons.find(tuple(asked.pythons.split(",")))
    environment = dict(
        os.environ,
        PATH=f"{TOOLS}{os.pathsep}{os.environ['PATH']}",
        INFERSCOPE_BUILD=str(folder),
        INFERSCOPE_PYTHONS=os.pathsep.join(map(str, found.values())),
    )
    if asked.long:
        environment["INFERSCOPE_LONG"] = "1"
    # Under nohup or as a background job these come to us ignored, and so they would to every program under test.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    print(f"testing {asked.folder} with Python {', '.join(found) or 'none'}", flush=True)

    parts = []
    if not asked.no_unit:
        suites = ["--suite", asked.suite] if asked.suite else []
        for suite in LONG_SUITES if asked.quick else ():
            suites += ["--no-suite", suite]
        parts.append(unit(folder, environment, suites))
    if not asked.unit:
        parts.append(whole(folder, environment, arguments))
    return conclude(parts, sanitized(folder))


if __name__ == "__main__":
    sys.exit(main())
