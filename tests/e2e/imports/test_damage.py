"""Damaged and odd traces of other tools: what can be read is reported, and the report says what was lost."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command, Run
    from tests.e2e.imports.traces import names
else:
    from traces import names


def kernel(number: int) -> dict[str, Any]:
    args = {"device": 0, "stream": 7, "correlation": number + 1, "bytes": 4}
    return {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": number * 10, "dur": 4, "args": args}


def trace(count: int) -> bytes:
    return json.dumps({"schemaVersion": 1, "traceEvents": [kernel(i) for i in range(count)]}, indent=1).encode()


def analyse(inferscope: Command, *paths: Path, options: tuple[str, ...] = ()) -> Run:
    return inferscope("analyze", *paths, "--output", inferscope.folder / "report.json", "--force", *options)


def write(inferscope: Command, name: str, data: bytes) -> Path:
    path = inferscope.folder / name
    path.write_bytes(data)
    return path


def damage(run: Run) -> list[str]:
    return [warning.text for warning in run.report.warnings if warning.id == "damaged"]


def test_a_trace_that_breaks_off_is_used_up_to_there(inferscope: Command) -> None:
    text = trace(100)
    for packed in (False, True):
        for cut in (0.3, 0.6, 0.95):
            data = (
                gzip.compress(text)[: int(len(gzip.compress(text)) * cut)] if packed else text[: int(len(text) * cut)]
            )
            run = analyse(inferscope, write(inferscope, "cut.bin", data))
            assert run.returncode == 3, run.stderr
            (gpu,) = run.report.gpus
            assert 5 < gpu.kernel_count < 100
            (told,) = damage(run)
            assert "breaks off" in told
            assert any("damaged" in line for line in run.ours)


def test_what_lies_behind_a_hole_is_used(inferscope: Command) -> None:
    text = bytearray(trace(1000))
    text[40000:50000] = b"\0" * 10000
    run = analyse(inferscope, write(inferscope, "hole.json", bytes(text)))
    assert run.returncode == 3
    (gpu,) = run.report.gpus
    assert 920 < gpu.kernel_count < 970
    assert gpu.span_us == 999 * 10 + 4
    (told,) = damage(run)
    assert "in 1 place" in told and "the first at byte 39," in told


def test_a_damaged_database_is_read_from_both_ends(inferscope: Command) -> None:
    path = inferscope.folder / "n.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("pragma page_size = 1024")
        database.execute(
            "create table CUPTI_ACTIVITY_KIND_KERNEL(start integer, end integer, deviceId integer, contextId integer,"
            " streamId integer, correlationId integer, demangledName text)"
        )
        rows = [(i * 10, i * 10 + 4, 0, 1, 7, i + 1, "gemm") for i in range(1, 5001)]
        database.executemany("insert into CUPTI_ACTIVITY_KIND_KERNEL values (?,?,?,?,?,?,?)", rows)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2048 * 1024
    data[middle : middle + 2048] = b"\xa5" * 2048
    run = analyse(inferscope, write(inferscope, "damaged.sqlite", bytes(data)))
    assert run.returncode == 3, run.stderr
    (gpu,) = run.report.gpus
    assert 4000 < gpu.kernel_count < 5000
    assert gpu.span_us == pytest.approx((5000 - 1) * 0.010 + 0.004)
    assert "CUPTI_ACTIVITY_KIND_KERNEL" in damage(run)[0]


def test_what_is_no_trace_is_told(inferscope: Command) -> None:
    database = inferscope.folder / "other.sqlite"
    with sqlite3.connect(database) as other:
        other.execute("create table notes(text)")
    for path, words in (
        (write(inferscope, "empty.json", b""), "empty.json"),
        (write(inferscope, "note.json", b'{"a": 1}'), "no events of a trace"),
        (database, "not one of Nsight Systems"),
        (inferscope.folder / "absent.json", "No such file"),
    ):
        run = analyse(inferscope, path)
        assert run.returncode == 3, (path, run.stderr)
        (line,) = run.ours
        assert words in line


def test_one_bad_file_does_not_hide_the_others(inferscope: Command) -> None:
    good, bad = write(inferscope, "good.json", trace(10)), write(inferscope, "bad.json", b"nothing")
    run = analyse(inferscope, good, bad)
    assert run.returncode == 3
    assert run.report.gpus[0].kernel_count == 10
    assert "unreadable" in {warning.id for warning in run.report.warnings}
    empty = inferscope.folder / "folder"
    empty.mkdir()
    os.mkfifo(empty / "pipe")
    run = analyse(inferscope, empty)
    assert run.returncode == 3 and "no trace in folder" in run.stderr


def test_a_trace_comes_through_a_pipe(inferscope: Command) -> None:
    pipe = inferscope.folder / "pipe"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=lambda: pipe.write_bytes(gzip.compress(trace(500))))
    feeder.start()
    run = analyse(inferscope, pipe)
    feeder.join()
    assert run.returncode == 0, run.stderr
    assert run.report.gpus[0].kernel_count == 500


def test_a_part_is_cut_at_its_edges(inferscope: Command) -> None:
    events = [kernel(i) for i in range(100)]
    events.append({"ph": "X", "cat": "user_annotation", "name": "step", "pid": 1, "tid": 1, "ts": 200, "dur": 100})
    path = write(inferscope, "whole.json", json.dumps(events).encode())
    assert analyse(inferscope, path).report.gpus[0].kernel_count == 100
    for options in (("--from", "200us", "--to", "300us"), ("--scope", "step")):
        run = analyse(inferscope, path, options=options)
        assert run.returncode == 0, run.stderr
        (gpu,) = run.report.gpus
        assert gpu.busy_us == 40 and run.report.window.from_us == 200 and run.report.window.to_us == 300
    assert analyse(inferscope, path, options=("--scope", "absent")).returncode == 2


def test_names_of_an_imported_trace_are_data(inferscope: Command) -> None:
    evil = "</code><script>alert(1)</script>|`x`\n# heading\x1b[31m\u202e"
    events = [
        {**kernel(0), "name": evil},
        {"ph": "X", "cat": "cpu_op", "name": evil, "pid": 1, "tid": 1, "ts": 0, "dur": 9},
    ]
    path = write(
        inferscope,
        "evil.json",
        json.dumps({"deviceProperties": [{"id": 0, "name": evil}], "traceEvents": events}).encode(),
    )
    run = inferscope("analyze", path, "--output", inferscope.folder / "report.md")
    text = (inferscope.folder / "report.md").read_text()
    assert "<script" not in text and "\x1b" not in text + run.stderr and "\u202e" not in text + run.stderr
    assert not [line for line in text.splitlines() if line.startswith("# heading")]
    assert analyse(inferscope, path).report.kernels[0].name == evil


def test_the_margin_is_the_bound_when_nothing_tells(inferscope: Command) -> None:
    path = write(inferscope, "trace.json", trace(10))
    run = inferscope(
        *("analyze", path, "--output", inferscope.folder / "report.json"), env={"INFERSCOPE_SYNC_ERROR_MARGIN_US": "77"}
    )
    assert run.report.clock == {"source": "import", "sync": "assumed", "error_bound_us": 77, "causality_fixes": 0}
    assert "clock_assumed" in {warning.id for warning in run.report.warnings}


def cuts(size: int, count: int) -> list[int]:
    """The last first; count of them, or every 4 KiB."""
    every = list(range(4096, size, 4096))
    step = max(1, len(every) // count) if count else 1
    return every[::-1][::step]


@pytest.mark.parametrize("name", [*names(), *names(".sqlite.gz")])
def test_every_cut_of_real_traces_is_survived(
    inferscope: Command, real: Path, count: Callable[[int, int], int], name: str
) -> None:
    """A report each time, that says so, and never of more events than there were; `make full` cuts at every 4 KiB."""
    (packed,) = real.glob(f"{name}.*.gz")
    path = write(inferscope, "cut", gzip.decompress(packed.read_bytes()))
    before, reports = 1 << 62, 0
    for cut in cuts(path.stat().st_size, count(4, 0)):
        os.truncate(path, cut)
        (inferscope.folder / "report.json").unlink(missing_ok=True)
        run = analyse(inferscope, path)
        assert run.returncode == 3, (cut, run.stderr)
        if not (inferscope.folder / "report.json").exists():
            continue  # there was nothing in it yet
        reports += 1
        assert damage(run), cut
        # A database is cut through its tables, one after the other.
        events = run.report.overhead.events
        assert events <= before or packed.name.endswith(".sqlite.gz")
        before = events
    assert reports > 0 or path.stat().st_size < 8192


@pytest.mark.parametrize("ending", ["nsys-rep", "qdrep", "qdstrm"])
def test_a_report_that_only_nsys_reads_is_told_how_to_be_exported(inferscope: Command, ending: str) -> None:
    report = write(inferscope, f"my.run.{ending}", bytes(range(1, 256)) * 20)
    run = inferscope("analyze", report)
    assert run.returncode == 3
    (line,) = run.stderr.splitlines()
    assert f"my.run.{ending} is a report of Nsight Systems, which only nsys can read" in line
    assert line.endswith(f"nsys export --type sqlite my.run.{ending}")
    # What is in it counts, not what it is called.
    report.write_bytes(trace(10))
    assert analyse(inferscope, report).report.gpus[0].kernel_count == 10
