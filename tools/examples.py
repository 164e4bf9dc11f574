"""Run the examples, each with its fault and without it: examples.py FOLDER [--publish PAGE] [--python PATH] [NAME...]

FOLDER is a build folder.  Prints what the verdict says of the fault and what a request takes before and after; with
--publish also writes it, with the beginning of each report, into a page between its marks.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import demo
import environments
import tree

BEGIN, END = "<!-- examples: begin -->\n", "<!-- examples: end -->\n"
ROUNDS = 3  # of each, one with the fault and one without in turn; the middle one counts

#: Name: the environment it needs (None: any Python will do), what it is; one whose requests are not what its fault
#: makes slow is told by the whole run.
EXAMPLES = {
    "minilm": ("torch", "a transformer: MiniLM in PyTorch"),
    "transformer_numpy": ("numpy", "a transformer in numpy"),
    "cnn": ("numpy", "a convolutional network"),
    "lstm": ("numpy", "an LSTM over sequences"),
    "decoder": ("numpy", "a decoder loop with a cache of keys and values"),
    "asyncio_server": (None, "an asyncio server"),
    "threaded_server": (None, "a server with threads"),
}
BY_THE_RUN = {"threaded_server"}


@dataclass
class Example:
    name: str
    slow: list[dict[str, Any]]  # reports
    fixed: list[dict[str, Any]]
    markdown: str  # of one with the fault

    def median(self, reports: list[dict[str, Any]]) -> float:
        values = [float(s["p50_us"]) for r in reports for s in r["scopes"] if s["name"] == "request"]
        if self.name in BY_THE_RUN:
            values = [float(r["program"]["wall_us"]) for r in reports]
        if not values:
            raise SystemExit(
                f"examples: {self.name} has no scope named request: is the package in its Python this one?"
            )
        return sorted(values)[len(values) // 2]

    @property
    def before(self) -> float:
        return self.median(self.slow)

    @property
    def after(self) -> float:
        return self.median(self.fixed)

    @property
    def causes(self) -> tuple[str, str]:
        said = [
            max(found, key=found.count)
            for found in ([str(r["verdict"]["cause"] or "none") for r in side] for side in (self.slow, self.fixed))
        ]
        return said[0], said[1]

    def row(self) -> str:
        before, after = self.causes
        return (
            f"| [{self.name}.py](../examples/{self.name}.py) | {EXAMPLES[self.name][1]} | {words(before)} |"
            f" {self.before / 1e3:.3g} ms | {self.after / 1e3:.3g} ms | {self.before / self.after:.1f}x |"
            f" {words(after)} |"
        )


def words(cause: str) -> str:
    return "nothing" if cause == "none" else f"`{cause}`"


def beginning(markdown: str) -> str:
    """The verdict and what to change, as the report has them, one heading lower."""
    text = markdown.partition("\n\n")[2]
    text = re.split(r"^## (?!What to change)", text, flags=re.M)[0]
    return re.sub(r"^## ", "#### ", text, flags=re.M).strip()


def run(prefix: Path, python: str, name: str, folder: Path, *how: str) -> tuple[dict[str, Any], str]:
    site = next(prefix.glob("lib/python3*/site-packages"))
    kept = dict(os.environ, PYTHONPATH=str(site), HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
    outputs = [
        "--trace",
        str(folder / "run.isc"),
        "--report",
        str(folder / "run.json"),
        "--report",
        str(folder / "run.md"),
    ]
    command = [str(prefix / "bin" / "inferscope"), "run", "--quiet", "--force", "--python", python, *outputs]
    done = subprocess.run(
        [*command, f"examples/{name}.py", *how],
        cwd=tree.ROOT,
        env=kept,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"examples: {name} failed: {done.stderr}")
    return json.loads((folder / "run.json").read_text()), (folder / "run.md").read_text()


def measure(prefix: Path, python: str, name: str, folder: Path, rounds: int) -> Example:
    example = Example(name, [], [], "")
    for _ in range(rounds):
        report, example.markdown = run(prefix, python, name, folder)
        example.slow.append(report)
        example.fixed.append(run(prefix, python, name, folder, "--fixed")[0])
    return example


def publish(page: Path, examples: list[Example]) -> None:
    lines = ["| program | what it is | verdict | median request, or the run | `--fixed` | faster | verdict then |"]
    lines += ["|---|---|---|---:|---:|---:|---|", *(e.row() for e in examples)]
    for e in examples:
        lines += ["", f"### The report of {e.name}.py", "", beginning(e.markdown)]
    before, _, rest = page.read_text().partition(BEGIN)
    page.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + rest.partition(END)[2])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--publish", type=Path)
    parser.add_argument("--python", help="one that has all they need; else environments are made")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("names", nargs="*", choices=[*EXAMPLES, []])
    given = parser.parse_intermixed_args()
    prefix = demo.install(tree.ROOT / given.build)
    found = []
    with tempfile.TemporaryDirectory(prefix="examples-") as folder:
        for name in given.names or EXAMPLES:
            environment = EXAMPLES[name][0]
            try:
                python = given.python or (str(environments.make(environment)) if environment else sys.executable)
            except environments.Lacking as why:
                print(f"examples: without {name}: {why}")
                continue
            found.append(measure(prefix, python, name, Path(folder), given.rounds))
            print(found[-1].row(), flush=True)
    if given.publish is not None and len(found) == len(EXAMPLES):
        publish(given.publish, found)
    elif given.publish is not None:
        print("examples: not all of them ran, so nothing is published")
    return 0


if __name__ == "__main__":
    sys.exit(main())
