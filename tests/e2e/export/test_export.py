"""One recorded program in every format, read back by other means than ours."""

from __future__ import annotations

import gzip
import json
import re
import struct
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import threading, time
import inferscope

def spin(n):
    total = 0
    for i in range(n):
        total += i * i
    return total

def handle(i):
    with inferscope.scope("request"):
        inferscope.mark_event('to;ken "x"\\n', {"i": i})
        inferscope.counter("queue", i * 1.5)
        spin(20000)

def serve():
    for i in range(10):
        handle(i)

def main():
    threads = [threading.Thread(target=serve) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    end = time.process_time() + 0.3
    while time.process_time() < end:
        spin(1000)

main()
"""


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def message(data: bytes) -> dict[int, list[Any]]:
    """A protocol buffer, read without our code: field number to its values."""
    fields: dict[int, list[Any]] = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        value: Any
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            (value,) = struct.unpack_from("<d", data, at)
            at += 8
        elif kind == 2:
            length, at = varint(data, at)
            value = data[at : at + length]
            assert len(value) == length, "a message that ends early"
            at += length
        else:
            raise AssertionError(f"wire type {kind} at {at}")
        fields[key >> 3].append(value)
    return fields


def packed(data: bytes) -> list[int]:
    values = []
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def strict(text: str) -> Any:
    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def recorded(inferscope: Any, stage: Path, tmp_path: Path, python: str) -> Any:
    package = next(stage.glob("**/inferscope/__init__.py")).parents[1]
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    run = inferscope("run", "--python", python, "--budget", "off", script, env={"PYTHONPATH": str(package)})
    assert run.returncode == 0, run.stderr
    return run


def export(inferscope: Any, to: str, *options: str) -> bytes:
    out = inferscope.folder / f"out.{to}"
    done = inferscope("export", inferscope.folder / "inferscope.isc", "--to", to, "--output", out, "--force", *options)
    assert done.returncode == 0, done.stderr
    return bytes(out.read_bytes())


def calls_of(run: Any) -> Counter[str]:
    return Counter(re.findall(r' call_(?:enter|resume) "((?:[^"\\]|\\.)*)"', "\n".join(run.dump())))


def test_chrome_has_every_call_and_nests(inferscope: Any, recorded: Any) -> None:
    events = strict(export(inferscope, "chrome").decode())["traceEvents"]
    calls = [event for event in events if event["ph"] == "X" and event["cat"] == "python"]
    assert Counter(event["name"] for event in calls) == calls_of(recorded)
    assert all(event["pid"] > 0 and event["tid"] > 0 for event in events)
    by_thread: dict[int, list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] == "X":
            start = round(event["ts"] * 1000)
            by_thread.setdefault(event["tid"], []).append((start, start + round(event["dur"] * 1000)))
    for slices in by_thread.values():
        ends: list[int] = []
        for start, end in sorted(slices, key=lambda piece: (piece[0], -piece[1])):
            while ends and ends[-1] <= start:
                ends.pop()
            assert not ends or end <= ends[-1]
            ends.append(end)
    scopes = [event for event in events if event.get("cat") == "scope"]
    assert Counter(event["ph"] for event in scopes) == {"b": 20, "e": 20}
    assert len({event["id"] for event in scopes}) == 20
    marks = [event for event in events if event.get("cat") == "mark"]
    assert {event["name"] for event in marks} == {'to;ken "x"\n'}
    assert Counter(event["args"]["metadata"]["i"] for event in marks) == dict.fromkeys(range(10), 2)
    assert sum(event["args"]["value"] for event in events if event["ph"] == "C") == 2 * 1.5 * 45


def test_events_are_those_of_the_package(inferscope: Any, recorded: Any) -> None:
    events = strict(export(inferscope, "events").decode())
    kinds = Counter(event["event_type"] for event in events)
    assert kinds["cpu_call"] == sum(calls_of(recorded).values())
    assert kinds["scope_enter"] == kinds["scope_exit"] == kinds["instant"] == kinds["counter"] == 20
    assert all(
        event["end_ns"] >= event["start_ns"] and event["start_us"] == event["start_ns"] // 1000 for event in events
    )


def test_speedscope_opens_and_closes_in_order(inferscope: Any, recorded: Any) -> None:
    document = strict(export(inferscope, "speedscope").decode())
    frames = document["shared"]["frames"]
    opened: Counter[str] = Counter()
    for profile in document["profiles"]:
        if profile["type"] == "sampled":
            assert len(profile["samples"]) == len(profile["weights"])
            assert sum(profile["weights"]) == profile["endValue"]
            continue
        stack: list[int] = []
        last = profile["startValue"]
        for event in profile["events"]:
            assert last <= event["at"] <= profile["endValue"]
            last = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
                opened[frames[event["frame"]]["name"]] += 1
            else:
                assert stack.pop() == event["frame"]
        assert not stack
    assert {name: opened[name] for name in ("handle", "serve", "main")} == {"handle": 20, "serve": 2, "main": 1}


def test_perfetto_has_the_same_slices(inferscope: Any, recorded: Any) -> None:
    packets = [message(packet) for packet in message(export(inferscope, "perfetto"))[1]]
    names: dict[int, str] = {}
    tracks: dict[int, dict[int, list[Any]]] = {}
    begun: Counter[str] = Counter()
    depth: Counter[int] = Counter()
    values = []
    for packet in packets:
        for interned in packet[12]:
            for name in message(interned)[2]:
                entry = message(name)
                names[entry[1][0]] = entry[2][0].decode()
        for track in packet[60]:
            fields = message(track)
            tracks[fields[1][0]] = fields
        for body in packet[11]:
            event = message(body)
            kind, track = event[9][0], event[11][0]
            assert track in tracks
            if kind == 1:
                begun[names[event[10][0]]] += 1
                depth[track] += 1
            elif kind == 2:
                depth[track] -= 1
            elif kind == 4:
                values.append(event[44][0])
    assert not any(depth.values())
    calls = calls_of(recorded)
    assert {name: begun[name] for name in ("handle", "serve", "main")} == {
        name: calls[name] for name in ("handle", "serve", "main")
    }
    assert begun["request"] == 20
    assert sum(values) == 2 * 1.5 * 45
    assert packets[0][13] == [3] and all(packet[13] == [2] for packet in packets[1:])


def test_pprof_agrees_with_the_report(inferscope: Any, recorded: Any) -> None:
    data = export(inferscope, "pprof")
    profile = message(gzip.decompress(data))
    strings = [text.decode() for text in profile[6]]
    assert strings[0] == ""
    kinds = [strings[message(kind)[1][0]] for kind in profile[1]]
    functions = {message(f)[1][0]: strings[message(f)[2][0]] for f in profile[5]}
    places = {message(place)[1][0]: functions[message(message(place)[4][0])[1][0]] for place in profile[4]}
    cpu_ns: Counter[str] = Counter()
    sampled = 0
    for body in profile[2]:
        sample = message(body)
        row = dict(zip(kinds, packed(sample[2][0])))
        chain = [places[place] for place in packed(sample[1][0])] if sample[1] else []
        sampled += row["cpu"]
        for name in set(chain):
            cpu_ns[name] += row["cpu"]
    report = recorded.report
    assert sampled == pytest.approx(report["samples"]["us"] * 1000, abs=1000)
    # Nothing that spin calls is Python: all below it is its own time in the table.
    (spin,) = [f for f in report["functions"] if f["name"] == "spin"]
    assert cpu_ns["spin"] == pytest.approx(spin["cpu_self_us"] * 1000, abs=1000)
    assert 0 < cpu_ns["spin"] <= cpu_ns["main"] + cpu_ns["serve"]


def test_collapsed_stacks_are_lines_of_frames(inferscope: Any, recorded: Any) -> None:
    text = export(inferscope, "collapsed").decode()
    lines = text.splitlines()
    assert all(re.fullmatch(r".+ [1-9]\d*", line) for line in lines)
    assert any(re.search(r"main \(program.py:\d+\);.*spin \(program.py:\d+\)", line) for line in lines)


def test_a_scope_and_a_time_are_cut_out(inferscope: Any, recorded: Any) -> None:
    whole = strict(export(inferscope, "chrome").decode())["traceEvents"]
    piece = strict(export(inferscope, "chrome", "--scope", "request").decode())["traceEvents"]
    assert Counter(event["name"] for event in piece if event["ph"] == "X")["handle"] >= 20
    scopes = [event["ts"] for event in whole if event["ph"] in "be" and event["cat"] == "scope"]
    for event in piece:
        if event["ph"] == "X":
            assert min(scopes) - 0.001 <= event["ts"] and event["ts"] + event["dur"] <= max(scopes) + 0.001
    middle = (min(scopes) + max(scopes)) / 2
    piece = strict(export(inferscope, "chrome", "--from", f"{middle:.0f}us").decode())["traceEvents"]
    assert all(event["ts"] >= middle - 1 for event in piece if "ts" in event)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ((), 2, "which format is missing"),
        (("--to", "perfeto"), 2, "did you mean perfetto"),
        (("--to", "chrome", "--scope", "nothing"), 2, 'no scope named "nothing"'),
        (("--to", "chrome", "--from", "2s", "--to-time", "1s"), 2, "ends before it begins"),
        (("--to", "chrome", "--from", "9999s"), 2, "nothing in the time"),
        (("--to", "pprof", "--from", "9999s", "--output", "-"), 2, "nothing in the time"),
        (("--to", "chrome", "--to-time", "0"), 2, "ends before it begins"),
        (("--to", "chrome", "--output", "inferscope.isc"), 2, "both to be"),
        (("--to", "chrome", "--output", "no/such/folder/x"), 4, "no/such/folder"),
    ],
)
def test_what_cannot_be_done_is_said(
    inferscope: Any, stage: Path, tmp_path: Path, options: tuple[str, ...], code: int, words: str
) -> None:
    run = inferscope("run", "--no-report", "--", "true")
    before = run.trace.read_bytes()
    done = inferscope("export", "inferscope.isc", *options)
    assert (done.returncode, len(done.ours)) == (code, 1), done.stderr
    assert words in done.stderr
    assert run.trace.read_bytes() == before
    assert done.stdout == "" and [file.name for file in inferscope.folder.glob("inferscope.*")] == ["inferscope.isc"]
    assert inferscope("export", "absent.isc", "--to", "chrome").returncode == 3


@pytest.mark.parametrize(
    ("to", "name", "theirs"),
    [
        ("chrome", "inferscope.chrome.json", '{"traceEvents":[]}'),
        ("events", "inferscope.events.json", '[{"event_type": "x"}]'),
    ],
)
def test_files_of_others_are_kept(inferscope: Any, to: str, name: str, theirs: str) -> None:
    inferscope("run", "--no-report", "--", "python3", "-c", "pass")
    file = inferscope.folder / name
    file.write_text(theirs)
    assert inferscope("export", "inferscope.isc", "--to", to).returncode == 4
    assert file.read_text() == theirs
    assert inferscope("export", "inferscope.isc", "--to", to, "--force").returncode == 0
    assert inferscope("export", "inferscope.isc", "--to", to).returncode == 0  # now it is ours
    printed = inferscope("export", "inferscope.isc", "--to", to, "--output", "-")
    assert printed.stdout == file.read_text()


HOSTILE = """
import inferscope
names = ['"' * 7 + chr(92) * 3, "a" + chr(10) + "b;c" + chr(0) + chr(27) + "[2J"]
names += [chr(0x202E) + chr(0x2028), "x" + chr(0xDCFF)]
names += [name * (1000000 // len(name)) for name in names]
for name in names:
    def f():
        pass
    fields = {"co_name": name, "co_qualname": name}
    f.__code__ = f.__code__.replace(**{key: fields[key] for key in fields if hasattr(f.__code__, key)})
    text = name.encode("utf-8", "replace").decode()
    for _ in range(3):
        f()
    with inferscope.scope(text):
        inferscope.mark_event(text, {text[:100]: text[:100]})
        inferscope.counter(text, 1.5)
"""


def test_x3_names_of_a_megabyte_stay_names(inferscope: Any, stage: Path, tmp_path: Path, python: str) -> None:
    """Quotes, controls, separators, bytes that are no UTF-8, and each of them a megabyte long."""
    package = next(stage.glob("**/inferscope/__init__.py")).parents[1]
    script = tmp_path / "hostile.py"
    script.write_text(HOSTILE)
    run = inferscope("run", "--python", python, "--budget", "off", script, env={"PYTHONPATH": str(package)})
    assert run.returncode == 0, run.stderr
    events = strict(export(inferscope, "chrome").decode())["traceEvents"]
    assert len([e for e in events if e["ph"] == "b"]) == len([e for e in events if e["ph"] == "C"]) == 8
    dictionaries = strict(export(inferscope, "events").decode())
    assert len([e for e in dictionaries if e["event_type"] == "instant"]) == 8
    assert strict(export(inferscope, "speedscope").decode())["shared"]["frames"]
    folded = export(inferscope, "collapsed").decode()
    assert all(re.fullmatch(r"[^\x00-\x1f\x7f]+ [1-9]\d*", line) for line in folded.splitlines())
    for packet in message(export(inferscope, "perfetto"))[1]:
        for interned in message(packet)[12]:
            for name in message(interned)[2]:
                message(name)[2][0].decode()
    for text in message(gzip.decompress(export(inferscope, "pprof")))[6]:
        text.decode()
    back = inferscope("analyze", inferscope.folder / "out.chrome", "--output", tmp_path / "back.json")
    assert back.returncode == 0, back.stderr
    report = strict((tmp_path / "back.json").read_text())
    assert sum(scope["count"] for scope in report["scopes"]) == 8
    assert not {w["id"] for w in report["warnings"]} & {"malformed_events", "damaged"}
