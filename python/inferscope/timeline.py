"""Events of CPU and GPU on one clock."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any, Protocol, Union

from inferscope import _offline

MARGIN = "INFERSCOPE_SYNC_ERROR_MARGIN_US"
MARGIN_US, MARGIN_MOST_US = 1000.0, 10**9


class Readable(Protocol):
    """Whatever gives event dictionaries."""

    def read_all(self) -> list[dict[str, Any]]: ...


Events = Union[Readable, Iterable[dict[str, Any]]]


def _list(events: Events) -> list[dict[str, Any]]:
    read = getattr(events, "read_all", None)
    return list(read() if callable(read) else events)  # type: ignore[arg-type]


def _margin_of_environment() -> float:
    """What is no count there is taken for nothing, as by every part of us inside a program."""
    text = os.environ.get(MARGIN, "")
    return float(text) if text.isascii() and text.isdigit() and int(text) <= MARGIN_MOST_US else MARGIN_US


class TimelineMerger:
    """Puts events of the CPU and of GPUs, each from a buffer or a list, on the clock of the CPU and in order.

    ``readings`` are ``(before_ns, device_ns, after_ns)``: the device's clock, read between two readings of
    the CPU's. Without them calls and the work they asked for bound the clock; without those the times are
    taken as they are, and ``margin_us`` is the bound (None: that of ``INFERSCOPE_SYNC_ERROR_MARGIN_US``, or 1000).

    >>> from inferscope import TimelineMerger
    >>> launch = {"event_type": "gpu_api", "name": "launch", "start_ns": 1000, "end_ns": 1500, "correlation": 1}
    >>> kernel = {"event_type": "gpu_kernel", "name": "gemm", "start_ns": 902000, "end_ns": 903000, "correlation": 1}
    >>> merger = TimelineMerger([launch], [kernel], readings=[(0, 900000, 200), (10000000, 10900100, 10000200)])
    >>> merger.synchronize_clocks()["method"]
    'direct'
    >>> [(event["name"], event["start_ns"]) for event in merger.get_sorted_events()]
    [('launch', 1000), ('gemm', 2100)]
    """

    def __init__(
        self,
        cpu: Events,
        gpu: Events = (),
        *,
        readings: Iterable[tuple[int, int, int]] = (),
        margin_us: float | None = None,
    ) -> None:
        if margin_us is None:
            margin_us = _margin_of_environment()
        if not (margin_us >= 0 and math.isfinite(margin_us)):
            raise ValueError(f"margin_us is a time from 0 on, not {margin_us}")
        self._cpu, self._gpu = cpu, gpu
        self._readings = [tuple(reading) for reading in readings]
        self._margin_us = float(margin_us)
        self._events: list[dict[str, Any]] | None = None
        self._clock: dict[str, Any] = {}

    def synchronize_clocks(self) -> dict[str, Any]:
        """Compare the clocks: ``method`` (direct, causality, assumed), ``error_bound_us``, ``causality_fixes``.

        >>> from inferscope import TimelineMerger
        >>> TimelineMerger([], []).synchronize_clocks()["method"]
        'assumed'
        """
        events, self._clock = _offline.align(_list(self._cpu) + _list(self._gpu), self._readings, self._margin_us)
        self._events = sorted(events, key=lambda event: (event.get("start_ns", 0), event.get("end_ns", 0)))
        return dict(self._clock)

    def merge(self) -> list[dict[str, Any]]:
        """All events in order of time, those of GPUs on the clock of the CPU.

        >>> from inferscope import TimelineMerger
        >>> TimelineMerger([{"event_type": "instant", "name": "a", "start_ns": 5}]).merge()[0]["name"]
        'a'
        """
        self.synchronize_clocks()
        return self.get_sorted_events()

    def get_sorted_events(self) -> list[dict[str, Any]]:
        """What ``merge()`` gave, merging first if nobody has.

        >>> from inferscope import TimelineMerger
        >>> TimelineMerger([]).get_sorted_events()
        []
        """
        if self._events is None:
            self.synchronize_clocks()
        return list(self._events or [])
