"""The binding to the runtime inside this process."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, final

_F = TypeVar("_F", bound=Callable[..., Any])

inert: bool
"""True when the runtime that is loaded is not of this version; then nothing here does anything."""

reason: str | None
"""Why it is inert."""

def attach(folder: str, began: int = 0, /) -> bool:
    """Join the session in this folder; False when that cannot be done. Again: True, and nothing happens."""

def active() -> bool:
    """Is a session recording this process now?"""

def is_python() -> None:
    """Tell the session that this process runs Python."""

def start(all_frames: bool, c_calls: bool, budget: float) -> str | None:
    """Trace calls from now on; None, or why that cannot be."""

def stop() -> None:
    """One start() less."""

def cuda(what: int) -> int:
    """Watch CUDA if it is in use here (1), tell what devices have done (0), or that and no more (-1).

    What became of 1: 0 it is not in use, 1 it is recorded, 2 another profiler has it, 3 that failed.
    """

def memory(on: bool) -> bool:
    """Let Python's own allocators tell of memory, or no more; False when they do not.

    They do not where the session wants none, or where the agent sees all of malloc.
    """

def forked() -> None:
    """In a fork child: take back every start()."""

def layout() -> bool:
    """Let samples of this process read Python frames; False when they cannot be read."""

def ticks() -> int:
    """Time now, as events have it."""

def window(open: bool) -> None:
    """One window more, or less: while there is one nothing is forgotten."""

def flush(patience_ms: int, forget: bool = False) -> bool:
    """Wait until all events so far are in the trace; then a scratch trace without a window may forget them."""

def session() -> tuple[str, bool, float, int] | None:
    """Path of the trace, is it scratch, the budget, and how often it forgot; None without a session."""

@final
class scope:
    """A part of the program whose time is wanted: a context manager and a decorator.

    >>> with scope("request"):
    ...     answer = 42
    >>> @scope("decode")
    ... def decode(token):
    ...     return token
    >>> decode(7)
    7

    It nests, may be used again and in many tasks and threads at once, never swallows an exception, and costs next
    to nothing when no session records.  Decorated are plain functions, ``async def``, generators and async generators.
    """

    def __new__(cls, name: str) -> scope: ...
    @property
    def name(self) -> str:
        """What it is called."""
    def __enter__(self) -> scope: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def __call__(self, function: _F, /) -> _F: ...

def mark_event(name: str, metadata: dict[str, Any] | None = None) -> None:
    """A moment worth remembering, with a JSON-able dict if you like.

    >>> mark_event("first token", {"request": 7})

    Metadata that is no JSON, or too long (4 KB), is left out and the event says so.
    """

def counter(name: str, value: float) -> None:
    """A sample of a value that changes over time.

    >>> counter("queue length", 3)
    """
