"""Why it is slow: the verdict on a trace or on events."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Union

from inferscope import _offline

Timeline = Union[str, "os.PathLike[str]", Iterable[dict[str, Any]]]


class BottleneckAnalyzer:
    """Gives the verdict on a trace, by its path, or on a list of events as `TimelineMerger` makes it.

    ``rules`` change, add and switch off rules: a dictionary of their ids, or the path of a file of rules.

    >>> from inferscope import BottleneckAnalyzer
    >>> call = {"event_type": "gpu_api", "name": "launch", "start_ns": 0, "end_ns": 900, "correlation": 1}
    >>> kernel = {"event_type": "gpu_kernel", "name": "gemm", "start_ns": 1000, "end_ns": 9000, "correlation": 1}
    >>> BottleneckAnalyzer([call, kernel]).analyze()["verdict"]["bottleneck"]
    'unknown'
    """

    def __init__(self, timeline: Timeline, rules: dict[str, Any] | str | os.PathLike[str] | None = None) -> None:
        self._timeline = timeline
        if isinstance(rules, dict):
            self._rules: str | None = json.dumps(rules if set(rules) == {"rules"} else {"rules": rules})
        else:
            self._rules = None if rules is None else Path(rules).read_text(encoding="utf-8")

    def analyze(self) -> dict[str, Any]:
        """The JSON report as a dictionary: `verdict`, `suggestions`, `window`, `breakdown`, `gpus` and the others.

        >>> from inferscope import BottleneckAnalyzer
        >>> mark = {"event_type": "instant", "name": "begun", "start_ns": 0, "end_ns": 0}
        >>> BottleneckAnalyzer([mark], {"gpu_idle": False}).analyze()["verdict"]["withheld"] is None
        False
        """
        if isinstance(self._timeline, (str, os.PathLike)):
            return json.loads(_offline.judge(self._timeline, self._rules))  # type: ignore[no-any-return]
        with tempfile.TemporaryDirectory(prefix="inferscope-") as folder:
            path = Path(folder) / "events.json"
            path.write_text(json.dumps(list(self._timeline)), encoding="utf-8")
            return json.loads(_offline.judge(path, self._rules))  # type: ignore[no-any-return]
