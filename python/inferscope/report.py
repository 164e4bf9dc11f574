"""Reports of an analysis: Markdown, HTML and JSON."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from inferscope import _offline

FORMATS = {"md": "markdown", "markdown": "markdown", "html": "html", "htm": "html", "json": "json"}


def _format_of(filepath: str | PathLike[str], format: str | None) -> str:
    word = format if format is not None else Path(os.fspath(filepath)).suffix.lstrip(".")
    found = FORMATS.get(word.lower())
    if found is None:
        what = f"{word!r} is no report format" if word else f"{os.fspath(filepath)!r} has no ending that names a format"
        raise ValueError(f"{what}; there are markdown (.md), html and json")
    return found


class ReportGenerator:
    """Writes an analysis as Markdown, HTML or JSON.

    ``analysis`` is what ``analyze()`` or a JSON report gives. ``timeline`` are the events it was made from, as
    dictionaries or as anything with ``get_sorted_events()`` or ``read_all()``: the page draws them.

    >>> from inferscope import ReportGenerator
    >>> analysis = {"schema": "inferscope-report-1", "verdict": {"withheld": "too little was seen"}}
    >>> "No verdict: too little was seen." in ReportGenerator(analysis, []).to_markdown()
    True
    """

    def __init__(self, analysis: dict[str, Any], timeline: Iterable[dict[str, Any]] | Any = ()) -> None:
        if not isinstance(analysis, dict):
            raise TypeError(f"analysis is the dict that analyze() returns, not {type(analysis).__name__}")
        self._analysis, self._timeline = analysis, timeline

    def _events(self) -> list[dict[str, Any]]:
        for name in ("get_sorted_events", "read_all"):
            read = getattr(self._timeline, name, None)
            if callable(read):
                return list(read())
        return list(self._timeline or ())

    def _text(self) -> str:
        return json.dumps(self._analysis, allow_nan=False)

    def to_markdown(self) -> str:
        """For people and pull requests: what ``inferscope analyze`` writes as Markdown, of the same trace.

        >>> from inferscope import ReportGenerator
        >>> ReportGenerator({"schema": "inferscope-report-1"}).to_markdown().startswith("<!-- inferscope-report-1 -->")
        True
        """
        return _offline.render(self._text(), "markdown", None)

    def to_html(self) -> str:
        """One page that stands alone.

        >>> from inferscope import ReportGenerator
        >>> "</html>" in ReportGenerator({"schema": "inferscope-report-1"}).to_html()
        True
        """
        events = self._events()
        if not events:
            return _offline.render(self._text(), "html", None)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(events, file)
            file.flush()
            return _offline.render(self._text(), "html", file.name)

    def to_json(self) -> dict[str, Any]:
        """The analysis, as a dictionary of its own.

        >>> from inferscope import ReportGenerator
        >>> ReportGenerator({"schema": "inferscope-report-1"}).to_json()
        {'schema': 'inferscope-report-1'}
        """
        return copy.deepcopy(self._analysis)

    def save(self, filepath: str | PathLike[str], format: str | None = None) -> None:
        """Write it; the format is that of the ending. A file that is there is replaced, whole or not at all.

        >>> import tempfile
        >>> from inferscope import ReportGenerator
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ReportGenerator({"schema": "inferscope-report-1"}).save(folder + "/report.md")
        """
        chosen = _format_of(filepath, format)
        if chosen == "json":
            text = json.dumps(self._analysis, indent=2, allow_nan=False) + "\n"
        else:
            text = self.to_markdown() if chosen == "markdown" else self.to_html()
        target = Path(os.fspath(filepath))
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".inferscope-")
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
