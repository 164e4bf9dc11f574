"""Traces read and reported."""

from os import PathLike
from typing import Any, Callable

class TraceBuffer:
    """Event dictionaries in a bounded number of bytes; when it is full the oldest are discarded."""

    def __new__(cls, size_mb: float = 100) -> TraceBuffer: ...
    def enqueue(self, event: dict[str, Any], /) -> bool:
        """Store one event dictionary; False: it is malformed or too large."""

    def read_all(self) -> list[dict[str, Any]]:
        """All events that are kept, oldest first; they stay."""

    def clear(self) -> None:
        """Forget all events; lost stays."""

    def __len__(self) -> int: ...
    @property
    def lost(self) -> int:
        """Events that were discarded for newer ones."""

    @property
    def size_mb(self) -> float:
        """What it holds at most."""

def read(
    path: str | PathLike[str],
    from_ticks: int,
    to_ticks: int,
    pid: int,
    tid: int,
    most: int,
    take: Callable[[dict[str, Any]], object] | None,
) -> dict[str, int]:
    """Give events to take()."""

def report(
    path: str | PathLike[str],
    from_ticks: int,
    to_ticks: int,
    live: bool,
    format: str,
    files: dict[bytes, bytes] | None,
) -> str:
    """A report as text."""

def render(json: str, format: str, events: str | PathLike[str] | None) -> str:
    """A report from the text of a JSON report."""

def copy(path: str | PathLike[str], to: str | PathLike[str], force: bool) -> None:
    """A copy of a trace."""

def align(
    events: list[dict[str, Any]], readings: list[Any], margin_us: float
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Events of GPUs on the clock of the CPU."""

def judge(path: str | PathLike[str], rules: str | None) -> str:
    """The JSON report on a trace of ours or of another tool."""
