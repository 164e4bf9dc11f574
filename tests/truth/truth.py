"""Runs programs that know what is wrong with them under the command, and compares its verdict with what they say;
then without what is wrong, to see whether that saves no more than the verdict said.

Then programs whose requests are slow now and then (tails.py), and what the report says that the slow ones do more.

truth.py COMMAND [--python PATH] [--seconds S] [--cuda LIBRARY] [--publish PAGE] [NAME...]
prints a table; exits with 1 below the marks
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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.truth import tails
else:
    import tails

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
SIZE_PART = 0.15  # of its size, that a share may be off
SIZE_POINTS = 4.0  # or so many points of a percent: what one sample in 25 is
RIGHT = 22 / 24  # of the causes, and of their sizes and places, that have to be right
NOISE = 0.03  # of what a request takes: two runs on a machine that others use too
USEFUL = 0.6  # of a bound, that is saved in USEFUL_PART of all
USEFUL_PART = 0.8
CUDA_NAMES = ("libcudart.so", "libcuda.so.1", "libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.0")
BANDS = ((0.25, 0.5), (0.5, 0.75), (0.75, 0.9), (0.9, 1.01))
TAIL = "tail_"  # before the name of one, on the command line
BEGIN, END = "<!-- truth: begin -->\n", "<!-- truth: end -->\n"


def slack(share: float) -> float:
    return max(share * SIZE_PART, SIZE_POINTS)


@dataclass
class Outcome:
    """What a program said, and what the command said of it."""

    name: str
    skipped: str | None = None
    truth: dict[str, Any] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)  # what it said without its fault

    @property
    def verdict(self) -> dict[str, Any]:
        found: dict[str, Any] = self.report["verdict"]
        return found

    @property
    def pretended(self) -> bool:
        """Is it a stand-in of ours that says how large the fault is, and not a measurement?"""
        return bool(stand_in_of(self.name))

    @property
    def healthy(self) -> bool:
        return self.truth["cause"] in (None, "no_load")

    @property
    def cause_right(self) -> bool:
        """The top cause; of a healthy one: that nothing is made up."""
        if self.truth["cause"] == "no_load":
            return self.verdict["cause"] is None and "no load" in (self.verdict["withheld"] or "")
        if self.healthy:
            return bool(self.verdict["kind"] != "fault")
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

    @property
    def saved(self) -> float | None:
        """Percent of a request that is saved without the fault."""
        if not self.fixed or not self.truth.get("one"):
            return None
        return float((self.truth["one"] - self.fixed["one"]) / self.truth["one"]) * 100

    @property
    def bound(self) -> float | None:
        """Percent of a request that can be saved at most, by the report."""
        rows = [row for row in self.report["suggestions"] if row["rule"] == self.truth["cause"]]
        gpus = [g for g in self.report["gpus"] if g["device_id"] == self.verdict["device_id"]]
        whole = gpus[0]["span_us"] if gpus else self.report["window"]["judged_us"]
        return float(rows[0]["saves_at_most_us"]) / float(whole) * 100 if rows else None

    @property
    def bound_holds(self) -> bool:
        if self.saved is None or self.bound is None:
            return self.saved is None
        # A machine that does other things makes a run longer by what it waits for a CPU.
        queued = self.report["breakdown"]["run_queue"] or 0
        return self.saved <= self.bound + NOISE * 100 + queued

    @property
    def bound_useful(self) -> bool:
        return self.saved is not None and self.bound is not None and self.saved >= self.bound * USEFUL

    def row(self) -> str:
        if self.skipped is not None:
            return f"{self.name:18} skipped: {self.skipped}"
        said = self.verdict["share"]
        true = "" if self.bounds is None else " ".join(f"{bound:.1f}" for bound in sorted(set(self.bounds)))
        marks = "".join(
            good if right else "-"
            for good, right in (
                ("c", self.cause_right),
                ("s", self.size_right),
                ("w", self.where_right),
                ("b", self.bound_holds),
            )
        )
        saved = "" if self.saved is None else f"{self.saved:.0f}/{self.bound or 0:.0f}"
        return (
            f"{self.name:18} {marks}  {self.truth['cause']!s:18} {true:>9}"
            f"  {self.verdict['cause']!s:18} {said if said is None else round(said, 1)!s:>5}"
            f"  {self.verdict['confidence']:.2f}  {saved:>7}  {self.verdict['headline'] or self.verdict['withheld']}"
        )


def package_of(command: Path) -> Path:
    """The folder of the package that is installed with the command."""
    return next(command.resolve().parents[1].glob("lib/**/inferscope/__init__.py")).parents[1]


def cuda_in(folder: Path, library: Path) -> dict[str, str]:
    """One file under the names of CUDA's libraries, and where it tells what is true."""
    names = folder / "cuda"
    names.mkdir(exist_ok=True)
    for name in CUDA_NAMES:
        if not (names / name).exists():
            (names / name).symlink_to(library)
    return {"LD_LIBRARY_PATH": str(names), "TRUTH_CUDA": str(folder)}


