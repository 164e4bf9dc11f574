"""Measure what bench/ measures and hold it against the budgets.

bench.py FOLDER [--long] [--publish] [--seconds S] [AREA...]
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import tree

BENCH = tree.ROOT / "bench"
RESULTS = BENCH / "results.md"
sys.path.insert(0, str(BENCH))

import kit  # noqa: E402
import table  # noqa: E402

AREAS = {
    "record": "what the program pays for an event",
    "calls": "a traced call of Python",
    "scopes": "scopes of a Python program",
    "start": "before main and after the end",
    "overhead": "while the program runs",
    "samples": "a sample in its handler",
    "budget": "with the budget that is the default",
    "pyperformance": "benchmarks of pyperformance",
    "peers": "beside other profilers",
    "memory": "beside memory profilers",
    "storm": "more events than a program should send",
    "file": "the trace file",
    "sizes": "files of other profilers",
    "page": "the HTML report",
    "gpu": "records of GPUs",
    "import": "traces of other tools",
    "hta": "beside HolisticTraceAnalysis",
    "export": "files for other tools",
}
ASKED_FOR = (
    "pyperformance",
    "peers",
    "memory",
    "hta",
    "sizes",
)  # takes long, and needs programs that nothing else does
HEAD = """# What was last measured

Written by `make bench`; [docs/bench.md](../docs/bench.md) says how to read it.
"""


def cpu_s() -> tuple[float, float]:
    """CPU time used so far: on the whole machine, and by what was started here."""
    user, nice, system, _, _, irq, softirq, *_ = (
        int(x) for x in Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])


def sections(text: str) -> dict[str, str]:
    """What stands under each heading of a page.

    >>> sections("# Page\\n\\n## One\\n\\na\\n\\n## Two\\n\\nb\\n")
    {'One': '\\na\\n\\n', 'Two': '\\nb\\n'}
    """
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def page(old: str, found: dict[str, list[table.Row]], command: str, others: float) -> str:
    """The page with what was found; areas that were not measured this time stay as they are."""
    noisy = "" if others < 0.05 else ": times are too high and intervals wide"
    around = f"`{command}`: {os.cpu_count()} cores, {others:.0%} of them used by other programs{noisy}."
    kept = sections(old)
    for area, rows in found.items():
        kept[AREAS[area].capitalize()] = f"\n{around}\n\n{table.markdown(rows)}\n\n"
    ordered = [title for title in map(str.capitalize, AREAS.values()) if title in kept]
    return HEAD + "".join(f"\n## {title}\n{kept[title].rstrip()}\n" for title in ordered)


def measure(tools: kit.Kit, area: str) -> list[table.Row]:
    begin = time.monotonic()
    rows = []
    for row in importlib.import_module(f"bench_{area}").rows(tools):
        # What is known so far, for who ends it before the end.
        print("  ".join(cell for cell in row.cells if cell), file=sys.stderr, flush=True)
        rows.append(row)
    print(f"{AREAS[area]} ({time.monotonic() - begin:.0f} s)\n{table.text(rows)}\n", flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(AREAS))
    parser.add_argument("--long", action="store_true", help="more runs, and the full 10 GB")
    parser.add_argument("--publish", action="store_true", help="write what was found into bench/results.md")
    parser.add_argument("--seconds", type=float, default=0, help="at most for one comparison (8; with --long 60)")
    options = parser.parse_args()
    unknown = [area for area in options.areas if area not in AREAS]
    if unknown:
        parser.error(f"no such area: {unknown[0]}; there are {', '.join(AREAS)}")
    build = (tree.ROOT / options.folder).resolve()
    kit.install(build)
    with tempfile.TemporaryDirectory(prefix="inferscope-bench-") as scratch:
        seconds = options.seconds or (60 if options.long else 8)
        tools = kit.Kit(build, Path(scratch), seconds, options.long)
        began, all_before, ours_before = time.monotonic(), *cpu_s()
        found = {
            area: measure(tools, area) for area in options.areas or [area for area in AREAS if area not in ASKED_FOR]
        }
        everything, ours = cpu_s()
        foreign = everything - all_before - (ours - ours_before)
        others = max(0.0, foreign / (time.monotonic() - began) / (os.cpu_count() or 1))
    if options.publish or not options.areas:
        words = [options.folder, *(["--long"] if options.long else []), *options.areas]
        command = f"tools/bench.py {' '.join(words)}" if options.areas else "make bench"
        RESULTS.write_text(page(RESULTS.read_text() if RESULTS.exists() else "", found, command, others))
    missed = [row.what for rows in found.values() for row in rows if row.verdict == table.MISSED]
    if missed:
        print(f"over budget: {'; '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
