"""interfaces.yaml, docs/ICD.md and the sources say the same.

What needs the built product is in tests/e2e/test_interfaces.py.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import interfaces  # noqa: E402

TEXT = interfaces.FILE.read_text()
WHOLE = interfaces.read()
Files = Callable[..., list[Path]]


def generate(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "generate_icd.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def source(*patterns: str) -> str:
    return "\n".join(path.read_text() for pattern in patterns for path in sorted(ROOT.glob(pattern)))


def enum(header: str, name: str) -> dict[str, int]:
    """The members of a C enum, with their values."""
    body = re.search(rf"enum {name} \{{(.*?)\}}", (ROOT / header).read_text(), re.DOTALL)
    assert body, f"no enum {name} in {header}"
    members: dict[str, int] = {}
    value = -1
    for member, given in re.findall(
        r"(\w+)(?:\s*=\s*(\d+))?\s*(?:,|$)", re.sub(r"/\*.*?\*/", "", body.group(1)).strip()
    ):
        value = int(given) if given else value + 1
        members[member] = value
    return members


# ---- the page ----


def test_the_page_is_what_the_generator_gives() -> None:
    done = generate("--check")
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def test_a_changed_value_is_seen_and_shown(tmp_path: Path) -> None:
    changed = tmp_path / "interfaces.yaml"
    changed.write_text(TEXT.replace('default: "200"', 'default: "201"'))
    done = generate("--check", "--interfaces", changed)
    assert done.returncode == 1
    assert "+| `rate`" in done.stdout and "`201`" in done.stdout
    page = tmp_path / "ICD.md"
    assert generate("--interfaces", changed, "--page", page).returncode == 0
    assert generate("--check", "--interfaces", changed, "--page", page).returncode == 0
    assert generate("--check", "--page", page).returncode == 1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("key: quiet,", "key: quiet, defalt: x,", 'settings[6] (quiet): there is no field "defalt" here'),
        ("- name: __version__\n    kind: constant", "- name: __version__", 'python[0] (__version__): the field "kind"'),
        ("key: quiet,", "key: force,", 'settings[6]: "force" is there twice'),
        ("key: quiet, type: bool", "key: quiet, type: truth", "settings[6] (quiet).type is 'truth', and none of bool"),
        ('default: "false", about: Print', "default: false, about: Print", "is False, and a str is wanted"),
        ("value: 23, dump", "value: 22, dump", "the value 22 of"),
        ("records: [ISC_KIND_COUNTER]", "records: [ISC_KIND_CUONTER]", "ISC_KIND_CUONTER, which is no record"),
        ("read_by: [analyze, dump]", "read_by: [analyse]", "analyse, which is no command"),
        ("key: quiet, type: bool", "key: quiet, key: quiet, type: bool", 'the field "key" is given twice'),
        ("formats:\n", "format:\n", 'there is no field "format" here'),
        ("python:\n", "python: []\npython:\n", 'the field "python" is given twice'),
        ("choices: [auto, never]", "choices: auto", "a list is wanted"),
        ("commands:\n", "commands: [\n", "while parsing"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in TEXT
    changed = tmp_path / "interfaces.yaml"
    changed.write_text(TEXT.replace(old, new, 1))
    done = generate("--check", "--interfaces", changed)
    assert done.returncode == 2, done.stdout
    assert words in done.stderr and "line " in done.stderr
    assert "Traceback" not in done.stderr


# ---- versions, records, statuses ----


def test_the_version_is_the_same_everywhere() -> None:
    for file, pattern in (
        ("pyproject.toml", r'^version = "(.*?)"'),
        ("meson.build", r"version: '(.*?)'"),
        ("python/inferscope/__init__.py", r'^__version__ = "(.*?)"'),
    ):
        found = re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)
        assert found and found.group(1) == WHOLE["version"], file


def test_records_are_those_of_the_header_and_dump_prints_their_names() -> None:
    rows = re.findall(r'\tKIND\((\w+), (\d+), "(\w+)"\)', source("src/base/record.h"))
    said = [(row["name"], row["value"], row["dump"]) for row in WHOLE["records"]]
    assert said == [(f"ISC_KIND_{name}", int(number), dump) for name, number, dump in rows]


def test_definitions_are_those_of_the_header() -> None:
    assert {row["name"]: row["value"] for row in WHOLE["definitions"]} == enum("src/base/record.h", "isc_def_type")


def test_types_of_events_are_those_of_the_table() -> None:
    table = re.findall(r'\tTYPE\(\w+, "(\w+)"\)', source("src/trace/kinds.h"))
    assert {row["event_type"] for row in interfaces.built(WHOLE["events"]["types"])} == set(table)


def test_statuses_are_those_of_the_header() -> None:
    statuses = WHOLE["errors"]["statuses"]
    assert {row["name"]: row["value"] for row in statuses} == enum("include/inferscope/status.h", "isc_status")
    texts = dict(re.findall(r'\[(ISC_\w+)\] = "(.*?)"', source("src/base/status.c")))
    assert {row["name"]: row["text"] for row in statuses} == texts


# ---- headers ----


def test_every_public_header_is_described() -> None:
    there = {str(path.relative_to(ROOT / "include")) for path in ROOT.glob("include/inferscope/*.h")}
    assert {row["header"] for row in interfaces.built(WHOLE["c"])} == there


@pytest.mark.parametrize("header", interfaces.built(WHOLE["c"]), ids=lambda row: row["header"])
def test_every_name_of_a_header_is_described(header: interfaces.Row) -> None:
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / header["header"]).read_text(), flags=re.DOTALL)
    text = text.replace("\\\n", " ")
    names = set(re.findall(r"^#define (ISC_\w+)", text, re.MULTILINE))
    names |= set(
        re.findall(r"^(?:static inline|ISC_API) [^;{=]*?\b((?:isc|profiler|inferscope)_\w+)\(", text, re.MULTILINE)
    )
    names |= set(re.findall(r"^\} ((?:isc|profiler|inferscope)_\w+);", text, re.MULTILINE))
    names |= set(re.findall(r"^enum (\w+) \{", text, re.MULTILINE))
    names |= {f"inferscope::{name}" for name in re.findall(r"^class (\w+)", text, re.MULTILINE)}
    public = {name for name in names if not name.endswith("_")}
    assert {row["name"] for row in interfaces.built(header["names"])} == public


# ---- settings and variables ----


def table_of_settings() -> dict[str, str]:
    """{key: the row's text} of settings_table.c."""
    text = (ROOT / "src/session/settings/table.c").read_text()
    rows = re.findall(r'^\t\{"(\w+)",(.*?)^\t?\}?(?=\t\{"|\};)', text, re.MULTILINE | re.DOTALL)
    return {key: row for key, row in rows}


def test_settings_are_those_of_the_table() -> None:
    table = table_of_settings()
    assert [row["key"] for row in WHOLE["settings"]] == list(table)
    for row in WHOLE["settings"]:
        text = table[row["key"]]
        assert f"AT({row['field']})" in text, row["key"]
        assert row.get("in_file", True) == ("ISC_SETTING_NOT_IN_FILE" not in text), row["key"]
        if "range" in row:
            low, high = row["range"]
            most = text.replace("SECONDS_MAX", "86400")
            assert re.search(rf"AT\({row['field']}\), {low}, {high},", re.sub(r"\s+", " ", most)), row["key"]


def test_defaults_in_the_page_of_run_are_those_of_the_table() -> None:
    rows = re.findall(r"^\| (`--.*?) \| (.*?) \|", (ROOT / "docs" / "run.md").read_text(), re.MULTILINE)
    default = {row["option"]: row["default"] for row in WHOLE["settings"] if "option" in row}
    wrong = []
    for options, said in rows:
        named = re.findall(r"`--([a-z-]+) [A-Z]", options)  # those with a value
        values = said.replace("`", "").split(", ") if default.get(named[0] if named else "", "-") != "-" else []
        wrong += [
            f"--{name}: {value}, not {default[name]}"
            for name, value in zip(named, values)
            if value not in (default[name], "by the ending")
        ]
    assert len(rows) > 20 and not wrong, wrong


def test_what_is_only_accepted_has_no_reader_and_the_rest_has_one() -> None:
    """A setting that nothing acts on yet is said to be so, and not a day longer."""
    readers = [*ROOT.glob("src/cli/*.c"), *ROOT.glob("src/session/**/*.c")]
    text = "\n".join(path.read_text() for path in readers if not path.name.startswith("settings"))
    text += source("python/*.py")  # INFERSCOPE_ENABLED is read there
    for row in WHOLE["settings"]:
        used = re.search(rf"\b(?:settings|s)(?:->|\.){row['field']}\b", text) is not None
        used |= row["key"] == "enabled" and row["environment"] in text
        assert used == (interfaces.status(row) == "built"), f"{row['key']} is {interfaces.status(row)}"


def test_every_variable_that_is_read_is_described() -> None:
    read = set(re.findall(r'getenv\("(\w+)"\)|variable\(env, "(\w+)"\)', source("src/**/*.c")))
    names = {name for pair in read for name in pair if name}
    names |= set(re.findall(r'environ(?:\.get\(|\[)"(\w+)"', source("python/*.py", "python/inferscope/*.py")))
    names |= set(re.findall(r'"(INFERSCOPE_\w+)"', source("src/**/*.c", "src/**/*.h", "python/**/*.py")))
    names -= {"INFERSCOPE_"}
    described = {row["name"] for row in WHOLE["environment"]}
    described |= {row["environment"] for row in WHOLE["settings"] if "environment" in row}
    assert names <= described, f"not in interfaces.yaml: {names - described}"
    everything = source("src/**/*.c", "src/**/*.h", "python/*.py", "python/inferscope/**/*.py")
    assert not [name for name in described if f'"{name}' not in everything]


# ---- messages, warnings, the report ----


def test_messages_are_the_headings_of_the_page() -> None:
    headings = re.findall(r"^### (.*)$", (ROOT / "docs/troubleshooting.md").read_text(), re.MULTILINE)
    assert [row["text"] for row in WHOLE["errors"]["messages"]] == headings


def test_warning_ids_are_those_of_the_sources_and_explained() -> None:
    ids = set(
        re.findall(r'\b(?:isc_build_warn|warn|isc_build_say)\(\s*[bw],\s[^"]*?"(\w+)"', source("src/analyze/**/*.c"))
    )
    ids |= set(re.findall(r'about_untraced\(b, \w+, "(\w+)"', source("src/analyze/**/*.c")))
    ids |= set(re.findall(r'isc_analysis_warning\)\{"(\w+)"', source("src/analyze/**/*.c")))
    assert set(WHOLE["report"]["warnings"]) == ids
    part = (ROOT / "docs/report.md").read_text().split("\n## warnings\n")[1]
    explained = {
        name for row in re.findall(r"^\| (`.*?) \|", part, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert explained == ids


def test_report_names_are_those_of_the_schema() -> None:
    schema = json.loads((ROOT / WHOLE["report"]["schema"]).read_text())
    names = [row["name"] for row in WHOLE["report"]["names"]]
    assert names == list(schema["properties"]) and set(names) == set(schema["required"])
    assert schema["$id"] == schema["properties"]["schema"]["const"] == WHOLE["report"]["id"]


def test_named_pages_are_there() -> None:
    pages = [row["page"] for row in WHOLE["formats"] if "page" in row]
    assert pages and not [page for page in pages if not (ROOT / page).is_file()]
