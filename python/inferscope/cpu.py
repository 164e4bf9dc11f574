"""Collecting the calls of this process into a buffer."""

from __future__ import annotations

import enum
import threading
import warnings
from typing import Any, Protocol

from inferscope import _session


class State(str, enum.Enum):
    """Where a collector is: ``Uninitialized -> Idle -> Collecting -> Finalized``.

    >>> from inferscope import State
    >>> [state.name for state in State]
    ['Uninitialized', 'Idle', 'Collecting', 'Finalized']
    """

    Uninitialized = "Uninitialized"
    Idle = "Idle"
    Collecting = "Collecting"
    Finalized = "Finalized"


class Buffer(Protocol):
    """Whatever takes event dictionaries."""

    def enqueue(self, event: dict[str, Any], /) -> object: ...


class CpuCollector:
    """Collects what this process does on the CPU between ``start()`` and ``stop()``.

    The events go into the buffer when it is stopped: a TraceBuffer, or anything with ``enqueue(event)``.
    Both calls may come twice, and a collector can be started again; several may run at once. When collecting
    is not possible the program goes on, the state stays ``Idle`` and ``get_stats()["reason"]`` says why.
    With ``memory`` there are samples of the memory that Python's allocators give out, too.

    >>> from inferscope import CpuCollector, TraceBuffer
    >>> collector = CpuCollector(TraceBuffer(size_mb=10))
    >>> collector.start()
    >>> sum(map(abs, range(3)))
    3
    >>> collector.stop()
    >>> collector.state.name
    'Finalized'
    """

    _state = State.Uninitialized

    def __init__(
        self,
        trace_buffer: Buffer,
        *,
        all_frames: bool = False,
        c_calls: bool = False,
        budget: float | str | None = 5.0,
        memory: bool = False,
    ) -> None:
        if not callable(getattr(trace_buffer, "enqueue", None)):
            raise TypeError(f"trace_buffer has to have enqueue(event), and {type(trace_buffer).__name__} has not")
        self._buffer = trace_buffer
        size_mb = getattr(trace_buffer, "size_mb", None)
        self._window = _session.Window(
            size_mb if isinstance(size_mb, float) else 100.0,
            bool(all_frames),
            bool(c_calls),
            _session.budget_of(budget),
            memory=bool(memory),
        )
        self._window.forked = self._forked
        self._lock = threading.RLock()
        self._counts: dict[str, int] = {}
        self._reason: str | None = None
        self._state = State.Idle

    @property
    def state(self) -> State:
        """Where this collector is."""
        return self._state

    def start(self) -> None:
        """Begin to collect, if it has not begun."""
        with self._lock:
            if self._state is State.Collecting:
                return
            self._counts, self._reason = {}, None
            try:
                opened = self._window.open()
            except Exception as error:  # ours, whatever it is: the program goes on
                opened, self._window.note = False, f"{type(error).__name__}: {error}"
            self._reason = self._window.note
            self._state = State.Collecting if opened else State.Idle

    def stop(self) -> None:
        """End, and put what was seen into the buffer."""
        with self._lock:
            if self._state is not State.Collecting:
                return
            self._state = State.Finalized
            try:
                self._window.close()
                self._reason = self._window.note
                self._counts = self._window.read(self._buffer.enqueue)
            except Exception as error:
                self._reason = f"{type(error).__name__}: {error}"
            finally:
                self._window.release()
            if self._reason is not None:
                warnings.warn(f"inferscope: {self._reason}", RuntimeWarning, stacklevel=2)

    def get_thread_local_buffer(self) -> list[dict[str, Any]]:
        """The events of the calling thread in the current or last window, as far as the trace has them by now.

        >>> from inferscope import CpuCollector, TraceBuffer
        >>> CpuCollector(TraceBuffer(size_mb=1)).get_thread_local_buffer()
        []
        """
        events: list[dict[str, Any]] = []
        try:
            if self._state in (State.Collecting, State.Finalized):
                self._window.read(events.append, threading.get_native_id())
        except Exception as error:
            self._reason = f"{type(error).__name__}: {error}"
        return events

    def get_stats(self) -> dict[str, Any]:
        """What was collected in the current or last window.

        ``events``, ``lost`` (of them the buffer or the recorder had no room for), ``skipped`` (times that the
        budget left calls of a function out), ``threads``, ``state``, and ``reason`` when something went wrong.

        >>> from inferscope import CpuCollector, TraceBuffer
        >>> stats = CpuCollector(TraceBuffer(size_mb=1)).get_stats()
        >>> stats["events"], stats["state"].name, stats["reason"]
        (0, 'Idle', None)
        """
        counts = self._counts
        try:
            if self._state is State.Collecting:
                counts = self._window.read(None)
        except Exception as error:
            self._reason = f"{type(error).__name__}: {error}"
        names = ("events", "lost", "skipped", "unmatched", "refused", "threads")
        return {**{name: counts.get(name, 0) for name in names}, "state": self._state, "reason": self._reason}

    def _forked(self) -> None:
        self._lock = threading.RLock()
        if self._state is State.Collecting:
            self._state, self._counts, self._reason = State.Idle, {}, self._window.note
