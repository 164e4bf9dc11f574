"""Traces of torch.profiler into a report: bytes a second, and memory that does not grow with the trace."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

from interval import Interval, median
from kit import Kit
from table import Row

GB = 1e9
ROOT = Path(__file__).resolve().parents[1]
TRACES = Path(os.environ.get("INFERSCOPE_TRACES", ROOT.parent / "shared" / "data" / "kineto"))
KERNEL = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3> >"
FRAME = "transformers/models/bert/modeling_bert.py(364): forward"


def step(number: int) -> list[dict[str, object]]:
    """One operator as Kineto tells it: its Python frame, itself, the launch, the flow and the kernel."""
    at, cpu = number * 50.0, {"pid": 19392, "tid": 19392}
    launch = {"cbid": 211, "correlation": number + 1, "External id": number}
    work = {
        **{"External id": number, "device": 0, "context": 1, "stream": 7, "correlation": number + 1},
        **{"queued": 0, "registers per thread": 32, "shared memory": 0, "blocks per SM": 2.4, "warps per SM": 9.6},
        **{"grid": [320, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 62},
    }
    operator = {"External id": number, "Ev Idx": number, "Input Dims": [[8, 128, 512], []], "Input type": ["float", ""]}
    flow = {"ph": "s", "id": number + 1, **cpu, "ts": at + 12, "cat": "ac2g", "name": "ac2g"}
    return [
        {
            "ph": "X",
            "cat": "python_function",
            "name": FRAME,
            **cpu,
            "ts": at,
            "dur": 40.5,
            "args": {"Python id": number},
        },
        {
            "ph": "X",
            "cat": "cpu_op",
            "name": f"aten::op{number % 60}",
            **cpu,
            "ts": at + 5,
            "dur": 30,
            "args": operator,
        },
        {
            "ph": "X",
            "cat": "cuda_runtime",
            "name": "cudaLaunchKernel",
            **cpu,
            "ts": at + 12,
            "dur": 6.25,
            "args": launch,
        },
        flow,
        {
            "ph": "X",
            "cat": "kernel",
            "name": KERNEL + str(number % 40),
            "pid": 0,
            "tid": 7,
            "ts": at + 20,
            "dur": 9.5,
            "args": work,
        },
    ]


def write(path: Path, megabytes: int) -> None:
    number = written = 0
    with path.open("w") as out:
        written += out.write('{\n  "schemaVersion": 1,\n  "traceEvents": [\n')
        while written < megabytes << 20:
            events = [event for k in range(number, number + 200) for event in step(k)]
            text = ",\n".join(json.dumps(event, indent=2) for event in events)
            written += out.write((",\n" if number else "") + text)
            number += 200
        out.write("\n]}\n")


def read(kit: Kit, path: Path, size: int) -> tuple[Interval, float]:
    line = [str(kit.command), "analyze", str(path), "--output", str(kit.scratch / "import.md"), "--quiet", "--force"]
    done = [kit.run(line) for _ in range(11 if kit.long else 5)]
    return median([d.cpu_s * GB / size for d in done]), kit.peak_kb(line) / 1024


def rows(kit: Kit) -> Iterator[Row]:
    plain, packed = kit.scratch / "kineto.json", kit.scratch / "kineto.json.gz"
    memory = []
    for megabytes in (64, 256):
        write(plain, megabytes)
        size = plain.stat().st_size
        seconds, peak = read(kit, plain, size)
        memory.append(peak)
    note = f"{1e3 / seconds.value:.0f} MB/s"
    yield Row("a Kineto trace to a report, plain", seconds, "s of CPU a GB", limit=3.33, digits=2, note=note)
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    seconds, peak = read(kit, packed, size)
    note = f"{1e3 / seconds.value:.0f} MB/s of text"
    yield Row("a Kineto trace to a report, gzip", seconds, "s of CPU a GB", limit=6.67, digits=2, note=note)
    largest = Interval(memory[1], memory[1], memory[1], 1)
    note = f"{memory[0]:.0f} MB for 64 MB"
    yield Row("a Kineto trace of 256 MB: memory", largest, "MB", limit=256 * 7 / 20, digits=0, note=note)
    plain.unlink()
    packed.unlink()
    yield from real(kit)


def real(kit: Kit) -> Iterator[Row]:
    """Traces of real GPUs, where there are any: the two largest together, from their files to the verdict."""
    found = sorted(TRACES.glob("*.json.gz"), key=lambda path: path.stat().st_size)
    sizes = {path: int.from_bytes(path.read_bytes()[-4:], "little") for path in found}
    largest = sorted(sizes, key=lambda path: sizes[path])[-2:]
    if len(largest) < 2:
        return
    files = [kit.scratch / path.name[: -len(".gz")] for path in largest]
    for file, path in zip(files, largest):
        file.write_bytes(gzip.decompress(path.read_bytes()))
    line = [
        str(kit.command),
        "analyze",
        *map(str, files),
        "--output",
        str(kit.scratch / "real.json"),
        "--quiet",
        "--force",
    ]
    done = [kit.run(line) for _ in range(11 if kit.long else 5)]
    verdict = json.loads((kit.scratch / "real.json").read_text())["verdict"]
    note = f"{', '.join(file.stem for file in files)}: {verdict['cause']}"
    megabytes = sum(sizes[path] for path in largest) / 1e6
    name = f"{megabytes:.0f} MB of real Kineto traces to a verdict"
    yield Row(name, median([d.wall_ms for d in done]), "ms", limit=1000, digits=0, note=note)
    for file in files:
        file.unlink()
