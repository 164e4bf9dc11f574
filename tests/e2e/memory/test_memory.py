"""Known bytes at known places: totals are exact, sites are near, leaks are found, and clean programs have none."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command, Run

pytestmark = pytest.mark.timed

# Everything is looked at often, whatever it costs: these tests are of truth.
OFTEN = ("--budget", "off", "--memory-sample-kb")


def sites(run: Run, file: str = "") -> dict[str, Any]:
    """Sites by function, or by function and line in a file."""
    found: dict[str, Any] = {}
    for site in run.report.memory.sites:
        if file and not (site.file or "").endswith(file):
            continue
        key = f"{site.function}:{site.line}" if file else str(site.function)
        assert key not in found or not file
        found[key] = site
    return found


def near(value: float, truth: float, share: float = 0.05) -> bool:
    return abs(value - truth) <= truth * share


def line_of(path: str, text: str) -> int:
    lines = Path(path).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize("threads", [1, 4])
def test_totals_are_exact(inferscope: Command, target: Callable[[str], str], threads: int) -> None:
    def totals(times: int) -> dict[str, int]:
        run = inferscope("run", "--", target("memory_sites.c"), str(threads), str(times))
        assert run.returncode == 0
        return dict(run.report.memory)

    less, more = totals(1000), totals(41000)
    took = {
        name: more[name] - less[name]
        for name in ("allocations", "allocated_bytes", "frees", "mappings", "mapped_bytes")
    }
    n = 40000 * threads
    # small, middle, large, and a malloc and a realloc in grow, which gives back the 100 bytes.
    assert took["allocations"] == n + n // 50 + n // 1000 + n
    assert took["allocated_bytes"] == n * 48 + n // 50 * 5000 + n // 1000 * 300000 + n // 2 * 700
    assert took["frees"] == took["allocations"]
    assert (took["mappings"], took["mapped_bytes"]) == (40, 40 * 65536)


def test_sites_are_within_five_percent(inferscope: Command, target: Callable[[str], str]) -> None:
    run = inferscope("run", *OFTEN, "4", "--", target("memory_sites.c"), "2", "400000")
    found = sites(run)
    n = 2 * 400000
    for name, size, times in (("small", 48, n), ("middle", 5000, n // 50), ("large", 300000, n // 1000)):
        assert near(found[name].bytes, size * times), name
        assert near(found[name].count, times), name
        assert found[name].live_bytes == 0
    assert near(found["grow"].bytes, n // 2 * 700)
    assert found["small"].samples >= 1000


@pytest.mark.parametrize("allocator", ["", "malloc", "pymalloc_debug"])
def test_python_lines_are_within_five_percent(
    inferscope: Command, target: Callable[[str], str], python: str, allocator: str
) -> None:
    script = target("memory_known.py")
    env = {"PYTHONMALLOC": allocator} if allocator else {}
    run = inferscope("run", *OFTEN, "8", "--python", python, script, "exact", env=env)
    assert run.returncode == 0
    found = sites(run, "memory_known.py")
    for size, truth in (("100_000", 100e6), ("5_000", 25e6)):
        site = found[f"exact:{line_of(script, f'        bytearray({size})')}"]
        assert site.samples >= 1000
        assert near(site.bytes, truth), (size, site)


def test_arrays_of_numpy_are_seen(inferscope: Command, target: Callable[[str], str], numpy_python: str) -> None:
    script = target("memory_known.py")
    run = inferscope("run", *OFTEN, "64", "--python", numpy_python, script, "arrays")
    found = sites(run, "memory_known.py")
    for text, truth in (("numpy.ones(", 80e6), ("numpy.empty(", 400e6)):
        assert near(found[f"arrays:{line_of(script, text)}"].bytes, truth)


def test_a_leak_is_found_and_sized(inferscope: Command, target: Callable[[str], str], python: str) -> None:
    script = target("memory_known.py")
    run = inferscope("run", *OFTEN, "8", "--python", python, script, "leaks")
    growing = run.report.memory.growing
    assert [(g.function, g.line) for g in growing] == [("leak", line_of(script, "held.append(bytearray(size))"))]
    assert near(growing[0].bytes, 400 * 40_000)
    assert any("memory grew to the end at leak" in line for line in run.ours)


def test_a_leak_is_found_as_the_budget_is(inferscope: Command, target: Callable[[str], str], python: str) -> None:
    """Nothing is asked for: 56 MB in half a second, of which 16 stay."""
    script = target("memory_known.py")
    run = inferscope("run", "--python", python, script, "leaks")
    memory = run.report.memory
    assert memory.sample_bytes == 512 * 1024
    line = line_of(script, "held.append(bytearray(size))")
    assert [(g.function, g.line) for g in memory.growing] == [("leak", line)]
    leak = sites(run, "memory_known.py")[f"leak:{line}"]
    assert abs(leak.bytes - 16e6) <= leak.error_bytes * 1.5
    assert leak.error_bytes < 10e6
    (told,) = [s for s in run.report.suggestions if s.rule == "memory_growth"]
    assert f"memory_known.py:{line}" in told.where


def test_a_burst_is_looked_at_as_the_budget_is(inferscope: Command, target: Callable[[str], str], python: str) -> None:
    script = target("memory_known.py")
    run = inferscope("run", "--python", python, script, "exact")
    assert run.report.memory.sample_bytes <= 2 * 512 * 1024
    # 100 MB in a line: 200 samples at 512 KiB.
    site = sites(run, "memory_known.py")[f"exact:{line_of(script, '        bytearray(100_000)')}"]
    assert site.samples >= 80
    assert abs(site.bytes - 100e6) <= site.error_bytes * 1.5


def test_more_memory_is_looked_at_less_and_that_is_near_too(inferscope: Command, target: Callable[[str], str]) -> None:
    """20 GB in seconds are more than the budget has room for: fewer are recorded, and each stands for more."""
    n = 200_000
    run = inferscope("run", "--", target("memory_sites.c"), "1", str(n * 100))
    memory = run.report.memory
    assert memory.sample_bytes <= 64 << 20
    found = sites(run)
    assert abs(found["large"].bytes - n * 100 // 1000 * 300_000) <= found["large"].error_bytes * 1.5
    assert run.report.overhead.lost == 0


CROWD = """
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t begin;
static void *body(void *arg)
{
	pthread_barrier_wait(&begin);
	for (int i = 0; i < 100; i++) {
		void *volatile p = malloc(100);
		free(p);
	}
	pthread_barrier_wait(&begin);
	return arg;
}
int main(int argc, char **argv)
{
	int n = atoi(argv[argc - 1]);
	pthread_t *t = malloc((size_t)n * sizeof(*t));
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&begin, NULL, (unsigned)n);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], &small, body, NULL) != 0)
			return 1;
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	free(t);
	return 0;
}
"""


def test_totals_of_a_crowd_are_exact(inferscope: Command, tmp_path: Path) -> None:
    """More threads at once than have a place of their own."""
    (tmp_path / "crowd.c").write_text(CROWD)
    program = str(tmp_path / "crowd")
    subprocess.run(["cc", "-O1", "-pthread", "-fno-builtin", "-o", program, str(tmp_path / "crowd.c")], check=True)

    def totals(threads: int) -> Any:
        run = inferscope("run", "--no-sample", "--", program, str(threads), timeout=120)
        if run.returncode == 1:
            pytest.skip("there may not be so many threads here")
        assert run.returncode == 0, run.stderr
        return run.report.memory

    less, more = totals(100), totals(5100)
    assert more.allocations - less.allocations >= 5000 * 100
    # Each thread has a few of its own, from who makes it; they are the same for all.
    assert (more.allocations - less.allocations) % 5000 == 0
    # libc keeps some stacks, and what belongs to them.
    assert 5000 * 100 <= more.frees - less.frees <= more.allocations - less.allocations


LEAKS = """
#include <vector>
#include <time.h>
static std::vector<char *> held;
static void *volatile kept;
__attribute__((noinline)) void leak(int n) { held.push_back(new char[n]); }
__attribute__((noinline)) void work(int n) { char *p = new char[n]; kept = p; delete[] p; }
int main()
{
	struct timespec nap = {0, 1000000};
	for (int i = 0; i < 400; i++) { leak(40000); work(100000); nanosleep(&nap, nullptr); }
	return 0;
}
"""


def test_a_leak_of_cpp_is_found_and_sized(inferscope: Command, tmp_path: Path) -> None:
    (tmp_path / "leaks.cc").write_text(LEAKS)
    program = str(tmp_path / "leaks")
    subprocess.run(["g++", "-O1", "-g", "-fno-builtin", "-o", program, str(tmp_path / "leaks.cc")], check=True)
    run = inferscope("run", *OFTEN, "8", "--", program)
    (grown,) = run.report.memory.growing
    assert grown.function.startswith("leak")
    assert near(grown.bytes, 400 * 40_000)


@pytest.mark.parametrize("library", ["numpy", pytest.param("torch", marks=pytest.mark.integration)])
def test_a_leak_of_arrays_is_found_and_sized(
    inferscope: Command, target: Callable[[str], str], request: pytest.FixtureRequest, library: str
) -> None:
    script = target("memory_known.py")
    how = ["--native", "off", "--python", request.getfixturevalue(f"{library}_python")]
    # More often, and what importing torch holds fills the table of addresses.
    run = inferscope("run", *OFTEN, "64", *how, script, f"{library}_leaks", timeout=240)
    assert run.returncode == 0, run.stderr
    grown = [g for g in run.report.memory.growing if (g.file or "").endswith("memory_known.py")]
    assert [g.line for g in grown] == [line_of(script, f"held.append({library}.ones(")]
    assert near(grown[0].bytes, 400 * 200_000)


@pytest.mark.parametrize("program", ["cached", "loaded", "pooled", "strings", "later"])
def test_clean_programs_leak_nothing(
    inferscope: Command, target: Callable[[str], str], python: str, program: str
) -> None:
    run = inferscope("run", *OFTEN, "8", "--python", python, target("memory_known.py"), program)
    assert run.returncode == 0
    assert run.report.memory.samples > 0
    assert run.report.memory.growing == []


def test_memory_grows_with_each_request(
    inferscope: Command, stage: Path, target: Callable[[str], str], python: str
) -> None:
    env = {"PYTHONPATH": str(next(stage.glob("lib/python3*/site-packages")))}
    run = inferscope("run", *OFTEN, "8", "--python", python, target("memory_known.py"), "requests", env=env)
    assert run.returncode == 0, run.stderr
    scopes = {s.name: s for s in run.report.memory.scopes}
    request, look = scopes["request"], scopes["look"]
    assert (request.count, request.grows) == (50, True)
    assert near(request.growth_bytes, 50 * 100_000)
    assert near(request.bytes, 50 * 400_000)
    assert (look.count, look.grows) == (50, False)
    assert abs(look.growth_bytes) < 50 * 1000
    assert any("with each request, 50 times" in line for line in run.ours)


NEWS = """
#include <cstdlib>
#include <vector>
#include <memory>
struct part { char bytes[480]; };
static void *volatile kept;
#define APART __attribute__((noinline)) void
APART parts(int n) { for (int i = 0; i < n; i++) { part *p = new part; kept = p; delete p; } }
APART rows(int n) { for (int i = 0; i < n; i++) { std::vector<float> v(2500); kept = &v[0]; } }
APART large(int n) { for (int i = 0; i < n; i++) { char *p = new char[200000]; kept = p; delete[] p; } }
int main(int argc, char **argv) { int n = atoi(argv[argc - 1]); parts(n * 100); rows(n * 5); large(n); return 0; }
"""


def test_new_of_cpp_is_exact_in_total_and_near_by_place(inferscope: Command, tmp_path: Path) -> None:
    (tmp_path / "news.cc").write_text(NEWS)
    program = str(tmp_path / "news")
    subprocess.run(["g++", "-O1", "-g", "-fno-builtin", "-o", program, str(tmp_path / "news.cc")], check=True)

    def run_of(n: int) -> Run:
        return inferscope("run", *OFTEN, "16", "--", program, str(n))

    less, more = run_of(10).report.memory, run_of(1010)
    assert more.report.memory.allocations - less.allocations == 1000 * 106
    assert more.report.memory.allocated_bytes - less.allocated_bytes == 1000 * (100 * 480 + 5 * 10_000 + 200_000)
    found = {name.split("(")[0]: site for name, site in sites(more).items()}
    for name, truth in (("parts", 48_480_000), ("rows", 50_500_000), ("large", 202_000_000)):
        assert found[name].samples >= 1000, name
        assert near(found[name].bytes, truth), name


@pytest.mark.integration
def test_tensors_of_torch_are_seen_at_their_lines(
    inferscope: Command, target: Callable[[str], str], torch_python: str
) -> None:
    script = target("memory_known.py")
    # Importing torch with every native frame alone fills the table of stacks at this rate.
    how = [*OFTEN, "64", "--native", "off", "--python", torch_python]
    run = inferscope("run", *how, script, "tensors", timeout=240)
    assert run.returncode == 0
    found = sites(run, "memory_known.py")
    for text, truth in (("torch.ones(", 80e6), ("torch.empty(", 200e6)):
        site = found[f"tensors:{line_of(script, text)}"]
        assert site.samples >= 100
        assert near(site.bytes, truth), text
    assert near(found[f"tensors:{line_of(script, 'torch.zeros(')}"].live_bytes, 10e6)


def test_the_allocator_of_python_is_not_who_wants_memory(inferscope: Command, python: str) -> None:
    # Before its first line: what the interpreter takes has no Python function.
    run = inferscope("run", *OFTEN, "1", "--python", python, "-c", "pass")
    names = {str(site.function) for site in run.report.memory.sites}
    assert names
    assert not [
        name for name in names if re.match("_?Py(Mem|Object)_(.?alloc|Realloc|Arena|RawMalloc)|new_arena", name)
    ]


INSIDE = """
#include <stdlib.h>
__attribute__((noinline)) void *inside(long n) { void *volatile p = malloc(n); return p; }
"""
OUTSIDE = """
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	void *library = dlopen("./libinside.so", RTLD_NOW);
	void *(*inside)(long) = (void *(*)(long))dlsym(library, "inside");
	if (chdir("/") != 0)
		return 1;
	for (int i = 0; i < 100; i++)
		free(inside(1000000));
	return 0;
}
"""


def test_a_library_with_a_relative_path_is_named(inferscope: Command, tmp_path: Path) -> None:
    for name, text in (("inside.c", INSIDE), ("outside.c", OUTSIDE)):
        (tmp_path / name).write_text(text)
    subprocess.run(
        ["cc", "-g", "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", "libinside.so", "inside.c"],
        cwd=tmp_path,
        check=True,
    )
    subprocess.run(["cc", "-g", "-o", "outside", "outside.c"], cwd=tmp_path, check=True)
    run = inferscope("run", *OFTEN, "64", "--", "./outside")
    assert run.returncode == 0, run.stderr
    assert near(sites(run)["inside"].bytes, 100e6)


def test_the_peak_names_who_held_it(inferscope: Command, target: Callable[[str], str]) -> None:
    script = target("memory_known.py")
    run = inferscope("run", *OFTEN, "8", script, "loaded")
    peak = run.report.memory.peak
    held = next(s for s in peak.sites if (s.file or "").endswith("memory_known.py") and s.bytes > 5e6)
    assert held.line == line_of(script, "held.extend(")
    assert near(held.bytes, 100 * 100_000, 0.1)
    # Freed when the interpreter cleans up, and in use up to then.
    assert near(sites(run, "memory_known.py")[f"{held.function}:{held.line}"].live_bytes, 100 * 100_000, 0.1)


def test_records_have_weights_and_both_ends(inferscope: Command, target: Callable[[str], str]) -> None:
    run = inferscope("run", *OFTEN, "8", "--", target("memory_sites.c"), "1", "20000")
    dump = run.dump()
    taken = [line for line in dump if " memory_alloc malloc 0x" in line]
    given = [line for line in dump if " memory_free malloc 0x" in line]
    assert taken
    assert len(given) >= len(taken) * 0.9
    assert all(re.search(r"bytes 48 mean 8192 .*small", line) for line in taken if " bytes 48 " in line)
    assert any(" memory_total end calls " in line for line in dump)
    assert any(' memory_source "libc.so.6"' in line for line in dump)


def test_event_json_has_both_ends(inferscope: Command, target: Callable[[str], str]) -> None:
    run = inferscope("run", *OFTEN, "8", "--", target("memory_sites.c"), "1", "200000")
    out = inferscope.folder / "events.json"
    assert inferscope("export", run.trace, "--to", "events", "--output", str(out)).returncode == 0
    events = [e for e in json.loads(out.read_text()) if e["event_type"].startswith("memory_")]
    taken = [e for e in events if e["event_type"] == "memory_alloc" and e["bytes"] == 48]
    assert near(sum(e["weight"] for e in taken), 200000 * 48, 0.1)
    assert all(e["stack"][-1]["name"] == "small" and e["numa_node"] is None for e in taken)
    given = {e["address"] for e in events if e["event_type"] == "memory_free"}
    assert {e["address"] for e in taken} <= given


def test_without_it_nothing_is_said_to_be_known(inferscope: Command, target: Callable[[str], str]) -> None:
    # Without the agent only Python tells, and not at all with --no-memory.
    native = ["--", target("memory_sites.c"), "1", "1000"]
    for options in (["--no-agent", *native], ["--no-memory", target("memory_known.py"), "strings"]):
        run = inferscope("run", "--force", *options)
        assert run.report.memory is None or run.report.memory.allocations is None
        (warning,) = [w for w in run.report.warnings if w.id == "no_memory"]
        assert options[0] in f"{warning.text} {warning.remedy}"


def test_forks_in_a_storm_of_allocations(
    inferscope: Command, target: Callable[[str], str], count: Callable[[int, int], int]
) -> None:
    forks = count(60, 1000)
    run = inferscope(
        "run", "--follow", "all", *OFTEN, "64", "--", target("alloc_storm.c"), "4", "1000000", str(forks), timeout=240
    )
    assert run.returncode == 0
    assert run.stdout == f"4 threads, {forks} children, all well\n"
    ends = [line for line in run.dump() if " memory_total end " in line]
    # The parent is one more.
    assert len({re.search(r" p(\d+) ", line).group(1) for line in ends}) == forks + 1  # type: ignore[union-attr]


@pytest.mark.plain  # the address sanitizer is an allocator too
@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"])
def test_other_allocators_are_behind_us(inferscope: Command, target: Callable[[str], str], library: str) -> None:
    places = (Path(p) / library for p in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"))
    found = [path for path in places if path.exists()]
    if not found:
        pytest.skip(f"{library} is not installed")
    env = {"LD_PRELOAD": str(found[0])}
    run = inferscope("run", *OFTEN, "8", "--", target("memory_sites.c"), "2", "100000", env=env)
    assert run.returncode == 0
    assert library.split(".")[0] in run.report.memory.allocator
    assert near(sites(run)["small"].bytes, 200000 * 48, 0.08)
    (warning,) = [w for w in run.report.warnings if w.id == "memory_bypassed"]
    assert "new" in warning.text


def test_an_allocator_in_the_program_is_told(inferscope: Command, tmp_path: Any) -> None:
    source = tmp_path / "own.c"
    source.write_text(
        "#include <stddef.h>\nstatic char heap[1 << 20];\nstatic size_t used;\n"
        "void *malloc(size_t n) { used += (n + 31) & ~15ul; return heap + used - ((n + 15) & ~15ul); }\n"
        "void free(void *p) { (void)p; }\n"
        "int main(void) { for (volatile int i = 0; i < 100; i++) free(malloc(64)); return 0; }\n"
    )
    subprocess.run(["cc", "-rdynamic", "-o", str(tmp_path / "own"), str(source)], check=True)
    run = inferscope("run", "--", str(tmp_path / "own"))
    assert run.returncode == 0
    assert any(w.id == "memory_bypassed" for w in run.report.warnings)
