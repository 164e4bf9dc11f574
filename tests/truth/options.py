"""Does the report say the same of a program whatever the options are?  Ten programs under eight sets of options.

options.py COMMAND [--python PATH] [--field FOLDER] [--runs N] [--keep FOLDER] [NAME...]

The programs are eight with a planted fault, from a folder that is not part of the project (--field; its default lies
beside the project), and two of examples/.  Each runs under the default options, under others, and beside a second
busy program.  Prints a row for each and what differs; exits with 1 if anything does, with 2 if nothing can run here.

Shares are of the judged time in which the thread had a CPU or wanted none: what it waited for one is the machine's
doing, not the program's or the option's.  It is the last of the four columns; above 20% a share that differs is called
unclear, for the machine was too busy.  Of several runs the median counts, and each run's verdict.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.truth import truth
else:
    import truth

ROOT = Path(__file__).resolve().parents[2]
FIELD = ROOT.parent / "shared" / "data" / "field"
EXAMPLES = ("minilm", "threaded_server")
POINTS = 5.0  # by which a share may differ from the one under the default options
BUSY = 20.0  # percent of the judged time without a CPU, above which a share that differs says little
UNCLEAR = "unclear, the machine was busy: "
TIMEOUT_S = 300.0
DEFAULT, NATIVE_OFF, BESIDE = "default", "native off", "beside a busy program"
OPTIONS: dict[str, list[str]] = {
    DEFAULT: [],
    "budget off": ["--budget", "off"],
    "rate 1000": ["--rate", "1000"],
    "no python": ["--no-python"],
    NATIVE_OFF: ["--native", "off"],
    "native leaf": ["--native", "leaf"],
    "no memory": ["--no-memory"],
    BESIDE: [],
}
#: Under these a verdict is never withheld; beside another program it may always be, elsewhere in one set of options.
NEVER_WITHHELD = (DEFAULT, "budget off", "rate 1000", "no memory")
SPIN = "while True: pass"


@dataclass(frozen=True)
class Said:
    """What one report says."""

    python: float | None
    native: float | None
    on_cpu: float | None  # their sum, where they cannot be told apart
    cause: str | None
    place: str | None
    withheld: str | None
    waited: float = 0.0  # percent of the judged time, for a CPU

    @property
    def both(self) -> float | None:
        if self.on_cpu is not None:
            return self.on_cpu
        return None if self.python is None or self.native is None else self.python + self.native


def read(report: dict[str, Any]) -> Said:
    breakdown, verdict = report["breakdown"], report["verdict"]
    waited = (breakdown["run_queue"] or 0.0) + (breakdown["throttled"] or 0.0)
    had = 100.0 - waited

    def share(name: str) -> float | None:
        value = breakdown.get(name)
        return None if value is None or had <= 0 else float(value) / had * 100

    rows = [row for row in report["suggestions"] if row["rule"] == verdict["cause"]]
    place = str(rows[0]["where"]).partition(" (")[0] if rows and rows[0]["where"] else None
    return Said(share("python"), share("native"), share("on_cpu"), verdict["cause"], place, verdict["withheld"], waited)


@dataclass
class Set:
    """One set of options, over its runs."""

    name: str
    runs: list[Said] = field(default_factory=list)

    def middle(self, name: str) -> float | None:
        values = [getattr(run, name) for run in self.runs]
        return None if not values or None in values else statistics.median(values)


def far(here: float | None, there: float | None) -> bool:
    return here is None or there is None or abs(here - there) > POINTS


def differences(program: str, default: Set, other: Set) -> list[str]:
    """What differs from the default besides the verdict being withheld."""
    wrong = []
    if other.name == NATIVE_OFF:
        if other.middle("python") is not None or other.middle("native") is not None:
            wrong.append(f"{program}, {other.name}: python and native are told apart, and cannot be")
        names = ["both"]
    else:
        names = ["python", "native"]
    for name in names:
        here, there = other.middle(name), default.middle(name)
        if far(here, there):
            doubt = "" if not busy_machine(default, other) else UNCLEAR
            wrong.append(f"{doubt}{program}, {other.name}: {name} is {text(here)}, by default {text(there)}")
    expected = usual(default)
    for said in other.runs:
        if said.withheld is None and (said.cause, said.place) != (expected.cause, expected.place):
            wrong.append(
                f"{program}, {other.name}: {said.cause} in {said.place}, "
                f"by default {expected.cause} in {expected.place}"
            )
    return wrong


def busy_machine(*sets: Set) -> bool:
    """Others had the CPU for long: what was open meanwhile, such as a collection, lasted longer than it ran."""
    return any((one.middle("waited") or 0.0) > BUSY for one in sets if one.name != BESIDE)


def usual(default: Set) -> Said:
    """The run whose verdict most of the others share."""
    return max(default.runs, key=lambda run: sum((o.cause, o.place) == (run.cause, run.place) for o in default.runs))


def withheld(program: str, sets: list[Set]) -> list[str]:
    """Where a verdict is withheld and must not be."""
    wrong, once = [], []
    for other in sets:
        why = next((said.withheld for said in other.runs if said.withheld is not None), None)
        if why is None or other.name == BESIDE:
            continue
        if other.name in NEVER_WITHHELD:
            wrong.append(f"{program}, {other.name}: withheld: {why}")
        else:
            once.append(other.name)
    if len(once) > 1:
        wrong.append(f"{program}: withheld under more than one set of options: {', '.join(once)}")
    return wrong


def judge(program: str, sets: list[Set]) -> list[str]:
    default = next(s for s in sets if s.name == DEFAULT)
    wrong = withheld(program, sets)
    for other in sets:
        wrong += differences(program, default, other)
    return wrong


def text(value: float | None) -> str:
    return "null" if value is None else f"{value:.1f}%"


def row(program: str, here: Set) -> str:
    verdicts = sorted({"withheld" if s.withheld else f"{s.cause} in {s.place}" for s in here.runs})
    shares = "".join(f"{text(here.middle(name)):>8}" for name in ("python", "native", "both", "waited"))
    return f"{program:24} {here.name:22}{shares}  {'; '.join(verdicts)}"


@contextlib.contextmanager
def busy(wanted: bool) -> Iterator[None]:
    """A second program that uses a CPU all the time."""
    if not wanted:
        yield
        return
    spinning = subprocess.Popen([sys.executable, "-c", SPIN])
    try:
        yield
    finally:
        spinning.kill()
        spinning.wait()


def run(command: Path, python: str, program: Path, name: str, folder: Path) -> Said:
    report = folder / f"{program.stem}-{name.replace(' ', '-')}.json"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("INFERSCOPE_", "LD_", "PYTHON"))}
    kept.update(PYTHONPATH=str(truth.package_of(command)), PYTHONDONTWRITEBYTECODE="1")
    files = ["--quiet", "--report", str(report), "--trace", str(report.with_suffix(".isc")), "--force"]
    with busy(name == BESIDE):
        done = subprocess.run(
            [str(command), "run", "--python", python, *files, *OPTIONS[name], str(program)],
            capture_output=True, text=True, env=kept, cwd=folder, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{program.name} under {name}: {done.stderr[-800:]}")
    return read(json.loads(report.read_text()))


def programs(field_folder: Path, names: list[str]) -> list[Path]:
    found = sorted(field_folder.glob("p*.py")) + [ROOT / "examples" / f"{name}.py" for name in EXAMPLES]
    return [path for path in found if not names or path.stem in names or path.stem.split("_")[0] in names]


def lacking(python: str) -> str | None:
    asks = "import importlib.util as u; print(*[m for m in ('torch', 'transformers', 'fastapi') if not u.find_spec(m)])"
    said = subprocess.run([python, "-c", asks], capture_output=True, text=True, check=False)
    if said.returncode:
        return f"{python} does not run"
    missing = said.stdout.split()
    return f"{python} has no {', '.join(missing)}" if missing else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=Path)
    parser.add_argument("--python", default=sys.executable, help="that has torch, transformers and fastapi")
    parser.add_argument("--field", type=Path, default=FIELD, help="the folder of programs with a planted fault")
    parser.add_argument("--runs", type=int, default=3, help="of each")
    parser.add_argument("--keep", type=Path, help="traces and reports go here and stay")
    parser.add_argument("names", nargs="*", help="of programs: p01, minilm")
    given = parser.parse_intermixed_args()
    missing = lacking(given.python)
    if missing or not given.field.is_dir():
        print(f"skipped: {missing or f'{given.field} is not here; --field names the folder'}")
        return 2
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="truth-options-") as temporary:
        folder = (given.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for program in programs(given.field, given.names):
            sets = []
            for name in OPTIONS:
                runs = [run(given.command.resolve(), given.python, program, name, folder) for _ in range(given.runs)]
                sets.append(Set(name, runs))
                print(row(program.stem, sets[-1]), flush=True)
            wrong += judge(program.stem, sets)
    print("\n".join(f"MISSED: {line}" for line in wrong) if wrong else "the same under all options")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
