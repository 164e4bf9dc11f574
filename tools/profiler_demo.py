#!/usr/bin/env python3
"""Profile a small workload, alone and in threads, with the CPU profiler on its own.

tools/profiler_demo.py [--output FOLDER]

Saves NAME.json, NAME.txt and NAME.folded of both, prints the report, and draws NAME.svg where flamegraph.pl is
installed. Needs the package: `pip install .`, or PYTHONPATH on an installation.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import shutil
import subprocess
import threading
import zlib
from pathlib import Path

import inferscope

DEBIAN_DRAWER = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
SENTENCES = ["where did the time go in this request", "a model answers and a profiler counts"] * 30


def tokenize(text: str) -> list[int]:
    """Words to numbers: Python that calls into C."""
    return [int.from_bytes(hashlib.sha256(word.encode()).digest()[:2], "little") for word in text.split()]


def embed(tokens: list[int], width: int = 32) -> list[float]:
    return [sum(math.sin(token * k / 1000) for token in tokens) / len(tokens) for k in range(1, width)]


def score(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other))


def answer(requests: int) -> float:
    best = 0.0
    vectors = [embed(tokenize(sentence)) for sentence in SENTENCES]
    for number in range(requests):
        query = embed(tokenize(f"request number {number} wants an answer"))
        best = max(best, *(score(query, vector) for vector in vectors))
        zlib.compress(json.dumps(query).encode(), 9)
    return best


def answer_in_threads(requests: int, threads: int = 4) -> None:
    workers = [threading.Thread(target=answer, args=(requests // threads,)) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def draw(folded: Path) -> None:
    drawer = shutil.which("flamegraph.pl") or DEBIAN_DRAWER
    if not Path(drawer).exists():
        print("flamegraph.pl is not here (Debian: libdevel-nytprof-perl); no picture")
        return
    picture = subprocess.run([drawer, str(folded)], capture_output=True, text=True, check=True).stdout
    folded.with_suffix(".svg").write_text(picture, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", default="profiles", help="folder for the files (default: profiles)")
    parser.add_argument("--requests", type=int, default=2000)
    options = parser.parse_args()
    for name, work in (("alone", answer), ("threads", answer_in_threads)):
        print(f"== {name}")
        with inferscope.profiler_context(name, options.output) as profiler:
            work(options.requests)
        state = profiler.state()
        print(f"{state['signals']} interruptions, {state['spent_us'] / 1000:g} ms in them; other: {state['other']}")
        draw(Path(options.output, f"{name}.folded"))
    print(f"saved in {options.output}: {', '.join(sorted(path.name for path in Path(options.output).iterdir()))}")


if __name__ == "__main__":
    main()
