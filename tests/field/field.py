"""Programs that others wrote, each with one planted fault and repaired (--fixed), against what the report says of them.

field.py COMMAND [--python PATH] [--programs FOLDER]... [--runs N] [--keep FOLDER] [--publish PAGE] [NAME...]

Each form runs alone first, for what the repair saves, and then under the command with its default options.  A program
says what is true in the last line of its output (docs/field.md); `accepted.json` beside the programs names the causes
that are right for each, by somebody who knew the programs and no report.  Runs are counted, not the best of them.
Prints a row for each form, then the marks; exits with 1 below them, with 2 if nothing can run here.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDERS = (HERE / "programs" / "batch", HERE / "programs" / "served", ROOT.parent / "shared" / "data" / "field")
TIMEOUT_S = 300.0
CAUSES, PLACES, SIZES, ALONE = 0.90, 0.85, 0.80, 0.95  # parts of the runs that have to be right
WITHHELD = 0.05  # of all runs, at most
SIZE_PART, SIZE_POINTS = 0.20, 4.0  # that a share may be off
BOUND_POINTS = 3.0  # by which the repair may save more than was said
BANDS = ((0.25, 0.5), (0.5, 0.75), (0.75, 0.9), (0.9, 1.01))
OPERATORS = "operators"  # the tag of faults in shapes, types, threads of a library, batches or caches
BEGIN, END = "<!-- field: begin -->\n", "<!-- field: end -->\n"
Json = dict[str, Any]


@dataclass(frozen=True)
class Program:
    path: Path
    causes: tuple[str, ...]  # that are right; empty: nobody has said so

    @property
    def name(self) -> str:
        return self.path.stem


@dataclass(frozen=True)
class Said:
    """What one report says of one run, beside what the program said itself."""

    truth: Json
    report: Json

    @property
    def verdict(self) -> Json:
        found: Json = self.report["verdict"]
        return found

    @property
    def withheld(self) -> bool:
        return self.verdict["withheld"] is not None

    @property
    def cause(self) -> str | None:
        cause: str | None = self.verdict["cause"]
        return cause

    @property
    def fault(self) -> bool:
        return bool(self.verdict["kind"] == "fault")

    @property
    def places(self) -> set[str]:
        """Functions that the verdict points at, by their last names."""
        parts = [self.verdict[key]["function"] for key in ("place", "holder") if self.verdict.get(key)]
        parts += [row["where"] for row in self.report["suggestions"][:1] if row["rule"] == self.cause]
        return {last_name(str(part)) for part in parts if part}

    @property
    def bound(self) -> float | None:
        """Percent of the judged time that the verdict says can be saved at most."""
        saving, whole = self.verdict.get("saving_us"), self.verdict.get("of_us")
        return None if not whole or saving is None else float(saving) / float(whole) * 100


def last_name(where: str) -> str:
    """Of "answer (server.py:30)" or "Scorer.answer.<locals>.<listcomp>": what is left of it in any Python."""
    names = [part for part in where.partition(" (")[0].split(".") if not part.startswith("<")]
    return names[-1] if names else where


@dataclass
class Form:
    """One form of a program: alone, and under the command."""

    program: Program
    fixed: bool
    alone: list[Json] = field(default_factory=list)  # its last lines
    runs: list[Said] = field(default_factory=list)

    def took(self) -> float | None:
        """Seconds of serving, alone; of programs that do not measure it, CPU time or all."""
        for name in ("serve_s", "cpu_s", "wall_s"):
            values = [line[name] for line in self.alone if line.get(name) is not None]
            if values:
                return float(statistics.median(values))
        return None


@dataclass
class Pair:
    sick: Form
    well: Form

    @property
    def name(self) -> str:
        return self.sick.program.name

    @property
    def operators(self) -> bool:
        return any(OPERATORS in (run.truth.get("tags") or []) for run in self.sick.runs)

    @property
    def saved(self) -> float | None:
        """Percent that the repair saves, by the program's own clocks."""
        before, after = self.sick.took(), self.well.took()
        return None if not before or after is None else (before - after) / before * 100

    def cause_right(self, run: Said) -> bool:
        return not run.withheld and run.cause in self.sick.program.causes

    def place_right(self, run: Said) -> bool:
        wanted = {last_name(where) for where in [run.truth.get("where"), *(run.truth.get("also") or [])] if where}
        return not wanted or bool(run.places & wanted)

    def size_right(self, run: Said) -> bool:
        """Its share is about the true one, and removing the fault saves no more than was said."""
        share, said = run.truth.get("share"), run.verdict["share"]
        if share is not None:
            true = float(share) * 100
            if said is None or abs(said - true) > max(true * SIZE_PART, SIZE_POINTS):
                return False
        return self.saved is None or (run.bound is not None and self.saved <= run.bound + BOUND_POINTS)


