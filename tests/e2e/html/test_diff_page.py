"""The page of a comparison: the flame graph of two traces in one, and what changed as tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command
    from tests.e2e.html.conftest import Open
    from tests.e2e.html.hostile import PAYLOADS, PLAIN
    from tests.e2e.html.test_page import block, quiet, with_package
else:
    from hostile import PAYLOADS, PLAIN
    from test_page import block, quiet, with_package

# parse() takes as much as it is told to by CPU time; render() always the same.
PROGRAM = """
import sys, time
from inferscope import scope
def spend(ms):
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        sum(range(100))
def parse(ms): spend(ms)
def render(): spend(8)
for _ in range(int(sys.argv[2])):
    with scope("request"):
        parse(float(sys.argv[1]))
        render()
"""

# The names of frames that the flame graph has in orange and in blue, and how its widths add up.
LOOK = """() => {
  const told = {};
  for (const b of document.querySelectorAll("#flame .choice button"))
    told[b.textContent] = b.getAttribute("aria-pressed");
  return { told, title: document.querySelector("#flame .eyebrow").textContent,
           words: document.querySelector("#flame h2").textContent,
           figures: Object.fromEntries([...document.querySelectorAll("#flame .det dl div")].map(
             d => [d.children[0].textContent, d.children[1].textContent])) };
}"""
PIXELS = """() => {
  const c = document.querySelector("#flame canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
  let orange = 0, blue = 0;
  for (let i = 0; i < d.length; i += 4) {
    if (d[i] > d[i + 2] + 60) orange++;
    if (d[i + 2] > d[i] + 60) blue++;
  }
  return [orange, blue];
}"""


@pytest.fixture
def record(inferscope: Command, stage: Path) -> Any:
    script = inferscope.folder / "program.py"
    script.write_text(PROGRAM)

    def go(name: str, ms: float, requests: int = 20) -> Path:
        trace = inferscope.folder / f"{name}.isc"
        # Without a budget: on a busy machine it leaves too few samples to tell the two apart.
        options = ["--no-report", "--rate", "1000", "--budget", "off", "--trace", str(trace)]
        options += ["--python", sys.executable]
        done = inferscope("run", *options, script, str(ms), str(requests), env=with_package(stage))
        assert done.returncode == 0, done.stderr
        return trace

    return go


def test_the_flame_graph_of_two_traces_shows_what_takes_more(inferscope: Command, record: Any, browser: Open) -> None:
    base, new = record("base", 2, 30), record("new", 20, 30)
    out = inferscope.folder / "diff.html"
    done = inferscope("diff", base, new, "--fail-if", "p50_us(request) > +20%", "--output", out)
    assert done.returncode == 1, done.stderr
    page = out.read_text()
    told, detail = block(page, "report"), block(page, "detail")
    assert told["schema"] == "inferscope-diff-1" and told["gates"][0]["outcome"] == "failed"
    as_json = inferscope("diff", base, new, "--fail-if", "p50_us(request) > +20%", "--format", "json", "--quiet")
    assert told == json.loads(as_json.stdout)
    assert [len(detail[side]["trees"]) for side in ("base", "new")] == [1, 1]
    steps: list[list[str]] = [
        ["script", LOOK],
        ["script", PIXELS],
        ["click", "#flame .choice [data-key=base]"],
        ["script", LOOK],
        ["click", "#flame .choice [data-key=reverse]"],
        ["script", "document.querySelector('#flame input').focus()"],
        ["type", "spend"],
        ["script", "document.querySelector('#flame output').textContent"],
        ["script", "document.querySelector('#tables').textContent"],
        ["script", "document.documentElement.scrollWidth - innerWidth"],
        ["size", "390", "800"],
        ["script", "document.documentElement.scrollWidth - innerWidth"],
        ["script", "[...document.querySelectorAll('#tables th')].map(n => n.textContent)"],
    ]
    seen = browser(out, steps)
    quiet(seen)
    look, (orange, blue), _, by_base, *_ = seen["answers"]
    assert look["told"]["new - base"] == "true" and "takes" in look["words"] and "more CPU time" in look["words"]
    # The change is far above what samples may be off, and nothing takes less.
    assert orange > 1000 and blue < orange / 10
    change = float(look["figures"]["change"].lstrip("+").split()[0])
    assert look["figures"]["change"].startswith("+") and change > 0
    assert look["figures"]["new"] == by_base["figures"]["new"] and look["figures"]["base"] == by_base["figures"]["base"]
    assert look["figures"]["CPU time"].startswith(look["figures"]["new"])
    assert by_base["figures"]["CPU time"].startswith(by_base["figures"]["base"])
    assert float(seen["answers"][7].rstrip("%")) > 50  # all work is in it
    assert "Gates" in seen["answers"][8] and "Functions" in seen["answers"][8]
    assert seen["answers"][9] <= 0 and seen["answers"][11] <= 0
    assert len(seen["answers"][12]) == 3 and "change" in seen["answers"][12]  # where there is little room


def test_sides_with_other_numbers_of_requests_are_told_per_request(
    inferscope: Command, record: Any, browser: Open
) -> None:
    """Twice the requests of the same kind take twice the time, and nothing of it is a change."""
    out = inferscope.folder / "same.html"
    done = inferscope("diff", record("few", 8, 20), record("many", 8, 40), "--output", out)
    assert done.returncode == 0, done.stderr
    detail = block(out.read_text(), "detail")
    assert detail["new"]["per"] == 40 and detail["base"]["per"] == 20
    seen = browser(out, [["script", LOOK], ["script", PIXELS]])
    quiet(seen)
    assert "of one request" in seen["answers"][0]["title"]
    new, base = (seen["answers"][0]["figures"][side].split() for side in ("new", "base"))
    assert new[1] == base[1] and 0.7 < float(new[0]) / float(base[0]) < 1.4


def test_names_are_data_on_the_page_of_a_comparison(inferscope: Command, stage: Path, browser: Open) -> None:
    elements = {}
    for kind, names in (("plain", PLAIN), ("odd", PAYLOADS)):
        folded = inferscope.folder / f"{kind}.folded"
        # Frames are divided by this one, and lines by lines.
        safe = [name.replace(";", ":").replace("\n", " ").replace("\r", " ").replace("\0", " ") for name in names]
        folded.write_text("".join(f"main;{name[:500]} {100 + i}\n" for i, name in enumerate(safe)), errors="replace")
        done = inferscope("diff", folded, folded, "--output", f"{kind}.html")
        assert done.returncode == 0, done.stderr
        seen = browser(inferscope.folder / f"{kind}.html", [["signature"]])
        quiet(seen)
        elements[kind] = seen["answers"][0]
    assert set(elements["odd"]) == set(elements["plain"])
