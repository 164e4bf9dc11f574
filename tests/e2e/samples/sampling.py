"""Samples out of `inferscope dump`."""

from __future__ import annotations

import re
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


def shares(taken: list[Sample], file: Path) -> dict[str, float]:
    """Percent of the CPU time in which each function of that file was the newest on the stack."""
    time: Counter[str] = Counter()
    for sample in taken:
        names = sample.names(file)
        if names:
            time[names[-1]] += sample.cpu_ns
    return {name: 100 * ns / sum(time.values()) for name, ns in time.items()}