def left_alone(run: Said) -> bool:
    """A limit and no fault; silence for want of evidence is no answer."""
    return not run.withheld and run.verdict["kind"] == "limit" and not faults_in(run.report["suggestions"])


def faults_in(suggestions: Iterable[Json]) -> list[str]:
    return [row["rule"] for row in suggestions if row.get("kind") == "fault"]


def last_line(output: str) -> Json:
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            found: Json = json.loads(line)
            return found
    raise ValueError("it says nothing of itself")


class Runner:
    def __init__(self, command: Path, python: str, folder: Path):
        self.command, self.folder = command.resolve(), folder
        # A link in an environment must stay one: it says which environment.
        self.python = str(Path(python).absolute()) if os.sep in python else python
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("INFERSCOPE_", "LD_", "PYTHON"))}
        self.environment = dict(kept, PYTHONDONTWRITEBYTECODE="1", TOKENIZERS_PARALLELISM="false")
        package = next(self.command.parents[1].glob("lib/**/inferscope/__init__.py"), None)
        self.package = str(package.parents[1]) if package is not None else None

    def _run(self, words: list[str], environment: dict[str, str]) -> Json:
        done = subprocess.run(
            words, capture_output=True, text=True, env=environment, cwd=self.folder, timeout=TIMEOUT_S, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: ended with {done.returncode}: {done.stderr[-800:]}")
        return last_line(done.stdout)

    def alone(self, form: Form) -> None:
        form.alone.append(self._run([self.python, *self._words(form)], self.environment))

    def traced(self, form: Form, number: int) -> None:
        report = self.folder / f"{form.program.name}{'-fixed' if form.fixed else ''}-{number}.json"
        begin = [str(self.command), "run", "--python", self.python, "--quiet", "--force"]
        files = ["--report", str(report), "--trace", str(report.with_suffix(".isc"))]
        environment = dict(self.environment, **({"PYTHONPATH": self.package} if self.package else {}))
        truth = self._run([*begin, *files, *self._words(form)], environment)
        form.runs.append(Said(truth, json.loads(report.read_text())))

    @staticmethod
    def _words(form: Form) -> list[str]:
        return [str(form.program.path), *(["--fixed"] if form.fixed else [])]


def sick_row(pair: Pair, run: Said) -> str:
    marks = "".join(
        letter if right(run) else "-"
        for letter, right in (("c", pair.cause_right), ("p", pair.place_right), ("s", pair.size_right))
    )
    return f"{pair.name:26} {marks}  {said_of(run)}"


def well_row(pair: Pair, run: Said) -> str:
    return f"{pair.name + ' --fixed':26} {'ok ' if left_alone(run) else '-  '}  {said_of(run)}"


def said_of(run: Said) -> str:
    words = run.verdict["headline"] or run.verdict["withheld"] or "nothing"
    share = "" if run.verdict["share"] is None else f"{run.verdict['share']:.0f}%"
    cause = run.cause or ("withheld" if run.withheld else "no cause")
    return f"{cause:18} {share:>4} {run.verdict['confidence']:.2f}  {words}"


def within(low: float, high: float) -> Callable[[Pair, Said], bool]:
    return lambda _, run: low <= run.verdict["confidence"] < high


@dataclass
class Marks:
    """How many of how many runs were right."""

    pairs: list[Pair]

    def _count(self, right: Callable[[Pair, Said], bool], of: Callable[[Pair, Said], bool]) -> tuple[int, int]:
        runs = [(pair, run) for pair in self.pairs for run in pair.sick.runs if of(pair, run)]
        return sum(right(*one) for one in runs), len(runs)

    @property
    def causes(self) -> tuple[int, int]:
        return self._count(Pair.cause_right, lambda *_: True)

    @property
    def places(self) -> tuple[int, int]:
        return self._count(Pair.place_right, Pair.cause_right)

    @property
    def sizes(self) -> tuple[int, int]:
        return self._count(Pair.size_right, Pair.cause_right)

    @property
    def alone(self) -> tuple[int, int]:
        runs = [run for pair in self.pairs for run in pair.well.runs]
        return sum(map(left_alone, runs)), len(runs)

    @property
    def invented(self) -> tuple[int, int]:
        runs = [run for pair in self.pairs for run in pair.well.runs]
        return sum(run.fault and not run.withheld for run in runs), len(runs)

    @property
    def withheld(self) -> tuple[int, int]:
        runs = [run for pair in self.pairs for form in (pair.sick, pair.well) for run in form.runs]
        return sum(run.withheld for run in runs), len(runs)

    def bands(self) -> list[tuple[float, int, int]]:
        """Lower edge of the confidence, right, of."""
        return [(low, *self._count(Pair.cause_right, within(low, high))) for low, high in BANDS]

    def lines(self) -> list[str]:
        def words(found: tuple[int, int]) -> str:
            return f"{found[0]} of {found[1]}"

        lines = [
            f"cause right: {words(self.causes)} runs; of these place right {words(self.places)}, "
            f"size right {words(self.sizes)}",
            f"healthy forms left alone: {words(self.alone)} runs; with an invented fault: {words(self.invented)}",
            f"withheld: {words(self.withheld)} runs",
        ]
        lines += [f"confidence from {low:.2f}: {right} of {of} right" for low, right, of in self.bands() if of]
        return lines

    def met(self) -> bool:
        def part(found: tuple[int, int]) -> float:
            return found[0] / found[1] if found[1] else 1.0

        good = part(self.causes) >= CAUSES and part(self.places) >= PLACES and part(self.sizes) >= SIZES
        return good and part(self.alone) >= ALONE and part((self.withheld[0], self.withheld[1])) <= WITHHELD


def table(pairs: list[Pair]) -> list[str]:
    lines = ["| program | fault | the repair saves | verdicts | repaired: verdicts |", "|---|---|--:|---|---|"]
    for pair in pairs:
        truth = pair.sick.runs[0].truth
        saved = "" if pair.saved is None else f"{pair.saved:.0f}%"
        sick = "; ".join(f"{brief(run)} ({sick_row(pair, run)[27:30]})" for run in pair.sick.runs)
        well = "; ".join(brief(run) for run in pair.well.runs)
        lines.append(f"| `{pair.name}` | {truth.get('fault') or truth.get('cause')} | {saved} | {sick} | {well} |")
    return lines


def brief(run: Said) -> str:
    return "withheld" if run.withheld else run.cause or "none"


def publish(page: Path, title: str, pairs: list[Pair]) -> None:
    """Writes what was found into a page, between its marks."""
    text = [title, "", *(f"- {line}" for line in Marks(pairs).lines()), "", *table(pairs)]
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(before + BEGIN + "\n".join(text) + "\n" + END + after)


def programs(folders: Iterable[Path], names: list[str]) -> list[Program]:
    found = []
    for folder in folders:
        listed = folder / "accepted.json"
        own = HERE / f"accepted-{folder.name}.json"  # for a folder that is not the project's to write to
        chosen = listed if listed.exists() else own
        accepted: dict[str, list[str]] = json.loads(chosen.read_text()) if chosen.exists() else {}
        found += [Program(path, tuple(accepted.get(path.stem, ()))) for path in sorted(folder.glob("*.py"))]
    return [p for p in found if not names or any(p.name == name or p.name.startswith(f"{name}_") for name in names)]


def measure(runner: Runner, program: Program, runs: int) -> Pair:
    pair = Pair(Form(program, False), Form(program, True))
    for form in (pair.sick, pair.well):
        runner.alone(form)
    for number in range(runs):
        for form, row in ((pair.sick, sick_row), (pair.well, well_row)):
            runner.traced(form, number)
            print(row(pair, form.runs[-1]), flush=True)
    return pair


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=Path)
    parser.add_argument("--python", default=sys.executable, help="that has what the programs import")
    parser.add_argument("--programs", type=Path, action="append", help="folders of programs")
    parser.add_argument("--runs", type=int, default=3, help="of each form")
    parser.add_argument("--keep", type=Path, help="traces and reports go here and stay")
    parser.add_argument("--publish", type=Path, help="the page that gets the result, when all are run")
    parser.add_argument("names", nargs="*", help="of programs, or how they begin")
    given = parser.parse_intermixed_args()
    chosen = programs([f.resolve() for f in given.programs or FOLDERS if f.is_dir()], given.names)
    if not chosen:
        print("skipped: no programs here; --programs names their folder")
        return 2
    pairs: list[Pair] = []
    with tempfile.TemporaryDirectory(prefix="field-") as temporary:
        folder = (given.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        runner = Runner(given.command, given.python, folder)
        broken = []
        for program in chosen:
            try:
                pairs.append(measure(runner, program, given.runs))
            except (RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
                broken.append(program.name)
                print(f"{program.name:26} does not run: {error}", flush=True)
    judged = [pair for pair in pairs if not pair.operators]
    others = [pair for pair in pairs if pair.operators]
    print("\n".join(Marks(judged).lines()))
    if others:
        print("faults in operators, apart:\n" + "\n".join(f"  {line}" for line in Marks(others).lines()))
    if given.publish is not None and not given.names:
        publish(given.publish, f"{len(pairs)} programs, {given.runs} runs of each form:", pairs)
    return 0 if Marks(judged).met() and not broken else 1


if __name__ == "__main__":
    sys.exit(main())
