"""Documentation that cannot rot in silence: links lead somewhere, promised tests exist, verbs are real."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Files = Callable[..., list[Path]]


def anchors(page: Path) -> set[str]:
    """As a Markdown host makes them from headings."""
    titles = re.findall(r"^#+\s+(.*?)\s*$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_lead_somewhere(tracked: Files) -> None:
    broken = []
    for page in tracked("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            goal = (page.parent / path).resolve() if path else page
            if not goal.exists() or (anchor and anchor not in anchors(goal)):
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert not broken, "\n".join(broken)


#: TEST(claim) of tests/harness/check.h, or a function; the compiler warns of one that no list of tests has.
WRITTEN = {".c": r"^(?:TEST\({0}\)|static void {0}\()", ".py": r"^def {0}\("}


def test_promised_tests_exist() -> None:
    """docs/promises.md names tests as `file::name`."""
    missing = []
    for file, name in re.findall(r"`([\w./-]+\.(?:c|py))(?:::(\w+))?`", (ROOT / "docs" / "promises.md").read_text()):
        path = ROOT / "tests" / file
        if not path.is_file():
            missing.append(file)
        elif name and not re.search(WRITTEN[path.suffix].format(name), path.read_text(), re.MULTILINE):
            missing.append(f"{file}::{name}")
    assert not missing, f"promised, but not there: {missing}"


def test_verbs_in_the_pages_are_verbs_of_the_makefile(tracked: Files) -> None:
    verbs = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {verb for page in tracked("*.md") for verb in re.findall(r"`make ([a-z-]+)`", page.read_text())}
    assert named <= verbs, named - verbs


def test_every_page_of_docs_is_in_its_index(tracked: Files) -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    names = [page.name for page in tracked("*.md") if page.parent == ROOT / "docs" and page.name != "index.md"]
    assert not [name for name in names if f"({name})" not in index]