def memory_in(folder: Path) -> dict[str, str]:
    """Files that stand for those of a process and its control group, until the program writes others."""
    folder.mkdir(exist_ok=True)
    none = "avg10=0.00 avg60=0.00 avg300=0.00 total=0"
    texts = {
        "stat": f"1 (python) R {' '.join(['0'] * 40)}\n",
        "status": "VmHWM:\t  100000 kB\nVmRSS:\t  100000 kB\nVmSwap:\t  0 kB\n",
        "cgroup": "0::/\n",
        "mountinfo": f"30 1 0:26 / {folder} rw - cgroup2 cgroup2 rw\n",
        "memory.max": "1073741824\n",
        "memory.current": "536870912\n",
        "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n",
        "memory.pressure": f"some {none}\nfull {none}\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {"INFERSCOPE_TEST_MEMORY": str(folder), "TRUTH_MEMORY": str(folder)}


def nodes_in(folder: Path, near: int, far: int) -> dict[str, str]:
    """Two memory nodes, of which one has all the CPUs; pages of the program on each."""
    for node, cpus in (("node0", "0-1023"), ("node1", "1024-2047")):
        (folder / node).mkdir(parents=True, exist_ok=True)
        (folder / node / "cpulist").write_text(f"{cpus}\n")
        (folder / node / "meminfo").write_text(f"Node {node[-1]} MemTotal: 8388608 kB\n")
    (folder / "numa_maps").write_text(f"1000 default anon={near + far} N0={near} N1={far} kernelpagesize_kB=4\n")
    return {"INFERSCOPE_TEST_NUMA": str(folder)}


def stand_in_of(name: str) -> str:
    """What the program's third line asks for in place of the machine's own; empty: nothing."""
    lines = (PROGRAMS / f"{name}.py").read_text().splitlines()
    asked = [line.removeprefix("# stand-in: ") for line in lines[:4] if line.startswith("# stand-in: ")]
    return asked[0] if asked else ""


def stand_ins(name: str, folder: Path) -> dict[str, str]:
    wanted = stand_in_of(name)
    if wanted == "memory":
        return memory_in(folder / f"{name}.memory")
    if wanted == "numa near":
        return nodes_in(folder / f"{name}.numa", 9_000, 1_000)
    return nodes_in(folder / f"{name}.numa", 0, 16_384) if wanted else {}


def run(
    command: Path, python: str, name: str, seconds: float, folder: Path, cuda: Path | None, *more: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the program says, and what the report does."""
    report = folder / f"{name}.json"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("INFERSCOPE_", "LD_", "PYTHON"))}
    kept.update(PYTHONPATH=str(package_of(command)), PYTHONDONTWRITEBYTECODE="1")
    kept.update(stand_ins(name, folder))
    if cuda is not None:
        kept.update(cuda_in(folder, cuda))
    begin = [str(command), "run", "--python", python, "--quiet", "--report", str(report), "--trace"]
    done = subprocess.run(
        [*begin, str(folder / f"{name}.isc"), "--force", str(PROGRAMS / f"{name}.py"), str(seconds), *more],
        capture_output=True,
        text=True,
        env=kept,
        cwd=folder,
        timeout=seconds * 10 + 60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr}")
    return json.loads(done.stdout), json.loads(report.read_text())


def judge(
    command: Path, python: str, name: str, seconds: float, folder: Path, cuda: Path | None = None, fix: bool = False
) -> Outcome:
    said, report = run(command, python, name, seconds, folder, cuda)
    if "skip" in said:
        return Outcome(name, said["skip"])
    outcome = Outcome(name, None, said, report)
    if fix and said.get("one"):
        outcome.fixed, _ = run(command, python, name, seconds * 0.6, folder, cuda, "fixed")
    return outcome


def names() -> list[str]:
    return sorted(path.stem for path in PROGRAMS.glob("*.py") if not path.stem.startswith("said"))


def enough(right: int, of: int, part: float) -> bool:
    """Rounded down, so that one of a few that are chosen by hand may not be wrong, and one of twelve may."""
    return of - right <= int(of * (1 - part) + 1e-9)


def describe(outcomes: list[Outcome]) -> tuple[list[str], bool]:
    """What the marks are about, in lines; are they met?"""
    seen = [o for o in outcomes if o.skipped is None]
    ours = [o for o in seen if not o.healthy and o.pretended]
    sick = [o for o in seen if not o.healthy and not o.pretended]
    well = [o for o in seen if o.healthy]
    right = [o for o in sick if o.cause_right]
    made_up = [o.name for o in well if o.verdict["kind"] == "fault"]
    lines = [
        f"causes right: {len(right)} of {len(sick)}; "
        f"healthy ones left alone: {len(well) - len(made_up)} of {len(well)}",
        f"of {len(right)}: size right {sum(o.size_right for o in right)}, "
        f"place right {sum(o.where_right for o in right)}",
    ]
    if ours:
        known = sum(o.cause_right for o in ours)
        lines.append(f"stand-ins for what the machine lacks, of a size that we chose: {known} of {len(ours)} right")
    for low, high in BANDS:
        band = [o for o in sick if low <= o.verdict["confidence"] < high]
        lines.append(
            f"confidence {low:.2f} to {min(high, 1):.2f}: {sum(o.cause_right for o in band)} of {len(band)} right"
        )
    removed = [o for o in [*right, *ours] if o.cause_right and o.saved is not None]
    held = [o for o in removed if o.bound_holds]
    useful = [o for o in removed if o.bound_useful]
    if removed:
        lines.append(
            f"without the cause: {len(held)} of {len(removed)} saved no more than said, "
            f"{len(useful)} saved {USEFUL:.0%} of that or more"
        )
    good = enough(len(right), len(sick), RIGHT) and not made_up and all(o.cause_right and o.size_right for o in ours)
    good = good and enough(sum(o.size_right for o in right), len(right), RIGHT)
    good = good and enough(sum(o.where_right for o in right), len(right), RIGHT)
    return lines, good and len(held) == len(removed) and len(useful) >= len(removed) * USEFUL_PART


def summarise(outcomes: list[Outcome], slow: list[tails.Tail]) -> bool:
    """Prints what the marks are about; are they met?"""
    lines, good = describe(outcomes)
    if slow:
        line, met = tails.describe(slow)
        lines, good = [*lines, line], good and met
    print("\n".join(lines))
    return good


def publish(page: Path, outcomes: list[Outcome], slow: list[tails.Tail], python: str) -> None:
    """Writes what was found into a page, between its marks."""
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.strip()
    skipped = [o.name for o in outcomes if o.skipped is not None]
    lines, _ = describe(outcomes)
    text = [f"{version}, {os.cpu_count()} CPUs:", "", *(f"- {line}" for line in [*lines, tails.describe(slow)[0]])]
    if skipped:
        text.append(f"- not run here: {', '.join(f'`{name}`' for name in skipped)}")
    text += ["", "| program | cause | share, by itself | verdict | share | confidence | saved without it | at most |"]
    text.append("|---|---|---:|---|---:|---:|---:|---:|")
    for o in outcomes:
        if o.skipped is not None:
            continue
        true = "" if o.bounds is None else " to ".join(f"{bound:.1f}%" for bound in sorted(set(o.bounds)))
        said = o.verdict["share"]
        name = f"`{o.name}`{' (stand-in)' if o.pretended else ''}"
        text.append(
            f"| {name} | {o.truth['cause'] or 'none'} | {true} | {o.verdict['cause'] or 'none'} |"
            f" {'' if said is None else f'{said:.1f}%'} | {o.verdict['confidence']:.2f} |"
            f" {'' if o.saved is None else f'{o.saved:.0f}%'} |"
            f" {'' if o.saved is None or o.bound is None else f'{o.bound:.0f}%'} |"
        )
    text += ["", *tails.table(slow)]
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(before + BEGIN + "\n".join(text) + "\n" + END + after)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--cuda", type=Path, help="the double of CUDA; without it those programs are left out")
    parser.add_argument("--as-is", action="store_true", help="do not run them without their fault too")
    parser.add_argument("--publish", type=Path, help="the page that gets the result, when all are run")
    parser.add_argument("names", nargs="*")
    given = parser.parse_intermixed_args()
    given.command = given.command.resolve()
    outcomes: list[Outcome] = []
    slow: list[tails.Tail] = []
    with tempfile.TemporaryDirectory(prefix="truth-") as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        for name in [name for name in given.names or names() if not name.startswith(TAIL)]:
            cuda = given.cuda.resolve() if given.cuda is not None else None
            outcomes.append(judge(given.command, given.python, name, given.seconds, folder, cuda, not given.as_is))
            print(outcomes[-1].row(), flush=True)
        for name in tails.CASES if not given.names else [n[len(TAIL) :] for n in given.names if n.startswith(TAIL)]:
            slow.append(tails.run(given.command, given.python, package_of(given.command), name, folder))
            print(slow[-1].row(), flush=True)
    if given.publish is not None and not given.names:
        publish(given.publish, outcomes, slow, given.python)
    return 0 if summarise(outcomes, slow) else 1


if __name__ == "__main__":
    sys.exit(main())
