"""Markdown, JSON and the summary of every scene have the same figures: each table is read back and compared."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
CASES = sorted(path.stem for path in GOLDEN.glob("*.events"))
Row = dict[str, str]


def time(us: float | None) -> str:
    """As src/base/units.c writes it."""
    if us is None or us < 0:
        return "?"
    if us == 0:
        return "0"
    if us < 0.9995:
        return f"{us * 1e3:.0f} ns"
    for limit, unit, name in ((999.5, 1.0, "us"), (999.5e3, 1e3, "ms"), (120e6, 1e6, "s")):
        if us < limit:
            value = us / unit
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {name}"
    raise ValueError("no scene is that long")


def percent(value: float | None) -> str:
    if value is None:
        return "?"
    return "<0.01%" if 0 < value < 0.005 else f"{value:.2f}%" if 0 < value < 0.095 else f"{value:.1f}%"


def count(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def tables(text: str) -> dict[str, list[Row]]:
    """The first table below each heading, by the names of its columns."""
    found: dict[str, list[Row]] = {}
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        heading, _, rest = part.partition("\n")
        lines = [line for line in rest.splitlines() if line.startswith("|")]
        if len(lines) < 3:
            continue
        cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
        end = next((i for i, line in enumerate(lines[2:], 2) if set(line) <= set("|-: ")), len(lines) + 1) - 1
        found[heading] = [dict(zip(cells[0], row)) for row in cells[2:end]]
    return found


def plain(cell: str) -> str:
    """What is in a cell or a sentence, without what Markdown needs around it."""
    return html.unescape(re.sub(r"\\(.)", r"\1", cell)).strip("`* ")


def same(row: Row, column: str, wanted: str, case: str) -> None:
    said = row[column].strip("*")
    # A figure that is null is a mark, or not there.
    assert said == wanted or (wanted == "?" and said in ("?", "-", "")), f"{case}: {column} of {row} is not {wanted}"


def by_name(report: dict[str, Any], key: str, name: str) -> dict[str, Any] | None:
    rows = [row for row in report[key] if row["name"] == name]
    return rows[0] if len(rows) == 1 else None


@pytest.mark.parametrize("case", CASES)
def test_markdown_and_json_have_the_same_figures(scenes: Path, case: str) -> None:
    report = json.loads((scenes / f"{case}.report.json").read_text())
    text = (scenes / f"{case}.report.md").read_text()
    found = tables(text)
    compared = 0
    columns: dict[str, tuple[str, list[tuple[str, str, Callable[[Any], str]]]]] = {
        "Scopes": (
            "scope",
            [
                ("count", "count", count),
                ("total", "total_us", time),
                ("mean", "mean_us", time),
                ("p50", "p50_us", time),
                ("p90", "p90_us", time),
                ("p99", "p99_us", time),
                ("max", "max_us", time),
            ],
        ),
        "Functions": ("function", [("self", "self_us", time), ("total", "total_us", time)]),
        "Threads": (
            "name",
            [
                ("wall", "wall_us", time),
                ("on CPU", "on_cpu_us", time),
                ("waiting", "waiting_us", time),
                ("switches", "switches", count),
                ("events", "events", count),
            ],
        ),
        "Marks": ("mark", [("count", "count", count)]),
        "Kernels": ("kernel", [("count", "count", count), ("total", "total_us", time), ("mean", "mean_us", time)]),
    }
    for heading, (key, fields) in columns.items():
        for row in found.get(heading, []):
            entry = by_name(report, heading.lower(), plain(row[key])) if key in row else None
            for column, name, words in fields if entry is not None else []:
                if column in row:
                    same(row, column, words(entry[name]), case)  # type: ignore[index]
                    compared += 1
    gpus = {str(gpu["device_id"]): gpu for gpu in report["gpus"]}
    shares = {"busy": "busy_pct", "idle": "idle_pct", "compute": "compute_pct", "comm": "comm_pct", "copy": "copy_pct"}
    for row in found.get("GPUs", []):
        same(row, "span", time(gpus[row["GPU"]]["span_us"]), case)
        same(row, "kernels", count(gpus[row["GPU"]]["kernel_count"]), case)
        for column, name in shares.items():
            same(row, column, percent(gpus[row["GPU"]][name]), case)
        compared += 1
    for row in found.get("Why GPUs were idle", []):
        cause = gpus[row["GPU"]]["idle_causes"][row["waited for"]]
        same(row, "time", time(cause["us"]), case)
        same(row, "share of span", percent(cause["pct"]), case)
        same(row, "gaps", count(cause["gaps"]), case)
        # What is drawn over time is what the table has.
        bins = cause["over_time"]
        assert sum(bins) / len(bins) == pytest.approx(cause["pct"], abs=0.02), case
    for row in found.get("Where the time went", []):
        same(row, "share", percent(report["breakdown"][plain(row["state"])]), case)
        compared += 1
    states = {s for s, v in report["breakdown"].items() if isinstance(v, float) and v >= 0.005 and s != "thread_id"}
    assert states <= {plain(row["state"]) for row in found.get("Where the time went", [])} or not states
    evidence = report["verdict"]["evidence"]
    assert [plain(row["rule"]) for row in found.get("Evidence", [])] == [e["rule"] for e in evidence]
    for row, entry in zip(found.get("Evidence", []), evidence):
        assert float(row["value"].replace(",", "")) == pytest.approx(entry["value"], rel=1e-3), case
        assert float(row["threshold"].replace(",", "")) == pytest.approx(entry["threshold"], rel=1e-3), case
    for entry in report["suggestions"]:
        bound = entry["saves_at_most_us"] or 0
        assert f"{entry['title']}**: " + (f"saves at most {time(bound)}" if bound > 0 else "") in text
    assert compared > 0


@pytest.mark.parametrize("case", CASES)
def test_the_summary_says_the_verdict_of_the_report(scenes: Path, case: str) -> None:
    verdict = json.loads((scenes / f"{case}.report.json").read_text())["verdict"]
    summary = (scenes / f"{case}.summary").read_text()
    words = verdict["headline"] or verdict["withheld"]
    assert words in plain(summary), case
    assert words in plain((scenes / f"{case}.report.md").read_text())
    if verdict["cause"] is not None:
        said = re.search(rf"\({verdict['bottleneck']}, {verdict['cause']}, confidence ([0-9.]+)\)", summary)
        assert said is not None and float(said[1]) == pytest.approx(verdict["confidence"], abs=0.0056), case


#: Lines of the summary, and how each figure of them is written from the report.
def busiest(report: dict[str, Any], name: str, tid: str) -> list[str]:
    t = next(t for t in report["threads"] if str(t["thread_id"]) == tid)
    assert t["name"] == name
    wall = t["wall_us"]
    return [percent(t[key] / wall * 100) for key in ("on_cpu_us", "run_queue_us", "waiting_us")] + [time(wall)]


def slowest(report: dict[str, Any], name: str) -> list[str]:
    s = next(s for s in report["scopes"] if s["name"] == name)
    return [count(s["count"]), *(time(s[key]) for key in ("p50_us", "p90_us", "p99_us", "max_us"))]


def test_the_summary_has_the_figures_of_the_report(scenes: Path) -> None:
    compared = dict.fromkeys(("took", "busiest", "slowest", "events", "slowed", "sampled"), 0)
    for case in CASES:
        report = json.loads((scenes / f"{case}.report.json").read_text())
        text = plain((scenes / f"{case}.summary").read_text())
        for took in re.findall(r" took ([^ ]+ [mnu]?s) and ", text):
            assert took == time(report["program"]["wall_us"]), case
            compared["took"] += 1
        line = r"busiest thread: (\S+) \((\d+)\): (\S+) on CPU, (\S+) ready but not running, (\S+) waiting, of (.*)"
        for name, tid, *figures in re.findall(line, text):
            assert figures == busiest(report, name, tid), case
            compared["busiest"] += 1
        line = r"slowest scope: (\S+): (\S+) times, p50 (.*?), p90 (.*?), p99 (.*?), max (.*?)(?:;.*)?$"
        for name, *figures in re.findall(line, text, re.M):
            assert figures == slowest(report, name), case
            compared["slowest"] += 1
        for events, lost in re.findall(r"^inferscope: (\S+) events?, (\S+) lost", text, re.M):
            assert [events, lost] == [count(report["overhead"][key]) for key in ("events", "lost")], case
            compared["events"] += 1
        for slowed in re.findall(r"tracing slowed the program by ([^;\s]+%)", text):
            assert slowed == percent(report["overhead"]["measured_pct"]), case
            compared["slowed"] += 1
        for samples in re.findall(r"by (\S+) samples", text):
            assert samples == count(report["samples"]["count"]), case
            compared["sampled"] += 1
    assert all(n >= 5 for n in compared.values()), compared
