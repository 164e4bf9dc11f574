"""What goes out comes back: every slice, time, name, thread, counter and sample, to the nanosecond."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

REQUESTS = 100


def ns(us: float) -> int:
    return round(us * 1000)


def slices_of(file: Path) -> list[dict[str, Any]]:
    return [event for event in json.loads(file.read_text())["traceEvents"] if event["ph"] == "X"]


def functions_of(report: dict[str, Any]) -> dict[tuple[str, str, int], dict[str, Any]]:
    return {(f["name"], f["file"] or "", f["line"] or 0): f for f in report["functions"] if f["calls"]}


def totals_of(slices: list[dict[str, Any]]) -> dict[tuple[str, str, int], tuple[int, int]]:
    """Calls and nanoseconds of each function; nothing in the program calls itself."""
    found: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    for event in slices:
        key = (event["name"], event["args"].get("file", ""), event["args"].get("line", 0))
        found[key][0] += 1
        found[key][1] += ns(event["dur"])
    return {key: (calls, total) for key, (calls, total) in found.items()}


def test_chrome_comes_back_whole(sample: Any) -> None:
    file = sample.export("chrome")
    slices = slices_of(file)
    report = sample.analyze(file)
    back = functions_of(report)
    wanted = totals_of(slices)
    assert {key: value[0] for key, value in wanted.items()} == {key: f["calls"] for key, f in back.items()}
    mine = {key: value for key, value in wanted.items() if key[1].endswith("program.py")}
    assert {name for name, _, _ in mine} >= {"main", "serve", "handle", "spin"}
    for key, (_, total) in mine.items():
        assert ns(back[key]["total_us"]) == total, key
    events = json.loads(file.read_text())["traceEvents"]
    assert {t["thread_id"] for t in report["threads"]} >= {event["tid"] for event in slices}
    names = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {t["name"] for t in report["threads"] if t["name"]} == names


def test_scopes_marks_counters_and_samples_come_back(sample: Any) -> None:
    direct = sample.analyze(sample.trace)
    events = json.loads(sample.export("chrome").read_text())["traceEvents"]
    begun = {e["id"]: ns(e["ts"]) for e in events if e["ph"] == "b"}
    took = [ns(e["ts"]) - begun[e["id"]] for e in events if e["ph"] == "e"]
    for to in ("chrome", "events"):
        file = sample.export(to)
        report = sample.analyze(file)
        (scope,) = report["scopes"]
        assert (scope["name"], scope["count"]) == ("request", REQUESTS)
        assert (len(took), ns(scope["max_us"])) == (REQUESTS, max(took))
        assert scope["mean_us"] * 1000 == pytest.approx(sum(took) / REQUESTS, abs=0.51)
        assert {m["name"]: m["count"] for m in report["marks"]} == {"token": REQUESTS}
        (counter,) = report["counters"]
        assert (counter["name"], counter["count"], counter["max"]) == ("queue", REQUESTS, 49 * 1.5)
    assert direct["samples"]["count"] > 100
    for to in ("chrome", "events"):
        back = sample.analyze(sample.export(to))
        count = direct["samples"]["count"]
        assert back["samples"]["count"] == pytest.approx(count, abs=count / 20)
        assert back["samples"]["us"] == pytest.approx(direct["samples"]["us"], rel=0.05)
        # Sampled and traced, it is one function.
        (spin,) = [f for f in back["functions"] if f["name"] == "spin"]
        assert (spin["calls"] or 0) > REQUESTS and spin["samples"] > 0


def told(file: Path) -> Counter[tuple[Any, ...]]:
    """What happened: what kind, where, when from the first of all on, how long, and what a counter said."""
    events = json.loads(file.read_text())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    # Instants with a stack are samples, of which a report has no moments.
    moments = [e for e in events if e["ph"] in "XbeC" or (e["ph"] == "i" and e.get("cat") == "mark")]
    first = min(ns(e["ts"]) for e in moments)
    return Counter(
        (e["ph"], e["name"], names.get(e["tid"]), ns(e["ts"]) - first, ns(e.get("dur", 0)), e["args"].get("value"))
        for e in moments
    )


@pytest.mark.parametrize("to", ["chrome", "events"])
def test_every_slice_mark_and_counter_keeps_its_moment(sample: Any, to: str) -> None:
    wanted = told(sample.export("chrome"))
    assert {kind for kind, *_ in wanted} == set("XbeCi")
    assert sum(count for (kind, *_), count in wanted.items() if kind == "C") == REQUESTS
    file = sample.export(to)
    again = sample.export("chrome", of=file)
    found = told(again)
    if to == "chrome":
        assert found == wanted
    else:  # an event file knows a thread by its number alone
        assert Counter((*key[:2], *key[3:]) for key in found.elements()) == Counter(
            (*key[:2], *key[3:]) for key in wanted.elements()
        )


def test_marks_and_counters_outside_of_a_piece_are_not_in_it(sample: Any) -> None:
    file = sample.export("chrome")
    events = json.loads(file.read_text())["traceEvents"]
    first = min(ns(e["ts"]) for e in events if e["ph"] != "M" and e.get("cat") != "sample")
    counters = sorted(ns(e["ts"]) - first for e in events if e["ph"] == "C")
    (counter,) = sample.analyze(file, "--to", f"{(counters[49] + counters[50]) / 2000}us")["counters"]
    assert counter["count"] == 50
    late = sample.analyze(file, "--from", f"{counters[-1] / 1000 + 1}us")
    assert late["counters"] == [] and late["marks"] == []


def test_speedscope_comes_back(sample: Any) -> None:
    file = sample.export("speedscope")
    document = json.loads(file.read_text())
    frames = document["shared"]["frames"]
    opened: Counter[str] = Counter()
    weights = 0
    for profile in document["profiles"]:
        if profile["type"] == "evented":
            opened.update(frames[event["frame"]]["name"] for event in profile["events"] if event["type"] == "O")
        else:
            weights += sum(profile["weights"])
    report = sample.analyze(file)
    called: Counter[str] = Counter()
    for function in report["functions"]:
        called[function["name"]] += function["calls"] or 0
    assert called == opened
    assert report["samples"]["us"] * 1000 == pytest.approx(weights)
    assert not {w["id"] for w in report["warnings"]} & {"malformed_events", "unmatched_spans", "no_unit", "damaged"}


def test_collapsed_stacks_come_back(sample: Any) -> None:
    file = sample.export("collapsed")
    lines = dict(line.rsplit(" ", 1) for line in file.read_text().splitlines())
    report = sample.analyze(file)
    assert report["samples"]["count"] == sum(map(int, lines.values()))
    hottest = max(lines, key=lambda line: int(lines[line]))
    # Of Python the place is known again; what a library has is called after it.
    wanted = [re.sub(r" \([^()]*:\d+\)$", "", frame) for frame in hottest.split(";")]
    stack = max(report["stacks"], key=lambda s: s["samples"])
    assert [frame["name"] for frame in stack["frames"]] == wanted
    assert stack["samples"] == int(lines[hottest])
    (spin,) = [f for f in report["functions"] if f["name"] == "spin"]
    assert (spin["file"], spin["source"]) == ("program.py", "sampled")
    own = sum(int(count) for line, count in lines.items() if line.split(";")[-1].startswith("spin ("))
    assert spin["samples"] >= own
    (warning,) = [w for w in report["warnings"] if w["id"] == "no_unit"]
    assert "microsecond" in warning["text"]


@pytest.mark.parametrize("to", ["chrome", "perfetto", "speedscope", "collapsed", "pprof", "events"])
def test_a_piece_is_a_file_of_its_own(sample: Any, to: str) -> None:
    whole = sample.export(to).stat().st_size
    piece = sample.export(to, "--scope", "request")
    assert 0 < piece.stat().st_size < whole
    if to not in ("perfetto", "pprof"):
        assert sample.analyze(piece)["functions"]
