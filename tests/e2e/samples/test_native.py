"""Native frames: the right functions between the right Python frames, by name."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timed

TEXT = r'"((?:[^"\\]|\\.)*)"'
STACK = re.compile(r"^total stack p\d+ t(\d+) samples (\d+) steps \d+ cpu_ns (\d+)((?: \w+)*?) stack (.*)$")
FRAME = re.compile(rf"(native |guessed |){TEXT} {TEXT}:(\d+)")

# Every way from Python through C into Python; the leaf is in C as well.
NESTED = """
import ctypes, functools, json, re, time, zlib
data = bytes(range(256)) * 4000
def leaf():
    end = time.thread_time_ns() + 30_000_000
    while time.thread_time_ns() < end:
        zlib.compress(data, 6)
def reduced(a, b):
    leaf()
    return a
def key(x):
    functools.reduce(reduced, [1, 2])
    return x
def substituted(match):
    sorted([3, 1], key=key)
    return ""
def called():
    re.sub("a", substituted, "a")
    return 0
CALL = ctypes.CFUNCTYPE(ctypes.c_int)(called)
def main():
    for _ in range(8):
        CALL()
main()
"""
# callee: a function of C that must lie between it and its caller
BETWEEN = {
    "called": "_ctypes_callproc",
    "substituted": "pattern_subx",
    "key": "list_sort_impl",
    "reduced": "functools_reduce",
}


def stacks(run: Any) -> list[tuple[int, set[str], list[tuple[str, str, str, int]]]]:
    """Samples, flags and frames (kind, name, file, line) of each stack in the totals."""
    found = []
    for line in run.dump():
        got = STACK.match(line)
        if got:
            frames = [(kind.strip(), name, file, int(no)) for kind, name, file, no in FRAME.findall(got.group(5))]
            found.append((int(got.group(2)), set(got.group(4).split()), frames))
    return found


def traced(inferscope: Any, mode: str, *args: str | Path, rate: str = "1000") -> Any:
    run = inferscope("run", "--no-report", "--native", mode, "--rate", rate, "--budget", "off", *args, timeout=200)
    assert run.returncode == 0, run.stderr
    return run


def test_D4_c_functions_lie_between_the_python_ones_they_connect(inferscope: Any, python: str, tmp_path: Path) -> None:
    program = tmp_path / "nested.py"
    program.write_text(NESTED)
    run = traced(inferscope, "on", "--python", python, program)
    whole = deflating = 0
    for count, flags, frames in stacks(run):
        if not any(name == "leaf" for _, name, _, _ in frames) or flags & {"native_cut", "unplaced"}:
            continue
        names = [name for _, name, _, _ in frames]
        if "zlib_compress" not in names:
            continue
        whole += count
        assert not any("_core" in file or "libinferscope" in file for _, _, file, _ in frames), names
        assert not any(name.startswith("_PyEval_EvalFrameDefault") for name in names), names
        at = 0
        for callee, c_function in BETWEEN.items():
            own = names.index(callee, at)
            assert c_function in names[at:own], (callee, names)
            at = own
        # Direct calls have nothing of the ways through C between them.
        direct = names[names.index("reduced") : names.index("leaf")]
        assert not set(direct) & set(BETWEEN.values()), names
        assert names.index("leaf") < names.index("zlib_compress"), names
        deflating += count if names.index("zlib_compress") + 1 < len(names) and "libz" in frames[-1][2] else 0
        assert "main" in names[: names.index("called")]
    assert whole > 100
    assert deflating > whole * 0.8


def test_the_leaf_is_a_native_function_beneath_its_line(inferscope: Any, python: str, tmp_path: Path) -> None:
    program = tmp_path / "nested.py"
    program.write_text(NESTED)
    run = traced(inferscope, "leaf", "--python", python, program)
    inside = 0
    for count, _, frames in stacks(run):
        python_names = [name for kind, name, _, _ in frames if kind == ""]
        native = [at for at, frame in enumerate(frames) if frame[0]]
        # At most one, and the newest.
        assert native in ([], [len(frames) - 1]), frames
        if python_names and python_names[-1] == "leaf" and native and "libz" in frames[-1][2]:
            inside += count
            assert python_names[-5:] == ["called", "sub", "substituted", "key", "reduced", "leaf"][-5:]
    assert inside > 100


def test_no_native_frames_when_none_are_asked_for(inferscope: Any, python: str, tmp_path: Path) -> None:
    program = tmp_path / "nested.py"
    program.write_text(NESTED)
    run = traced(inferscope, "off", "--python", python, program)
    found = stacks(run)
    assert sum(count for count, _, frames in found if frames) > 100
    assert not any(kind for _, _, frames in found for kind, *_ in frames)


def test_a_program_without_python_has_native_stacks(inferscope: Any, target: Callable[[str], str]) -> None:
    run = traced(inferscope, "on", "--", target("chain.c"))
    shares = {"main": 0, "on_thread": 0}
    total = 0
    for count, flags, frames in stacks(run):
        names = [name for _, name, _, _ in frames]
        if "third" not in names:
            continue
        total += count
        assert "native_cut" not in flags
        assert names[-4:] == ["first", "second", "third", "spin"] or names[-3:] == ["first", "second", "third"], names
        root = "on_thread" if "on_thread" in names else "main"
        assert names[0] == ("_start" if root == "main" else names[0])
        shares[root] += count
        lines = {name: line for _, name, file, line in frames if file.endswith("chain.c")}
        # Where debug information is read: callers have the line of their call.
        if lines:
            text = Path(next(file for _, _, file, _ in frames if file.endswith("chain.c"))).read_text().splitlines()
            assert "third(" in text[lines["second"] - 1] and "second(" in text[lines["first"] - 1]
    assert total > 100
    assert min(shares.values()) > total / 5, shares


@pytest.mark.parametrize("mode", ["leaf", "on"])
def test_H9_stacks_that_change_all_the_time_are_walked(
    inferscope: Any, python: str, target: Callable[[str], str], count: Any, mode: str
) -> None:
    """Threads, generators, exceptions, cycles, libraries that come and go, callbacks, tasks."""
    run = traced(inferscope, mode, "--no-python", "--python", python, target("restless.py"), str(count(3, 60)))
    assert run.stdout.startswith("done callbacks cycles exceptions generators libraries")
    found = stacks(run)
    total = sum(samples for samples, _, _ in found)
    odd = sum(samples for samples, flags, _ in found if flags & {"fault", "unplaced", "native_cut", "switched"})
    assert total > 300
    assert odd < total / 50, odd


def test_rules_are_those_that_readelf_reads(inferscope: Any, python: str) -> None:
    """Every row of .eh_frame of libc and of libpython."""
    tool = next((Path(inferscope.path).parents[4]).glob("tests/unit/cfi_rules"), None)
    if tool is None:
        pytest.skip("the tools of the tests are not built")
    code = "import sysconfig; print(*(sysconfig.get_config_var(name) for name in ('LIBDIR', 'INSTSONAME')), sep='/')"
    where = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    libraries = [path for path in (where, "/lib/x86_64-linux-gnu/libc.so.6") if ".so" in path and Path(path).exists()]
    assert libraries
    for library in libraries:
        rows = interpreted(library)
        text = "\n".join(f"{address:x}" for address, _, _ in rows)
        out = subprocess.run([tool, library], input=text, capture_output=True, text=True, check=True).stdout
        rules = [tuple(map(int, line.split())) for line in out.splitlines()]
        assert len(rules) == len(rows) > 10000
        known = 0
        for (address, cfa, rbp), (kind, base, offset, bp) in zip(rows, rules):
            want = re.fullmatch(r"(rsp|rbp|r10)\+(\d+)", cfa)
            if kind not in (1, 5) or base >= 0x80 or want is None:
                continue
            known += 1
            assert (base, offset) == ({"rsp": 7, "rbp": 6, "r10": 10}[want[1]], int(want[2])), hex(address)
            if kind == 1:
                assert bp == (int(rbp[1:]) if re.fullmatch(r"c-\d+", rbp) else 0), hex(address)
        assert known > 0.995 * len(rows)


def interpreted(library: str) -> list[tuple[int, str, str]]:
    """Address, frame address and rbp of each row."""
    command = ["readelf", "--wide", "--debug-dump=frames-interp", library]
    try:
        # It complains of a debug link that leads nowhere, and prints all the same.
        out = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        pytest.skip("readelf is not here")
    rows: list[tuple[int, str, str]] = []
    columns: list[str] = []
    entry = False
    for line in out.splitlines():
        if " FDE " in line or " CIE " in line:
            entry = " FDE " in line
        elif line.lstrip().startswith("LOC"):
            columns = line.split()
        elif entry and re.match(r"[0-9a-f]{16} ", line):
            cells = dict(zip(columns, line.split()))
            rows.append((int(cells["LOC"], 16), cells["CFA"], cells.get("rbp", "u")))
    # Of several rows at one address the last counts.
    return [row for row, after in zip(rows, [*rows[1:], (0, "", "")]) if row[0] != after[0]]


def test_code_of_the_kernel_that_runs_in_the_program_is_called_so(inferscope: Any, python: str, tmp_path: Path) -> None:
    program = tmp_path / "clock.py"
    program.write_text(
        "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end:\n"
        "    for _ in range(20000): time.perf_counter()\n"
    )
    report = tmp_path / "r.json"
    inferscope("run", "--native", "on", "--budget", "off", "--report", report, "--python", python, program)
    modules = {
        frame["module"]
        for stack in json.loads(report.read_text())["stacks"]
        for frame in stack["frames"]
        if frame["kind"] == "native"
    }
    assert "linux-vdso.so.1" in modules
    assert all(Path(name).exists() for name in modules - {"linux-vdso.so.1", None})
