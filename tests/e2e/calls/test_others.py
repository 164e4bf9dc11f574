"""Programs that trace themselves work the same with and without us."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.calls.counting import calls, version
else:
    from counting import calls, version

ROOT = Path(__file__).resolve().parents[3]

BODY = """
def leaf(x): return x
def gen(n):
    for i in range(n): yield leaf(i)
def fails():
    try: int('x')
    except ValueError: raise KeyError
class A:
    def __init__(self): self.x = len([1])
    def __len__(self): return 3
def work():
    list(gen(5)); A(); len(A())
    try: fails()
    except KeyError: pass
    return sorted([3, 1], key=leaf)
"""

COUNT = """
import collections, sys, threading
seen = collections.Counter()
def note(frame, event, arg):
    if frame.f_code.co_filename == __file__: seen[frame.f_code.co_name, event, frame.f_lineno] += 1
    return note
"""

PROGRAMS = {
    "settrace": BODY + COUNT + "sys.settrace(note); work(); sys.settrace(None); print(sorted(seen.items()))",
    "setprofile": BODY + COUNT + "sys.setprofile(note); work(); sys.setprofile(None); print(sorted(seen.items()))",
    "getters": BODY + COUNT + "print(sys.getprofile(), sys.gettrace()); sys.setprofile(note); work()\n"
    "print(sys.getprofile() is note); sys.setprofile(None); print(sys.getprofile())",
    "threads": BODY + COUNT + "threading.setprofile(note); threading.settrace(note)\n"
    "ts = [threading.Thread(target=work) for _ in range(3)]\n"
    "for t in ts: t.start(); t.join()\n"
    "print(sorted(seen.items()))",
    "cprofile": BODY + "import cProfile\np = cProfile.Profile(); p.runcall(work)\n"
    "print(sorted((e.code if isinstance(e.code, str) else e.code.co_name, e.callcount) for e in p.getstats()))",
    "cprofile_twice": BODY + "import cProfile\n"
    "for i in range(3):\n    p = cProfile.Profile(); p.enable(); work(); p.disable(); print(len(p.getstats()))",
    "bdb": BODY + "import bdb\nclass B(bdb.Bdb):\n    n = 0\n    def user_line(self, f): B.n += 1\n"
    "b = B(); b.runcall(work); print(B.n)",
    "trace_module": BODY + "import trace\nt = trace.Trace(count=1, trace=0); t.runfunc(work)\n"
    "print(sorted((l, n) for (f, l), n in t.results().counts.items() if f == __file__))",
    "raising_tracer": BODY + "import sys\ndef bad(*a): raise ZeroDivisionError\nsys.setprofile(bad)\n"
    "try: work()\nexcept ZeroDivisionError: print('raised', sys.getprofile())",
    "frames": BODY + "import sys, inspect, traceback\ndef depth():\n    n, f = 0, sys._getframe()\n"
    "    while f: n, f = n + 1, f.f_back\n    return n\nprint(depth(), [f.function for f in inspect.stack()])\n"
    "def g(): yield depth()\nprint(next(g()), [x for x in g()])\n"
    "try: fails()\nexcept KeyError: traceback.print_exc()",
    "recursion_limit": "import sys\ndef down(n):\n    global most\n    most = n\n    down(n + 1)\n"
    "try: down(0)\nexcept RecursionError as e: print(most, e)\n"
    "sys.setrecursionlimit(3000)\ntry: down(0)\nexcept RecursionError as e: print(most, e)",
    "deep": "import sys\nsys.setrecursionlimit(10**6)\ndef down(n): return n if n == 0 else down(n - 1)\n"
    "print(down(9000 if sys.version_info < (3, 11) else 60000))",
    "small_stacks": "import sys, threading\nthreading.stack_size(256 * 1024)\nsys.setrecursionlimit(100000)\n"
    "def down(n): return n if n == 0 else down(n - 1)\n"
    "def run(): print(down(300 if sys.version_info < (3, 11) else 3000))\n"
    "for i in range(3):\n    t = threading.Thread(target=run); t.start(); t.join()",
    "tracemalloc": BODY + "import tracemalloc\ntracemalloc.start(); work(); x = leaf([1] * 1000)\n"
    "s = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)]); print(len(s.traces) > 0)",
    "code_extra": BODY
    + "import sys\nprint(sys.getsizeof(work.__code__) > 0, work.__code__ == work.__code__.replace())",
    "code_extra_of_others": """
