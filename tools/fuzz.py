"""Run every fuzz target: with libFuzzer under sanitizers where clang is there, else with our mutator.

fuzz.py [--runs N] [TARGET...]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tree

CORPUS = tree.ROOT / "tests" / "fuzz" / "corpus"
SANITIZERS = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dpython=disabled"]


def targets() -> list[str]:
    return sorted(file.stem.removeprefix("fuzz_") for file in (tree.ROOT / "tests" / "fuzz").glob("fuzz_*.c"))


def compiler() -> str | None:
    """A clang that has the libFuzzer runtime."""
    for name in ("clang-19", "clang"):
        probe = [name, "-fsanitize=fuzzer,address", "-x", "c", "-", "-o", os.devnull]
        source = "int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n; }"
        if shutil.which(name) and not subprocess.run(probe, input=source, text=True, capture_output=True).returncode:
            return name
    return None


def command(program: Path, name: str, runs: int, clang: str | None, fresh: str) -> list[str]:
    if clang is None:
        return [str(program), str(runs), str(CORPUS / name)]
    # New inputs go to the first folder, which is thrown away; findings are kept by hand, in the corpus.
    limits = ["-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1", "-verbosity=0"]
    return [str(program), f"-runs={runs}", "-seed=1", *limits, fresh, str(CORPUS / name)]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=50000)
    parser.add_argument("target", nargs="*", default=targets())
    asked = parser.parse_args()

    clang = compiler()
    folder = tree.ROOT / ("build-fuzz" if clang else "build-asan")
    if clang:
        os.environ["CC"] = clang
    options = [*SANITIZERS, "-Dfuzz=enabled"] if clang else SANITIZERS
    print(f"fuzzing with {clang or 'our own mutator: no clang with libFuzzer here'}", flush=True)
    if tree.compile(folder, options, [f"tests/fuzz/fuzz_{name}" for name in asked.target]):
        return 1

    failed = []
    for name in asked.target:
        with tempfile.TemporaryDirectory() as fresh:
            program = folder / "tests" / "fuzz" / f"fuzz_{name}"
            print(f"{name}: {asked.runs} runs", flush=True)
            done = subprocess.run(command(program, name, asked.runs, clang, fresh), cwd=folder, check=False)
        if done.returncode:
            failed.append(name)
    print(f"total: {len(asked.target) - len(failed)} passed, {len(failed)} failed {' '.join(failed)}".rstrip())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
