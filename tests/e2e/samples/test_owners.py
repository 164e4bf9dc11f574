"""H1, H3, H4, H9 at 1 kHz with whole native stacks: programs that own what a sampler would like to have."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.samples.sampling import SPIN, run_python, same, samples
else:
    from sampling import SPIN, run_python, same, samples

pytestmark = pytest.mark.timed

ALL = ("--native", "on")


def version_of(python: str) -> tuple[int, int]:
    said = subprocess.run(
        [python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=True
    )
    major, minor = said.stdout.split()
    return int(major), int(minor)


def stacks_of(run: Any, name: str) -> int:
    """Samples with that Python function on the stack."""
    return sum(any(called == name for called, _, _ in sample.frames) for sample in samples(run))


# ---- signals ------------------------------------------------------------------


TIMERS = """
import signal, sys
count = {}
def on(number, frame): count[number] = count.get(number, 0) + 1
for which, number in ((signal.ITIMER_PROF, signal.SIGPROF), (signal.ITIMER_VIRTUAL, signal.SIGVTALRM),
                      (signal.ITIMER_REAL, signal.SIGALRM)):
    signal.signal(number, on)
    signal.setitimer(which, 0.01, 0.01)
    begin = time.process_time()
    enough = 15 if which == signal.ITIMER_PROF else 5
    spin(300)
    # The kernel looks at these clocks at its ticks: on a full machine one that gets a CPU between them waits for more.
    while count.get(number, 0) < enough and time.process_time() - begin < 2: spin(20)
    used = time.process_time() - begin
    signal.setitimer(which, 0)
    # By the CPU clock one every 10 ms, or a tick of the kernel later, of which ITIMER_VIRTUAL leaves the kernel's
    # part out; by the other one each time it gets a CPU.
    real = which == signal.ITIMER_REAL
    print(number, count[number] >= enough, real or count[number] <= used / 0.01 + 2)
    print(signal.getsignal(number) is on, signal.getitimer(which))
print(signal.getsignal(signal.SIGURG), signal.getsignal(signal.SIGSEGV))
"""


def test_H3_a_program_has_its_interval_timers(inferscope: Any, python: str, tmp_path: Path) -> None:
    run = run_python(inferscope, python, tmp_path, SPIN + TIMERS, more=ALL)
    assert stacks_of(run, "spin") > 100


FETCHING = """
import os, signal, threading
wanted = {signal.SIGUSR1, signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
def send():
    for i in range(30):
        os.kill(os.getpid(), signal.SIGUSR1 if i % 2 else signal.SIGUSR2)
        taken.acquire()
taken = threading.Semaphore(0)
thread = threading.Thread(target=send); thread.start()
got = []
for i in range(30):
    spin(3)
    got.append(int(signal.sigwait(wanted) if i % 3 else signal.sigwaitinfo(wanted).si_signo))
    taken.release()
thread.join()
print(sorted(got), sorted(signal.sigpending()))
missed = 0
for _ in range(20):
    spin(2)
    missed += signal.sigtimedwait(wanted, 0.002) is None
print(missed, sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))))
reading, writing = os.pipe()
os.set_blocking(writing, False)
signal.set_wakeup_fd(writing)
signal.signal(signal.SIGALRM, lambda *a: None)
signal.setitimer(signal.ITIMER_REAL, 0.02)
spin(80)
print(list(os.read(reading, 100)))
"""


def test_H3_a_program_fetches_its_signals(inferscope: Any, python: str, tmp_path: Path) -> None:
    run = run_python(inferscope, python, tmp_path, SPIN + FETCHING, more=ALL)
    assert stacks_of(run, "spin") > 50


FETCHING_ALL = """
import os, signal, threading, time
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
got, taken = [], threading.Semaphore(0)
def fetch():
    number = 0
    while number != signal.SIGUSR1:
        number = signal.sigwait(signal.valid_signals())
        got.append(int(number))
        taken.release()
thread = threading.Thread(target=fetch); thread.start()
worker = threading.Thread(target=spin, args=(400,)); worker.start()
for i in range(30):
    if i % 2:
        os.kill(os.getpid(), signal.SIGURG)
    else:
        signal.pthread_kill(thread.ident, signal.SIGURG)
    taken.acquire(timeout=2)
    spin(3)
