"""Units of work: a program's own count of them is the report's, and at a modest rate of calls all are whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command

WORK = """
import json, os, sys, time

def prepare(n):
    return [i * i for i in range(n)]

def compute(values):
    return sum(values)

def work(i):
    compute(prepare(12000))
    time.sleep(0.002)

"""

LOOP = (
    WORK
    + """
def step(i):
    work(i)

def main():
    done = 0
    for i in range(150):
        step(i)
        done += 1
    print(json.dumps({os.getpid(): done}))

main()
"""
)

TASKS = (
    WORK
    + """
import asyncio

done = 0

async def answer(i):
    global done
    work(i)
    await asyncio.sleep(0.001)
    compute(prepare(3000))
    done += 1

async def main():
    for i in range(30):
        await asyncio.gather(*[asyncio.create_task(answer(n)) for n in range(5)])
    print(json.dumps({os.getpid(): done}))

asyncio.run(main())
"""
)

POOL = (
    WORK
    + """
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(2) as pool:
    done = len(list(pool.map(work, range(150))))
print(json.dumps({os.getpid(): done}))
"""
)

WORKERS = (
    WORK
    + """
import threading

done = []

def serve(n):
    for i in range(n):
        work(i)
        done.append(i)

threads = [threading.Thread(target=serve, args=(50,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({os.getpid(): len(done)}))
"""
)

CONSUMERS = (
    WORK
    + """
import asyncio

done = 0

async def enrich(i):
    global done
    work(i)
    await asyncio.sleep(0.001)
    compute(prepare(3000))
    done += 1

async def consume(queue):
    while True:
        await enrich(await queue.get())
        queue.task_done()

async def main():
    queue = asyncio.Queue()
    workers = [asyncio.create_task(consume(queue)) for _ in range(3)]
    for i in range(150):
        await queue.put(i)
    await queue.join()
    for worker in workers:
        worker.cancel()
    print(json.dumps({os.getpid(): done}))

asyncio.run(main())
"""
)

PROCESSES = (
    WORK
    + """
import multiprocessing

def serve(n, queue):
    for i in range(n):
        work(i)
    queue.put((os.getpid(), n))

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    workers = [context.Process(target=serve, args=(n, queue)) for n in (120, 180)]
    for worker in workers:
        worker.start()
    counts = dict(queue.get() for _ in workers)
    for worker in workers:
        worker.join()
    print(json.dumps(counts))
"""
)

SCOPES = (
    WORK
    + """
import threading
from inferscope import scope

done = []

def serve(n):
    for i in range(n):
        with scope("request"):
            with scope("inner"):
                work(i)
        done.append(i)

threads = [threading.Thread(target=serve, args=(60,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({os.getpid(): len(done)}))
"""
)


def recorded(inferscope: Command, python: str, text: str) -> tuple[Any, dict[int, int]]:
    """The report's units, and how many the program counted in each process."""
    program = inferscope.folder / "program.py"
    program.write_text(text)
    package = next(inferscope.path.parents[1].glob("**/inferscope/__init__.py")).parents[1]
    run = inferscope("run", "--python", python, program, env={"PYTHONPATH": str(package)}, timeout=120)
    assert run.returncode == 0, run.stderr
    own = {int(process): count for process, count in json.loads(run.stdout.splitlines()[-1]).items()}
    units = run.report.units
    assert units is not None, [w for w in run.report.warnings if w["id"] == "units_unknown"]
    return units, own


@pytest.mark.timed
@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        (SCOPES, "scope", "request"),
        (LOOP, "loop", "step"),
        (TASKS, "task", "answer"),
        (POOL, "item", None),
        (WORKERS, "loop", "work"),
        (CONSUMERS, "loop", "enrich"),
    ],
    ids=["scopes", "loop", "asyncio", "pool", "workers", "consumers"],
)
def test_all_units_are_counted_and_whole(
    inferscope: Command, python: str, text: str, kind: str, name: str | None
) -> None:
    units, own = recorded(inferscope, python, text)
    (count,) = own.values()
    assert (units.kind, units.process_id) == (kind, next(iter(own)))
    assert name is None or units.name.endswith(name)
    assert units.count == count == units.whole + units.partial + units.none
    assert units.whole == count, units
    # Each waits for 2 ms.
    assert 2000 <= units.p50_us <= units.p99_us <= units.max_us
    assert units.total_us >= count * 2000


@pytest.mark.timed
def test_each_process_has_its_units(inferscope: Command, python: str) -> None:
    units, own = recorded(inferscope, python, PROCESSES)
    found = {f.process_id: f for f in units.families if f.kind == "loop" and f.name == "work"}
    assert {process: f.count for process, f in found.items()} == own
    assert all(f.whole == f.count for f in found.values()), found
    assert units.process_id in own


def test_reports_agree_about_units(inferscope: Command, python: str, tmp_path: Path) -> None:
    units, _ = recorded(inferscope, python, SCOPES)
    trace = tmp_path / "inferscope.isc"
    done = inferscope("analyze", trace, "--output", tmp_path / "report.md")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "report.md").read_text()
    assert f"{units.count} scopes named `request`: " in text
