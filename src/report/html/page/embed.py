"""Turns the page of the HTML report into C: page.html cut at its slots, with the style and the script inside.

embed.py OUT.c NAME PAGE.html FILE...    styles (.css) and scripts (.js) are one each, in this order; NAME is the table
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from pathlib import Path

SLOT = re.compile(r"@@([a-z_]+)@@")


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def script_of(files: list[Path]) -> str:
    body = "\n".join(file.read_text() for file in files)
    if "</script" in body.lower() or "<!--" in body:
        raise SystemExit("embed.py: a script may not hold what ends one")
    return f'(function () {{\n"use strict";\n{body}}})();\n'


def literal(text: str) -> str:
    """A C expression for the text, ASCII alone, no trigraph, lines kept apart so that it can be read."""
    quoted = []
    for line in text.splitlines(keepends=True):
        out = "".join(
            {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\", "?": "\\?"}.get(c)
            or (c if " " <= c <= "~" else "".join(f"\\{b:03o}" for b in c.encode()))
            for c in line
        )
        quoted += [f'"{out}"']
    return "\n\t".join(quoted) or '""'


def main(out: str, name: str, page: str, *files: str) -> None:
    css = "".join(Path(file).read_text() for file in files if file.endswith(".css"))
    if "</style" in css.lower():
        raise SystemExit("embed.py: a style may not hold what ends it")
    js = script_of([Path(file) for file in files if file.endswith(".js")])
    known = {"style": css, "script": js, "style_hash": digest(css), "script_hash": digest(js)}
    text = SLOT.sub(lambda found: known.get(found[1], found[0]), Path(page).read_text())
    parts = re.split(r"@@([a-z_]+)@@", text)
    rows = []
    for i in range(0, len(parts), 2):
        slot = f"ISC_SLOT_{parts[i + 1].upper()}" if i + 1 < len(parts) else "ISC_SLOT_END"
        rows += [f"\t{{{slot}, {len(parts[i].encode())}u,\n\t{literal(parts[i])}}},\n"]
    Path(out).write_text(
        '/* Made by embed.py from the files of page/. */\n#include "report/html/html_page.h"\n\n'
        f"const isc_page_piece {name}[] = {{\n{''.join(rows)}}};\n"
        f"const unsigned {name}_pieces = sizeof({name}) / sizeof({name}[0]);\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