import ctypes
Free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
freed = []
free = Free(freed.append)
names = ("PyUnstable_Eval_RequestCodeExtraIndex", "PyUnstable_Code_SetExtra")
names = names if hasattr(ctypes.pythonapi, names[0]) else ("_PyEval_RequestCodeExtraIndex", "_PyCode_SetExtra")
ask, put = (getattr(ctypes.pythonapi, name) for name in names)
ask.argtypes, ask.restype = [Free], ctypes.c_ssize_t
put.argtypes = [ctypes.py_object, ctypes.c_ssize_t, ctypes.c_void_p]
index = ask(free)
def make():
    space = {}
    exec('def f(): return 1', space)
    return space['f']
f = make(); f(); del f
f = make(); f(); put(f.__code__, index, 7); f(); del f
f = make(); put(f.__code__, index, 8); f(); put(f.__code__, index, 9); f(); del f
print(freed)
""",
    "modules": "import sys; print([m for m in sys.modules if 'inferscope' in m and m != '_inferscope_boot'])",
    "thread_names": "import threading; print([t.name for t in threading.enumerate()])",
    "fork_warns_of_nothing": BODY
    + "import os, warnings\nwarnings.simplefilter('error')\nwork()\nfor i in range(30000): leaf(i)\n"
    "pid = os.fork()\nif pid == 0: work(); os._exit(7)\nprint(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))",
    "fork_in_a_thread": BODY
    + "import os, threading, warnings\nwarnings.simplefilter('ignore')\ndef child():\n    pid = os.fork()\n"
    "    if pid == 0:\n        for i in range(1000): work()\n        os._exit(5)\n"
    "    print(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))\n"
    "ts = [threading.Thread(target=child) for _ in range(4)]\nfor t in ts: t.start()\nfor t in ts: t.join()",
    # Turns are short: a million calls more would prove nothing more.
    "daemon_threads": BODY + "import sys, threading, time\nsys.setswitchinterval(0.0005)\ndef spin():\n"
    "    while True: work()\n"
    "for i in range(4): threading.Thread(target=spin, daemon=True).start()\ntime.sleep(0.01); print('end')",
    "daemon_threads_and_atexit": BODY + "import atexit, threading\natexit.register(work)\n"
    "class D:\n    def __del__(self): work()\nd = D()\n"
    "threading.Thread(target=lambda: [work() for _ in iter(int, 1)], daemon=True).start(); print('end')",
    "subinterpreters": BODY
    + "import sys\ntry:\n    import _interpreters as i\nexcept ImportError:\n    import _xxsubinterpreters as i\n"
    "x = i.create()\nrun = getattr(i, 'exec', None) or i.run_string\n"
    "run(x, 'def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\\nf(10)'); i.destroy(x); work(); print('end')",
    "signals": BODY
    + "import signal\nn = 0\ndef on(*a):\n    global n\n    n += 1; work()\nsignal.signal(signal.SIGALRM, on)\n"
    "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\nwhile n < 30: work()\n"
    "signal.setitimer(signal.ITIMER_REAL, 0)\nprint('end')",
    "warnings_of_coroutines": "import asyncio, gc\nasync def f(): pass\nf()\ngc.collect()\nprint('end')",
    "uncaught": BODY + "work()\nfails()",
}

# Only where there is sys.monitoring.
MONITORING = {
    "all_events": """
