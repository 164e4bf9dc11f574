"""Ten million events into the formats of other tools: bytes a second, and memory that does not grow with the trace."""

from __future__ import annotations

from collections.abc import Iterator

from interval import Interval, median
from kit import Kit
from table import Row

GB = 1e9
STREAMED = ("chrome", "perfetto", "events", "speedscope")
SUMMED = ("collapsed", "pprof")  # a few lines, whatever the trace holds: what counts is how fast it is read
LEAST_MB_S = 100
SUMMED_LIMIT_S = 10  # as long as a gigabyte may take
MEMORY_MB = 256


def once(value: float) -> Interval:
    return Interval(value, value, value, 1)


def make(kit: Kit, million: float) -> None:
    """Half as many calls of Python functions, on four threads."""
    said = kit.run([kit.program("trace_make"), str(kit.trace), str(million), "4", "0", "calls"]).said
    if not said["exact"]:
        raise AssertionError(f"the totals of {million} million records are wrong")


def line(kit: Kit, to: str) -> list[str]:
    out = str(kit.scratch / "export")
    return [str(kit.command), "export", str(kit.trace), "--to", to, "--output", out, "--quiet", "--force"]


def rows(kit: Kit) -> Iterator[Row]:
    make(kit, 2.5)
    small = {to: kit.peak_kb(line(kit, to)) / 1024 for to in (*STREAMED, *SUMMED)}
    make(kit, 10)
    for to in (*STREAMED, *SUMMED):
        done = [kit.run(line(kit, to)) for _ in range(7 if kit.long else 3)]
        size = (kit.scratch / "export").stat().st_size
        cpu = median([d.cpu_s for d in done])
        if to in STREAMED:
            a_gb = median([d.cpu_s * GB / size for d in done])
            note = f"{1e3 / a_gb.value:.0f} MB/s, {size / 1e6:.0f} MB in {cpu.value:.1f} s"
            yield Row(f"10 M events to {to}", a_gb, "s of CPU a GB", limit=1e3 / LEAST_MB_S, digits=2, note=note)
        else:
            note = f"{10 / cpu.value:.1f} M events a second, {size:,} bytes"
            yield Row(f"10 M events to {to}", cpu, "s of CPU", limit=SUMMED_LIMIT_S, digits=2, note=note)
        peak = kit.peak_kb(line(kit, to)) / 1024
        note = f"{small[to]:.0f} MB for 2.5 M events"
        yield Row(f"10 M events to {to}: memory", once(peak), "MB", limit=MEMORY_MB, digits=0, note=note)
    (kit.scratch / "export").unlink()