worker.join()
os.kill(os.getpid(), signal.SIGUSR1)
thread.join()
print(got)
os.kill(os.getpid(), signal.SIGURG)
time.sleep(0.02)
print(signal.sigtimedwait(signal.valid_signals(), 0).si_signo, signal.sigtimedwait(signal.valid_signals(), 0))
"""


def test_H3_a_program_that_blocks_all_signals_fetches_all_of_them(inferscope: Any, python: str, tmp_path: Path) -> None:
    run = run_python(inferscope, python, tmp_path, SPIN + FETCHING_ALL, more=ALL)
    assert run.stdout.count("23") == 31
    assert stacks_of(run, "spin") > 50


MASKS = """
import os, signal, subprocess, sys, warnings
warnings.simplefilter("ignore")
look = ["grep", "-E", "Sig(Blk|Ign|Pnd)", "/proc/self/status"]
grep = "/usr/bin/grep" if os.path.exists("/usr/bin/grep") else "/bin/grep"
def forked(change):
    pid = os.fork()
    if pid == 0:
        if change: signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGURG, signal.SIGUSR1])
        os.execv(grep, look)
    os.waitpid(pid, 0)
def every(name):
    print(name, flush=True)
    for _ in range(3):
        spin(3)
        subprocess.run(look)  # by vfork(), with everything blocked meanwhile
        subprocess.run(look, preexec_fn=lambda: None)  # by fork()
        subprocess.run(look, close_fds=False)
        os.waitpid(os.posix_spawn(grep, look, os.environ), 0)
        os.waitpid(os.posix_spawn(grep, look, os.environ, setsigmask=[signal.SIGUSR2]), 0)
        forked(False)
        forked(True)
        os.system(" ".join(look).replace("(", "'(").replace(")", ")'"))
every("as ever")
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
every("all blocked")
signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGUSR1])
every("one blocked")
"""


MASKED = (
    SPIN
    + """
import signal, time
URGENT = signal.SIGURG
others = [n for n in signal.valid_signals() if 0 < n < 32 and n != URGENT]
def blocked(signals):
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    told = URGENT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return before, told
def nothing():
    spin(300)
def everything():
    before, told = blocked(signal.valid_signals())
    spin(300)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return told
def sixteen():
    before, told = blocked([URGENT, *others[:15]])
    spin(300)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return told
def fifteen():
    before, told = blocked([URGENT, *others[:14]])
    spin(300)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return told
def by_name():
    before, told = blocked([URGENT])
    spin(300)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return told
nothing()
print(everything(), sixteen(), fifteen(), by_name())
"""
)


def test_who_blocks_nearly_everything_is_sampled_and_who_names_our_signal_is_not(
    inferscope: Any, python: str, tmp_path: Path
) -> None:
    """A set of 16 signals up to 31 was not made for SIGURG; a smaller one that has it was: nothing of ours comes."""
    run = run_python(inferscope, python, tmp_path, MASKED, rate="500")
    assert run.stdout == "True True True True\n"
    # Counted by how many there are: the one that comes when the signal is let in again stands for all that time.
    count: Counter[str] = Counter()
    for sample in samples(run):
        count.update(set(sample.names(tmp_path / "program.py")))
    assert count["nothing"] > 20, count
    assert min(count["everything"], count["sixteen"]) > count["nothing"] / 2, count
    assert max(count["fifteen"], count["by_name"]) < count["nothing"] / 5, count


@pytest.mark.parametrize("follow", ["python", "all", "none"])
def test_H3_children_start_with_the_mask_that_the_program_gave_them(
    inferscope: Any, python: str, tmp_path: Path, follow: str
) -> None:
    run = run_python(inferscope, python, tmp_path, SPIN + MASKS, more=(*ALL, "--follow", follow))
    assert run.stdout.count("SigBlk") == 3 * 3 * 8
    assert stacks_of(run, "spin") > 5


@pytest.mark.parametrize("rate", ["200", "1000"])
def test_H4_blocking_calls_are_not_broken_off(
    inferscope: Any, target: Callable[[str], str], count: Any, rate: str
) -> None:
    """In none of the calls that a signal would break off, after any part of a step."""
    seconds = count(2, 60)
    run = same(inferscope, target("patient.c"), str(seconds), rate=rate, more=ALL)
    assert "other 0" in run.stdout
    assert len(samples(run)) > 20


def test_H4_a_large_process_forks(inferscope: Any, target: Callable[[str], str], count: Any) -> None:
    """A copy that takes longer than a step: were it broken off at each, it would never be made."""
    for rate in ("200", "1000"):
        run = same(inferscope, target("large_fork.c"), str(count(1, 4)), rate=rate, more=ALL)
        assert run.stdout == "forked 3\n"


# ---- faults -------------------------------------------------------------------


LATER = """
import faulthandler, sys, threading
spinning, begun = True, threading.Barrier(3)
def forever():
    begun.wait()
    while spinning: pass
