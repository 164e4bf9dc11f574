"""Collecting what GPUs do for this process into a buffer."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Sequence
from typing import Any

from inferscope import _devices, _session
from inferscope.cpu import Buffer, State

#: What event dictionaries of work are called.
_KINDS = ("gpu_kernel", "h2d_copy", "d2h_copy", "d2d_copy", "p2p_copy", "memset")


class GpuCollector:
    """Collects what GPUs did for this process between ``start()`` and ``stop()``.

    Kernels, copies, sets and the calls that asked for them go into the buffer when it is stopped, on the clock of
    the CPU: a TraceBuffer, or anything with ``enqueue(event)``. Where there is no GPU the program goes on, one warning
    says so, and ``get_stats()["reason"]`` does too.

    >>> from inferscope import GpuCollector, TraceBuffer
    >>> buffer = TraceBuffer(size_mb=1)
    >>> collector = GpuCollector(buffer)
    >>> collector.state.name
    'Idle'
    """

    _state = State.Uninitialized

    def __init__(self, trace_buffer: Buffer) -> None:
        if not callable(getattr(trace_buffer, "enqueue", None)):
            raise TypeError(f"trace_buffer has to have enqueue(event), and {type(trace_buffer).__name__} has not")
        self._buffer = trace_buffer
        size_mb = getattr(trace_buffer, "size_mb", None)
        self._window = _session.Window(
            size_mb if isinstance(size_mb, float) else 100.0, False, False, -1.0, cpu=False, gpu=True
        )
        self._window.forked = self._forked
        self._lock = threading.RLock()
        self._counts: dict[str, int] = {}
        self._injected = self._refused = 0
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
            self._counts, self._injected, self._refused = {}, 0, 0
            try:
                opened = self._window.open()
                self._reason = self._window.note or _devices.missing()
            except Exception as error:  # ours, whatever it is: the program goes on
                opened, self._reason = False, f"{type(error).__name__}: {error}"
            self._state = State.Collecting if opened else State.Idle
            self._warn()

    def stop(self) -> None:
        """End, and put what was seen into the buffer."""
        with self._lock:
            if self._state is not State.Collecting:
                return
            self._state = State.Finalized
            before = self._reason
            try:
                self._window.close()
                self._counts = self._window.read(self._buffer.enqueue)
                self._reason = self._window.note or before or (None if self._counts["events"] else _devices.unseen())
            except Exception as error:
                self._reason = f"{type(error).__name__}: {error}"
            finally:
                self._window.release()
            if self._reason != before:
                self._warn()

    def get_stats(self) -> dict[str, Any]:
        """What was collected in the current or last window.

        ``events``, ``lost``, ``refused`` (by the buffer), ``threads``, ``state``, and ``reason`` when something is
        missing.

        >>> from inferscope import GpuCollector, TraceBuffer
        >>> stats = GpuCollector(TraceBuffer(size_mb=1)).get_stats()
        >>> stats["events"], stats["state"].name
        (0, 'Idle')
        """
        counts = self._counts
        try:
            if self._state is State.Collecting:
                counts = self._window.read(None)
        except Exception as error:
            self._reason = f"{type(error).__name__}: {error}"
        found = {name: counts.get(name, 0) for name in ("events", "lost", "refused", "threads")}
        found["events"] += self._injected
        found["refused"] += self._refused
        return {**found, "state": self._state, "reason": self._reason}

    def _inject_kernel_event(
        self,
        name: str = "kernel",
        start_us: float = 0,
        end_us: float = 0,
        *,
        device_id: int = 0,
        stream: int = 0,
        grid_dim: Sequence[int] = (1, 1, 1),
        block_dim: Sequence[int] = (1, 1, 1),
        correlation: int = 0,
        event_type: str = "gpu_kernel",
        bytes: int = 0,
        thread_id: int | None = None,
    ) -> bool:
        """For tests without a GPU: an event as if a device had told of it; False when nothing is being collected."""
        if self._state is not State.Collecting:
            return False
        if event_type not in _KINDS:
            raise ValueError(f"event_type is one of {', '.join(_KINDS)}, not {event_type!r}")
        start_ns, end_ns = round(start_us * 1000), round(end_us * 1000)
        if end_ns < start_ns:
            raise ValueError("it ends before it begins")
        event: dict[str, Any] = {
            "event_type": event_type,
            "name": name,
            "start_us": start_ns // 1000,
            "end_us": end_ns // 1000,
            "start_ns": start_ns,
            "end_ns": end_ns,
            "thread_id": threading.get_native_id() if thread_id is None else thread_id,
            "process_id": os.getpid(),
            "cpu_id": None,
            "file": None,
            "line": None,
            "task": None,
            "device_id": device_id,
            "stream": stream,
            "correlation": correlation,
        }
        if event_type == "gpu_kernel":
            event |= {"grid_dim": list(grid_dim), "block_dim": list(block_dim)}
        else:
            event |= {"bytes": bytes, "pageable": None}
        event["metadata"] = {"injected": True}
        taken = self._buffer.enqueue(event) is not False
        self._injected += taken
        self._refused += not taken
        return taken

    def _warn(self) -> None:
        if self._reason is not None:
            warnings.warn(f"inferscope: {self._reason}", RuntimeWarning, stacklevel=3)

    def _forked(self) -> None:
        self._lock = threading.RLock()
        if self._state is State.Collecting:
            self._state, self._counts, self._reason = State.Idle, {}, self._window.note
