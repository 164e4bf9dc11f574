"""An option that takes one of a few words takes the same ones in the sources, in --help, in the pages and in
interfaces.yaml."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import interfaces  # noqa: E402

WHOLE = interfaces.read()
SETTINGS = {row["key"]: row for row in WHOLE["settings"]}


def source(name: str) -> str:
    return " ".join((ROOT / name).read_text().split())


def words_of_settings() -> dict[str, tuple[list[str], str]]:
    """{key: (words, line of help)} of the table that the command is built from."""
    text = source("src/session/settings/table.c")
    lists = re.findall(r"static const char \*const (\w+)\[\] = \{(.*?), NULL\};", text)
    words = {name: re.findall(r'"(\w+)"', body) for name, body in lists}
    rows = re.findall(
        r'\{"(\w+)", [^{}]*?ISC_SETTING_(?:CHOICE|WORD), [^{}]*?, (\w+), (?:"\w+"|NULL), "([^"]*)", "([^"]*)"\}', text
    )
    assert len(rows) == len(re.findall(r"ISC_SETTING_(?:CHOICE|WORD)", text))
    return {key: (words[name], f"{argument} {about}") for key, name, argument, about in rows}


def words_of_formats(file: str, table: str) -> list[str]:
    """The names in a table of formats, of several for one format the first."""
    body = re.search(rf"{table}.*?= \{{(.*?)\}};", source(file))
    assert body, f"no {table} in {file}"
    found: dict[str, str] = {}
    for name, of in re.findall(r'\{"(\w+)", ([^,{}]+)[^{}]*\}', body.group(1)):
        found.setdefault(of, name)
    return list(found.values())


REPORT = words_of_formats("src/report/format.c", "names")
EXPORT = words_of_formats("src/export/export.c", "formats")
OF_COMMANDS = {("analyze", "format"): REPORT, ("diff", "format"): REPORT, ("export", "to"): EXPORT}
OF_SETTINGS = words_of_settings()


def listed(text: str) -> list[str]:
    """The first list in a line: on|leaf|off, or "debug, info, warn or error"."""
    found = re.search(r"\b[a-z]+(?:\|[a-z]+)+|\b[a-z]+(?:, [a-z]+)*(?:,| or) [a-z]+\b", text)
    return re.split(r"\||, | or ", found.group()) if found else []


def cells_of(page: str, option: str) -> list[str]:
    """The row of a page's table that an option has; settings are listed by their keys."""
    named = 1 if page == "config.md" else 0
    lines = (ROOT / "docs" / page).read_text().splitlines()
    rows = [re.split(r" *\| *", line.strip("|")) for line in lines if line.startswith("| ")]
    (row,) = (row for row in rows if re.search(rf"`--{option}[ `]", row[named]))
    return row


def words_on(page: str, option: str) -> set[str]:
    return set(re.findall(r"`([a-z]+)`", cells_of(page, option)[-1]))


def words_of_head(page: str, head: str) -> list[str]:
    """The first cells of the table whose first heading that is."""
    text = (ROOT / "docs" / page).read_text()
    rows = re.search(rf"^\| {head} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert rows, f"no table of {head} in {page}"
    return re.findall(r"^\| `(\w+)` ", rows.group(1), re.MULTILINE)


def test_the_settings_with_words_are_those_described() -> None:
    assert {key: row["choices"] for key, row in SETTINGS.items() if row["type"] == "choice"} == {
        key: words for key, (words, _) in OF_SETTINGS.items()
    }


@pytest.mark.parametrize("key", OF_SETTINGS)
def test_help_and_pages_give_the_words_of_a_setting(key: str) -> None:
    words, about = OF_SETTINGS[key]
    assert listed(about) == words, f"--help says {about}"
    for page in ("run.md", "config.md"):
        assert words_on(page, SETTINGS[key]["option"]) == set(words), page


def test_a_default_is_one_of_the_words() -> None:
    for row in SETTINGS.values():
        assert "choices" not in row or row["default"] in [*row["choices"], "-"], row["key"]


def test_the_options_with_words_are_those_described() -> None:
    described = {
        (command["name"], option["name"]): option["choices"]
        for command in WHOLE["commands"]
        for option in command["options"]
        if "choices" in option
    }
    assert described == OF_COMMANDS


def test_an_option_that_takes_a_format_says_which() -> None:
    for command in WHOLE["commands"]:
        for option in command["options"]:
            assert ("choices" in option) == (option.get("argument") == "FORMAT"), (command["name"], option)


@pytest.mark.parametrize(("command", "option"), OF_COMMANDS)
def test_help_and_page_give_the_words_of_an_option(command: str, option: str) -> None:
    words = OF_COMMANDS[command, option]
    about = re.search(rf'\{{"{option}", "FORMAT", "([^"]*)"', source(f"src/cli/cmd_{command}.c"))
    assert about and listed(about.group(1)) == words
    if command == "export":
        assert words_of_head("export.md", "format") == words
    else:
        assert words_on(f"{command}.md", option) == set(words)


def test_every_report_is_of_the_same_formats() -> None:
    assert OF_SETTINGS["format"][0] == ["markdown", "html", "json"]
    assert sorted(OF_SETTINGS["format"][0]) == sorted(REPORT)
    package = re.search(r"^FORMATS = \{(.*)\}", (ROOT / "python/inferscope/report.py").read_text(), re.MULTILINE)
    assert package and set(re.findall(r': "(\w+)"', package.group(1))) == set(REPORT)
