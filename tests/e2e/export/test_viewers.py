"""Other people's tools read what we write: Perfetto, chrome://tracing, VizTracer, go's pprof, flamegraph.pl."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ELEMENTS = Path("/usr/lib/javascript/webcomponentsjs-custom-element-v0/CustomElements.js")
FLAMEGRAPH = Path("/usr/share/perl5/Devel/NYTProf/flamegraph.pl")


def chrome_events(sample: Any) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(sample.export("chrome").read_text())["traceEvents"]
    return events


def test_perfettos_own_classes_read_every_slice_and_value(sample: Any, viewers: str) -> None:
    line = [viewers, str(HERE / "decode_perfetto.py"), str(sample.export("perfetto"))]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["open"], found["unknown"]) == (0, 0)
    events = chrome_events(sample)
    slices = [e for e in events if e["ph"] == "X"]
    wanted = Counter((e["name"], e["tid"], round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)) for e in slices)
    threaded = Counter((name, tid, start, end) for name, tid, start, end in found["slices"] if tid)
    assert threaded == wanted
    # What stands beside a slice there stands beside it here.
    told = {(e["name"], e["tid"], round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)): e["args"] for e in slices}
    notes = {tuple(row): note for row, note in zip(found["slices"], found["notes"]) if row[1]}
    assert notes == {key: {k: v for k, v in args.items() if k != "kind"} for key, args in told.items()}
    kinds = {"file", "line", "call", "bytes", "resumed", "yielded", "raised", "generation"}
    assert kinds <= {key for note in notes.values() for key in note}
    scopes = Counter((name, start, end) for name, tid, start, end in found["slices"] if not tid)
    begun = {e["id"]: e for e in events if e["ph"] == "b"}
    ended = {e["id"]: e for e in events if e["ph"] == "e"}
    assert scopes == Counter((b["name"], round(b["ts"] * 1000), round(ended[i]["ts"] * 1000)) for i, b in begun.items())
    values = Counter((name, at, value) for name, at, value in found["counters"])
    assert values == Counter((e["name"], round(e["ts"] * 1000), e["args"]["value"]) for e in events if e["ph"] == "C")
    assert Counter(map(tuple, found["marks"])) == Counter(
        (e["name"], e["tid"], round(e["ts"] * 1000)) for e in events if e.get("cat") == "mark"
    )
    assert found["samples"] == len([e for e in events if e.get("cat") == "sample"])


def test_a_file_of_viztracer_is_read(sample: Any, viewers: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "def inner():\n    return 1\ndef outer():\n    for _ in range(30):\n        inner()\nouter()\n"
    )
    line = [viewers, "-m", "viztracer", "-o", "out.json", "--quiet", "program.py"]
    subprocess.run(line, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    report = sample.analyze(tmp_path / "out.json")
    (inner,) = [f for f in report["functions"] if f["name"] == "inner"]
    assert (inner["calls"], inner["line"], Path(inner["file"]).name) == (30, 1, "program.py")
    assert not {w["id"] for w in report["warnings"]} & {"malformed_events", "damaged", "unmatched_spans"}


def test_go_tool_pprof_agrees_with_our_table(sample: Any) -> None:
    go = shutil.which("go")
    if not go:
        pytest.skip("go is not here: apt-get install golang-go")
    home = {"HOME": str(sample.folder), "PATH": os.environ["PATH"]}
    line = [go, "tool", "pprof", "-top", "-sample_index=cpu", "-unit=ms", "-nodecount=200", str(sample.export("pprof"))]
    said = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60, env=home).stdout
    rows = re.findall(r"^\s*([\d.]+)ms\s+[\d.]+%\s+[\d.]+%\s+([\d.]+)ms\s+[\d.]+%\s+(.+)$", said, re.MULTILINE)
    theirs = {name: (float(flat), float(cum)) for flat, cum, name in rows}
    report = sample.analyze(sample.trace)
    ours = {f["name"]: f["cpu_self_us"] / 1000 for f in report["functions"] if f["cpu_self_us"]}
    # Native code that a Python function calls is its own row there; in our table it is part of the function's time too.
    assert theirs["spin"][1] == pytest.approx(ours["spin"], abs=0.1) and ours["spin"] > 500
    others = [name for name in theirs if name != "spin" and name in ours and theirs[name][0] == theirs[name][1]]
    assert len(others) >= 3
    assert {name: theirs[name][0] for name in others} == pytest.approx({name: ours[name] for name in others}, abs=0.1)
    (total,) = re.findall(r"Total samples = ([\d.]+)ms", said)
    assert float(total) == pytest.approx(report["samples"]["us"] / 1000, abs=0.1)


def test_flamegraph_pl_draws_the_collapsed_file(sample: Any) -> None:
    if not FLAMEGRAPH.exists() or not shutil.which("perl"):
        pytest.skip("flamegraph.pl is not here: apt-get install libdevel-nytprof-perl")
    file = sample.export("collapsed")
    drawn = subprocess.run(["perl", str(FLAMEGRAPH), str(file)], capture_output=True, text=True, check=True, timeout=60)
    assert drawn.stderr == ""
    assert "spin (program.py:" in drawn.stdout
    total = sum(int(line.rsplit(" ", 1)[1]) for line in file.read_text().splitlines())
    assert f"all ({total:,} samples, 100%)" in drawn.stdout


@pytest.mark.long
@pytest.mark.parametrize("to", ["chrome", "perfetto"])
def test_perfettos_page_opens_ours_without_an_import_error(sample: Any, viewers: str, to: str, tmp_path: Path) -> None:
    if not shutil.which("chromium"):
        pytest.skip("chromium is not here: tools/setup test installs it")
    picture = Path(os.environ.get("INFERSCOPE_PICTURES", tmp_path)) / f"perfetto-{to}.png"
    line = [viewers, str(HERE / "perfetto_page.py"), str(sample.export(to)), str(picture)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert (found["import_errors"], found["stats"], found["page_errors"]) == (0, [], [])
    events = chrome_events(sample)
    slices = len([e for e in events if e["ph"] in "Xb"])
    instants = len([e for e in events if e["ph"] == "i" and (to == "chrome" or e["cat"] == "mark")])
    assert int(found["counts"][0]) == slices + instants
    assert int(found["counts"][1]) >= len([e for e in events if e["ph"] == "C"])
    assert picture.stat().st_size > 20_000


@pytest.mark.long
def test_chromes_own_importer_reads_ours_without_a_warning(sample: Any, viewers: str, tmp_path: Path) -> None:
    if not shutil.which("chromium"):
        pytest.skip("chromium is not here: tools/setup test installs it")
    if not ELEMENTS.exists():
        pytest.skip("custom elements are not here: apt-get install libjs-webcomponentsjs-custom-element-v0")
    whole = shutil.copy(sample.export("chrome"), tmp_path / "whole")
    piece = shutil.copy(sample.export("chrome", "--scope", "request"), tmp_path / "piece")
    done = subprocess.run(
        [viewers, str(HERE / "chrome_page.py"), whole, piece], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["page_errors"] == []
    for trace, model in zip((whole, piece), found["traces"]):
        events = json.loads(Path(trace).read_text())["traceEvents"]
        phases = Counter(e["ph"] for e in events)
        assert model["warnings"] == []
        assert model["slices"] == phases["X"] + phases["i"]
        assert (model["asyncs"], model["counters"]) == (phases["b"], phases["C"])
        named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        assert {(pid, tid): name for pid, tid, name in model["threads"] if name} == named


def test_a_piece_opens_in_every_tool(sample: Any, viewers: str) -> None:
    """What --scope cuts out, read by whoever reads the whole: fewer slices, and all of them inside."""
    piece = ("--scope", "request")
    events = json.loads(sample.export("chrome", *piece).read_text())["traceEvents"]
    line = [viewers, str(HERE / "decode_perfetto.py"), str(sample.export("perfetto", *piece))]
    found = json.loads(subprocess.run(line, capture_output=True, text=True, check=True, timeout=120).stdout)
    assert (found["open"], found["unknown"]) == (0, 0)
    cut = Counter((e["name"], round(e["ts"] * 1000)) for e in events if e["ph"] == "X")
    assert Counter((name, start) for name, tid, start, _ in found["slices"] if tid) == cut
    reaching = Counter((e["name"], round(e["ts"] * 1000)) for e in events if e["ph"] in "Xb" and "cut" in e["args"])
    edges = [row for row, note in zip(found["slices"], found["notes"]) if note.get("cut")]
    assert Counter((name, start) for name, _, start, _ in edges) == reaching and reaching
    if go := shutil.which("go"):
        home = {"HOME": str(sample.folder), "PATH": os.environ["PATH"]}
        top = [go, "tool", "pprof", "-top", str(sample.export("pprof", *piece))]
        said = subprocess.run(top, capture_output=True, text=True, check=True, timeout=60, env=home).stdout
        assert "spin" in said
    if FLAMEGRAPH.exists() and shutil.which("perl"):
        draw = ["perl", str(FLAMEGRAPH), str(sample.export("collapsed", *piece))]
        assert (
            "spin (program.py:" in subprocess.run(draw, capture_output=True, text=True, check=True, timeout=60).stdout
        )


def test_go_tool_pprof_knows_modules_labels_and_values(sample: Any) -> None:
    go = shutil.which("go")
    if not go:
        pytest.skip("go is not here: apt-get install golang-go")
    home = {"HOME": str(sample.folder), "PATH": os.environ["PATH"]}
    file = str(sample.export("pprof"))

    def said(*options: str) -> str:
        line = [go, "tool", "pprof", *options, file]
        return subprocess.run(line, capture_output=True, text=True, check=True, timeout=60, env=home).stdout

    raw = said("-raw")
    types = raw.split("Samples:\n")[1].splitlines()[0].split()
    assert types[:3] == ["samples/count", "cpu/nanoseconds", "wall/nanoseconds[dflt]"]
    assert types[3:] == ["alloc_objects/count", "alloc_space/bytes"]
    mappings = raw.split("Mappings\n")[1].splitlines()
    libc = [row.split() for row in mappings if "libc.so.6" in row]
    built = subprocess.run(["readelf", "-n", libc[0][2]], capture_output=True, text=True, check=True).stdout
    assert libc[0][3] == re.findall(r"Build ID: ([0-9a-f]+)", built)[0]
    tags = said("-tags")
    assert {"process_id", "state", "thread", "thread_id"} <= set(re.findall(r"^\s*(\w+): Total", tags, re.MULTILINE))
    assert re.search(r"\): running$", tags, re.MULTILINE)
