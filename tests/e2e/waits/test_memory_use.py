"""Memory from outside: peak and faults as the program itself measures them; nodes of a machine that has two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROGRAM = """
import json, mmap, resource, time
held = mmap.mmap(-1, 64 << 20)
for at in range(0, len(held), 4096):
    held[at] = 1
time.sleep(0.5)
end = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"minor": end.ru_minflt, "major": end.ru_majflt, "peak": end.ru_maxrss * 1024}))
"""


def test_peak_and_faults_are_those_of_getrusage(inferscope: Any, tmp_path: Path, python: str) -> None:
    program = tmp_path / "touch.py"
    program.write_text(PROGRAM)
    run = inferscope("run", "--python", python, "--report", "report.json", "--report", "report.md", program)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    memory = run.report["memory"]
    # The rest is the end of the interpreter, after the program has looked.
    assert told["minor"] <= memory["minor_faults"] <= told["minor"] + 2_000
    assert told["major"] <= memory["major_faults"] <= told["major"] + 50
    assert abs(memory["peak_rss_bytes"] - told["peak"]) < 8 << 20
    assert memory["peak_rss_bytes"] > 64 << 20
    over_time = memory["over_time"]
    assert len({len(column) for column in over_time.values()}) == 1
    assert len(over_time["at_us"]) >= 3
    assert over_time["at_us"] == sorted(over_time["at_us"])
    assert over_time["minor_faults"] == sorted(over_time["minor_faults"])
    assert max(over_time["rss_bytes"]) > 64 << 20
    assert over_time["minor_faults"][-1] >= 16_384
    assert "## Memory in use" in (tmp_path / "report.md").read_text()


def test_faults_are_counted_to_the_last_one(inferscope: Any, target: Any) -> None:
    """Of a program that ends as soon as it has looked; what our own end in it takes is the rest."""
    run = inferscope("run", "--no-agent", "--", target("fault_counts.c"), "20000")
    told = json.loads(run.stdout)
    assert told["minor"] > 20_000
    assert 0 <= run.report["memory"]["minor_faults"] - told["minor"] <= 3
    assert run.report["memory"]["major_faults"] == told["major"]
    run = inferscope("run", "--", target("fault_counts.c"), "20000")
    told = json.loads(run.stdout)
    assert 0 <= run.report["memory"]["minor_faults"] - told["minor"] <= 10


def test_two_nodes(inferscope: Any, tmp_path: Path, python: str) -> None:
    """The second has no CPU that is here, so all of its pages are far away."""
    pretended = tmp_path / "numa"
    for node, cpus in (("node0", "0-127"), ("node1", "128-255")):
        (pretended / node).mkdir(parents=True)
        (pretended / node / "cpulist").write_text(f"{cpus}\n")
        (pretended / node / "meminfo").write_text(f"Node {node[-1]} MemTotal: 1024 kB\n")
    (pretended / "numa_maps").write_text("1000 default anon=100 N0=75 N1=25 kernelpagesize_kB=4\n")
    code = "import time\nfor _ in range(30):\n  sum(range(100000)); time.sleep(.005)"
    run = inferscope("run", "--python", python, "-c", code, env={"INFERSCOPE_TEST_NUMA": str(pretended)})
    assert run.returncode == 0, run.stderr
    numa = run.report["numa"]
    assert [node["node"] for node in numa["nodes"]] == [0, 1]
    assert numa["pages_per_node"] == [75, 25]
    assert numa["migrations"] == []
    if run.report["clock"] and not any(warning["id"] == "no_switches" for warning in run.report["warnings"]):
        assert numa["nodes"][0]["cpu_us"] > 0
        assert numa["nodes"][1]["cpu_us"] == 0
        assert abs(numa["remote_pct"] - 25) < 0.01


def test_one_node_is_quiet(inferscope: Any, tmp_path: Path, python: str) -> None:
    (tmp_path / "numa" / "node0").mkdir(parents=True)
    (tmp_path / "numa" / "node0" / "cpulist").write_text("0-255\n")
    run = inferscope("run", "--python", python, "-c", "pass", env={"INFERSCOPE_TEST_NUMA": str(tmp_path / "numa")})
    assert run.report["numa"] is None
    notes = {warning["id"]: warning["grave"] for warning in run.report["warnings"]}
    assert notes["no_numa"] is False
