"""The project speaks of itself: nothing about the machine or the process it was made on, no unfinished ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve()

# Written in pieces, so that this page does not find itself.
FORBIDDEN = {
    "a path of the machine": r"/(wo" r"rk|ro" r"ot)/\w|/tmp/is" r"c/",
    "an unfinished end": r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b",
    "a package registry": r"(?i)\b(py" r"pi\.org|pythonhosted|files\.python|artifact" r"ory)\b",
    "how it was made": r"(?i)\bissue [#]?\d+\b|\bco-authored-by\b",
}


def pages(files: list[Path]) -> list[tuple[str, str]]:
    found = []
    for file in files:
        if file == HERE:
            continue
        try:
            found.append((str(file.relative_to(ROOT)), file.read_text()))
        except UnicodeDecodeError:
            continue  # corpus and golden files
    return found


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_mentions(what: str, tracked: Callable[..., list[Path]]) -> None:
    pattern = re.compile(FORBIDDEN[what])
    found = []
    for name, text in pages(tracked()):
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    assert not found, f"{what}:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("a path of the machine", "see /wo" + "rk/main/x"),
        ("an unfinished end", "/* TO" + "DO later */"),
        ("a package registry", "from py" + "pi.org"),
        ("how it was made", "as issue" + " 12 asked"),
    ],
)
def test_a_forbidden_word_is_seen(what: str, line: str) -> None:
    assert re.search(FORBIDDEN[what], line)
