"""InferScope: why is this inference slow, and what should I change?

The work is done by the native command ``inferscope`` and by a small runtime inside the traced program;
this package carries them into Python.

>>> import inferscope
>>> with inferscope.scope("request"):
...     inferscope.mark_event("first token", {"request": 7})
...     inferscope.counter("queue length", 3)
>>> with inferscope.Profiler() as profiler:
...     _ = sorted(range(10), key=lambda x: -x)
>>> [event["event_type"] for event in profiler.get_unified_timeline()].count("cpu_call")
10
"""

# Every traced Python runs this file: what is not needed at once comes when it is asked for.
try:
    from inferscope._core import counter, mark_event, scope
except ImportError:  # not built for this Python, or the runtime of another version is in this process
    from inferscope._inert import counter, mark_event, scope  # type: ignore[assignment]

__version__ = "0.1.0"
__all__ = [
    "BottleneckAnalyzer",
    "CPUProfiler",
    "CpuCollector",
    "Error",
    "FlameGraphConverter",
    "GpuCollector",
    "ProfileReport",
    "Profiler",
    "ReportGenerator",
    "State",
    "TimelineMerger",
    "TraceBuffer",
    "__version__",
    "active",
    "counter",
    "mark_event",
    "profile_function",
    "profiler_context",
    "scope",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from inferscope._errors import Error
    from inferscope._offline import TraceBuffer
    from inferscope.analysis import BottleneckAnalyzer
    from inferscope.cpu import CpuCollector, State
    from inferscope.gpu import GpuCollector
    from inferscope.profiler import Profiler
    from inferscope.report import ReportGenerator
    from inferscope.sampling import CPUProfiler, FlameGraphConverter, ProfileReport, profile_function, profiler_context
    from inferscope.timeline import TimelineMerger
del TYPE_CHECKING

# Where the other names come from.
_HOMES = {
    "BottleneckAnalyzer": "analysis",
    "CPUProfiler": "sampling",
    "CpuCollector": "cpu",
    "Error": "_errors",
    "FlameGraphConverter": "sampling",
    "GpuCollector": "gpu",
    "ProfileReport": "sampling",
    "Profiler": "profiler",
    "ReportGenerator": "report",
    "State": "cpu",
    "TimelineMerger": "timeline",
    "TraceBuffer": "_offline",
    "load_ipython_extension": "notebook",
    "profile_function": "sampling",
    "profiler_context": "sampling",
}


def __getattr__(name: str) -> "Any":
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})


def active() -> bool:
    """Is a session recording this process now?

    >>> isinstance(active(), bool)
    True
    """
    try:
        from inferscope import _core
    except ImportError:
        return False
    return _core.active()
