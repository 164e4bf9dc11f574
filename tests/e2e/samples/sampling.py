"""Samples out of `inferscope dump`, and runs that are compared with bare ones."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEXT = r'"((?:[^"\\]|\\.)*)"'
SAMPLE = re.compile(
    r"^\+(\S+) p(\d+) t(\d+) (?:nested )?#\d+ sample arg (\d+) period_ns (\d+)((?: \w+)*?)"
    rf"(?: task {TEXT})? stack (.*)$"
)
FRAME = re.compile(rf"{TEXT} {TEXT}:(\d+)")
TOTAL = re.compile(r"^total stack p(\d+) t(\d+) samples (\d+) steps (\d+) cpu_ns (\d+)((?: \w+)*?) stack (.*)$")


@dataclass
class Sample:
    process: int
    thread: int
    cpu_ns: int
    flags: set[str]
    task: str
    frames: list[tuple[str, str, int]]  # plain name, file and line, root first

    def names(self, file: str | Path) -> list[str]:
        """The functions of that file on the stack."""
        return [name for name, where, _ in self.frames if where == str(file)]


def frames(text: str) -> list[tuple[str, str, int]]:
    return [(name.rpartition(".")[2], file, int(line)) for name, file, line in FRAME.findall(text)]


def samples(run: Any) -> list[Sample]:
    found = []
    for line in run.dump():
        got = SAMPLE.match(line)
        if got:
            _, process, thread, steps, period, flags, task, stack = got.groups()
            flags = re.sub(r" (cpu|node) \d+", "", flags)  # where it ran
            found.append(
                Sample(
                    int(process), int(thread), int(steps) * int(period), set(flags.split()), task or "", frames(stack)
                )
            )
    return found


def totals(run: Any) -> Counter[str]:
    """CPU time of every stack in the totals, in ns, by its text."""
    found: Counter[str] = Counter()
    for line in run.dump():
        got = TOTAL.match(line)
        if got:
            found[got.group(7)] += int(got.group(5))
    return found


THREAD = re.compile(r"^thread t(\d+) p\d+ tid (\d+) ")
NATIVE = re.compile(rf"(native |guessed |){TEXT} {TEXT}:(\d+)")


@dataclass
class Stack:
    thread: int
    samples: int
    cpu_ns: int
    flags: set[str]
    frames: list[tuple[str, str, str, int]]  # "", native or guessed, name, file and line, root first


def native_stacks(run: Any) -> list[Stack]:
    """Every stack in the totals with its native frames; threads by their numbers in the system."""
    found = []
    tids: dict[str, int] = {}
    for line in run.dump():
        told = THREAD.match(line)
        if told:
            tids[told.group(1)] = int(told.group(2))
        got = TOTAL.match(line)
        if got:
            _, thread, count, _, cpu_ns, flags, stack = got.groups()
            frames = [(kind.strip(), name, file, int(no)) for kind, name, file, no in NATIVE.findall(stack)]
            found.append(Stack(tids.get(thread, 0), int(count), int(cpu_ns), set(flags.split()), frames))
    return found


def shares(taken: list[Sample], file: Path) -> dict[str, float]:
    """Percent of the CPU time in which each function of that file was the newest on the stack."""
    time: Counter[str] = Counter()
    for sample in taken:
        names = sample.names(file)
        if names:
            time[names[-1]] += sample.cpu_ns
    return {name: 100 * ns / sum(time.values()) for name, ns in time.items()}


def same(
    inferscope: Any, *command: str | Path, timeout: float = 100, rate: str = "1000", more: tuple[str, ...] = ()
) -> Any:
    """The run, after its output and its end were compared with those of a bare one."""
    options = ["run", "--no-report", "--rate", rate, "--budget", "off", *more]
    run = inferscope(*options, "--", *command, timeout=timeout)
    bare = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=timeout, check=False,
        cwd=inferscope.folder, env=inferscope.environment,
    )  # fmt: skip
    assert run.stdout == bare.stdout, f"traced: {run.stdout}bare: {bare.stdout}"
    ours, theirs = (re.sub("0x[0-9a-f]+", "", text) for text in (run.theirs, bare.stderr))
    assert ours == theirs, f"traced: {ours}bare: {theirs}"
    assert run.returncode == bare.returncode, (run.returncode, bare.returncode)
    return run


def run_python(inferscope: Any, python: str, tmp_path: Path, code: str, **options: Any) -> Any:
    program = tmp_path / "program.py"
    program.write_text(code)
    return same(inferscope, python, program, **options)


SPIN = """
import time
def spin(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end: sum(range(50))
"""
