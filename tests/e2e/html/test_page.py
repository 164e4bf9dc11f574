"""The HTML report: one file that says what the others say, asks for nothing, and lets no name be more than a name."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command
    from tests.e2e.html.conftest import Open
    from tests.e2e.html.hostile import PAYLOADS, PLAIN, PROGRAM, kineto
else:
    from hostile import PAYLOADS, PLAIN, PROGRAM, kineto

SERVER = """
import threading, time
from inferscope import counter, scope

def tokenise(n):
    return [i % 7 for i in range(n)]

def forward(n):
    return sum(x * x for x in range(n))

def answer(i):
    with scope("request"):
        with scope("tokenise"):
            tokenise(4000)
        with scope("forward"):
            forward(60000 if i % 10 == 0 else 8000)
        counter("queue", i % 5)

other = threading.Thread(target=lambda: [forward(5000) for _ in range(60)], name="metrics")
other.start()
for i in range(60):
    answer(i)
other.join()
"""


def with_package(stage: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(next(stage.glob("lib/python3*/site-packages")))}


@pytest.fixture
def run(inferscope: Command, stage: Path) -> Path:
    """The page of a small server, with its JSON and Markdown beside it."""
    script = inferscope.folder / "server.py"
    script.write_text(SERVER)
    reports = [word for end in ("html", "json", "md") for word in ("--report", f"r.{end}")]
    done = inferscope(
        "run",
        "--python",
        sys.executable,
        *reports,
        "--trace",
        "r.isc",
        "--rate",
        "1000",
        script,
        env=with_package(stage),
    )
    assert done.returncode == 0, done.stderr
    return inferscope.folder / "r.html"


def block(page: str, name: str) -> Any:
    """What a page holds as data."""
    found = re.search(rf'<script type="text/plain" id="{name}">([A-Za-z0-9+/=]*)</script>', page)
    assert found, f"the page has no {name}"
    return json.loads(zlib.decompress(base64.b64decode(found[1]))) if found[1] else None


class Elements(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_says_what_json_and_markdown_say(run: Path) -> None:
    page, report = run.read_text(), json.loads(run.with_suffix(".json").read_text())
    inside = block(page, "report")
    left_out = inside.pop("left_out")
    inside["functions"] += report["functions"][len(inside["functions"]) :]
    assert left_out.get("functions", 0) == max(0, len(report["functions"]) - 2000)
    assert inside == report
    events = f"{report['overhead']['events']:,}"
    assert f"<b>{events}, " in page
    assert events in run.with_suffix(".md").read_text()


def test_the_tree_of_the_flame_graph_adds_up_to_all_samples(run: Path) -> None:
    page = run.read_text()
    tree, samples = block(page, "detail")["tree"], block(page, "report")["samples"]
    assert sum(tree["samples"]) == samples["count"]
    assert sum(tree["us"]) == pytest.approx(samples["us"])
    assert all(parent < i for i, parent in enumerate(tree["parent"]) if i)
    assert "forward" in {frame["name"] for frame in tree["frames"]}


def test_x2_the_policy_lets_nothing_in_but_the_page_itself(run: Path) -> None:
    page = run.read_text()
    found = Elements(page).found
    (policy,) = [a["content"] for t, a in found if t == "meta" and a.get("http-equiv")]
    assert policy and policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    for tag, attributes in found:
        assert tag not in ("iframe", "object", "embed", "form", "base")
        for name, value in attributes.items():
            assert not name.startswith("on") and name != "style", (tag, attributes)
            if name in ("src", "href"):
                assert value and value.startswith(("#", "data:,")), (tag, attributes)


def test_x2_a_browser_asks_for_nothing_and_finds_no_error(run: Path, browser: Open) -> None:
    seen = browser(run, [["script", "document.querySelectorAll('main section:not([hidden])').length"]])
    assert seen["requests"] == [] and seen["console"] == [] and seen["errors"] == [] and seen["dialogs"] == []
    assert seen["answers"][0] >= 5


def test_x2_the_watch_sees_a_page_that_asks_and_the_policy_stops_it(run: Path, browser: Open, tmp_path: Path) -> None:
    page, image = run.read_text(), '<img src="http://127.0.0.1:9/seen.png" alt="">'
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy"[^>]*>', page)
    open_page, shut = tmp_path / "open.html", tmp_path / "shut.html"
    open_page.write_text(page.replace(policy, "").replace("</main>", image + "</main>"))
    shut.write_text(page.replace("</main>", image + "</main>"))
    assert browser(open_page, [])["requests"] == ["http://127.0.0.1:9/seen.png"]
    seen = browser(shut, [])
    assert any("Content Security Policy" in str(line) for line in seen["console"])


def page_of(inferscope: Command, names: list[str], name: str) -> Path:
    out = inferscope.folder / f"{name}.html"
    done = inferscope("analyze", kineto(names, inferscope.folder / f"{name}.json"), "--output", out)
    assert done.returncode == 0, done.stderr
    return out


def quiet(seen: dict[str, Any]) -> None:
    for what in ("requests", "console", "errors", "dialogs"):
        assert seen[what] == [], what


def test_x1_names_of_an_import_are_data_to_a_browser(inferscope: Command, browser: Open) -> None:
    steps = [["signature"], ["script", "document.title"]]
    plain = browser(page_of(inferscope, PLAIN, "plain"), steps)
    odd = browser(page_of(inferscope, PAYLOADS, "odd"), steps)
    quiet(plain)
    quiet(odd)
    assert len(PAYLOADS) >= 40
    # How many rows some tables have depends on names (a kernel's class); what they are made of does not.
    assert set(odd["answers"][0]) == set(plain["answers"][0])
    for tag in ("H1", "H2", "SCRIPT", "STYLE", "META", "LINK", "A", "INPUT", "SECTION", "BUTTON"):
        assert sum(e.startswith(f"{tag}[") for e in odd["answers"][0]) == sum(
            e.startswith(f"{tag}[") for e in plain["answers"][0]
        ), tag


def test_x1_names_of_a_program_are_data_to_a_browser(inferscope: Command, stage: Path, browser: Open) -> None:
    script = inferscope.folder / "odd.py"
    script.write_text(PROGRAM)
    elements: dict[str, list[str]] = {}
    for kind, names in (("plain", PLAIN), ("odd", PAYLOADS)):
        listed = inferscope.folder / f"{kind}.names"
        listed.write_text(json.dumps(names))
        words = [names[2], names[9].replace("\0", "0")]
        outputs = ["--report", f"{kind}.html", "--trace", f"{kind}.isc", "--label", f"key={words[0]}"]
        done = inferscope(
            "run",
            "--python",
            sys.executable,
            *outputs,
            "--rate",
            "1000",
            script,
            listed,
            *words,
            env=with_package(stage),
        )
        assert done.returncode == 0, done.stderr
        seen = browser(inferscope.folder / f"{kind}.html", [["signature"]])
        quiet(seen)
        elements[kind] = seen["answers"][0]
    # Two runs differ in what they have to show, so what names could bring is looked for by itself.
    attributes = {
        kind: {name for e in found for name in e.split("[")[1][:-1].split()} for kind, found in elements.items()
    }
    assert not {name for name in attributes["odd"] if name.startswith("on")}
    assert not attributes["odd"] & {"src", "srcdoc", "action", "autofocus", "onload"}
    for tag in ("H1", "SCRIPT", "STYLE", "META", "LINK", "BASE", "FORM", "IMG", "IFRAME", "TITLE"):
        counts = {kind: sum(e.startswith(f"{tag}[") for e in found) for kind, found in elements.items()}
        assert counts["odd"] == counts["plain"], tag


def test_tables_sort_and_filter_by_keyboard(run: Path, browser: Open) -> None:
    first = "[...document.querySelectorAll('#tables tbody td:nth-child(1)')].slice(0, 40).map(n => n.textContent)"
    seen = browser(
        run,
        [
            ["script", "document.querySelector('#tables th[aria-sort]').getAttribute('aria-sort')"],
            ["click", "#tables th:nth-child(1) button"],
            ["script", first],
            ["script", "document.querySelector('#tables input').focus()"],
            ["type", "tokenise"],
            ["script", first],
            ["script", "document.querySelector('#tables output').textContent"],
        ],
    )
    quiet(seen)
    _, _, names, _, _, filtered, said = seen["answers"]
    assert seen["answers"][0] == "descending"
    assert names == sorted(names, key=lambda n: n.lower()) or len(names) > 3
    assert filtered and all("tokenise" in name for name in filtered)
    assert said.startswith(f"{len(filtered)} of ")


def test_keys_open_help_search_and_the_other_theme(run: Path, browser: Open) -> None:
    dark = "getComputedStyle(document.body).backgroundColor"
    seen = browser(
        run,
        [
            ["script", dark],
            ["press", "t"],
            ["script", dark],
            ["press", "?"],
            ["script", "document.getElementById('help').open"],
            ["press", "Escape"],
            ["script", "document.getElementById('flame').scrollIntoView()"],
            ["press", "/"],
            ["type", "forward"],
            ["script", "document.querySelector('#flame output').textContent"],
        ],
    )
    quiet(seen)
    light, _, other, _, opened, *_, share = seen["answers"]
    assert light != other
    assert opened is True
    assert re.fullmatch(r"[\d.]+%", share) and float(share[:-1]) > 10


@pytest.mark.parametrize("width", ["390", "768", "1280"])
def test_nothing_sticks_out_at_the_side(run: Path, browser: Open, width: str) -> None:
    seen = browser(run, [["size", width, "900"], ["script", "document.documentElement.scrollWidth - innerWidth"]])
    quiet(seen)
    assert seen["answers"][1] <= 0


def test_the_timeline_zooms_moves_searches_and_reads_as_a_table(run: Path, browser: Open) -> None:
    heading = "document.getElementById('timeline-title').textContent"
    rows = "[...document.querySelectorAll('#timeline .det tbody tr')].map(r => r.children[0].textContent)"
    frames = "performance.getEntriesByName('timeline frame').map(e => e.duration).sort((a, b) => a - b)"
    seen = browser(
        run,
        [
            ["script", "document.getElementById('timeline').scrollIntoView()"],
            ["press", "0"],
            ["script", "new Promise(done => setTimeout(done, 500))"],
            ["script", heading],
            ["press", "w", "w", "w"],
            ["script", heading],
            ["press", "d", "ArrowRight"],
            ["script", heading],
            ["press", "]"],
            ["script", "new Promise(done => setTimeout(done, 500))"],
            ["script", heading],
            ["click", "#timeline .tbar button:last-of-type"],
            ["script", rows],
            ["press", "/"],
            ["type", "forward"],
            ["script", "document.querySelector('#timeline output').textContent"],
            ["script", frames],
        ],
    )
    quiet(seen)
    whole, zoomed, moved, slow = (seen["answers"][i] for i in (3, 5, 7, 10))
    assert whole.startswith("All of it: ")
    assert len({whole, zoomed, moved, slow}) == 4
    assert slow.startswith("A slow request: ")
    assert "forward" in seen["answers"][12] and "request" in seen["answers"][12]
    # 60 of each scope and the calls; what is put together counts one by one.
    assert int(seen["answers"][15].split()[0].replace(",", "")) >= 100
    durations = seen["answers"][16]
    assert durations and durations[len(durations) // 2] <= 16


def test_pieces_of_the_timeline_are_the_events_of_the_trace(run: Path) -> None:
    lanes = block(run.read_text(), "detail")["lanes"]
    names = {lane["name"] for lane in lanes["lanes"] if lane["kind"] == "thread"}
    counters = [lane["name"] for lane in lanes["lanes"] if lane["kind"] == "counter"]
    kinds = {row[0] for lane in lanes["lanes"] for row in lane["rows"]}
    assert {"scope", "call"} <= kinds and counters == ["queue"]
    assert len(names) >= 1 and "request" in lanes["names"] and "tokenise" in lanes["names"]
    assert sum(row[2] for lane in lanes["lanes"] for row in lane["rows"]) == lanes["pieces"] <= 64000
