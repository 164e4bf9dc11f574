"""Call events out of `inferscope dump`."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

TEXT = r'"((?:[^"\\]|\\.)*)"'
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


@lru_cache
def version(python: str) -> tuple[int, ...]:
    said = subprocess.run(
        [python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=True
    ).stdout
    return tuple(map(int, said.split()))
