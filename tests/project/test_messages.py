"""docs/troubleshooting.md has every error that the sources can give, by its words."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = r'"(?:[^"\\\n]|\\.)*"'
#: isc_fail(err, STATUS, "text", ...) and isc_fail_errno(err, "text", ...), arguments with calls in them included.
CALL = re.compile(rf"\bisc_fail(?:_errno)?\s*\(\s*[^,]+,\s*(?:ISC_\w+,\s*)?((?:{TEXT}\s*|[A-Z_]+\s*)+)")
PLACE = re.compile(r"%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j)?[a-zA-Z]")
LEAST_WORDS = 2  # what is left of a text between its places says nothing if it is shorter


def said(text: str) -> str:
    """Its parts together; a name for a piece of text is a place."""
    parts = re.findall(rf"{TEXT}|[A-Z_]+", text)
    return "".join(part[1:-1].replace('\\"', '"') if part.startswith('"') else "%s" for part in parts)


def texts() -> dict[str, str]:
    """Every text, and a file that has it."""
    found: dict[str, str] = {}
    for file in sorted((ROOT / "src").rglob("*.c")):
        for call in CALL.finditer(file.read_text()):
            found.setdefault(said(call.group(1)), str(file.relative_to(ROOT)))
    return found


def pieces(text: str) -> list[str]:
    """What stays the same, the longest first; a text that is all places has none."""
    parts = [part.strip(" :;.,\"()'") for place in PLACE.split(text) for part in re.split(r"[(:]\s?", place)]
    return sorted((part for part in parts if len(part.split()) >= LEAST_WORDS), key=len, reverse=True)


def plain(text: str) -> str:
    return re.sub(r"[\s`]+", " ", text)


def test_the_sources_have_errors_to_look_for() -> None:
    found = texts()
    assert len(found) > 150
    assert "the trace is full" in found
    assert pieces('the trace has no scope named "%.100s"%s') == ["the trace has no scope named"]


def test_every_error_is_on_the_page() -> None:
    page = plain((ROOT / "docs" / "troubleshooting.md").read_text())
    missing = []
    for text, file in texts().items():
        if text.startswith("no memory") or not pieces(text):
            continue
        if not any(piece in page for piece in pieces(text)):
            missing.append(f"{file}: {text}")
    assert not missing, "\n".join(missing)
