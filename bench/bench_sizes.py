"""What a program of known calls leaves on the disk: ours beside VizTracer's and torch.profiler's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from bench_budget import ROOT
from interval import Interval
from kit import Kit
from table import Row

ROUNDS = 40_000
CALLS = 3 * ROUNDS + 1
PROGRAM = f"""
def leaf(i):
    return i

def step(i):
    return leaf(i) + leaf(i + 1)

def main():
    for i in range({ROUNDS}):
        step(i)

if __name__ == "__main__":
    main()
"""
#: Every function of Python, as with_stack promises; nothing of the CPU's operators is there to be told.
UNDER_TORCH = """
import sys
import torch.profiler as p
import program
with p.profile(activities=[p.ProfilerActivity.CPU], with_stack=True,
               experimental_config=p._ExperimentalConfig(verbose=True)) as traced:
    program.main()
traced.export_chrome_trace(sys.argv[1])
"""


def row(about: str, file: Path, calls: int) -> Row:
    """By what it takes of the disk: a trace of ours has holes, which ls counts and du does not."""
    size = file.stat().st_blocks * 512
    found = size / calls
    return Row(
        about, Interval(found, found, found, 1), "bytes a call", digits=1, note=f"{size:,} bytes, {calls:,} calls"
    )


def slices(file: Path) -> int:
    """How many of the program's calls are in it: a tool that drops some would look small."""
    events = json.loads(file.read_text())["traceEvents"]
    names = ("leaf", "step", "main")
    return sum(1 for e in events if e.get("ph") == "X" and any(name in e["name"] for name in names))


def rows(kit: Kit) -> Iterator[Row]:
    script, out = kit.scratch / "program.py", kit.scratch / "trace.json"
    script.write_text(PROGRAM)
    peers, torch = (ROOT / f".venv-{name}" / "bin" / "python" for name in ("peers", "torch"))
    python = str(peers if peers.exists() else "python3")
    kit.traced([python, str(script)], "--budget", "off", "--no-sample", "--no-memory", "--no-syscalls")
    calls = {f["name"]: f["calls"] for f in kit.report["functions"]}
    yield row("InferScope", kit.trace, sum(calls[name] for name in ("leaf", "step", "main")))
    if peers.exists():
        kit.run([python, "-m", "viztracer", "--quiet", "-o", str(out), str(script)])
        yield row("VizTracer, JSON", out, slices(out))
    else:
        yield Row("VizTracer, JSON", None, "bytes a call", note="not here; `tools/environments.py peers` brings it")
    if torch.exists():
        (kit.scratch / "under.py").write_text(UNDER_TORCH)
        kit.run([str(torch), str(kit.scratch / "under.py"), str(out)])
        yield row("torch.profiler with stacks, JSON", out, slices(out))
    else:
        note = "not here; `tools/environments.py torch` brings it"
        yield Row("torch.profiler with stacks, JSON", None, "bytes a call", note=note)
