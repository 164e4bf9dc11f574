"""Call events out of `inferscope dump`."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

TEXT = r'"((?:[^"\\]|\\.)*)"'
TIMED = re.compile(rf"^([+-]\S+) p(\d+) t(\d+) (?:nested )?#\d+ call_(\w+) {TEXT} {TEXT}:(\d+)(?: arg \d+)?$")
EVENT = re.compile(rf"^[+-]\S+ p(\d+) t(\d+) (?:nested )?#\d+ (call_\w+) {TEXT} {TEXT}:(\d+)(?: arg (\d+))?$")


def events(run: Any) -> list[tuple[str, str, str, str, int]]:
    """Process and thread, kind, plain name with its line, file and argument of every call event, in order."""
    found = []
    for line in run.dump():
        got = EVENT.match(line)
        if got:
            process, thread, kind, name, file, first, arg = got.groups()
            found.append((f"{process}.{thread}", kind, f"{name.rpartition('.')[2]}:{first}", file, int(arg or 0)))
    return found


def calls(run: Any, file: str | Path) -> Counter[str]:
    """How often each function of that file was entered or went on."""
    return Counter(
        name for _, kind, name, where, _ in events(run) if where == str(file) and kind in ("call_enter", "call_resume")
    )


@dataclass
class Span:
    """One call, from where it was entered or went on to where it was left."""

    thread: str
    function: str
    depth: int
    began_us: float
    caller: Span | None
    repeated: bool  # inside another call of the same function
    ended_us: float = 0.0

    @property
    def took_us(self) -> float:
        return self.ended_us - self.began_us


def spans(run: Any) -> list[Span]:
    """Every call that ended; what began before tracing did is not among them."""
    found: list[Span] = []
    open_calls: dict[str, list[Span]] = {}
    for line in run.dump():
        got = TIMED.match(line)
        if not got:
            continue
        seconds, process, number, kind, name, file, first = got.groups()
        thread, function, now = f"{process}.{number}", f"{name}:{file}:{first}", float(seconds) * 1e6
        stack = open_calls.setdefault(thread, [])
        if kind != "exit":
            repeated = any(s.function == function for s in stack)
            stack.append(Span(thread, function, len(stack), now, stack[-1] if stack else None, repeated))
        elif stack:
            assert stack[-1].function == function
            stack[-1].ended_us = now
            found.append(stack.pop())
    assert not any(open_calls.values())
    return found


@lru_cache
def version(python: str) -> tuple[int, ...]:
    said = subprocess.run(
        [python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=True
    ).stdout
    return tuple(map(int, said.split()))
