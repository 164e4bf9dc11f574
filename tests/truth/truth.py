"""Runs programs that know what is wrong with them under the command, and compares its verdict with what they say.

truth.py COMMAND [--python PATH] [--seconds S] [NAME...]     prints a table; exits with 1 below the marks
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
SIZE_PART = 0.15  # of its size, that a share may be off
SIZE_POINTS = 4.0  # or so many points of a percent: what one sample in 25 is
MISSES = 2  # causes that may be wrong, of all


def slack(share: float) -> float:
    return max(share * SIZE_PART, SIZE_POINTS)


@dataclass
class Outcome:
    """What a program said, and what the command said of it."""

    name: str
    skipped: str | None = None
    truth: dict[str, Any] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> dict[str, Any]:
        found: dict[str, Any] = self.report["verdict"]
        return found

    @property
    def healthy(self) -> bool:
        return self.truth["cause"] in (None, "no_load")

    @property
    def cause_right(self) -> bool:
        """The top cause; of a healthy one: that nothing is made up."""
        if self.truth["cause"] == "no_load":
            return self.verdict["cause"] is None and "no load" in (self.verdict["withheld"] or "")
        return bool(self.verdict["cause"] == self.truth["cause"])

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Between which the share lies."""
        share = self.truth["share"]
        return None if share is None else (share[0], share[-1]) if isinstance(share, list) else (share, share)

    @property
    def size_right(self) -> bool:
        bounds, said = self.bounds, self.verdict["share"]
        if bounds is None:
            return True
        low, high = bounds
        return said is not None and low - slack(low) <= said <= high + slack(high)

    @property
    def where_right(self) -> bool:
        if not self.truth["places"]:
            return True
        rows = [row for row in self.report["suggestions"] if row["rule"] == self.truth["cause"]]
        where = str(rows[0]["where"]) if rows else ""
        name, _, place = where.partition(" (")
        return any(
            name.rpartition(".")[2] == said and place.endswith(f":{line})") for said, line in self.truth["places"]
        )

    def row(self) -> str:
        if self.skipped is not None:
            return f"{self.name:18} skipped: {self.skipped}"
        said = self.verdict["share"]
        true = "" if self.bounds is None else " ".join(f"{bound:.1f}" for bound in sorted(set(self.bounds)))
        marks = "".join(
            good if right else "-"
            for good, right in (("c", self.cause_right), ("s", self.size_right), ("w", self.where_right))
        )
        return (
            f"{self.name:18} {marks}  {self.truth['cause']!s:18} {true:>9}"
            f"  {self.verdict['cause']!s:18} {said if said is None else round(said, 1)!s:>5}"
            f"  {self.verdict['confidence']:.2f}  {self.verdict['headline'] or self.verdict['withheld']}"
        )


def package_of(command: Path) -> Path:
    """The folder of the package that is installed with the command."""
    return next(command.resolve().parents[1].glob("lib/**/inferscope/__init__.py")).parents[1]


def judge(command: Path, python: str, name: str, seconds: float, folder: Path) -> Outcome:
    report = folder / f"{name}.json"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("INFERSCOPE_", "LD_", "PYTHON"))}
    kept.update(PYTHONPATH=str(package_of(command)), PYTHONDONTWRITEBYTECODE="1")
    run = [str(command), "run", "--python", python, "--quiet", "--report", str(report), "--trace"]
    done = subprocess.run(
        [*run, str(folder / f"{name}.isc"), "--force", str(PROGRAMS / f"{name}.py"), str(seconds)],
        capture_output=True,
        text=True,
        env=kept,
        cwd=folder,
        timeout=seconds * 10 + 60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr}")
    said = json.loads(done.stdout)
    if "skip" in said:
        return Outcome(name, said["skip"])
    return Outcome(name, None, said, json.loads(report.read_text()))


def names() -> list[str]:
    return sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem != "said")


def summarise(outcomes: list[Outcome]) -> bool:
    """Prints what the marks are about; are they met?"""
    seen = [o for o in outcomes if o.skipped is None]
    sick = [o for o in seen if not o.healthy]
    well = [o for o in seen if o.healthy]
    right = [o for o in sick if o.cause_right]
    made_up = [o.name for o in well if o.verdict["cause"] is not None]
    print(
        f"causes right: {len(right)} of {len(sick)}; healthy ones left alone: {len(well) - len(made_up)} of {len(well)}"
    )
    print(
        f"of {len(right)}: size right {sum(o.size_right for o in right)}, "
        f"place right {sum(o.where_right for o in right)}"
    )
    for low, high in ((0.25, 0.5), (0.5, 0.75), (0.75, 0.9), (0.9, 1.01)):
        band = [o for o in sick if low <= o.verdict["confidence"] < high]
        print(f"confidence {low:.2f} to {min(high, 1):.2f}: {sum(o.cause_right for o in band)} of {len(band)} right")
    return len(sick) - len(right) <= MISSES and not made_up


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("names", nargs="*")
    given = parser.parse_intermixed_args()
    given.command = given.command.resolve()
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="truth-") as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        for name in given.names or names():
            outcomes.append(judge(given.command, given.python, name, given.seconds, folder))
            print(outcomes[-1].row(), flush=True)
    return 0 if summarise(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
