"""Memory and time of imports: they do not grow with a trace, and what a small file claims costs nothing."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command
    from tests.e2e.imports.traces import ROOT
else:
    from traces import ROOT

BUILD = ROOT / os.environ.get("INFERSCOPE_BUILD", "build")
pytestmark = pytest.mark.plain
MB, MIB = 10**6, 1 << 10
EVENTS = 1000  # written at a time


def measured(inferscope: Command, path: Path) -> tuple[int, float, float]:
    """Status, seconds of CPU and MiB of memory at the most."""
    peak = inferscope.folder / "peak"
    line = inferscope.arguments(("analyze", path, "--output", inferscope.folder / "report.json", "--force"), True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    out = [(os.POSIX_SPAWN_OPEN, fd, str(inferscope.folder / f"out{fd}"), flags, 0o600) for fd in (1, 2)]
    # Not a child of ours: it would begin with the memory that we have.
    line = [str(BUILD / "bench" / "memory_peak"), str(peak), *line]
    pid = os.posix_spawn(line[0], line, inferscope.environment, file_actions=out)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, int(peak.read_text()) / MIB


def long_trace(path: Path, size: int) -> int:
    """A trace of torch.profiler of this many bytes; how many kernels."""
    launch = '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":5,'
    launch += '"args":{"correlation":%d,"External id":%d}},\n'
    kernel = '{"ph":"X","cat":"kernel","name":"gemm_%d","pid":0,"tid":7,"ts":%d,"dur":60,'
    kernel += '"args":{"device":0,"context":1,"stream":7,"correlation":%d,"grid":[64,2,1],"block":[128,1,1]}},\n'
    number = 0
    with path.open("w") as file:
        file.write('{"schemaVersion":1,"traceEvents":[\n')
        while file.tell() < size:
            lines = []
            for n in range(number, number + EVENTS):
                lines += [launch % (100 * n, n + 1, n + 1), kernel % (n % 40, 100 * n + 10, n + 1)]
            file.write("".join(lines))
            number += EVENTS
        file.write("{}]}")
    return number


def test_memory_does_not_grow_with_a_trace(inferscope: Command) -> None:
    """64 MB, and four times as much."""
    peaks = []
    for size in (64 * MB, 256 * MB):
        path = inferscope.folder / "long.json"
        kernels = long_trace(path, size)
        code, _, peak = measured(inferscope, path)
        assert code == 0
        report = json.loads((inferscope.folder / "report.json").read_text())
        assert report["gpus"][0]["kernel_count"] == kernels
        peaks.append(peak)
        path.unlink()
    assert peaks[1] < 128 and peaks[1] - peaks[0] < 32, peaks


def names(path: Path, size: int, form: str) -> int:
    """Collapsed stacks of this size, each with a function of its own, and one that has a third of all; how many."""
    number = 0
    with path.open("w") as file:
        while file.tell() < size:
            file.write("".join(form % n for n in range(number, number + EVENTS)))
            number += EVENTS
            file.write(f"main;hot {EVENTS // 2}\n")
    return number


@pytest.mark.parametrize("form", ["fn_%08x 1\n", "main;a%x;b;c 1\n"])
@pytest.mark.parametrize("size", [MB, 48 * MB])
def test_functions_without_number_are_folded_and_said(inferscope: Command, size: int, form: str) -> None:
    """Each line has a name that no other has: memory has a bound, and every sample is somewhere."""
    path = inferscope.folder / "names.folded"
    number = names(path, size, form)
    code, _, peak = measured(inferscope, path)
    assert code == 0
    assert peak < 128, peak
    report = json.loads((inferscope.folder / "report.json").read_text())
    assert sum(f["samples"] for f in report["functions"]) == number * 3 // 2
    hot = next(f for f in report["functions"] if f["name"] == "hot")
    assert hot["samples"] == number // 2
    rest = next(f for f in report["functions"] if f["name"] == "(other stacks)")
    warning = next(w for w in report["warnings"] if w["id"] == "stacks_folded")
    assert f"{rest['samples']:,} of {number * 3 // 2:,} samples" in warning["text"]


def test_spans_without_number_are_listed_up_to_a_rest(inferscope: Command) -> None:
    """Half a million functions with a name of their own, in 35 MB."""
    path, number = inferscope.folder / "names.json", 500_000
    span = '{"ph":"X","name":"fn%d","pid":1,"tid":1,"ts":%d,"dur":1}'
    with path.open("w") as file:
        file.write('{"traceEvents":[\n')
        for n in range(0, number, EVENTS):
            file.write("".join(span % (k, 2 * k) + ",\n" for k in range(n, n + EVENTS)))
        hot = {"ph": "X", "name": "hot", "pid": 1, "tid": 1, "ts": 2 * number, "dur": 1000}
        file.write(json.dumps(hot) + "]}")
    code, _, peak = measured(inferscope, path)
    assert code == 0
    assert peak < 256, peak
    functions = json.loads((inferscope.folder / "report.json").read_text())["functions"]
    assert sum(f["calls"] for f in functions) == number + 1
    assert functions[0]["name"] == "hot" and len(functions) < 40_000
    assert [f["calls"] for f in functions if f["name"] == "(other functions)"] == [number + 1 - (len(functions) - 1)]


# ---- small files with huge claims ----

HUGE = 2**64 - 1


def events(*found: dict[str, Any]) -> bytes:
    return json.dumps({"schemaVersion": 1, "traceEvents": list(found)}).encode()


def kernel(**args: Any) -> dict[str, Any]:
    args = {"device": 0, "stream": 7, "correlation": 1, **args}
    return {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 4, "args": args}


def speedscope(**profile: Any) -> bytes:
    profile = {"type": "sampled", "name": "p", "unit": "none", "startValue": 0, "endValue": 1, **profile}
    schema = "https://www.speedscope.app/file-format-schema.json"
    return json.dumps({"$schema": schema, "shared": {"frames": [{"name": "f"}]}, "profiles": [profile]}).encode()


def database(*rows: tuple[Any, ...]) -> bytes:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    db.execute("INSERT INTO StringIds VALUES (?, 'k')", (2**63 - 1,))
    columns = "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName"
    db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns})")
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,?,?,?,?,?)", rows)
    db.commit()
    return db.serialize()  # type: ignore[no-any-return, attr-defined, unused-ignore]


def header(**fields: int) -> bytes:
    """A database that says this of itself."""
    data = bytearray(database((1, 2, 0, 0, 0, 1, 0, 2**63 - 1)))
    places = {"page": (16, ">H"), "pages": (28, ">I"), "free": (32, ">I"), "free_count": (36, ">I")}
    for name, value in fields.items():
        at, form = places[name]
        struct.pack_into(form, data, at, value)
    return bytes(data)


def circle() -> bytes:
    """The first page of a table names itself as what is below it."""
    data = bytearray(database())
    page = struct.unpack_from(">H", data, 16)[0]
    for at in range(page, len(data), page):
        data[at : at + 12] = struct.pack(">BHHHBI", 5, 0, 0, 0, 0, at // page + 1)
    return bytes(data)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "open brackets": lambda: b'{"traceEvents": ' + b"[" * 60_000,
    "objects in objects": lambda: b'{"traceEvents": [' + b'{"args":' * 10_000,
    "numbers without an end": lambda: events(kernel(device=HUGE, stream=HUGE, correlation=HUGE, bytes=HUGE)),
    "times without an end": lambda: events({**kernel(), "ts": 1e300, "dur": 1e308}, {**kernel(), "ts": -(2**63)}),
    "a base far away": lambda: b'{"baseTimeNanoseconds": 9223372036854775807, "traceEvents": [' + b"{}" * 3 + b"]}",
    "devices and threads far apart": lambda: events(
        *({**kernel(device=2**k), "pid": 2**k, "tid": 2**k} for k in range(63))
    ),
    "a number of a million digits": lambda: b'{"traceEvents": [{"ph": "X", "ts": ' + b"9" * 10**6 + b"}]}",
    "a bomb": lambda: gzip.compress(b'{"traceEvents": [' + b" " * (64 << 20)),
    "bombs in a row": lambda: gzip.compress(b"[" * (1 << 20)) * 60,
    "frames that are not there": lambda: speedscope(samples=[[2**32 - 1, HUGE]], weights=[HUGE]),
    "an end far away": lambda: speedscope(endValue=1e308, samples=[[0]], weights=[1e308]),
    "a stack of 100,000": lambda: b";".join([b"f"] * 100_000) + b" 1\n",
    "counts without an end": lambda: b"main;work 18446744073709551615\n" * 50,
    "pages without an end": lambda: header(pages=2**32 - 1),
    "large pages": lambda: header(page=1, pages=2**32 - 1),
    "free pages without an end": lambda: header(free=1, free_count=2**32 - 1),
    "the head of a database alone": lambda: header(pages=2**31)[:100],
    "a table that is its own child": circle,
    "numbers of work without an end": lambda: database((1, 2**63 - 1, 2**62, 2**62, 2**62, 2**62, 2**62, 2**63 - 1)),
    "ends before starts": lambda: database((2**63 - 1, -(2**63), -1, -1, -1, -1, -1, -1)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_file_with_huge_claims_costs_nothing(inferscope: Command, name: str) -> None:
    """Under a second and 64 MiB, with a report or a refusal."""
    path = inferscope.folder / "hostile"
    path.write_bytes(HOSTILE[name]())
    assert path.stat().st_size < 1_100_000
    code, seconds, peak = measured(inferscope, path)
    assert code in (0, 3), (inferscope.folder / "out2").read_text()
    assert seconds < 1 and peak < 64, (seconds, peak)