threads = [threading.Thread(target=forever) for _ in range(2)]
for thread in threads: thread.start()
begun.wait()
spin(100)
faulthandler.dump_traceback_later(0.15, file=sys.stderr)
time.sleep(1)
faulthandler.cancel_dump_traceback_later()
spinning = False
for thread in threads: thread.join()
print("cancelled", flush=True)
faulthandler.dump_traceback_later(0.1, exit=True)
time.sleep(10)
"""


def test_H3_tracebacks_are_dumped_later(inferscope: Any, python: str, tmp_path: Path) -> None:
    run = run_python(inferscope, python, tmp_path, SPIN + LATER, more=ALL)
    assert run.stdout == "cancelled\n" and run.returncode == 1
    assert run.stderr.count("Timeout (0:00:00.15") == 1 and "in forever" in run.stderr


FAULTS = {
    "read": "ctypes.string_at(0)",
    "in a thread": "t = threading.Thread(target=ctypes.string_at, args=(0,)); t.start(); t.join()",
    "abort": "ctypes.CDLL(None).abort()",
    "illegal": "os.kill(os.getpid(), signal.SIGILL)",
    "division": "os.kill(os.getpid(), signal.SIGFPE)",
    "bus": "truncated()",
}


@pytest.mark.parametrize("enabled", [True, False], ids=["faulthandler", "bare"])
@pytest.mark.parametrize("fault", FAULTS)
def test_H3_a_fault_ends_a_program_as_ever(
    inferscope: Any, python: str, tmp_path: Path, fault: str, enabled: bool
) -> None:
    run = run_python(
        inferscope,
        python,
        tmp_path,
        SPIN
        + f"""
import ctypes, faulthandler, mmap, os, signal, sys, threading
def truncated():
    fd = os.memfd_create("short")
    os.ftruncate(fd, 8192)
    m = mmap.mmap(fd, 8192)
    os.ftruncate(fd, 0)
    return m[5000]
beside = threading.Thread(target=spin, args=(100000,), daemon=True); beside.start()
if {enabled}: faulthandler.enable(all_threads=False)
spin(60)
print("now", flush=True)
{FAULTS[fault]}
""",
        more=ALL,
    )
    assert run.returncode < 0 and run.stdout == "now\n"
    assert ("most recent call first" in run.stderr) == enabled


def test_H3_a_fault_finds_the_stack_that_the_program_gave_it(inferscope: Any, target: Callable[[str], str]) -> None:
    run = same(inferscope, target("unstacked.c"), more=ALL)
    assert "thread: faults 40, on its own stack 40" in run.stdout
    # Ours is back after each.
    assert len(samples(run)) > 15


OVERFLOW = """
import ctypes, faulthandler, sys, threading
if {enabled}: faulthandler.enable(all_threads=False)
library = ctypes.CDLL({library!r})
spin(50)
print("now", flush=True)
if {thread}:
    t = threading.Thread(target=library.overflow, args=(0,)); t.start(); t.join()
else:
    library.overflow(0)
"""


@pytest.mark.parametrize("thread", [False, True], ids=["main", "thread"])
@pytest.mark.parametrize("enabled", [True, False], ids=["faulthandler", "bare"])
def test_H9_a_stack_overflow_ends_a_program_as_ever(
    inferscope: Any, python: str, tmp_path: Path, enabled: bool, thread: bool
) -> None:
    """A handler needs a stack of its own for that; who has none dies in silence, with us as well."""
    source, library = tmp_path / "overflow.c", tmp_path / "overflow.so"
    source.write_text(
        "int overflow(int n) { volatile char room[4096]; room[n % 4096] = 1; return overflow(n + 1) + room[0]; }\n"
    )
    subprocess.run(["cc", "-O0", "-w", "-shared", "-fPIC", source, "-o", library], check=True)
    code = SPIN + OVERFLOW.format(enabled=enabled, thread=thread, library=str(library))
    run = run_python(inferscope, python, tmp_path, code, more=ALL)
    assert run.returncode == -11 and run.stdout == "now\n"


# ---- stacks -------------------------------------------------------------------


SMALL = """
import sys, threading
def down(n): return down(n - 1) + 1 if n else spin(3) or 0
told = []
def limited(n):
    try: told.append(down(n))
    except RecursionError: told.append("too deep")
