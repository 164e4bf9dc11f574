"""Counting what a program made itself, beside the samples, waits, memory, system calls and bytes of all."""

from __future__ import annotations

import re
from collections.abc import Iterable

# For tests of exact counts, of losses and of sizes.  What they measure is not what a sampler adds to it; that a
# program comes to no harm is tested with everything on.
QUIET = ("--no-sample", "--no-syscalls", "--no-memory")

BESIDE = re.compile(r"^[+-]\S+ p\d+ t\d+ (?:nested )?#\d+ (?:sample|wait|memory|syscall|sent|got)")


def beside(dump: Iterable[str]) -> int:
    """How many of the events in this dump are samples, waits, memory, system calls and bytes over channels."""
    return sum(BESIDE.match(line) is not None for line in dump)
