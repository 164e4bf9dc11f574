"""What the programs of the truth suite share: time, work of known kinds, and saying the truth at the end."""

import hashlib
import json
import sys
import time
from pathlib import Path

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 2.5
FIXED = "fixed" in sys.argv[2:]  # the same without its fault
BLOCK = b"x" * 1_000_000


def native(times: int = 1) -> None:
    """Work outside of Python and of the GIL: about a millisecond each."""
    for _ in range(times):
        hashlib.sha256(BLOCK).digest()


def queued() -> float:
    """Seconds that this thread was ready and had no CPU."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


class Clock:
    """Adds up what is spent inside of it."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.times = 0

    def __enter__(self) -> "Clock":
        self.began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.spent += time.perf_counter() - self.began
        self.times += 1

    @property
    def mean(self) -> float:
        return self.spent / max(self.times, 1)


def at(function: object, text: str) -> "tuple[str, int]":
    """A function, and the line of it that holds a text."""
    import inspect

    lines, first = inspect.getsourcelines(function)  # type: ignore[arg-type]
    return function.__name__, first + next(i for i, line in enumerate(lines) if text in line)  # type: ignore[attr-defined]


def truth(
    cause: "str | None",
    share: "float | list[float] | None" = None,
    *places: "tuple[str, int]",
    one: "float | None" = None,
) -> None:
    """cause: what is wrong, None: nothing; share: percent of the judged time that it takes, or between what it lies;
    places: where it is, any of them; one: seconds that a request takes, for a look at what the fault costs."""
    print(json.dumps({"cause": cause, "share": share, "places": places, "one": one}))


def skip(why: str) -> None:
    print(json.dumps({"skip": why}))
    sys.exit()
