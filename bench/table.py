"""What was measured against what was allowed: rows, verdicts, and the two ways to print them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from interval import Interval

MET, MISSED, UNCLEAR, SAID = "met", "MISSED", "unclear", ""


@dataclass(frozen=True)
class Row:
    """limit: what is allowed at most; None: no budget, the figure is only said.  found: None was not measured."""

    what: str
    found: Interval | None
    unit: str
    limit: float | None = None
    digits: int = 1
    note: str = ""

    @property
    def verdict(self) -> str:
        """Missed only when the whole interval is over; unclear when the limit lies inside it.

        >>> Row("x", Interval(4.0, 3.0, 5.0, 9), "ns", limit=4.5).verdict
        'unclear'
        >>> Row("x", Interval(4.0, 3.0, 5.0, 9), "ns", limit=2.5).verdict
        'MISSED'
        """
        if self.limit is None or self.found is None:
            return SAID
        if self.found.low > self.limit:
            return MISSED
        return MET if self.found.high <= self.limit else UNCLEAR

    def number(self, value: float) -> str:
        return f"{value:,.{self.digits}f}"

    @property
    def target(self) -> str:
        return "" if self.limit is None else f"<= {self.limit:g}"

    @property
    def measured(self) -> str:
        if self.found is None:
            return ""
        spread = f" [{self.number(self.found.low)}, {self.number(self.found.high)}]" if self.found.n > 1 else ""
        return f"{self.number(self.found.value)}{spread}"

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            self.what,
            self.target,
            self.measured,
            self.unit,
            str(self.found.n if self.found else 0),
            self.verdict,
            self.note,
        )


HEADS = ("what", "target", "measured", "unit", "runs", "verdict", "")
RIGHT = (False, True, True, False, True, False, False)


def text(rows: Iterable[Row]) -> str:
    """For a terminal."""
    lines = [HEADS, *(row.cells for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
    return "\n".join(
        "  ".join(cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(line, widths, RIGHT)).rstrip()
        for line in lines
    )


def markdown(rows: Iterable[Row]) -> str:
    """For a page."""
    bar = ["--:" if right else "---" for right in RIGHT]
    return "\n".join("| " + " | ".join(line) + " |" for line in (HEADS, bar, *(row.cells for row in rows)))
