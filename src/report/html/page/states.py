"""Turns the table of states into what the page needs: words and kinds for its script, colours for its style.

states.py TABLE.h OUT.js OUT.css
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROW = re.compile(r"^\tROW\((?P<id>[A-Z_]+), (?P<rest>[^)]*)\)", re.MULTILINE)
VALUE = re.compile(r'"[^"]*"|\w+')
KINDS = ("WORK", "WAIT", "NOTHING")


@dataclass
class State:
    id: str
    name: str
    words: str
    kind: str
    one: str
    several: str
    drawn: int
    light: str
    dark: str


def rows(table: str) -> list[State]:
    """The states, in the order of the table."""
    found = []
    for row in ROW.finditer(table):
        name, words, kind, one, several, drawn, light, dark = (value.strip('"') for value in VALUE.findall(row["rest"]))
        found.append(State(row["id"], name, words, kind, one, several, int(drawn), light, dark))
    return found


def script(states: list[State]) -> str:
    """The page draws them in an order of its own."""
    lines = []
    for state in sorted(states, key=lambda state: state.drawn):
        counted = "".join(f", {json.dumps(words)}" for words in (state.one, state.several) if words)
        lines.append(f"\t{state.name}: [{json.dumps(state.words)}, {state.kind}{counted}],\n")
    kinds = ", ".join(f"{kind} = {i}" for i, kind in enumerate(KINDS))
    return f"var {kinds};\nvar STATES = {{\n{''.join(lines)}}};\n"


def style(states: list[State]) -> str:
    """A variable for fills, and a class for words that are underlined in its colour."""
    colours = "".join(f"\t--s-{state.name}: light-dark({state.light}, {state.dark});\n" for state in states)
    lines = (f".u-{state.name} {{ text-decoration-color: var(--s-{state.name}); }}\n" for state in states)
    return f":root {{\n{colours}}}\n{''.join(lines)}"


def main(table: str, js: str, css: str) -> None:
    states = rows(Path(table).read_text())
    Path(js).write_text(script(states))
    Path(css).write_text(style(states))


if __name__ == "__main__":
    main(*sys.argv[1:])
