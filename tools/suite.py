"""Run the tests of a build folder and close with one line that counts them all.

suite.py FOLDER [--unit] [--suite NAME] [--long] [--pythons 3.11,3.13] [PYTEST ARGUMENT...]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pythons

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent


def tally(file: Path) -> tuple[int, int, int]:
    """Passed, failed and skipped of a JUnit file; none written is one failure."""
    if not file.exists():
        return 0, 1, 0
    cases = list(ElementTree.parse(file).getroot().iter("testcase"))
    failed = sum(1 for case in cases if case.find("failure") is not None or case.find("error") is not None)
    skipped = sum(1 for case in cases if case.find("skipped") is not None)
    return len(cases) - failed - skipped, failed, skipped


def unit(folder: Path, environment: dict[str, str], suite: str | None) -> tuple[int, Path]:
    command = [str(TOOLS / "meson"), "test", "-C", str(folder), "--no-rebuild", "--print-errorlogs"]
    file = folder / "meson-logs" / "testlog.junit.xml"
    file.unlink(missing_ok=True)
    done = subprocess.run([*command, *(["--suite", suite] if suite else [])], cwd=ROOT, env=environment, check=False)
    return done.returncode, file


def whole(folder: Path, environment: dict[str, str], arguments: list[str]) -> tuple[int, Path]:
    file = folder / "pytest.junit.xml"
    file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={file}", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    return 0 if done.returncode == 5 else done.returncode, file  # 5: nothing was selected


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("folder")
    parser.add_argument("--unit", action="store_true", help="the C tests alone")
    parser.add_argument("--no-unit", action="store_true", help="the Python tests alone")
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
        parts.append(unit(folder, environment, asked.suite))
    if not asked.unit:
        parts.append(whole(folder, environment, arguments))
    sums = [sum(column) for column in zip(*(tally(file) for _, file in parts))]
    broken = any(code for code, _ in parts)
    if broken and not sums[1]:
        sums[1] = 1  # a part that ended before it could name what failed
    print(f"total: {sums[0]} passed, {sums[1]} failed, {sums[2]} skipped")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