import sys, collections
m = sys.monitoring; E = m.events; seen = collections.Counter()
def note(name):
    def f(code, *a):
        if code.co_filename == __file__: seen[name, code.co_name] += 1
    return f
m.use_tool_id(1, 'coverage')
every = 0
for name in ('PY_START', 'PY_RESUME', 'PY_RETURN', 'PY_YIELD', 'PY_THROW', 'PY_UNWIND', 'LINE', 'CALL', 'C_RETURN',
             'C_RAISE', 'JUMP', 'BRANCH', 'RAISE', 'EXCEPTION_HANDLED', 'STOP_ITERATION'):
    e = getattr(E, name); m.register_callback(1, e, note(name))
    every |= 0 if name.startswith('C_') else e
m.set_events(1, every); work(); m.set_events(1, 0); m.free_tool_id(1)
print(sorted(seen.items()))
""",
    "disable_and_restart": """
import sys, collections
m = sys.monitoring; E = m.events; seen = collections.Counter()
def note(code, *a):
    if code.co_filename == __file__: seen[code.co_name] += 1
    return m.DISABLE
m.use_tool_id(3, 'mine'); m.register_callback(3, E.PY_START, note); m.register_callback(3, E.LINE, note)
m.set_events(3, E.PY_START | E.LINE)
for i in range(3): work(); m.restart_events()
m.set_events(3, 0); print(sorted(seen.items()))
""",
    "local_events": """
import sys, collections
m = sys.monitoring; E = m.events; seen = collections.Counter()
m.use_tool_id(4, 'mine'); m.register_callback(4, E.PY_RETURN, lambda code, o, r: seen.update([code.co_name]))
m.set_local_events(4, leaf.__code__, E.PY_RETURN); work(); m.set_local_events(4, leaf.__code__, 0); work()
print(sorted(seen.items()), m.get_events(4), m.get_local_events(4, work.__code__))
""",
    "every_low_tool": """
import sys
m = sys.monitoring
for i in range(5): m.use_tool_id(i, str(i))
print([m.get_tool(i) for i in range(5)]); work()
for i in range(5): m.free_tool_id(i)
""",
    "events_of_extension_modules": """
import sys
try: import _testcapi as t
except ImportError: t = None
m = sys.monitoring; E = m.events; seen = []
if hasattr(t, 'CodeLike'):
    m.use_tool_id(3, 'mine')
    for i, (event, fire, *more) in enumerate([
        (E.PY_START, t.fire_event_py_start), (E.PY_RESUME, t.fire_event_py_resume),
        (E.PY_YIELD, t.fire_event_py_yield, 1), (E.PY_RETURN, t.fire_event_py_return, 2),
        (E.PY_THROW, t.fire_event_py_throw, ValueError()), (E.PY_UNWIND, t.fire_event_py_unwind, ValueError()),
    ]):
        code = t.CodeLike(2)
        m.register_callback(3, event, lambda code, *a, i=i: seen.append(i) if isinstance(code, t.CodeLike) else None)
        m.set_events(3, event)
        t.monitoring_enter_scope(code, event.bit_length() - 1)
        for _ in range(3): fire(code, 0, *more)
        t.monitoring_exit_scope(); m.set_events(3, 0)
work(); print(seen)
""",
    "our_tool_freed": """
