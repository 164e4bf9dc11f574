"""InferScope: why is this inference slow, and what should I change?

The work is done by the native command ``inferscope`` and by a small runtime inside the traced program;
this package carries them into Python.

>>> import inferscope
>>> inferscope.active()
False
>>> with inferscope.scope("request"):
...     inferscope.mark_event("first token", {"request": 7})
...     inferscope.counter("queue length", 3)
"""

try:
    from inferscope._core import counter, mark_event, scope
except ImportError:  # not built for this Python, or the runtime of another version is in this process
    from inferscope._inert import counter, mark_event, scope  # type: ignore[assignment]

__version__ = "0.1.0"
__all__ = ["__version__", "active", "counter", "mark_event", "scope"]


def active() -> bool:
    """Is a session recording this process now?

    >>> active()
    False
    """
    try:
        from inferscope import _core
    except ImportError:
        return False
    return _core.active()
