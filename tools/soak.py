"""A long run under load: is its last minute explained as well as its first?

soak.py FOLDER [--minutes M] [--python PATH] [--keep DIR]           the torch server of bench/soak_server.py
soak.py FOLDER --vllm [--minutes M] [--keep DIR]                    vLLM on the CPU, with a tiny model without weights

The program runs without us first, twice and shorter, for its memory; then under `inferscope run` without any option
that changes what is recorded.  Prints a row for each minute and a line for each check; exits with 1 if one is missed,
with 2 if the program cannot run here.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import environments
import tree

BENCH = tree.ROOT / "bench"
sys.path.insert(0, str(BENCH))

import kit  # noqa: E402
import soak_load  # noqa: E402
import soak_minutes  # noqa: E402
import soak_vllm  # noqa: E402

READY_S = 300.0
STOP_S = 180.0
LOOK_S = 5.0
POOL_EVERY = 12  # looks: reading the maps of a process holds it up for milliseconds
EPOCHS = 60  # of the server in a run: one a minute in an hour
BARE_EPOCH_S = 2.0  # without us it goes through the same epochs, so long each
VLLM_BARE_S = 180.0
TRACE_MB = 100 * 1.048576  # --trace-size-mb by default, which counts MiB
NO_EVENTS = "1000000000"  # a moment after all of them: totals alone are printed
RATE_HZ = 190.0  # steps for each second of CPU time of the busiest thread, at least (docs/bench.md)


class CannotRun(Exception):
    """The program did not come up, or went away under load."""


@dataclass(frozen=True)
class Subject:
    """A server, how it is started, asked and ended."""

    name: str
    start: Callable[[Path, float], tuple[list[str], dict[str, str]]]  # folder, seconds -> arguments, environment
    port: Callable[[Path], int | None]  # once it is ready
    stop: Callable[[int, int], None]  # port, process
    ask: soak_load.Ask
    clients: int
    bare_s: float
    truth: bool = True  # it says what its functions took


def processes(root: int) -> list[int]:
    """All below a process, without it and without our own helper."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            head, _, tail = path.read_text().rpartition(") ")
            parents[int(path.parent.name)], names[int(path.parent.name)] = int(tail.split()[1]), head.split("(", 1)[1]
    found, new = [], [root]
    while new:
        new = [pid for pid, parent in parents.items() if parent in new]
        found += new
    return [pid for pid in found if not names[pid].startswith("isc-")]


def cpu_us_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1e6


def resident_mb_of(pid: int) -> tuple[float, float]:
    """Its resident memory, and the part that is not pages of files: those the kernel can drop and read again."""
    kb = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "RssAnon", "RssShmem"):
            kb[name] = int(value.split()[0]) * 1024 / soak_minutes.MB
    return kb.get("VmRSS", 0.0), kb.get("RssAnon", 0.0) + kb.get("RssShmem", 0.0)


def pool_mb_of(pid: int) -> float:
    total, inside = 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text(errors="replace").splitlines():
        first = line.split(" ", 1)[0]
        if "-" in first and not first.endswith(":"):
            inside = "/inferscope-" in line
        elif inside and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total * 1024 / soak_minutes.MB


