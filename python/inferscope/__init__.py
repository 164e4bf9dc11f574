"""InferScope: why is this inference slow, and what should I change?

The work is done by the native command ``inferscope`` and by a small runtime inside the traced program;
this package carries them into Python.

>>> import inferscope
>>> inferscope.active()
False
"""

__version__ = "0.1.0"
__all__ = ["__version__", "active"]


def active() -> bool:
    """Is a session recording this process now?

    >>> active()
    False
    """
    from inferscope import _core

    return _core.active()
