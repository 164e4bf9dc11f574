"""More events than a program should send: how many arrive, and what it takes to store them."""

from __future__ import annotations

from collections.abc import Iterator

from interval import Interval, median
from kit import Kit
from table import Row


def rows(kit: Kit) -> Iterator[Row]:
    for threads in (1, 4):
        lost, cpu, rate, unknown = [], [], [], []
        for _ in range(5 if kit.long else 3):
            line = [kit.program("workload"), "storm", "10", "1", str(threads)]
            said = kit.traced(line).said
            overhead = kit.report["overhead"]
            unknown.append(abs(said["events"] - overhead["events"] - overhead["lost"]))
            lost.append(100 * overhead["lost"] / said["events"])
            cpu.append(100 * said["parent_cpu_ms"] / said["work_ms"])
            rate.append(said["events"] / said["work_ms"] / 1e3)
        name = f"10 M events/s from {threads} thread{'s' if threads > 1 else ''}"
        yield Row(f"{name}: lost", median(lost), "%", digits=2, note=f"sent {median(rate).value:.1f} M/s")
        worst = float(max(unknown))
        yield Row(f"{name}: neither stored nor lost", Interval(worst, worst, worst, 1), "events", limit=0, digits=0)
        yield Row(f"{name}: recorder", median(cpu), "% of a CPU", digits=0)
