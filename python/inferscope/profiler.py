"""One object that collects, and says what was collected."""

from __future__ import annotations

import os
import warnings
from types import TracebackType
from typing import Any

from inferscope.cpu import CpuCollector, State


class Profiler:
    """Traces a part of a program.

    >>> import inferscope
    >>> def work():
    ...     return sum(range(1000))
    >>> with inferscope.Profiler() as profiler:
    ...     _ = work()
    >>> [event["name"] for event in profiler.get_unified_timeline() if event["event_type"] == "cpu_call"]
    ['work']

    ``size_mb`` bounds what is kept; ``all_frames``, ``c_calls`` and ``budget`` mean what they mean to
    ``inferscope run``; ``trace`` names a file that gets a copy of the trace, for ``inferscope analyze``; with
    ``memory`` allocations of Python are sampled.
    """

    def __init__(
        self,
        *,
        size_mb: float = 100,
        all_frames: bool = False,
        c_calls: bool = False,
        budget: float | str | None = 5.0,
        trace: str | os.PathLike[str] | None = None,
        memory: bool = False,
    ) -> None:
        from inferscope._offline import TraceBuffer

        self._buffer = TraceBuffer(size_mb)
        self._cpu = CpuCollector(self._buffer, all_frames=all_frames, c_calls=c_calls, budget=budget, memory=memory)
        self._cpu._window.watch_gpu()
        self._trace = None if trace is None else os.fspath(trace)
        self._copied: str | None = None

    @property
    def state(self) -> State:
        """Where its collector is."""
        return self._cpu.state

    def start(self) -> None:
        """Begin; what an earlier start() collected is forgotten.

        >>> from inferscope import Profiler
        >>> profiler = Profiler(size_mb=1)
        >>> profiler.start()
        >>> profiler.state.name
        'Collecting'
        >>> timeline = profiler.stop()
        """
        if self._cpu.state is not State.Collecting:
            self._buffer.clear()
            self._copied = None
        self._cpu.start()

    def stop(self) -> list[dict[str, Any]]:
        """End; the timeline."""
        if self._cpu.state is State.Collecting:
            self._cpu.stop()
            self._keep_trace()
        return self._buffer.read_all()

    def get_unified_timeline(self) -> list[dict[str, Any]]:
        """All events by the time at which they began, also while it runs."""
        if self._cpu.state is not State.Collecting:
            return self._buffer.read_all()
        events: list[dict[str, Any]] = []
        self._cpu._window.flush()
        self._cpu._window.read(events.append)
        return events

    def get_stats(self) -> dict[str, Any]:
        """What ``CpuCollector.get_stats()`` says, and ``trace``: where the copy of the trace is, or None."""
        return {**self._cpu.get_stats(), "trace": self._copied}

    def report(self, format: str = "markdown") -> str:
        """The report on what was collected, as ``inferscope analyze`` writes it: markdown or json.

        >>> from inferscope import Profiler
        >>> with Profiler(size_mb=1) as profiler:
        ...     pass
        >>> profiler.report().splitlines()[0]
        '<!-- inferscope-report-1 -->'
        """
        return self._cpu._window.report(format)

    def analyze(self) -> dict[str, Any]:
        """The same as a dictionary.

        >>> from inferscope import Profiler
        >>> with Profiler(size_mb=1) as profiler:
        ...     pass
        >>> profiler.analyze()["schema"]
        'inferscope-report-1'
        """
        import json

        found: dict[str, Any] = json.loads(self.report("json"))
        return found

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _keep_trace(self) -> None:
        if self._trace is None:
            return
        try:
            self._cpu._window.copy(self._trace)
            self._copied = self._trace
        except Exception as error:
            warnings.warn(f"inferscope: {error}", RuntimeWarning, stacklevel=3)
