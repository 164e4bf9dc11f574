"""The HTML report: one file that says what the others say, asks for nothing, and lets no name be more than a name."""

from __future__ import annotations

import base64
import hashlib
import html
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


def test_x1_the_watch_sees_a_page_whose_names_are_not_escaped(inferscope: Command, browser: Open) -> None:
    whole = page_of(inferscope, ["a name"] * 3, "plain").read_text()
    before, mark, data = whole.partition('<script type="text/plain"')
    assert "a name" in before
    signatures = {}
    names = {"plain": "a name", "tag": "<b onmouseover=alert(1)>", "script": "<script>alert(1)</script>"}
    for kind, name in names.items():
        page = inferscope.folder / f"{kind}-raw.html"
        page.write_text(before.replace("a name", name) + mark + data)
        seen = browser(page, [["signature"]])
        signatures[kind] = seen["answers"][0]
        assert not seen["dialogs"]  # the policy lets neither run
    assert set(signatures["tag"]) != set(signatures["plain"])
    assert signatures["script"] != signatures["plain"]


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
        # The names got there at all.
        threads = {t["name"] for t in block((inferscope.folder / f"{kind}.html").read_text(), "report")["threads"]}
        given = {name.replace("\0", "0")[:2000] for name in names}
        assert len(threads & given) > len(given) * 0.8, sorted(threads)
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
    assert len(names) > 3 and names == sorted(names, key=str.lower)
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
    # The 95th percentile is for tools/bench.py: on a busy machine it is that of its neighbours.
    durations = seen["answers"][16]
    assert durations and durations[len(durations) // 2] <= 16


def test_pieces_of_the_timeline_are_the_events_of_the_trace(run: Path) -> None:
    lanes = block(run.read_text(), "detail")["lanes"]
    names = {lane["name"] for lane in lanes["lanes"] if lane["kind"] == "thread"}
    counters = [lane["name"] for lane in lanes["lanes"] if lane["kind"] == "counter"]
    kinds = {row[0] for lane in lanes["lanes"] for row in lane["rows"]}
    assert {"scope", "call"} <= kinds and "queue" in counters
    assert len(names) >= 1 and "request" in lanes["names"] and "tokenise" in lanes["names"]
    assert sum(row[2] for lane in lanes["lanes"] for row in lane["rows"]) == lanes["pieces"] <= 64000


def markdown_tables(text: str) -> dict[str, list[dict[str, str]]]:
    """Of each heading its first table, by the names of its columns."""
    found: dict[str, list[dict[str, str]]] = {}
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        heading, _, rest = part.partition("\n")
        lines = [line for line in rest.split("\n\n###")[0].splitlines() if line.startswith("|")]
        cells = [[html_text(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
        if len(cells) > 2:
            end = next((i for i, row in enumerate(cells[2:], 2) if set("".join(row)) <= set("-: ")), len(cells) + 1)
            found[heading] = [dict(zip(cells[0], row)) for row in cells[2 : end - 1]]
    return found


def html_text(cell: str) -> str:
    return html.unescape(re.sub(r"\\(.)", r"\1", cell)).strip("`* ")


# Markdown's heading and columns, and what the page calls them; the first is what a row is known by.
SHARED = {
    "Functions": (
        ("function", "where"),
        {"self": "own time", "total": "total", "calls": "calls", "CPU": "CPU by samples"},
    ),
    "Scopes": (
        ("scope",),
        {
            "count": "count",
            "total": "total",
            "mean": "mean",
            "p50": "p50",
            "p90": "p90",
            "p99": "p99",
            "max": "longest",
        },
    ),
    "Threads": (("name", "thread"), {"wall": "time", "on CPU": "on CPU"}),
    "Kernels": (("kernel",), {"count": "count", "total": "total", "mean": "mean", "max": "longest", "class": "class"}),
    "Copies": (("copy",), {"count": "count", "total": "total", "GB/s": "GB/s", "pageable": "pageable"}),
    "GPUs": (
        ("GPU",),
        {"span": "span", "busy": "busy", "idle": "idle", "compute": "compute", "comm": "collectives", "copy": "copies"},
    ),
    "System calls": (("call",), {"count": "count", "total": "total", "mean": "mean", "slow": "over 50 us"}),
    "Counters": (("counter",), {"min": "least", "max": "most", "mean": "mean", "last": "last", "samples": "count"}),
    "Processes": (("process",), {"wall": "time", "events": "events", "traced": "traced"}),
    "Marks": (("mark",), {"count": "count"}),
}
KNOWN_BY = {"name": "thread", "thread": "id", "copy": "kind"}
ALL_TABLES = """() => {
  const all = {};
  for (const tab of document.querySelectorAll("#tables .tabs button")) {
    tab.click();
    const more = document.querySelector("#tables .more button");
    if (more) more.click();
    const heads = [...document.querySelectorAll("#tables th")];
    const titles = heads.map(n => n.textContent.replace(/ [\\u2191\\u2193]$/, ""));
    all[tab.firstChild.textContent.trim()] = [...document.querySelectorAll("#tables tbody tr")].map(
      row => Object.fromEntries([...row.children].map((cell, i) => [titles[i], cell.textContent])));
  }
  return all;
}"""


def shared_figures(seen: dict[str, Any], markdown: Path) -> dict[str, int]:
    """How many figures of each table the page and Markdown both have; they are the same."""
    compared: dict[str, int] = {}
    for heading, rows in markdown_tables(markdown.read_text()).items():
        keys, columns = SHARED.get(heading, ((), {}))
        for row in rows if heading in seen and keys else []:
            beside = [
                other
                for other in seen[heading]
                if all(other.get(KNOWN_BY.get(key, key), "") == row.get(key, "") for key in keys)
            ]
            # Names that are shortened, or that two have, are not told apart here.
            for said, shown in columns.items() if len(beside) == 1 else []:
                if said in row and shown in beside[0]:
                    wanted = re.sub(r"^about ", "", row[said])
                    same = beside[0][shown] == wanted or {wanted, beside[0][shown]} <= {"?", "-", ""}
                    assert same, f"{heading}: {said} of {row} is {beside[0][shown]} on the page"
                    compared[heading] = compared.get(heading, 0) + 1
    return compared


def test_every_figure_that_the_page_and_markdown_share_is_the_same(run: Path, browser: Open) -> None:
    seen = browser(run, [["script", ALL_TABLES]])
    quiet(seen)
    compared = shared_figures(seen["answers"][0], run.with_suffix(".md"))
    assert {"Functions", "Scopes", "Threads", "Counters", "Processes"} <= set(compared), compared
    assert sum(compared.values()) >= 60, compared


def test_every_figure_of_gpus_on_the_page_is_that_of_markdown(inferscope: Command, browser: Open) -> None:
    page = page_of(inferscope, PLAIN, "gpus")
    done = inferscope("analyze", inferscope.folder / "gpus.json", "--output", page.with_suffix(".md"))
    assert done.returncode == 0, done.stderr
    compared = shared_figures(browser(page, [["script", ALL_TABLES]])["answers"][0], page.with_suffix(".md"))
    assert {"GPUs", "Kernels", "Scopes", "Functions"} <= set(compared), compared
    assert sum(compared.values()) >= 200, compared


def test_a_figure_between_two_is_rounded_as_printf_rounds_it(run: Path, browser: Open) -> None:
    """To the even one, where JavaScript takes the larger: 21.375 us in 19 calls were 1.12 us each, and 1.13 us here."""
    values = [1.125, 1.375, 12.25, 12.75, 0.0025, 0.0035, 100.5, 101.5, 2.675]
    source = (Path(__file__).parents[3] / "src" / "report" / "html" / "page" / "format.js").read_text()
    seen = browser(run, [["script", f"() => {{ {source}; return {json.dumps(values)}.map(dur); }}"]])
    assert seen["answers"][0] == [printed(value) for value in values]


def printed(us: float) -> str:
    return f"{us * 1e3:.0f} ns" if us < 1 else f"{us:.{2 if us < 9.995 else 1 if us < 99.95 else 0}f} us"
