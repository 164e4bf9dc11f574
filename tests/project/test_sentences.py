"""Nobody takes a sentence apart: what reports say of a verdict comes from its parts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "src/report"
SEARCH = re.compile(
    r"\b(?:str(?:str|casestr|chr|rchr|pbrk|c?spn|tok|tok_r|sep)|mem(?:mem|chr|rchr)|sscanf|reg(?:comp|exec))\s*\("
)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# What is searched there is no sentence.
ALLOWED = {
    "format.c": "the first bytes of a file",
    "json/program.c": "the path of a file",
    "json/recording.c": "the letters of an id",
    "html/html_top.c": "the path of a program",
    "text/function_words.c": "the name of a function, the path of a file",
    "text/gpu_words.c": "the path of a file",
    "text/words.c": "an argument of a command line",
}


def searches(text: str) -> list[str]:
    return [line.strip() for line in COMMENT.sub("", text).splitlines() if SEARCH.search(line)]


def test_no_report_searches_inside_a_sentence(tracked: Callable[..., list[Path]]) -> None:
    found = {}
    for file in tracked("src/report/*.c", "src/report/*.h"):
        name = str(file.relative_to(REPORT))
        lines = searches(file.read_text())
        if lines and name not in ALLOWED:
            found[name] = lines
    assert not found, "the parts of a claim say it: read those, or name here what is searched"


@pytest.mark.parametrize(
    "line", ['if (strstr(why, "GPU ") != NULL)', "end = strchr(text, ' ');", "memmem(a, n, b, m);"]
)
def test_a_search_is_seen(line: str) -> None:
    assert searches(f"/* strstr(x) */\n{line}\n") == [line]


def test_what_is_allowed_is_there() -> None:
    assert [name for name in ALLOWED if not searches((REPORT / name).read_text())] == []


def test_no_rule_writes_a_sentence(tracked: Callable[..., list[Path]]) -> None:
    words = re.compile(r"isc_buffer_(?:text|format)|isc_arena_format")
    assert [file.name for file in tracked("src/analyze/rules/rule_*.c") if words.search(file.read_text())] == []


def fixes() -> list[str]:
    return re.findall(r'\[ISC_FIX_\w+\]\s*=\s*\{\s*"(\w+)"', (REPORT / "text/fix_words.c").read_text())


def test_remedies_are_those_of_the_page_and_the_schema() -> None:
    page = (ROOT / "docs/rules.md").read_text()
    schema = json.loads((ROOT / "schema/report-1.json").read_text())["$defs"]["fix"]["enum"]
    assert len(fixes()) > 20 and [fix for fix in fixes() if f"`{fix}`" not in page] == []
    assert sorted(fixes()) == sorted(fix for fix in schema if fix is not None)


def test_every_rule_of_the_page_has_the_kind_and_the_remedy_of_its_source() -> None:
    rules = (ROOT / "src/analyze/rules/rules.c").read_text()
    page = (ROOT / "docs/rules.md").read_text()
    rows = re.findall(r'RULE\("(\w+)", .*, (FAULT|LIMIT), (\w+)(?:, .*)?\),', rules)
    assert len(rows) > 20
    for rule, kind, fix in rows:
        part = page.split(f"### {rule}\n")[1].split("\n### ")[0]
        remedy = "none" if fix == "NONE" else f"`{fix.lower()}`"
        assert f"| kind, remedy | {kind.lower()}, {remedy} |" in part, rule
