"""Bytes on disk, traces held to their size, and the time to read them."""

from __future__ import annotations

from collections.abc import Iterator

from interval import Interval, median
from kit import Kit
from table import Row

MB = 1 << 20
READ = ("--scope", "model.layers.0.forward_0")  # the root of all calls: every event has to be looked at
DAMAGED = 3  # the exit code of `analyze` when something could not be read


def once(value: float) -> Interval:
    return Interval(value, value, value, 1)


def rows(kit: Kit) -> Iterator[Row]:
    yield from bytes_on_disk(kit)
    yield from retention(kit)
    yield from analysis(kit)
    yield from calls(kit)
    yield from samples(kit)


def make(kit: Kit, million: float, threads: int, limit_mb: int = 0, of: str = "scopes") -> dict[str, float]:
    said = kit.run([kit.program("trace_make"), str(kit.trace), str(million), str(threads), str(limit_mb), of]).said
    if not said["exact"]:
        raise AssertionError(f"the totals of {million} million records are wrong")
    return said


def bytes_on_disk(kit: Kit) -> Iterator[Row]:
    said = make(kit, 10, 1)
    yield Row("a call (enter and leave), calls of a model", once(said["bytes_a_call"]), "bytes", limit=4, digits=2)
    yield Row("a record into the file", once(said["ns_a_record"]), "ns of CPU", digits=0)
    kit.traced([kit.program("workload"), "storm", "4", "1", "1"])
    size, stored = kit.trace.stat().st_size, kit.report["overhead"]["events"]
    note = f"{stored:,} events in {size:,} bytes"
    yield Row("a scope of one name, recorded", once(2 * size / stored), "bytes", limit=4, digits=2, note=note)


def retention(kit: Kit) -> Iterator[Row]:
    gigabytes, limit = (10, 100) if kit.long else (2, 100)
    started = kit.run([kit.program("trace_make"), str(kit.trace), str(gigabytes * 1e3 / 16), "4", str(limit)])
    said = started.said
    name = f"{gigabytes} GB of records held to {limit} MB"
    yield Row(f"{name}: file", once(said["bytes"] / MB), "MB", limit=limit)
    wrong = 0.0 if said["exact"] else 1.0
    note = f"{said['retired'] / said['records']:.0%} of the events were dropped"
    yield Row(f"{name}: totals that are wrong", once(wrong), "", limit=0, digits=0, note=note)
    yield Row(f"{name}: writer", once(said["ns_a_record"]), "ns a record", digits=0)


def analyze(kit: Kit, *options: str, code: int = 0) -> tuple[Interval, float, Interval]:
    out = str(kit.scratch / "analysis.md")
    line = [str(kit.command), "analyze", str(kit.trace), "--output", out, "--quiet", *options]
    done = [kit.run(line, code=code) for _ in range(11 if kit.long else 5)]
    cpu_s = median([d.cpu_s for d in done]).value
    return median([d.wall_ms / 1e3 for d in done]), cpu_s, once(kit.peak_kb(line, code) / 1024)


def analysis(kit: Kit) -> Iterator[Row]:
    make(kit, 2.5, 4)
    _, quarter, _ = analyze(kit, *READ)
    make(kit, 10, 4)
    seconds, _, peak = analyze(kit)
    yield Row("10 M events analysed and reported", seconds, "s", limit=2, digits=3, note="by the totals in the file")
    yield Row("10 M events analysed: memory", peak, "MB", limit=256, digits=0)
    seconds, cpu, peak = analyze(kit, *READ)
    note = f"{cpu:.2f} s of CPU, {cpu / quarter:.1f} times that of 2.5 M"
    yield Row("10 M events analysed, each one read", seconds, "s", limit=2, digits=3, note=note)
    yield Row("10 M events analysed, each one read: memory", peak, "MB", limit=256, digits=0)
    # Without its end, as after a crash of the recorder: everything has to be found and counted.
    with kit.trace.open("r+b") as file:
        file.truncate(kit.trace.stat().st_size * 9 // 10)
    seconds, cpu, peak = analyze(kit, code=DAMAGED)
    yield Row("9 M events of a trace cut short", seconds, "s", limit=2, digits=3, note=f"{cpu:.2f} s of CPU")
    yield Row("9 M events of a trace cut short: memory", peak, "MB", limit=256, digits=0)


def calls(kit: Kit) -> Iterator[Row]:
    """Ten million calls are twice as many events."""
    said = make(kit, 20, 4, of="calls")
    yield Row("a call event into the file, with its totals", once(said["ns_a_record"]), "ns of CPU", digits=0)
    seconds, cpu, peak = analyze(kit)
    note = "by the totals in the file"
    yield Row("10 M calls analysed and reported", seconds, "s", limit=2, digits=3, note=note)
    yield Row("10 M calls analysed: memory", peak, "MB", limit=256, digits=0)
    seconds, cpu, peak = analyze(kit, "--from", "0.000001")
    yield Row("10 M calls analysed, each one read", seconds, "s", limit=2, digits=3, note=f"{cpu:.2f} s of CPU")
    yield Row("10 M calls analysed, each one read: memory", peak, "MB", limit=256, digits=0)


def samples(kit: Kit) -> Iterator[Row]:
    """A day of a server: ten million samples of twenty thousand stacks, each of thirty frames."""
    said = kit.run([kit.program("samples_make"), str(kit.trace), "10", "20000", "100"]).said
    if not said["exact"]:
        raise AssertionError("the totals of the samples are wrong")
    yield Row("a sample into the file, with its totals", once(said["ns_a_sample"]), "ns of CPU", digits=0)
    seconds, cpu, peak = analyze(kit)
    note = f"20,000 stacks, by the totals in the file; {cpu:.2f} s of CPU"
    yield Row("10 M samples analysed and reported", seconds, "s", limit=2, digits=3, note=note)
    yield Row("10 M samples analysed: memory", peak, "MB", limit=256, digits=0)
    seconds, cpu, peak = analyze(kit, "--from", "0.000001")
    yield Row("10 M samples analysed, each one read", seconds, "s", limit=2, digits=3, note=f"{cpu:.2f} s of CPU")
    yield Row("10 M samples analysed, each one read: memory", peak, "MB", limit=256, digits=0)
