"""Read interfaces.yaml, strictly: an unknown key, a missing field or a name given twice is an error with its place."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "interfaces.yaml"
STATUSES = ("built", "accepted", "planned")


class Wrong(Exception):
    """interfaces.yaml is not what it should be; says where and why."""


class Row(dict[str, Any]):
    """A mapping that knows its line."""

    line = 0


class Loader(yaml.SafeLoader):  # type: ignore[misc]
    def row(self, node: Any) -> Row:
        found = Row()
        found.line = node.start_mark.line + 1
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, Hashable) or not isinstance(key, str):
                raise Wrong(f"line {line}: {key!r} is not a name for a field; put it in quotes")
            if key in found:
                raise Wrong(f'line {line}: the field "{key}" is given twice')
            found[key] = self.construct_object(value_node, deep=True)
        return found


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, Loader.row)


@dataclass(frozen=True)
class Shape:
    """What a row holds.  A type, a tuple of allowed words, a Shape for a row, [Shape] for rows, [type] for a list."""

    need: dict[str, Any]
    may: dict[str, Any] = field(default_factory=dict)
    key: str = "name"


PARAMETER = Shape({"type": str, "when": str}, key="type")
MEMBER = Shape(
    {"name": str, "kind": ("method", "property", "value"), "about": str},
    {"signature": str, "type": str, "status": STATUSES, "raises": [PARAMETER]},
)
PYTHON = Shape(
    {"name": str, "kind": ("constant", "function", "class", "enum", "exception", "module", "magic"), "about": str},
    {"status": STATUSES, "signature": str, "type": str, "raises": [PARAMETER], "members": [MEMBER], "values": [str]},
)
C_MEMBER = Shape({"name": str, "type": str, "about": str})
C_NAME = Shape(
    {"name": str, "kind": ("function", "macro", "struct", "enum", "class"), "about": str},
    {"declaration": str, "value": int, "members": [C_MEMBER], "status": STATUSES},
)
HEADER = Shape({"header": str, "about": str, "names": [C_NAME]}, {"status": STATUSES}, key="header")
FIELD = Shape({"name": str, "type": str, "about": str}, {"unit": str, "nullable": bool})
EVENT = Shape(
    {"event_type": str, "about": str, "records": [str], "fields": [FIELD]}, {"status": STATUSES}, key="event_type"
)
EVENTS = Shape({"about": str, "every": [FIELD], "types": [EVENT]}, {"status": STATUSES})
RECORD = Shape({"name": str, "value": int, "about": str}, {"dump": str})
SETTING = Shape(
    {
        "key": str,
        "type": ("bool", "count", "number", "budget", "choice", "path", "paths", "labels"),
        "field": str,
        "default": str,
        "about": str,
    },
    {
        "option": str,
        "negated": str,
        "argument": str,
        "environment": str,
        "unit": str,
        "range": [int],
        "choices": [str],
        "in_file": bool,
        "status": STATUSES,
    },
    key="key",
)
VARIABLE = Shape({"name": str, "about": str}, {"changed": bool})
OPTION = Shape(
    {"about": str}, {"name": str, "letter": str, "argument": str, "choices": [str], "default": str, "status": STATUSES}
)
EXIT = Shape({"code": (int, "program", "signal"), "when": str}, key="code")
COMMAND = Shape(
    {"name": str, "usage": str, "about": str, "options": [OPTION], "exit": [EXIT]},
    {"status": STATUSES, "internal": bool, "options_of": ("settings",)},
)
STATUS = Shape({"name": str, "value": int, "text": str, "about": str})
MESSAGE = Shape({"text": str, "level": ("error", "warning")}, key="text")
ERRORS = Shape({"form": str, "about": str, "statuses": [STATUS], "messages": [MESSAGE]})
REPORT_NAME = Shape({"name": str, "about": str}, {"status": STATUSES})
REPORT = Shape({"schema": str, "id": str, "about": str, "names": [REPORT_NAME], "warnings": [str]})
FORMAT = Shape(
    {"name": str, "ending": str, "about": str},
    {"read_by": [str], "written_by": [str], "page": str, "status": STATUSES},
)
WHOLE = Shape(
    {
        "interfaces": int,
        "product": str,
        "version": str,
        "about": str,
        "python": [PYTHON],
        "c": [HEADER],
        "events": EVENTS,
        "records": [RECORD],
        "definitions": [RECORD],
        "settings": [SETTING],
        "environment": [VARIABLE],
        "commands": [COMMAND],
        "errors": ERRORS,
        "report": REPORT,
        "formats": [FORMAT],
    }
)


def _place(path: str, row: Any) -> str:
    return f"line {row.line}: {path}" if isinstance(row, Row) else path


def _check_value(path: str, row: Row, value: Any, wanted: Any) -> None:
    if isinstance(wanted, Shape):
        _check_row(path, value, wanted, row)
    elif isinstance(wanted, list):
        _check_list(path, row, value, wanted[0])
    elif isinstance(wanted, tuple):
        words = [word for word in wanted if not isinstance(word, type)]
        types = tuple(word for word in wanted if isinstance(word, type))
        if value not in words and (isinstance(value, bool) or not isinstance(value, types)):
            raise Wrong(f"{_place(path, row)} is {value!r}, and none of {', '.join(map(str, words))}")
    elif not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise Wrong(f"{_place(path, row)} is {value!r}, and a {wanted.__name__} is wanted; is it in quotes?")


def _check_list(path: str, row: Row, value: Any, wanted: Any) -> None:
    if not isinstance(value, list):
        raise Wrong(f"{_place(path, row)} is {value!r}, and a list is wanted")
    seen: set[Any] = set()
    for number, item in enumerate(value):
        _check_value(f"{path}[{number}]", row, item, wanted)
        name = item.get(wanted.key, item.get("letter")) if isinstance(wanted, Shape) else item
        if name in seen and not (isinstance(wanted, type) and wanted is int):
            raise Wrong(f'{_place(f"{path}[{number}]", item)}: "{name}" is there twice')
        seen.add(name)


def _check_row(path: str, row: Any, shape: Shape, above: Row | None = None) -> None:
    if not isinstance(row, Row):
        raise Wrong(f"{_place(path, above)} is {row!r}, and fields are wanted")
    name = row.get(shape.key)
    if path and isinstance(name, str):
        path = f"{path} ({name})"
    for key in row:
        if key not in shape.need and key not in shape.may:
            raise Wrong(
                f'{_place(path or "the file", row)}: there is no field "{key}" here, only '
                f"{', '.join([*shape.need, *shape.may])}"
            )
    for key in shape.need:
        if key not in row:
            raise Wrong(f'{_place(path or "the file", row)}: the field "{key}" is missing')
    for key, value in row.items():
        _check_value(f"{path}.{key}" if path else key, row, value, {**shape.need, **shape.may}[key])


def _check_references(whole: Row) -> None:
    records = {row["name"] for row in whole["records"]}
    commands = {row["name"] for row in whole["commands"]}
    for event in whole["events"]["types"]:
        for name in event["records"]:
            if name not in records:
                raise Wrong(f"{_place('events', event)}: {event['event_type']} is made of {name}, which is no record")
    for row in whole["formats"]:
        for name in [*row.get("read_by", []), *row.get("written_by", [])]:
            if name not in commands:
                raise Wrong(f"{_place('formats', row)}: {row['name']} names {name}, which is no command")
    for section in ("records", "definitions"):
        values = [row["value"] for row in whole[section]]
        for row in whole[section]:
            if values.count(row["value"]) > 1:
                raise Wrong(f"{_place(section, row)}: the value {row['value']} of {row['name']} is there twice")
    for command in whole["commands"]:
        for option in command["options"]:
            if ("name" in option) == ("letter" in option):
                raise Wrong(f"{_place('commands', option)}: an option of {command['name']} has a name or a letter")


def parse(text: str) -> Row:
    """interfaces.yaml as rows; raises Wrong."""
    try:
        whole = yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise Wrong(str(error)) from None
    _check_row("", whole, WHOLE)
    _check_references(whole)
    return whole  # type: ignore[no-any-return]


def read(file: Path = FILE) -> Row:
    return parse(file.read_text())


def status(row: Row) -> str:
    return str(row.get("status", "built"))


def built(rows: list[Row]) -> list[Row]:
    """Those that are there: built or at least accepted."""
    return [row for row in rows if status(row) != "planned"]
