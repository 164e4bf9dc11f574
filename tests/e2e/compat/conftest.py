"""What the comparisons with other projects' tests share."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

CALLS = 500  # a run of tests makes tens of thousands


@pytest.fixture
def was_traced(inferscope: Any) -> Callable[[], bool]:
    """Whether the trace holds calls: results that are the same prove nothing without them."""

    def look() -> bool:
        words = [inferscope.path, "dump", inferscope.folder / "inferscope.isc"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, errors="replace") as dump:
            assert dump.stdout is not None
            found = (line for line in dump.stdout if "call_enter" in line)
            return sum(1 for _ in itertools.islice(found, CALLS)) == CALLS

    return look
