"""Memory as event dictionaries, from inside a program, and the memory nodes of the CPUs that took it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.memory.test_memory import OFTEN, near, sites

if TYPE_CHECKING:
    from tests.e2e.conftest import Command

WINDOW = """
import json, sys
from inferscope import CpuCollector, Profiler, TraceBuffer
held = []
def work():
    for _ in range(100):
        bytearray(1_000_000)
    held.append(bytearray(7_000_000))
def before():
    bytearray(9_000_000)
buffer = TraceBuffer(size_mb=10)
collector = CpuCollector(buffer, memory=True)
before()
collector.start()
work()
collector.stop()
first = buffer.read_all()
before()
with Profiler(memory=True) as profiler:
    work()
again = profiler.get_unified_timeline()
with Profiler() as plain:
    work()
json.dump([first, again, plain.get_unified_timeline()], sys.stdout)
"""


def test_windows_have_events_of_memory(inferscope: Command, stage: Path, python: str) -> None:
    site = next(stage.glob("lib/python3*/site-packages"))
    done = subprocess.run(
        [python, "-c", WINDOW],
        env={**inferscope.environment, "PYTHONPATH": str(site), "INFERSCOPE_BUDGET": "off"},
        cwd=inferscope.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    *told, plain = json.loads(done.stdout)
    for events in told:
        taken = [e for e in events if e["event_type"] == "memory_alloc" and e["bytes"] >= 1_000_000]
        given = {e["address"]: e for e in events if e["event_type"] == "memory_free"}
        # One in 512 KiB on average: nearly all of a million bytes.
        assert near(sum(e["weight"] for e in taken if e["bytes"] < 2e6), 100e6, 0.15)
        assert not [e for e in taken if e["bytes"] > 8e6]
        (kept,) = (e for e in taken if e["bytes"] > 2e6)
        assert kept["address"] not in given or given[kept["address"]]["bytes"] != kept["bytes"]
        assert [f["name"] for f in kept["stack"] if f["kind"] == "python"][-1] == "work"
        assert kept["name"] in ("malloc", "calloc", "realloc")
        assert kept["numa_node"] is None or kept["numa_node"] >= 0
        assert kept["metadata"]["count"] >= 1
        assert kept["start_ns"] == kept["end_ns"]
    assert not [e for e in plain if e["event_type"].startswith("memory_")]


@pytest.fixture
def two_nodes(tmp_path: Path) -> dict[str, str]:
    """A machine that has a node of its own for every second CPU."""
    folder = tmp_path / "nodes"
    cpus = range(os.cpu_count() or 1)
    for node, listed in ((0, cpus[::2]), (1, cpus[1::2] or [999])):
        (folder / f"node{node}").mkdir(parents=True)
        (folder / f"node{node}" / "cpulist").write_text(",".join(map(str, listed)) + "\n")
        (folder / f"node{node}" / "meminfo").write_text(f"Node {node} MemTotal: 1000 kB\n")
    (folder / "numa_maps").write_text("1000 default anon=100 N0=75 N1=25 kernelpagesize_kB=4\n")
    return {"INFERSCOPE_TEST_NUMA": str(folder)}


def on_cpu(cpu: int, *command: str) -> list[str]:
    code = f"import os,sys; os.sched_setaffinity(0, [{cpu}]); os.execv(sys.argv[1], sys.argv[1:])"
    return ["/usr/bin/python3", "-c", code, *command]


def test_allocations_and_samples_have_the_node_of_their_cpu(
    inferscope: Command, target: Callable[[str], str], two_nodes: dict[str, str]
) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    for cpu in allowed[:2]:
        node = cpu % 2
        command = [*on_cpu(cpu, target("memory_sites.c"), "1", "400000")]
        run = inferscope("run", "--force", "--follow", "all", *OFTEN, "16", "--", *command, env=two_nodes)
        assert run.returncode == 0, run.stderr
        site: Any = sites(run)["small"]
        assert near(site.node_bytes[node], site.bytes, 0.01)
        assert site.node_bytes[1 - node] == 0
        there, elsewhere = run.report.numa.nodes[node], run.report.numa.nodes[1 - node]
        assert there.taken_bytes > 10 * elsewhere.taken_bytes if elsewhere.taken_bytes else there.taken_bytes > 0
        assert there.samples >= elsewhere.samples
        out = inferscope.folder / f"events{cpu}.json"
        assert inferscope("export", run.trace, "--to", "events", "--output", str(out)).returncode == 0
        events = json.loads(out.read_text())
        taken = [e for e in events if e["event_type"] == "memory_alloc" and e["bytes"] == 48]
        assert {e["numa_node"] for e in taken if e["stack"] and e["stack"][-1]["name"] == "small"} == {node}
        ran = {(e["cpu_id"], e["numa_node"]) for e in events if e["event_type"] == "cpu_sample" and e["stack"]}
        assert all(at == cpu % 2 for cpu, at in ran if cpu is not None)
    assert f" cpu {allowed[0]} node " in "\n".join(run.dump()) or f" cpu {allowed[1]} node " in "\n".join(run.dump())


MOVED = """
import json, os, sys, time
from inferscope import Profiler
maps = os.path.join(os.environ["INFERSCOPE_TEST_NUMA"], "numa_maps")
with Profiler() as profiler:
    pass
with Profiler() as profiler:
    with open(maps, "w") as file:
        file.write("1000 default anon=100 N0=15 N1=85 kernelpagesize_kB=4\\n")
json.dump([e for e in profiler.get_unified_timeline() if e["event_type"] == "numa_migration"], sys.stdout)
"""


def test_memory_that_moves_is_an_event(
    inferscope: Command, stage: Path, python: str, two_nodes: dict[str, str]
) -> None:
    env = {**inferscope.environment, **two_nodes, "PYTHONPATH": str(next(stage.glob("lib/python3*/site-packages")))}
    done = subprocess.run([python, "-c", MOVED], env=env, capture_output=True, text=True, timeout=60, check=True)
    (moved,) = json.loads(done.stdout)
    assert (moved["from_node"], moved["to_node"], moved["pages"]) == (0, 1, 60)
    assert moved["start_ns"] <= moved["end_ns"]
    # And in a whole run: the program itself moves, between the first look and the last.
    maps = Path(two_nodes["INFERSCOPE_TEST_NUMA"]) / "numa_maps"
    code = (
        f"import time; time.sleep(0.4); open({str(maps)!r}, 'w').write('1000 default N0=90 N1=10\\n'); time.sleep(2.6)"
    )
    run = inferscope("run", "--python", python, "-c", code, env=two_nodes)
    assert [(m.from_node, m.to_node, m.pages) for m in run.report.numa.migrations] == [(1, 0, 75)]
    out = inferscope.folder / "events.json"
    assert inferscope("export", run.trace, "--to", "events", "--output", str(out)).returncode == 0
    (told,) = [e for e in json.loads(out.read_text()) if e["event_type"] == "numa_migration"]
    assert (told["from_node"], told["to_node"], told["pages"]) == (1, 0, 75)


def test_one_node_is_quiet(inferscope: Command, target: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "one" / "node0").mkdir(parents=True)
    (tmp_path / "one" / "node0" / "cpulist").write_text("0-767\n")
    env = {"INFERSCOPE_TEST_NUMA": str(tmp_path / "one")}
    run = inferscope("run", *OFTEN, "16", "--", target("memory_sites.c"), "1", "20000", env=env)
    assert run.report.numa is None
    assert all(site.node_bytes is None for site in run.report.memory.sites)
    assert " node " not in "\n".join(line for line in run.dump() if " memory_alloc " in line or " sample " in line)
