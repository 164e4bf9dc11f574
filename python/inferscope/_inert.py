"""scope, mark_event and counter where the native part cannot be loaded: they check their arguments and do nothing."""

from __future__ import annotations

from typing import Any


def _is_name(what: str, name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{what} must be a str, not {type(name).__name__}")


class scope:
    """A part of the program whose time is wanted; nothing records here.

    >>> with scope("request"):
    ...     pass
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        _is_name("the name of a scope", name)
        self.name = name

    def __repr__(self) -> str:
        return f"scope({self.name!r})"

    def __enter__(self) -> scope:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def __call__(self, function: Any) -> Any:
        from inferscope._scoped import scoped

        return scoped(self, function)


def mark_event(name: str, metadata: dict[str, Any] | None = None) -> None:
    """A moment worth remembering; nothing records here.

    >>> mark_event("first token", {"request": 7})
    """
    _is_name("mark_event(): the name", name)
    if metadata is not None and not isinstance(metadata, dict):
        raise TypeError(f"mark_event(): metadata must be a dict or None, not {type(metadata).__name__}")


def counter(name: str, value: float) -> None:
    """A sample of a value that changes over time; nothing records here.

    >>> counter("queue length", 3)
    """
    _is_name("counter(): the name", name)
    if not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError(f"counter(): the value must be a number, not {type(value).__name__}")
