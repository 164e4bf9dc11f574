"""Traces of other tools, out to a third: what analyze says of them stays what it says."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).resolve().parents[2] / "fuzz" / "corpus"
KINETO = CORPUS / "import" / "kineto.json"
HERE = Path(__file__).resolve().parent


def exported(inferscope: Any, trace: Path, to: str, *options: str) -> Path:
    out = Path(inferscope.folder) / f"out.{to}"
    done = inferscope("export", trace, "--to", to, "--output", out, "--force", *options)
    assert done.returncode == 0, done.stderr
    return out


def report(inferscope: Any, trace: Path) -> Any:
    out = Path(inferscope.folder) / "report.json"
    done = inferscope("analyze", trace, "--output", out, "--force", "--quiet")
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())


def tables(found: Any) -> dict[str, Any]:
    def ns(us: float) -> int:
        return round(us * 1000)

    return {
        "kernels": {(k["name"], k["device_id"]): (k["count"], ns(k["total_us"])) for k in found["kernels"]},
        "copies": {(k["kind"], k["device_id"]): (k["count"], k["bytes"], ns(k["total_us"])) for k in found["copies"]},
        "functions": {(f["name"], f["file"], f["line"]): (f["calls"], f["total_us"]) for f in found["functions"]},
        "scopes": {s["name"]: (s["count"], s["max_us"]) for s in found["scopes"]},
        "busy": {g["device_id"]: ns(g["busy_us"]) for g in found["gpus"]},
        "unlinked": [w["text"] for w in found["warnings"] if w["id"] == "unlinked_work"],
    }


@pytest.mark.parametrize("to", ["chrome", "events"])
@pytest.mark.parametrize("trace", [KINETO, CORPUS / "nsys" / "new.sqlite"], ids=lambda path: path.name)
def test_what_goes_out_comes_back(inferscope: Any, trace: Path, to: str) -> None:
    before = tables(report(inferscope, trace))
    assert before["kernels"] and before["busy"]
    assert tables(report(inferscope, exported(inferscope, trace, to))) == before


def test_arrows_lead_from_calls_to_their_work(inferscope: Any) -> None:
    events = json.loads(exported(inferscope, KINETO, "chrome").read_text())["traceEvents"]
    begun = {e["id"]: e for e in events if e["ph"] == "s"}
    ended = {e["id"]: e for e in events if e["ph"] == "f"}
    assert set(begun) == set(ended) and begun
    calls = {(e["tid"], e["ts"]) for e in events if e.get("cat") in ("gpu_api", "gpu_sync")}
    works = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X" and "device" in e["args"]}
    assert {(e["tid"], e["ts"]) for e in begun.values()} <= calls
    assert {(e["pid"], e["tid"], e["ts"]) for e in ended.values()} <= works
    assert all(e["pid"] > 0 and e["tid"] > 0 for e in events)


def test_perfetto_and_stacks_have_the_same_spans(inferscope: Any, viewers: str) -> None:
    events = json.loads(exported(inferscope, KINETO, "chrome").read_text())["traceEvents"]
    line = [viewers, str(HERE / "decode_perfetto.py"), str(exported(inferscope, KINETO, "perfetto"))]
    found = json.loads(subprocess.run(line, capture_output=True, text=True, check=True, timeout=120).stdout)
    assert (found["open"], found["unknown"]) == (0, 0)
    wanted = Counter((e["name"], round(e["ts"] * 1000)) for e in events if e["ph"] in "Xb")
    assert Counter((name, start) for name, _, start, _ in found["slices"]) == wanted
    speedscope = json.loads(exported(inferscope, KINETO, "speedscope").read_text())
    for profile in speedscope["profiles"]:
        moments = [event["at"] for event in profile["events"]]
        assert moments == sorted(moments)
    assert "forward (model.py:12);aten::mm;cudaLaunchKernel " in exported(inferscope, KINETO, "collapsed").read_text()
    assert exported(inferscope, KINETO, "pprof").read_bytes()[:2] == b"\x1f\x8b"


STACKS = """\
main (serve.py:3);handle (serve.py:9) 30
main (serve.py:3);handle (serve.py:9);memcpy (libc.so.6) 10
main (serve.py:3);odd "name" 2
"""


def test_stacks_go_to_every_format_that_needs_no_moments(inferscope: Any, tmp_path: Path) -> None:
    stacks = tmp_path / "stacks.folded"
    stacks.write_text(STACKS)
    assert sorted(exported(inferscope, stacks, "collapsed").read_text().splitlines()) == sorted(STACKS.splitlines())
    speedscope = json.loads(exported(inferscope, stacks, "speedscope").read_text())
    frames = speedscope["shared"]["frames"]
    (profile,) = speedscope["profiles"]
    found = {
        ";".join(frames[number]["name"] for number in stack): weight
        for stack, weight in zip(profile["samples"], profile["weights"])
    }
    # A count of unknown unit is taken for a microsecond.
    assert found == {"main;handle": 30000, "main;handle;memcpy (libc.so.6)": 10000, 'main;odd "name"': 2000}
    assert {"name": "handle", "file": "serve.py", "line": 9} in frames
    assert inferscope("export", stacks, "--to", "collapsed", "--output", "-").stderr == ""
    if shutil.which("go") is not None:
        top = ["go", "tool", "pprof", "-top", "-unit=us", str(exported(inferscope, stacks, "pprof"))]
        said = subprocess.run(top, capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path).stdout
        rows = {row[-1]: row[0] for row in map(str.split, said.splitlines()) if row and row[0].endswith("us")}
        assert rows["handle"] == "30us"


def test_a_piece_and_what_cannot_be_exported(inferscope: Any, tmp_path: Path) -> None:
    whole = json.loads(exported(inferscope, KINETO, "chrome").read_text())["traceEvents"]
    piece = json.loads(exported(inferscope, KINETO, "chrome", "--from", "100us", "--to-time", "200us").read_text())[
        "traceEvents"
    ]
    slices = [e for e in piece if e["ph"] == "X"]
    assert 0 < len(slices) < len([e for e in whole if e["ph"] == "X"])
    assert {e["id"] for e in piece if e["ph"] == "s"} == {e["id"] for e in piece if e["ph"] == "f"}
    stacks = tmp_path / "stacks.folded"
    stacks.write_text("main;work 3\n")
    done = inferscope("export", stacks, "--to", "chrome")
    assert done.returncode == 2 and "no spans, marks, counters or GPU work" in done.stderr
    stacks.write_text("main;work 3\nno count\n")
    done = inferscope("export", stacks, "--to", "collapsed", "--output", "-")
    assert (done.returncode, done.stdout) == (0, "main;work 3\n") and "a time: 1; they are left out" in done.stderr
    done = inferscope("export", stacks, "--to", "collapsed", "--from", "1ms", "--output", "-")
    assert (done.returncode, done.stdout) == (2, "")
    done = inferscope("export", KINETO, "--to", "chrome", "--scope", "nothing", "--output", "-")
    assert (done.returncode, done.stdout) == (2, "")
    broken = tmp_path / "broken.json"
    broken.write_text(KINETO.read_text()[:2000])
    assert inferscope("export", broken, "--to", "chrome").returncode == 3
