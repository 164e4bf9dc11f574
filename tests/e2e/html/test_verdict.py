"""The top of the page: the verdict in few words, and bounds that agree with the other reports."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.html.conftest import Open
    from tests.e2e.html.test_page import quiet, with_package
else:
    from test_page import quiet, with_package

WRITE = """
import json, sys
from inferscope import ReportGenerator
for path in sys.argv[2:]:
    report = ReportGenerator(json.load(open(path)))
    report.save(f"{sys.argv[1]}/" + path.split("/")[-1].replace(".report.json", ".html"))
"""


@pytest.fixture(scope="module")
def pages(stage: Path, scenes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, dict[str, Any]]]:
    """The page and the JSON report of each scene with a verdict."""
    folder = tmp_path_factory.mktemp("pages")
    reports = sorted(scenes.glob("verdict_*.report.json"))
    command = [sys.executable, "-c", WRITE, str(folder), *map(str, reports)]
    subprocess.run(command, env=with_package(stage), check=True, timeout=120)
    found = {}
    for path in reports:
        name = path.name.split(".")[0]
        found[name] = ((folder / f"{name}.html").read_text(), json.loads(path.read_text()))
    return found


def words(markup: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", markup))).strip()


def first(pattern: str, page: str) -> str:
    found = re.search(pattern, page, re.DOTALL)
    return words(found[1]) if found else ""


def test_the_headline_is_short_and_the_rest_of_its_sentence_stands_below(
    pages: dict[str, tuple[str, dict[str, Any]]],
) -> None:
    assert len(pages) > 20
    for name, (page, report) in pages.items():
        told = report["verdict"]["headline"]
        head, below = first("<h1[^>]*>(.*?)</h1>", page), first('<p class="dek">(.*?)</p>', page)
        assert 10 < len(head) <= 125, f"{name}: {head}"
        assert "can be saved" not in head
        # A limit leaves nothing to save; of what is no time, such as memory that is nearly used up, there is no bound.
        unbounded = report["verdict"]["kind"] == "limit" or report["verdict"]["cause"] == "memory_near_limit"
        assert below.endswith(told.split(" can be saved by ")[-1]) or unbounded, name
        assert '<span class="lit u-' in page.split("</h1>")[0], f"{name}: no number stands out"
        # Nothing of the sentence is lost.
        places = first('<p class="at mono">(.*?)</p>', page)
        everything = f"{head} {below} {places}".lower()
        for word in re.findall(r"[\w./%-]{3,}", told.lower()):
            assert word.strip(".") in everything, f"{name}: {word}"


def test_the_bound_of_a_suggestion_is_of_the_whole_that_the_headline_names(
    pages: dict[str, tuple[str, dict[str, Any]]],
) -> None:
    compared = 0
    for name, (page, report) in pages.items():
        said = re.search(r"; at most (\S+ \S+ of \S+ \S+) can be saved by ", report["verdict"]["headline"])
        shown = [words(bound) for bound in re.findall(r"saves at most</span><b>(.*?)</b>", page)]
        bounded = [row for row in report["suggestions"] if row["saves_at_most_us"] is not None]
        assert len(shown) == len(bounded)
        for suggestion, bound in zip(bounded, shown):
            if said and suggestion["rule"] == report["verdict"]["cause"]:
                assert bound == said[1], name
                compared += 1
    assert compared > 20


TASKS = """
import asyncio, time
from inferscope import scope

def rank():
    end = time.perf_counter() + 0.015
    while time.perf_counter() < end: sum(range(200))

async def answer():
    for _ in range(10):
        with scope("query"):
            await asyncio.sleep(0.004)
            rank()

async def main(): await asyncio.gather(*(answer() for _ in range(4)))
asyncio.run(main())
"""


def test_a_query_of_tasks_that_take_turns_is_as_long_as_in_the_headline(
    inferscope: Any, stage: Path, tmp_path: Path
) -> None:
    program = tmp_path / "tasks.py"
    program.write_text(TASKS)
    asked = ("--report", "r.html", "--report", "r.json", "--python", sys.executable)
    done = inferscope("run", *asked, program, env=with_package(stage))
    assert done.returncode == 0, done.stderr
    headline = json.loads((tmp_path / "r.json").read_text())["verdict"]["headline"]
    said = re.search(r"; at most (\S+ \S+ of \S+ \S+) can be saved by ", headline)
    shown = re.findall(r"saves at most</span><b>(.*?)</b>", (tmp_path / "r.html").read_text())
    assert said and "event loop" in headline, headline
    assert said[1] in [words(bound) for bound in shown]


def test_evidence_is_in_words_with_units(pages: dict[str, tuple[str, dict[str, Any]]]) -> None:
    page, _ = pages["verdict_gil"]
    rows = [words(row) for row in re.findall("<tr>(.*?)</tr>", page.split("The evidence")[1].split("</table>")[0])]
    assert rows[0] == "GIL wait60.0% over 15%"
    assert "gil_wait_pct" not in page.split("<section")[0].split("</style>")[1]


def test_dark_letters_are_printed_on_white_whatever_was_chosen(
    pages: dict[str, tuple[str, dict[str, Any]]], browser: Open, tmp_path: Path
) -> None:
    page = tmp_path / "gil.html"
    page.write_text(pages["verdict_gil"][0])
    ink = "getComputedStyle(document.querySelector('h1')).color"
    seen = browser(
        page, [["theme", "dark"], ["press", "t"], ["press", "t"], ["script", ink], ["media", "print"], ["script", ink]]
    )
    quiet(seen)
    screen, paper = (sum(map(int, re.findall(r"\d+", seen["answers"][i])[:3])) for i in (3, 5))
    assert screen > 600 > 120 > paper
