"""The native unwinder finds what libunwind and perf find."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.samples.sampling import native_stacks
else:
    from sampling import native_stacks

ROOT = Path(__file__).resolve().parents[3]
UNWIND = ROOT / "src" / "collect" / "unwind"


def built(folder: Path, source: Path, *parts: Path) -> Path:
    """A program of C++, with parts in C."""
    objects = []
    for part in parts:
        objects.append(folder / f"{part.stem}.o")
        command = ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"]
        subprocess.run([*command, "-c", part, "-o", objects[-1]], check=True)
    program = folder / source.stem
    command = ["c++", "-std=c++17", "-O2", "-g", "-pthread"]
    command += [f"-I{ROOT / folder}" for folder in ("src", "include", "tests/harness")]
    try:
        subprocess.run([*command, source, *objects, "-o", program, "-ldl"], check=True)
    except FileNotFoundError:
        pytest.skip("there is no compiler for C++")
    return program


def test_walks_are_those_of_libunwind(tmp_path: Path, count: Any) -> None:
    """The same stacks, stopped at any instruction, in code that throws, recurses, sorts and realigns its frames."""
    pairs = built(
        tmp_path, ROOT / "tests" / "harness" / "unwind_pairs.cc",
        *sorted(UNWIND.glob("*.c")),
    )  # fmt: skip
    done = subprocess.run([pairs, str(count(5000, 200_000))], capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == 77:
        pytest.skip("libunwind is not here")
    assert done.returncode == 0, done.stderr
    compared, same, guessed, cut, chained = map(int, done.stdout.split())
    # What is left is libgcc on its way from one stack to the other, where libunwind loses it.
    assert same >= 0.995 * compared, done.stderr
    assert guessed <= 0.005 * compared and cut <= 0.001 * compared
    assert chained > 0.5 * compared


WAYS = ("virtual_way", "sort_way", "function_way", "exception_way", "qsort_way", "recursive_way")


def plain(name: str) -> str:
    """A C++ name without its parameters."""
    name = name.replace("(anonymous namespace)::", "").replace("{lambda(", "{lambda ").replace("operator()", "call")
    return re.sub(r"(<.*>)?(\(.*\))?( const)?$", "", name.split(" [")[0]) if "lambda" not in name else "{lambda}"


def short(chain: list[str]) -> tuple[str, ...]:
    """From the way on; what the library does inside is its affair."""
    at = next((i for i, name in enumerate(chain) if name in WAYS), None)
    return () if at is None else tuple(name for name in chain[at:] if name in (*WAYS, "Dog::speak", "compare", "leaf"))


def perf_chains(program: Path, ms: str, folder: Path) -> Counter[tuple[str, ...]]:
    data = folder / "perf.data"
    record = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,8192", "-o", str(data)]
    try:
        done = subprocess.run([*record, str(program), ms], capture_output=True, text=True, timeout=120, check=False)
    except FileNotFoundError:
        pytest.skip("perf is not here")
    if done.returncode or not data.exists():
        pytest.skip(f"perf may not record here: {done.stderr[-200:]}")
    script = ["perf", "script", "-i", str(data), "--no-inline", "-F", "ip,sym"]
    text = subprocess.run(script, capture_output=True, text=True, timeout=300, check=False).stdout
    found: Counter[tuple[str, ...]] = Counter()
    for block in text.split("\n\n"):
        names = [plain(line.strip().partition(" ")[2]) for line in block.splitlines() if line.strip()]
        found[short(names[::-1])] += 1
    return found


def test_chains_are_those_of_perf(inferscope: Any, tmp_path: Path, count: Any) -> None:
    program = built(tmp_path, ROOT / "tests" / "targets" / "families.cc")
    ms = str(count(80, 800))
    theirs = perf_chains(program, ms, tmp_path)
    run = inferscope(
        "run", "--no-report", "--native", "on", "--rate", "1000", "--budget", "off", "--", program, ms, timeout=120
    )
    assert run.returncode == 0, run.stderr
    ours: Counter[tuple[str, ...]] = Counter()
    for stack in native_stacks(run):
        ours[short([plain(name) for _, name, _, _ in stack.frames])] += stack.samples
    total, all_theirs = sum(ours.values()), sum(theirs.values())
    assert total > 300 and all_theirs > 300
    # What one has seen more than once, the other has seen.
    for chain, samples in ours.items():
        assert samples < 0.01 * total or chain in theirs, chain
    for chain, samples in theirs.items():
        assert samples < 0.01 * all_theirs or chain in ours, chain
    within = 5 if total < 3000 else 2.5
    for way in WAYS:
        mine = 100 * sum(n for chain, n in ours.items() if chain[:1] == (way,)) / total
        other = 100 * sum(n for chain, n in theirs.items() if chain[:1] == (way,)) / all_theirs
        assert mine == pytest.approx(other, abs=within), way
    recursive = [chain for chain in ours if chain[:1] == ("recursive_way",) and len(chain) > 10]
    assert recursive and all(set(chain) == {"recursive_way", "leaf"} or "leaf" not in chain for chain in recursive)
