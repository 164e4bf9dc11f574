"""What the page shows of a scope, and how it looks where there is little room."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command
    from tests.e2e.html.conftest import Open
    from tests.e2e.html.hostile import span
    from tests.e2e.html.test_page import quiet, with_package
else:
    from hostile import span
    from test_page import quiet, with_package

# Every tenth request sleeps, which nothing on a busy machine can hide.
PROGRAM = """
import time
from inferscope import scope

def tokenise():
    return [i % 7 for i in range(9000)]

def forward(i):
    if i % 10 == 9:
        time.sleep(0.12)
    return [sum(x * x for x in range(3000)) for _ in range(3)]

for i in range(60):
    with scope("request"):
        with scope("tokenise"):
            tokenise()
        with scope("forward"):
            forward(i)
"""
PHONE = ["size", "400", "860"]
SETTLED = ["script", "new Promise(done => setTimeout(done, 400))"]


@pytest.fixture(scope="module")
def sleeper(stage: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sleeper")
    (folder / "sleeper.py").write_text(PROGRAM)
    options = [
        "--python",
        sys.executable,
        "--report",
        "s.html",
        "--trace",
        "s.isc",
        "--rate",
        "1000",
        "--budget",
        "off",
    ]
    command = [str(stage / "bin" / "inferscope"), "run", *options, "sleeper.py"]
    done = subprocess.run(command, cwd=folder, env=with_package(stage), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "s.html"


def test_the_ten_slowest_are_drawn_as_they_were_recorded(sleeper: Path, browser: Open) -> None:
    rows = """[...document.querySelectorAll('#latency .row')].map(row => ({
        label: row.getAttribute('aria-label'),
        covered: [...row.querySelectorAll('.part')].map(p => parseFloat(p.getAttribute('width'))),
        whole: parseFloat(row.querySelector('.bed').getAttribute('width')),
        fills: new Set([...row.querySelectorAll('.part')].map(p => p.getAttribute('fill'))).size }))"""
    seen = browser(sleeper, [["script", rows]])
    quiet(seen)
    found: list[dict[str, Any]] = seen["answers"][0]
    assert len(found) == 10 and found[0]["whole"] == 100
    for row in found[:6]:  # those that sleep
        assert ", one sleep takes 1" in row["label"], row["label"]
        # States overlap, as a wait lies over what the scheduler tells; together they fill the bar.
        assert row["fills"] >= 2 and sum(row["covered"]) >= row["whole"] * 0.9, row


def test_the_timeline_opens_on_the_slowest_and_says_what_stopped_it(sleeper: Path, browser: Open) -> None:
    heading = "document.getElementById('timeline-title').textContent"
    chosen = "document.querySelector('#timeline .det h4').firstChild.textContent"
    seen = browser(sleeper, [SETTLED, ["script", heading], ["script", chosen]])
    quiet(seen)
    assert re.fullmatch(r"A slow request: [\d.]+ ms; one sleep takes 1[\d.]+ ms(, .*)?", seen["answers"][1])
    assert seen["answers"][2] == "request"  # it is selected


def test_lanes_stay_where_they_are_while_the_heading_changes(sleeper: Path, browser: Open) -> None:
    top = "document.querySelector('#timeline .tl').offsetTop"
    look = ["script", "document.getElementById('timeline').scrollIntoView()"]
    words = "document.getElementById('timeline-title').textContent"
    steps = [PHONE, look, SETTLED, ["script", top], ["script", words], ["press", "s"], ["script", top], SETTLED]
    seen = browser(
        sleeper, [*steps, ["script", top], ["press", "w", "w", "w", "w"], ["script", top], ["script", words]]
    )
    quiet(seen)
    assert seen["answers"][3] == seen["answers"][6] == seen["answers"][8] == seen["answers"][10]
    assert seen["answers"][4] != seen["answers"][11]


def test_the_latency_heading_sums_a_cause_up_and_names_its_place(sleeper: Path, browser: Open) -> None:
    seen = browser(
        sleeper,
        [
            ["script", "document.querySelector('#latency h2').textContent"],
            [
                "script",
                "[...document.querySelectorAll('#latency .fall > div:nth-child(3n + 1)')].map(d => d.textContent)",
            ],
            ["script", "[...document.querySelectorAll('#latency .fall .r')].map(d => d.textContent)"],
        ],
    )
    quiet(seen)
    title, rows, values = seen["answers"]
    assert re.match(r"The slow tenth takes [\d.]+ ms longer: \+[\d.]+ ms sleeps in forward", title), title
    assert rows[0].startswith("A middling request") and rows[-1].startswith("A slow request")
    causes = [row for row in rows[1:-1] if row != "everything else"]
    assert causes[0].startswith("sleeps") and "sleeper.py:" in causes[0]
    assert len({re.sub(r"(in|held by) .*", "", row) for row in causes}) == len(causes)  # each cause once

    def ms(text: str) -> float:
        value, unit = text.lstrip("+-").split()
        return float(value) * {"us": 1e-3, "ms": 1, "ns": 1e-6}[unit] * (-1 if text.startswith("-") else 1)

    assert sum(map(ms, values[:-1])) == pytest.approx(ms(values[-1]), rel=0.02)


def test_a_median_one_and_the_slowest_can_be_seen_at_the_top(sleeper: Path, browser: Open) -> None:
    caption = "document.querySelector('#hero figcaption').textContent"
    inside = """(() => { const frame = document.querySelector('#hero .hist').getBoundingClientRect();
        return [...document.querySelectorAll('#hero .hist text')].every(t => {
            const box = t.getBoundingClientRect();
            return box.right <= frame.right + 1 && box.left >= frame.left - 1
                && box.bottom <= frame.bottom + 1; }); })()"""
    below = """document.querySelector('#hero .hist').getBoundingClientRect().top -
        document.querySelector('#hero .heroline').getBoundingClientRect().bottom"""
    steps = []
    for key in ("median", "slowest"):
        steps += [
            ["click", f"#hero [data-key={key}]"],
            SETTLED,
            ["script", caption],
            ["script", inside],
            ["script", below],
        ]
    seen = browser(sleeper, [*steps, PHONE, SETTLED, ["script", inside]])
    quiet(seen)
    assert seen["answers"][2].startswith("One median request, as recorded: ")
    assert re.match(r"The slowest request, as recorded: [\d.]+ ms\. One sleep takes ", seen["answers"][7])
    assert seen["answers"][3] is True and seen["answers"][8] is True and seen["answers"][-1] is True
    assert min(seen["answers"][4], seen["answers"][9]) >= 6  # pixels between the words and the first lane


def test_charts_are_drawn_in_the_light_for_paper_and_dark_again_after(sleeper: Path, browser: Open) -> None:
    brightness = """(() => { const c = document.querySelector('#timeline .stage canvas');
        const pen = new OffscreenCanvas(1, 1).getContext('2d');
        pen.drawImage(c, 3 - c.width, 3 - c.height);
        const d = pen.getImageData(0, 0, 1, 1).data;
        return d[0] + d[1] + d[2]; })()"""
    steps = [["theme", "dark"], SETTLED, ["script", brightness]]
    for event in ("beforeprint", "afterprint"):
        steps += [["script", f"void dispatchEvent(new Event('{event}'))"], ["script", brightness]]
    seen = browser(sleeper, [*steps, ["script", "document.documentElement.getAttribute('data-theme')"]])
    quiet(seen)
    screen, paper, after = (seen["answers"][i] for i in (2, 4, 6))
    assert screen < 200 and paper > 700 and after == screen
    assert seen["answers"][7] is None


def test_on_a_phone_letters_keep_their_size_and_tables_their_room(sleeper: Path, browser: Open) -> None:
    letters = """[...document.querySelectorAll('#hero text, #latency text')].map(t => {
        const svg = t.ownerSVGElement;
        return parseFloat(getComputedStyle(t).fontSize) * svg.clientWidth / svg.viewBox.baseVal.width; })"""
    low = """[...document.querySelectorAll('button, select, input')].filter(
        b => b.offsetParent && b.getBoundingClientRect().height < 24).map(b => b.className + ' ' + b.textContent)"""
    beside = """[...document.querySelectorAll('.bars .nm')].map((n, i) => Math.abs(
        n.getBoundingClientRect().top - document.querySelectorAll('.bars .v')[i].getBoundingClientRect().top))"""
    sideways = "(n => [n.scrollWidth - n.clientWidth, n.querySelectorAll('th').length])(document.querySelector('.tw'))"
    seen = browser(
        sleeper,
        [
            PHONE,
            SETTLED,
            ["script", letters],
            ["script", low],
            ["script", beside],
            ["script", sideways],
            ["click", "#tables .more button:last-of-type"],
            ["script", sideways],
        ],
    )
    quiet(seen)
    sizes, small, offsets, (over, shown), _, (_, all_columns) = seen["answers"][2:]
    assert len(sizes) > 8 and min(sizes) >= 11, min(sizes)
    assert small == []
    assert offsets and max(offsets) < 8
    assert over <= 0 and shown == 3 < all_columns


def test_the_flame_graph_shows_the_program_and_the_interpreter_when_asked(sleeper: Path, browser: Open) -> None:
    share = "document.querySelector('#flame output').textContent"
    look = [
        ["script", "document.querySelector('#flame input').value = ''"],
        ["script", "document.querySelector('#flame input').focus()"],
    ]
    seen = browser(
        sleeper,
        [
            *look,
            ["type", "PyEval_EvalCode"],
            ["script", share],
            ["click", "#flame [data-key=all]"],
            *look,
            ["type", "PyEval_EvalCode"],
            ["script", share],
        ],
    )
    quiet(seen)
    assert seen["answers"][3] == "0.0%"
    assert float(seen["answers"][8].rstrip("%")) > 20


def test_names_of_the_flame_graph_stay_inside_of_their_frames(sleeper: Path, browser: Open) -> None:
    watch = """(() => {
        const pen = CanvasRenderingContext2D.prototype, text = pen.fillText, rect = pen.fillRect;
        window.over = []; let wide = 0;
        pen.fillRect = function (x, y, w, h) { wide = w; rect.call(this, x, y, w, h); };
        pen.fillText = function (t, x, y) {
            if (this.canvas.closest('#flame')) window.over.push(wide - 5 - this.measureText(t).width);
            text.call(this, t, x, y); };
    })()"""
    seen = browser(sleeper, [["script", watch], ["click", "#flame [data-key=all]"], ["script", "window.over"]])
    quiet(seen)
    assert len(seen["answers"][2]) > 10 and min(seen["answers"][2]) >= 0


def test_few_scopes_of_another_tool_are_shown_one_by_one(inferscope: Command, browser: Open) -> None:
    """Its report knows no slowest ones; the pieces of its timeline do."""
    lengths, events, at = [900, 1000, 1010, 990, 1300, 1005], [], 0
    for i, length in enumerate(lengths):
        events.append(span("user_annotation", "step", (1, 1), (at, length)))
        events.append(span("cpu_op", "aten::linear", (1, 1), (at + 10, length // 2)))
        events.append(span("cuda_runtime", "cudaLaunchKernel", (1, 1), (at + 20, 5), correlation=i + 1))
        events.append(span("kernel", "gemm", (0, 7), (at + 40, 300), device=0, stream=7, correlation=i + 1))
        # Beside it on another stream: together they work 460 us.
        events.append(span("kernel", "gemm", (0, 8), (at + 200, 300), device=0, stream=8, correlation=i + 1))
        at += length + 50
    trace = inferscope.folder / "steps.json"
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    done = inferscope("analyze", trace, "--output", inferscope.folder / "steps.html")
    assert done.returncode == 0, done.stderr
    seen = browser(
        inferscope.folder / "steps.html",
        [
            SETTLED,
            ["script", "document.querySelectorAll('#latency .hist .hb').length"],
            ["script", "[...document.querySelectorAll('#latency .row .r:nth-child(2)')].map(r => r.textContent)"],
            ["script", "[...document.querySelectorAll('#latency .row')].every(r => r.querySelector('.part'))"],
            ["script", "document.getElementById('timeline-title').textContent"],
            ["script", "document.querySelector('#hero figcaption').textContent"],
            ["script", "[...document.querySelectorAll('#gpu .legend li')].map(l => l.textContent)"],
            ["script", "[document.title, document.querySelector('.argv').textContent]"],
            ["script", "document.querySelector('#latency h2').textContent"],
        ],
    )
    quiet(seen)
    _, strokes, slowest, drawn, heading, caption, legend, names, title = seen["answers"]
    assert strokes == len(lengths) and drawn is True
    assert title == "They take 1.00 ms, the longest 1.30 ms"
    assert slowest == ["1.30 ms", "1.01 ms", "1.00 ms", "1.00 ms", "990 us", "900 us"]
    assert re.fullmatch(r"A slow step: 1\.30 ms; GPU 0 works 35\.4% of it", heading)
    assert caption.startswith("One median step, as recorded: 1.00 ms")
    assert legend[0] == "busy" and any(word.startswith("idle: ") for word in legend[1:])
    assert names[0].startswith("steps.json: ") and names[1].startswith("steps.json, ")
