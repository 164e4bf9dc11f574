"""The table of states (src/base/state_table.h), and what has to agree with it and is not made from it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "src" / "base" / "state_table.h"
sys.path.insert(0, str(ROOT / "src" / "report" / "html" / "page"))

import states  # noqa: E402

STATES = states.rows(TABLE.read_text())
NAMES = [state.name for state in STATES]


def lists(value: object) -> Iterator[list[str]]:
    """Every list of names and every set of properties in which a schema has states."""
    if isinstance(value, dict):
        if {"python", "other"} <= value.keys():
            yield list(value)
        for inner in value.values():
            yield from lists(inner)
    elif isinstance(value, list):
        if "python" in value and "other" in value:
            yield value
        for inner in value:
            yield from lists(inner)


def test_every_row_of_the_table_is_read_by_the_page() -> None:
    assert len(STATES) == TABLE.read_text().count("\tROW(") - 1  # the first explains the columns
    assert len(set(NAMES)) == len(NAMES)
    assert all(state.name == state.id.lower() and state.kind in states.KINDS for state in STATES)
    assert len({state.drawn for state in STATES}) == len(STATES)


@pytest.mark.parametrize("schema", ["report-1.json", "diff-1.json"])
def test_schemas_have_every_state(schema: str) -> None:
    found = list(lists(json.loads((ROOT / "schema" / schema).read_text())))
    assert len(found) >= 4
    for names in found:
        assert [name for name in names if name in NAMES] == NAMES


def test_the_page_about_reports_says_what_every_state_is() -> None:
    about = (ROOT / "docs" / "report.md").read_text()
    assert [name for name in NAMES if not re.search(rf"^\| `{name}` \|", about, re.MULTILINE)] == []


def test_a_new_row_is_all_that_the_page_needs() -> None:
    last = '"#7c8490", "#8a94a3")'
    more = last + ' \\\n\tROW(SWAP, "swap", "waits for swap", WAIT, "wait", "waits", 85, "#111111", "#eeeeee")'
    grown = states.rows(TABLE.read_text().replace(last, more))
    assert [state.name for state in grown] == [*NAMES, "swap"]
    assert '\tpage_fault: ["page fault", WAIT, "page fault", "page faults"],\n\tswap: [' in states.script(grown)
    assert "\t--s-swap: light-dark(#111111, #eeeeee);\n" in states.style(grown)
    assert ".u-swap {" in states.style(grown)


def test_metrics_of_rules_have_a_colour_of_the_page() -> None:
    metrics = (ROOT / "src" / "report" / "html" / "html_metric.c").read_text()
    colours = re.findall(r'^\t\{"\w+", "[^"]+", "(\w+)"\},$', metrics, re.MULTILINE)
    assert len(colours) > 20
    assert set(colours) - {"gpu", "copy"} <= set(NAMES)