class Watch(threading.Thread):
    """Looks at the processes below one, and at the trace, every few seconds."""

    def __init__(self, root: int, ours: bool, trace: Path) -> None:
        super().__init__(daemon=True)
        self.root, self.ours, self.trace = root, ours, trace
        self.found = soak_minutes.Watched()
        self.over = threading.Event()
        self.begin = time.monotonic()
        self.cpu_us: dict[int, float] = {}

    def look(self, with_pool: bool) -> None:
        memory_mb = own_mb = pool_mb = recorder_mb = 0.0
        at_us = (time.monotonic() - self.begin) * 1e6
        for pid in processes(self.root) + ([] if self.ours else [self.root]):
            with contextlib.suppress(OSError):
                self.cpu_us[pid] = cpu_us_of(pid)
                resident_mb, without_files_mb = resident_mb_of(pid)
                memory_mb, own_mb = memory_mb + resident_mb, own_mb + without_files_mb
                if with_pool and self.ours:
                    pool_mb += pool_mb_of(pid)
        if self.ours:
            with contextlib.suppress(OSError):
                recorder_mb, _ = resident_mb_of(self.root)
        trace_mb = self.trace.stat().st_size / soak_minutes.MB if self.trace.exists() else 0.0
        self.found.looks.append(
            soak_minutes.Look(at_us, sum(self.cpu_us.values()), memory_mb, own_mb, pool_mb, trace_mb, recorder_mb)
        )

    def run(self) -> None:
        number = 0
        self.found.looks.append(soak_minutes.Look(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        while not self.over.wait(LOOK_S):
            number += 1
            self.look(number % POOL_EVERY == 2)

    def end(self) -> soak_minutes.Watched:
        """The last look is the caller's to order, while the program is still there."""
        self.look(True)
        self.over.set()
        self.join()
        return self.found


@contextlib.contextmanager
def running(argv: list[str], env: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "output").open("ab") as output:
        process = subprocess.Popen(
            argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def last_words(folder: Path) -> str:
    return (folder / "output").read_text(errors="replace")[-800:]


def wait_for_port(subject: Subject, process: subprocess.Popen[bytes], folder: Path) -> int:
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise CannotRun(f"{subject.name} ended with {process.returncode} before it was ready: {last_words(folder)}")
        port = subject.port(folder)
        if port is not None:
            return port
        time.sleep(0.2)
    raise CannotRun(f"{subject.name} was not ready in {READY_S:.0f} s: {last_words(folder)}")


def run(
    subject: Subject, tools: kit.Kit, folder: Path, seconds: float, epoch_s: float, ours: bool
) -> tuple[soak_minutes.Watched, soak_load.Load]:
    """One run under load, to its end."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "port").unlink(missing_ok=True)  # of a run before, whose server is gone
    argv, more = subject.start(folder, epoch_s)
    trace = folder / "inferscope.isc"
    if ours:
        files = ["--trace", str(trace), "--report", str(folder / "report.json")]
        argv = [str(tools.command), "run", *files, "--", *argv]
    with running(argv, {**tools.environment, **more}, folder) as process:
        watch = Watch(process.pid, ours, trace)
        watch.start()
        port = wait_for_port(subject, process, folder)
        load = soak_load.drive(port, subject.ask, seconds, subject.clients)
        if process.poll() is not None:
            raise CannotRun(f"{subject.name} ended with {process.returncode} under load: {last_words(folder)}")
        found = watch.end()
        subject.stop(port, process.pid)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            raise CannotRun(f"{subject.name} did not end in {STOP_S:.0f} s: {last_words(folder)}") from None
    if load.failed:
        raise CannotRun(f"{len(load.failed)} requests failed, the first: {load.failed[0]}; {last_words(folder)}")
    return found, load


def torch_server(python: str) -> Subject:
    def start(folder: Path, epoch_s: float) -> tuple[list[str], dict[str, str]]:
        files = ["--port-file", str(folder / "port"), "--truth", str(folder / "truth.json")]
        return [python, str(BENCH / "soak_server.py"), *files, "--epoch", str(epoch_s)], {}

    def port(folder: Path) -> int | None:
        return int((folder / "port").read_text()) if (folder / "port").exists() else None

    return Subject(
        "the torch server", start, port, lambda port, _: soak_load.once(port, "/stop"), soak_load.torch_server,
        clients=3, bare_s=EPOCHS * BARE_EPOCH_S,
    )  # fmt: skip


def vllm_server(python: str) -> Subject:
    def start(folder: Path, _: float) -> tuple[list[str], dict[str, str]]:
        return soak_vllm.command(Path(python), folder)

    return Subject(
        "vLLM", start, soak_vllm.ready_port, lambda _, pid: os.kill(pid, signal.SIGINT), soak_load.vllm,
        clients=4, bare_s=VLLM_BARE_S, truth=False,
    )  # fmt: skip


def rate_of_busiest(tools: kit.Kit, trace: Path) -> tuple[str, list[str]]:
    """What is said of the thread with the most samples, and what is wrong with it."""
    with subprocess.Popen(
        [str(tools.command), "dump", "--from", NO_EVENTS, str(trace)], stdout=subprocess.PIPE, text=True
    ) as dump:
        assert dump.stdout is not None
        found = soak_minutes.busiest(dump.stdout)
    if found is None:
        return "no thread has samples", ["no thread has samples"]
    name, samples, steps, seconds = found
    said = (
        f"busiest thread ({name}): {steps / seconds:.0f} steps, in {samples / seconds:.0f} samples, for each second "
        f"of its {seconds:.0f} s of CPU time"
    )
    return said, [said + f" (at least {RATE_HZ:.0f})"] if steps / seconds < RATE_HZ else []


def judge(
    tools: kit.Kit, subject: Subject, folder: Path, watched: soak_minutes.Watched, bare: list[soak_minutes.Watched]
) -> dict[str, list[str]]:
    """Prints what was found, and returns what is wrong, by what was checked."""
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    rows = soak_minutes.minutes(report, watched)
    print(f"\n{soak_minutes.table(rows)}\n")
    wrong = {
        "explained": soak_minutes.check_explained(rows),
        "covered": [*soak_minutes.check_covered(rows), *soak_minutes.check_totals(report)],
        "steady": soak_minutes.check_steady(rows),
        "told": soak_minutes.check_rows(report),
        "budget": soak_minutes.check_budget(report),
    }
    if subject.truth:
        named = soak_minutes.names(report, json.loads((folder / "truth.json").read_text()))
        print(f"{soak_minutes.names_table(named)}\n")
        wrong["names"] = soak_minutes.check_names(named)
    said, wrong["rate"] = rate_of_busiest(tools, folder / "inferscope.isc")
    alone = [found.most("own_mb") or 0.0 for found in bare]
    memory = soak_minutes.Memory(
        max(alone),
        watched.most("own_mb") or 0.0,
        watched.most("pool_mb") or 0.0,
        max(alone) - min(alone),
        watched.most("recorder_mb") or 0.0,
        sum(process["traced"] for process in report["program"]["processes"]),
    )
    trace_mb = max(watched.most("trace_mb") or 0.0, (folder / "inferscope.isc").stat().st_size / soak_minutes.MB)
    wrong["memory"] = soak_minutes.check_memory(memory)
    wrong["trace"] = soak_minutes.check_trace(trace_mb, TRACE_MB)
    resident = [found.most("memory_mb") or 0.0 for found in (*bare, watched)]
    overhead = report["overhead"]
    print(
        f"{said}\n"
        f"memory without pages of files: {' and '.join(f'{mb:.0f}' for mb in alone)} MB alone, "
        f"{memory.with_us_mb:.0f} MB with us (limit {memory.bare_mb + memory.limit_mb:.0f}), "
        f"recorder {memory.recorder_mb:.0f} MB\n"
        f"    with them: {' and '.join(f'{mb:.0f}' for mb in resident[:-1])} MB alone, {resident[-1]:.0f} MB with us\n"
        f"trace: {trace_mb:.1f} MB at most (limit {TRACE_MB:.1f}); {overhead['events']} events, "
        f"{overhead['lost']} lost\n"
        f"cost by the report: {overhead['measured_pct']}% of the time, "
        f"{overhead['measured_cpu_pct']}% of the CPU time, recorder {overhead['recorder_cpu_pct']}%\n"
        f"unattributed by reason (us): {json.dumps(report['samples']['unattributed_us'])}\n"
        f"samples: {report['samples']['count']} for {report['samples']['steps']} steps; rows over time tell "
        f"{sum(m.cost_us for m in rows) / 1e6:.2f} s of cost\n"
        f"warnings: {', '.join(warning['id'] for warning in report['warnings']) or 'none'}"
    )
    return wrong


def whole(subject: Subject, tools: kit.Kit, folder: Path, seconds: float) -> dict[str, list[str]]:
    bare = []
    epoch_s = max(5.0, seconds / EPOCHS)
    # As many epochs as there will be with us: each has other models.
    bare_s = min(subject.bare_s, seconds, seconds / epoch_s * BARE_EPOCH_S if subject.truth else subject.bare_s)
    for number in (1, 2):
        watched, load = run(subject, tools, folder / f"bare-{number}", bare_s, BARE_EPOCH_S, False)
        bare.append(watched)
        print(f"{subject.name} alone: {load.said(bare_s)}", flush=True)
    watched, load = run(subject, tools, folder / "recorded", seconds, epoch_s, True)
    print(f"{subject.name} recorded: {load.said(seconds)}: {json.dumps(load.answers)}")
    return judge(tools, subject, folder / "recorded", watched, bare)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="a build folder")
    parser.add_argument("--minutes", type=float, help="60; of vLLM 20")
    parser.add_argument("--vllm", action="store_true")
    parser.add_argument("--python", help="that has torch (or vLLM); one is made otherwise")
    parser.add_argument("--keep", type=Path, help="traces, reports and output go here and stay")
    given = parser.parse_args()
    minutes = given.minutes or (20 if given.vllm else 60)
    try:
        # Made absolute, and no link followed: an environment is known by the path of its interpreter.
        python = (
            str(Path.cwd() / given.python)
            if given.python
            else str(environments.make("vllm" if given.vllm else "torch"))
        )
    except environments.Lacking as why:
        print(f"no long run: {why}", file=sys.stderr)
        return 2
    build = (tree.ROOT / given.folder).resolve()
    kit.install(build)
    folder = (given.keep or Path(tempfile.mkdtemp(prefix="inferscope-soak-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    tools = kit.Kit(build, folder, 0)
    subject = vllm_server(python) if given.vllm else torch_server(python)
    try:
        wrong = whole(subject, tools, folder, minutes * 60)
    except CannotRun as why:
        print(f"no long run: {why}", file=sys.stderr)
        return 2
    finally:
        if given.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    print()
    for check, lines in wrong.items():
        print("\n".join(f"{check}: MISSED: {line}" for line in lines) or f"{check}: met")
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
