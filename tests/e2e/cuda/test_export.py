"""Work of GPUs in the files of other tools: slices that nest, arrows with two ends, and the same figures back."""

from __future__ import annotations

import json
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, Cuda

#: graph: many works of one call, some at a time; gpu and even: waits for a stream while it works.
SCENES = [("gpu", 16, 2), ("graph", 16, 1), ("even", 20, 1), ("copy", 10, 2)]
PYTHON = """
import ctypes, sys, threading
cuda = ctypes.CDLL("libcudart.so")
device = ctypes.c_void_p()
host = ctypes.create_string_buffer(1 << 16)
def copy():
    cuda.cudaMemcpy(device, host, ctypes.c_size_t(1 << 16), 1)
def step():
    copy()
    cuda.cudaDeviceSynchronize()
def work():
    for _ in range(20):
        step()
cuda.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(1 << 16))
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def ns(us: float) -> int:
    return round(us * 1000)


def exported(cuda: Cuda, to: str, *options: str) -> Path:
    out = cuda.folder / f"out.{to}"
    line = ("export", cuda.folder / "inferscope.isc", "--to", to, "--output", out, "--force", *options)
    done = cuda.command(*line)
    assert done.returncode == 0, done.stderr
    return out


def chrome(cuda: Cuda, *options: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(exported(cuda, "chrome", *options).read_text())["traceEvents"]
    return events


def by_track(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[tuple[int, int, str]]]:
    tracks = defaultdict(list)
    for event in events:
        assert event["pid"] > 0 and event["tid"] > 0
        if event["ph"] == "X":
            start = ns(event["ts"])
            tracks[event["pid"], event["tid"]].append((start, start + ns(event["dur"]), event["name"]))
    return tracks


def crossings(slices: list[tuple[int, int, str]]) -> list[Any]:
    """Slices that begin inside another and end outside."""
    found: list[Any] = []
    open_slices: list[tuple[int, int, str]] = []
    for start, end, name in sorted(slices, key=lambda piece: (piece[0], -piece[1])):
        while open_slices and open_slices[-1][1] <= start:
            open_slices.pop()
        if open_slices and end > open_slices[-1][1]:
            found.append(((start, end, name), open_slices[-1]))
        else:
            open_slices.append((start, end, name))
    return found


def check_slices_and_arrows(events: list[dict[str, Any]]) -> int:
    """How many arrows there are."""
    tracks = by_track(events)
    assert not [crossing for slices in tracks.values() for crossing in crossings(slices)]
    begun = Counter(event["id"] for event in events if event["ph"] == "s")
    ended = Counter(event["id"] for event in events if event["ph"] == "f")
    assert set(begun.values()) | set(ended.values()) == {1}
    assert set(begun) == set(ended)
    for event in events:
        if event["ph"] in "sf":
            around = tracks[event["pid"], event["tid"]]
            assert any(start <= ns(event["ts"]) <= end for start, end, _ in around)
    return len(begun)


@pytest.mark.parametrize(("scene", "steps", "devices"), SCENES)
def test_slices_nest_and_every_arrow_leads_from_a_call_to_its_work(
    cuda: Cuda, scene: str, steps: int, devices: int
) -> None:
    run = cuda(scene, str(steps), devices=devices)
    assert run.returncode == 0
    events = chrome(cuda)
    arrows = check_slices_and_arrows(events)
    works = [e for e in events if e["ph"] == "X" and "device" in e["args"]]
    assert len(works) == len(run.truth) == arrows
    asked = [e for e in events if e.get("cat") in ("gpu_api", "gpu_sync") and "device" not in e["args"]]
    calls = {(e["args"]["process"], e["args"]["correlation"]) for e in asked}
    assert {(e["args"]["process"], e["args"]["correlation"]) for e in works} <= calls
    # A stream has its name once for every row, and rows are used only when something overlaps.
    names = [e["args"]["name"] for e in events if e["name"] == "thread_name" and e["args"]["name"].startswith("stream")]
    assert names and len([name for name in names if name.endswith("(2)")]) <= len(names) / 2


@pytest.mark.parametrize("scene", ["graph", "copy"])
def test_what_comes_back_has_the_same_figures(cuda: Cuda, scene: str, tmp_path: Path) -> None:
    run = cuda(scene, "16", devices=2)
    for to in ("chrome", "events"):
        out = tmp_path / "back.json"
        done = cuda.command("analyze", exported(cuda, to), "--output", out, "--force")
        assert done.returncode == 0, done.stderr
        back = json.loads(out.read_text())
        for table, key in (("kernels", "name"), ("copies", "kind")):
            wanted = {(row[key], row["device_id"]): (row["count"], ns(row["total_us"])) for row in run.report[table]}
            found = {(row[key], row["device_id"]): (row["count"], ns(row["total_us"])) for row in back[table]}
            assert found == wanted
        assert not {w["id"] for w in back["warnings"]} & {"loose_flows", "unlinked_work", "malformed_events", "damaged"}


def test_a_piece_is_cut_at_its_edges_and_nests(cuda: Cuda) -> None:
    cuda("gpu", "24")
    works = [e for e in chrome(cuda) if e.get("cat") == "gpu_kernel"]
    middle = works[len(works) // 2]
    edge = middle["ts"] + middle["dur"] / 2
    from_us, to_us = int(edge - 2000), int(edge)
    piece = chrome(cuda, "--from", f"{from_us}us", "--to-time", f"{to_us}us")
    slices = [s for track in by_track(piece).values() for s in track]
    assert slices and all(from_us * 1000 <= start <= end <= to_us * 1000 for start, end, _ in slices)
    assert not [crossing for track in by_track(piece).values() for crossing in crossings(track)]
    check_slices_and_arrows(piece)
    kernels = [e for e in piece if e.get("cat") == "gpu_kernel"]
    assert kernels[-1]["args"]["cut"] and not kernels[1]["args"].get("cut")


def test_calls_lie_inside_the_python_functions_that_made_them(cuda: Cuda, python: str, tmp_path: Path) -> None:
    script = tmp_path / "calls.py"
    script.write_text(PYTHON)
    run = cuda.command("run", "--python", python, "--budget", "off", script, env=cuda.environment(), timeout=120)
    assert run.returncode == 0, run.stderr
    events = chrome(cuda)
    check_slices_and_arrows(events)
    tracks = by_track(events)
    inside = [
        (start, end, name)
        for slices in tracks.values()
        for start, end, name in slices
        if name == "cudaMemcpy"
        and any(outer == "copy" and first <= start and end <= last for first, last, outer in slices)
    ]
    assert len(inside) == 40


HELPERS = ROOT / "tests" / "e2e" / "export"


def decoded(viewers: str, file: Path) -> dict[str, Any]:
    line = [viewers, str(HELPERS / "decode_perfetto.py"), str(file)]
    found: dict[str, Any] = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)
    return found


@pytest.mark.parametrize(("scene", "steps", "devices"), SCENES)
def test_perfetto_has_the_same_slices_and_arrows(
    cuda: Cuda, scene: str, steps: int, devices: int, viewers: str
) -> None:
    """Decoded with Perfetto's own classes."""
    run = cuda(scene, str(steps), devices=devices)
    events = chrome(cuda)
    found = decoded(viewers, exported(cuda, "perfetto"))
    assert (found["open"], found["unknown"]) == (0, 0)
    wanted = Counter((name, start, end) for track in by_track(events).values() for start, end, name in track)
    assert Counter((name, start, end) for name, _, start, end in found["slices"]) == wanted
    callers = Counter(
        (e["name"], e["tid"]) for e in events if e.get("cat") in ("gpu_api", "gpu_sync") and "device" not in e["args"]
    )
    assert Counter((name, tid) for name, tid, _, _ in found["slices"] if tid) >= callers
    assert len(found["flows"]) - len(set(found["flows"])) == len(run.truth)
    works = {(e["name"], ns(e["ts"])): e["args"] for e in events if e["ph"] == "X" and "device" in e["args"]}
    about = {(row[0], row[2]): note for row, note in zip(found["slices"], found["notes"]) if "device" in note}
    assert about == {key: {k: v for k, v in args.items() if k != "process"} for key, args in works.items()}
    assert any("grid" in note for note in about.values())


@pytest.mark.long
@pytest.mark.parametrize(("scene", "steps", "devices"), SCENES)
def test_perfettos_page_opens_them_without_an_import_error(
    cuda: Cuda, scene: str, steps: int, devices: int, viewers: str, tmp_path: Path
) -> None:
    run = cuda(scene, str(steps), devices=devices)
    for to in ("chrome", "perfetto"):
        line = [viewers, str(HELPERS / "perfetto_page.py"), str(exported(cuda, to)), str(tmp_path / "page.png")]
        page = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
        assert page.returncode == 0, page.stderr[-3000:]
        opened = json.loads(page.stdout)
        assert (opened["import_errors"], opened["stats"], opened["page_errors"]) == (0, [], [])
        assert int(opened["counts"][2]) == len(run.truth)