import sys
work(); sys.monitoring.free_tool_id(5); work()
for i in range(1000): exec('def f(): pass\\nf()')
print('end')
""",
}


def both(inferscope: Any, python: str, program: Path, *options: str) -> Any:
    """Runs it alone and traced; nobody but us can tell."""
    alone = subprocess.run(
        [python, program],
        capture_output=True,
        text=True,
        env=inferscope.environment,
        cwd=inferscope.folder,
        timeout=60,
        check=False,
    )
    run = inferscope("run", "--no-report", "--python", python, *options, program)
    assert (run.stdout, run.theirs, run.returncode) == (alone.stdout, alone.stderr, alone.returncode)
    return run


# The interpreter tells a profile function that was just set of the return of sys.setprofile() itself if
# C calls were traced when it was called: docs/calls.md.
NOT_WITH_C_CALLS = ("setprofile", "raising_tracer")


@pytest.mark.parametrize(
    "options", [[], ["--budget", "off", "--all-frames"], ["--budget", "off", "--c-calls"]], ids=["", "all", "c"]
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_sees_what_it_would_see_alone(
    inferscope: Any, tmp_path: Path, python: str, name: str, options: list[str]
) -> None:
    if "--c-calls" in options and name in NOT_WITH_C_CALLS:
        pytest.skip("sees the return of sys.setprofile() too")
    program = tmp_path / f"others_{name}.py"
    program.write_text(PROGRAMS[name])
    run = both(inferscope, python, program, *options)
    if "work" in PROGRAMS[name] and run.returncode >= 0:
        assert calls(run, program), "and yet it was traced"


@pytest.mark.parametrize("name", MONITORING)
def test_users_of_monitoring_see_what_they_would_see_alone(
    inferscope: Any, tmp_path: Path, python: str, name: str
) -> None:
    if version(python) < (3, 12):
        pytest.skip("no sys.monitoring before 3.12")
    program = tmp_path / f"others_{name}.py"
    program.write_text(BODY + MONITORING[name])
    if name == "our_tool_freed":
        run = inferscope("run", "--no-report", "--python", python, program)
        assert (run.stdout, run.theirs, run.returncode) == ("end\n", "", 0)
    else:
        run = both(inferscope, python, program, "--budget", "off")
    assert calls(run, program)["work:11"] >= 1


def evaluator(python: str, folder: Path) -> Path:
    """The frame evaluation hook, for this Python."""
    said = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    out = folder / "eval_hook.so"
    source = ROOT / "tests" / "targets" / "eval_hook.c"
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{said.stdout.strip()}", source, "-o", out], check=True)
    return out


HOOKED = """
import ctypes, sys
hook = ctypes.PyDLL({so!r})
def leaf(): return 1
def work():
    for i in range(100): leaf()
work()
before = hook.count(); hook.{install}(); work(); hook.restore(); after = hook.count()
work()
print(after - before > 100)
"""


@pytest.mark.parametrize("install", ["install", "install_alone"])
def test_a_frame_evaluation_hook_that_comes_later_works(
    inferscope: Any, tmp_path: Path, python: str, install: str
) -> None:
    program = tmp_path / "hooked.py"
    program.write_text(HOOKED.format(so=str(evaluator(python, tmp_path)), install=install))
    run = inferscope("run", "--no-report", "--budget", "off", "--python", python, program)
    assert (run.stdout, run.theirs, run.returncode) == ("True\n", "", 0)
    # One that calls us lets us see all; one that does not hides what it evaluates (before 3.12), and
    # what it restores is the default: from then on we are gone.
    counted = calls(run, program)["leaf:4"]
    assert counted == (300 if install == "install" or version(python) >= (3, 12) else 100)


def test_a_frame_evaluation_hook_that_was_there_is_called(
    inferscope: Any, tmp_path: Path, python: str, stage: Path
) -> None:
    program = tmp_path / "first.py"
    package = stage / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    start = f"""
import ctypes, os, sys
hook = ctypes.PyDLL({str(evaluator(python, tmp_path))!r})
hook.install()
sys.path.insert(0, {str(package)!r})
from inferscope import _core
assert _core.attach(os.environ['INFERSCOPE_SESSION'])
def leaf(): return 1
def work():
    for i in range(100): leaf()
before = hook.count(); work()
print(hook.count() - before > 100)
"""
    program.write_text(start)
    run = inferscope("run", "--no-report", "--budget", "off", "--", python, "-S", program)
    assert (run.stdout, run.theirs, run.returncode) == ("True\n", "", 0)
    assert calls(run, program)["leaf:8"] == 100
