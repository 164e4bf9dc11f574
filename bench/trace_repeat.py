"""A large trace of torch.profiler, made of a real one over and over: each time later, with correlations of its own."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

NUMBER = re.compile(rb'"(ts|correlation|External id|id|bind_id)":\s*(\d+)(\.\d+)?')


def _pieces(events: bytes) -> tuple[list[bytes], list[tuple[int, int, bytes]]]:
    """Text between the numbers that change; (0 time or 1 id, value, what follows the point) of each of them."""
    pieces, numbers, last = [], [], 0
    for found in NUMBER.finditer(events):
        pieces.append(events[last : found.start(2)])
        numbers.append((0 if found[1] == b"ts" else 1, int(found[2]), found[3] or b""))
        last = found.end()
    return [*pieces, events[last:]], numbers


def repeat(source: Path, target: Path, size: int) -> int:
    """Writes at least size bytes; how often the real one is in it."""
    text = gzip.decompress(source.read_bytes())
    begin = text.index(b"[", text.index(b'"traceEvents"'))
    end = text.rindex(b"]")  # nothing behind the events has a list
    pieces, numbers = _pieces(text[begin + 1 : end].strip())
    times = [value for kind, value, _ in numbers if kind == 0]
    span = max(times) - min(times) + 1000
    ids = max((value for kind, value, _ in numbers if kind == 1 and value < 1 << 32), default=0) + 1
    parts = [b""] * (2 * len(numbers) + 1)
    parts[0::2] = pieces
    written, turn = 0, 0
    with target.open("wb") as out:
        written += out.write(text[: begin + 1])
        while written < size:
            by = (turn * span, turn * ids)
            # Numbers that are no counters (addresses) stay.
            parts[1::2] = [
                b"%d%s" % (value + by[kind] if kind == 0 or value < ids else value, rest)
                for kind, value, rest in numbers
            ]
            written += out.write((b",\n" if turn else b"") + b"".join(parts))
            turn += 1
        out.write(text[end:])
    return turn
