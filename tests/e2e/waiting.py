"""Wait for something, and find processes; for tests that watch others."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
DEADLINE = 30.0


def until(what: Callable[[], T], why: str, seconds: float = DEADLINE) -> T:
    """Looks again until it is true; gives what was seen then."""
    end = time.monotonic() + seconds
    while True:
        value = what()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {why}")
        time.sleep(0.01)


def stat_of(pid: int) -> list[str]:
    """State, parent, group, ... of a process; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def program_under(recorder: int, name: str) -> int:
    """The child of a recorder that runs the program of this name; 0: not yet."""
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        if stat_of(pid)[1:2] != [str(recorder)]:
            continue
        try:
            if (entry / "exe").readlink().name.startswith(name):
                return pid
        except OSError:
            continue
    return 0


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])
