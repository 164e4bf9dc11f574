"""Write docs/ICD.md from interfaces.yaml.

generate_icd.py [--check]    --check: write nothing; exit 1 and show the difference when the page is another
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import interfaces
from interfaces import Row, status

PAGE = interfaces.ROOT / "docs" / "ICD.md"

HEAD = """# Interface control document

What other programs and people may rely on: names, signatures, events, settings, commands, exit codes, errors and files
of {product} {version}. {about}

`tools/generate_icd.py` writes this page from [interfaces.yaml](../interfaces.yaml), the same for programs to read;
tests hold the product to that file in both directions. Change the file, not the page.

Where nothing else is said a thing is there and works. *accepted*: it is taken and checked, and nothing in this build
acts on it yet. *planned*: it is not there yet, and the name is kept for it.
"""


def code(text: object) -> str:
    """As code in a cell of a table."""
    return f"`{text}`".replace("|", "\\|") if text != "" else ""


def plain(text: object) -> str:
    return str(text).replace("|", "\\|")


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows]
    return "\n".join(lines) + "\n"


def about(row: Row) -> str:
    """The sentence, and before it what is not finished."""
    state = status(row)
    return plain(row["about"] if state == "built" else f"*{state}*: {row['about']}")


def anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def python_name(row: Row) -> str:
    return f"{row['name']}{row.get('signature', '')}"


def raises(row: Row) -> str:
    return "; ".join(f"{code(why['type'])} when {why['when']}" for why in row.get("raises", []))


def python(whole: Row) -> str:
    """Names that are there, one after the other; those to come in one table."""
    there = interfaces.built(whole["python"])
    parts = [table(["name", "kind", "meaning"], ([code(r["name"]), r["kind"], about(r)] for r in there))]
    for row in there:
        if row["kind"] == "constant":
            continue
        parts.append(f"### inferscope.{row['name']}\n\n    {python_name(row)}\n\n{about(row)}\n")
        if row.get("values"):
            parts.append(f"Values: {', '.join(code(value) for value in row['values'])}.\n")
        if row.get("raises"):
            parts.append(f"Raises {raises(row)}.\n")
        if row.get("members"):
            head = ["member", "signature or type", "meaning", "raises"]
            rows = (
                [code(m["name"]), code(m.get("signature", m.get("type", ""))), about(m), raises(m)]
                for m in row["members"]
            )
            parts.append(table(head, rows))
    to_come = [row for row in whole["python"] if status(row) == "planned"]
    if to_come:
        rows = ([code(python_name(r)), r["kind"], plain(r["about"]), members_of(r)] for r in to_come)
        parts.append("### Planned names\n\n" + table(["name", "kind", "meaning", "members"], rows))
    return "\n".join(parts)


def members_of(row: Row) -> str:
    names = [m["name"] + (m.get("signature", "") if m["kind"] == "method" else "") for m in row.get("members", [])]
    return ", ".join(code(name) for name in [*names, *row.get("values", [])])


def c(whole: Row) -> str:
    parts = []
    for header in whole["c"]:
        parts.append(f"### {header['header']}\n\n{about(header)}\n")
        if header["names"]:
            rows = ([code(n.get("declaration", f"{n['kind']} {n['name']}")), about(n)] for n in header["names"])
            parts.append(table(["declaration", "meaning"], rows))
        for name in header["names"]:
            if name.get("members"):
                rows = ([code(m["name"]), code(m["type"]), about(m)] for m in name["members"])
                parts.append(f"{name['name']}:\n\n" + table(["member", "type", "meaning"], rows))
    return "\n".join(parts)


def field_rows(fields: list[Row]) -> Iterable[list[str]]:
    for f in fields:
        kind = f["type"] + (" or null" if f.get("nullable") else "")
        yield [code(f["name"]), code(kind), f.get("unit", ""), about(f)]


def events(whole: Row) -> str:
    part = whole["events"]
    head = ["field", "type", "unit", "meaning"]
    parts = [f"{about(part)}\n", "Every event has:\n", table(head, field_rows(part["every"]))]
    for event in interfaces.built(part["types"]):
        parts.append(f"### {event['event_type']}\n\n{about(event)}\n")
        if event["records"]:
            parts.append(f"Records: {', '.join(code(name) for name in event['records'])}.\n")
        if event["fields"]:
            parts.append(table(head, field_rows(event["fields"])))
    to_come = [row for row in part["types"] if status(row) == "planned"]
    if to_come:
        rows = ([code(row["event_type"]), plain(row["about"])] for row in to_come)
        parts.append("### Planned events\n\n" + table(["event_type", "meaning"], rows))
    return "\n".join(parts)


def records(whole: Row) -> str:
    kinds = ([code(r["name"]), str(r["value"]), code(r.get("dump", "")), about(r)] for r in whole["records"])
    types = ([code(r["name"]), str(r["value"]), about(r)] for r in whole["definitions"])
    return (
        "What a trace holds; [the trace file](trace-format.md) has the bytes, [dump](dump.md) prints them.\n\n"
        + table(["record kind", "value", "in dump", "meaning"], kinds)
        + "\n"
        + table(["definition type", "value", "meaning"], types)
    )


def options_of(row: Row) -> list[str]:
    """As they are written, the one that help shows first."""
    found = []
    if "option" in row:
        found.append(f"--{row['option']}" + (f" {row['argument']}" if "argument" in row else ""))
    if "negated" in row:
        found.append(f"--{row['negated']}")
    return found


def limits(row: Row) -> str:
    found = ", ".join(row.get("choices", []))
    if "range" in row:
        found = f"{row['range'][0]} to {row['range'][1]}"
    return f"{found} {row['unit']}" if found and "unit" in row else found


def settings(whole: Row) -> str:
    head = ["key", "option of `run`", "variable", "type", "range", "default", "meaning"]
    rows = (
        [
            code(row["key"]) + ("" if row.get("in_file", True) else " (not in a file)"),
            ", ".join(code(option) for option in options_of(row)),
            code(row.get("environment", "")),
            row["type"],
            plain(limits(row)),
            code(row["default"]) if row["default"] != "-" else "none",
            about(row),
        ]
        for row in whole["settings"]
    )
    return (
        "The command line wins over the environment, that over `.inferscope.yaml`, that over the default; "
        "[config.md](config.md) tells more. Every switch has its opposite: `--no-gpu` and `--gpu`.\n\n"
        + table(head, rows)
    )


def environment(whole: Row) -> str:
    rows = (
        [code(row["name"]), "changed for the program" if row.get("changed") else "read", about(row)]
        for row in whole["environment"]
    )
    return "Besides those of the settings:\n\n" + table(["variable", "", "meaning"], rows)


def written(option: Row) -> str:
    name = f"--{option['name']}" if "name" in option else f"-{option['letter']}"
    return f"{name} {option['argument']}" if "argument" in option else name


def default_of(option: Row) -> str:
    """A value is code, words are not."""
    words = option.get("default", "")
    return plain(words) if " " in words else code(words)


def with_choices(option: Row) -> str:
    """Its sentence, and the words that it takes."""
    words = [code(word) for word in option.get("choices", [])]
    return f"{about(option).removesuffix('.')}: {', '.join(words[:-1])} or {words[-1]}." if words else about(option)


def commands(whole: Row) -> str:
    parts = []
    for row in whole["commands"]:
        if status(row) == "planned":
            continue
        title = f"inferscope {row['name']}".strip()
        note = " Internal: users do not need it." if row.get("internal") else ""
        parts.append(f"### {title}\n\n    {row['usage']}\n\n{about(row)}{note}\n")
        if row.get("options_of") == "settings":
            parts.append(f"Takes the options of the [settings](#settings){' and:' if row['options'] else '.'}\n")
        rows = [[code(written(o)), default_of(o), with_choices(o)] for o in row["options"]]
        if rows:
            parts.append(table(["option", "default", "meaning"], rows))
        parts.append(table(["exit code", "when"], ([str(e["code"]), plain(e["when"])] for e in row["exit"])))
    rows = [[code(r["usage"]), plain(r["about"])] for r in whole["commands"] if status(r) == "planned"]
    if rows:
        parts.append("### Planned commands\n\n" + table(["command", "meaning"], rows))
    return "\n".join(parts)


def errors(whole: Row) -> str:
    part = whole["errors"]
    page = "troubleshooting.md"
    statuses = ([code(s["name"]), str(s["value"]), plain(s["text"]), about(s)] for s in part["statuses"])
    messages = ([f"[{plain(m['text'])}]({page}#{anchor(m['text'])})", m["level"]] for m in part["messages"])
    return (
        f"    {part['form']}\n\n{part['about']}\n\n"
        + table(["status", "value", "words", "meaning"], statuses)
        + f"\nMessages that have a section in [{page}]({page}):\n\n"
        + table(["message", "level"], messages)
    )


def report(whole: Row) -> str:
    part = whole["report"]
    rows = ([code(row["name"]), about(row)] for row in part["names"])
    return (
        f"{part['about']} The schema is [{part['schema']}](../{part['schema']}), its id `{part['id']}`.\n\n"
        + table(["name", "meaning"], rows)
        + f"\nWarning ids, [explained here](report.md#warnings): {', '.join(map(code, part['warnings']))}.\n"
    )


def formats(whole: Row) -> str:
    def page_of(row: Row) -> str:
        return f"[{row['name']}]({Path(row['page']).name})" if "page" in row else plain(row["name"])

    rows = (
        [
            page_of(row),
            code(row["ending"]),
            ", ".join(code(name) for name in row.get("read_by", [])),
            ", ".join(code(name) for name in row.get("written_by", [])),
            about(row),
        ]
        for row in whole["formats"]
    )
    return table(["format", "ending", "read by", "written by", "meaning"], rows)


SECTIONS = [
    ("Command line", commands),
    ("Settings", settings),
    ("Environment", environment),
    ("Python package", python),
    ("C and C++", c),
    ("Events", events),
    ("Records", records),
    ("Errors", errors),
    ("Report", report),
    ("Formats", formats),
]


def page(whole: Row) -> str:
    parts = [HEAD.format(**whole)]
    parts.append("".join(f"- [{title}](#{anchor(title)})\n" for title, _ in SECTIONS))
    parts += [f"## {title}\n\n{write(whole)}" for title, write in SECTIONS]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))


def main() -> int:
    parser = argparse.ArgumentParser(description="Write docs/ICD.md from interfaces.yaml.", allow_abbrev=False)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page differs")
    parser.add_argument(
        "--interfaces", type=Path, default=interfaces.FILE, metavar="FILE", help="read this file instead"
    )
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help="write or check this file instead")
    asked = parser.parse_args()
    try:
        wanted = page(interfaces.read(asked.interfaces))
    except (interfaces.Wrong, OSError) as error:
        print(f"{asked.interfaces.name}: {error}", file=sys.stderr)
        return 2
    found = asked.page.read_text() if asked.page.exists() else ""
    if asked.check and found != wanted:
        lines = difflib.unified_diff(
            found.splitlines(True), wanted.splitlines(True), str(asked.page.name), "what interfaces.yaml gives"
        )
        sys.stdout.writelines(lines)
        print(f"{asked.page.name} differs from what interfaces.yaml gives; run tools/generate_icd.py", file=sys.stderr)
        return 1
    if not asked.check and found != wanted:
        asked.page.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