threading.stack_size(64 * 1024)
for _ in range(10):
    threads = [threading.Thread(target=limited, args=(20,)) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(told)
threading.stack_size(0)
"""


def test_H9_python_threads_with_64_KiB_of_stack(inferscope: Any, python: str, tmp_path: Path) -> None:
    run = run_python(inferscope, python, tmp_path, SPIN + SMALL, more=ALL)
    assert stacks_of(run, "down") > 40


DEEP = """
import sys, threading
sys.setrecursionlimit(1_000_000)
def down(n):
    if n: return down(n - 1) + 1
    spin(300)
    return 1
def through(n):
    if n: return max([n], key=lambda _: through(n - 1))
    spin(300)
    return 1
threading.stack_size(512 << 20)
for function, depth in ((down, 20000), (through, 2000)):
    t = threading.Thread(target=lambda: print(function(depth))); t.start(); t.join()
"""


def test_H9_deep_recursion_in_python_and_through_c(inferscope: Any, python: str, tmp_path: Path) -> None:
    run = run_python(inferscope, python, tmp_path, SPIN + DEEP, more=(*ALL, "--no-python"))
    deep = [s for s in samples(run) if len(s.frames) >= 500]
    assert len(deep) > 50 and all(s.flags & {"cut", "native_cut"} for s in deep)


PERF = """
import sys
assert sys.is_stack_trampoline_active()
def key(x):
    spin(1)
    return x
def outer(): sorted(range(400), key=key)
outer()
print("done")
"""


def test_perf_trampolines_of_the_interpreter(inferscope: Any, python: str, tmp_path: Path) -> None:
    if version_of(python) < (3, 12):
        pytest.skip("there is no -X perf before 3.12")
    program = tmp_path / "program.py"
    program.write_text(SPIN + PERF)
    run = same(inferscope, python, "-X", "perf", program, more=ALL)
    taken = [s for s in samples(run) if "spin" in s.names(program)]
    assert len(taken) > 100
    assert sum(s.names(program)[-3:] == ["outer", "key", "spin"] for s in taken) > 0.98 * len(taken)
    assert sum(bool(s.flags & {"native_cut", "unplaced", "fault"}) for s in taken) < 0.05 * len(taken)


GREENLETS = """
import greenlet, threading
def child(n):
    spin(2)
    greenlet.getcurrent().parent.switch()
    leaf(n)
def leaf(n):
    spin(2)
    if n: greenlet.greenlet(child).switch(n - 1)
def run():
    for _ in range(20):
        some = [greenlet.greenlet(child) for _ in range(4)]
        for g in some: g.switch(3)
        for g in some: g.switch()
threads = [threading.Thread(target=run) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
print("all")
"""


@pytest.mark.integration
def test_greenlets_are_sampled(inferscope: Any, greenlet_python: str, tmp_path: Path) -> None:
    run = run_python(inferscope, greenlet_python, tmp_path, SPIN + GREENLETS, more=ALL)
    program = tmp_path / "program.py"
    taken = [s.names(program) for s in samples(run) if "spin" in s.names(program)]
    assert len(taken) > 100
    for names in taken:
        assert names[-2:] in (["child", "spin"], ["leaf", "spin"]), names
        assert all(b == "child" for a, b in zip(names, names[1:]) if a == "run"), names
    assert not any("fault" in s.flags for s in samples(run))


# ---- births and deaths --------------------------------------------------------


def test_H7_threads_are_born_and_die_in_every_way(inferscope: Any, target: Callable[[str], str], count: Any) -> None:
    run = same(inferscope, target("births.c"), str(count(3, 300)), timeout=900, more=ALL)
    assert run.stdout == "wrong 0, enough 1\n"
    assert len(samples(run)) > 300


@pytest.mark.parametrize("rate", ["200", "1000"])
def test_H2_children_of_every_kind_from_threads(
    inferscope: Any, target: Callable[[str], str], count: Any, rate: str
) -> None:
    run = same(inferscope, target("spawns.c"), str(count(2, 60)), rate=rate, more=(*ALL, "--follow", "all"))
    assert run.stdout == "1 1 1 1 1\nbad 0\n"
    assert len({s.process for s in samples(run)}) > 5
