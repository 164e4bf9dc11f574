"""mark_event, counter, and the package where there is nothing to record or nothing to record with."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

BAD = """
from inferscope import counter, mark_event, scope
calls = [
    lambda: mark_event(), lambda: mark_event(1), lambda: mark_event("a", 3), lambda: mark_event("a", "b"),
    lambda: mark_event("a", {}, 1), lambda: mark_event("a", meta={}), lambda: mark_event("a", name="b"),
    lambda: counter("a"), lambda: counter(1, 2), lambda: counter("a", "2"), lambda: counter("a", None),
    lambda: scope(3), lambda: scope("a")(None),
]
for call in calls:
    try:
        call()
    except TypeError:
        print("TypeError")
    else:
        print("nothing")
"""

USE = """
from inferscope import counter, mark_event, scope
class Odd:
    def __float__(self): raise OSError("no")
class Fair:
    def __index__(self): return 5
with scope("request") as s, scope("again"):
    mark_event("plain")
    mark_event("facts", {"n": 12, "text": "p\\u00e4r\\"on", "list": [1, None, True]})
    mark_event("none", None)
    mark_event(name="named", metadata={"a": {}})
    mark_event("no json", {"a": object()})
    mark_event("no number", {"a": float("nan")})
    mark_event("large", {"a": "x" * 5000})
    loop = {}; loop["loop"] = loop
    mark_event("endless", loop)
    for value in (3, 2.5, True, 1 << 70, Fair()):
        counter("queue", value)
    counter("queue", 1 << 5000)
    counter("queue", Odd())
    counter(name="named", value=1)
@scope("f")
def f(): return s.name
print(f(), s)
"""


def test_bad_arguments_are_type_errors_with_and_without_a_session(traced: Any, python: str) -> None:
    assert traced(BAD, python).stdout == "TypeError\n" * 13


def test_marks_and_counters(traced: Any, python: str) -> None:
    done = traced(USE, python)
    assert done.stdout == "request scope('request')\n"
    marks = [line.split(" instant ", 1)[1] for line in done.run.dump() if " instant " in line]
    assert marks == [
        '"plain"',
        r'"facts" "{\"n\":12,\"text\":\"p\\u00e4r\\\"on\",\"list\":[1,null,true]}"',
        '"none"',
        r'"named" "{\"a\":{}}"',
        '"no json" arg 1',
        '"no number" arg 1',
        '"large" arg 1',
        '"endless" arg 1',
    ]
    samples = [line.split(" counter ", 1)[1] for line in done.run.dump() if "#" in line and " counter " in line]
    numbers = ["3", "2.5", "1", "1.1805916207174113e+21", "5"]
    assert samples == [*(f'"queue" {n}' for n in numbers), '"named" 1']


def bare(python: str, program: str, path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [python, "-c", program]
    full = {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1", **env}
    return subprocess.run(command, env=full, capture_output=True, text=True, timeout=60, check=False)


def test_without_the_native_part_nothing_happens_and_nothing_breaks(package: Path, tmp_path: Path, python: str) -> None:
    shutil.copytree(package / "inferscope", tmp_path / "inferscope", ignore=shutil.ignore_patterns("*.so", "bin"))
    with_it, without = bare(python, USE, package), bare(python, USE, tmp_path)
    assert (without.returncode, without.stdout, without.stderr) == (0, with_it.stdout, "")
    assert bare(python, BAD, tmp_path).stdout == "TypeError\n" * 13
    done = bare(python, "import inferscope; print(inferscope.scope.__module__, inferscope.active())", tmp_path)
    assert done.stdout == "inferscope._inert False\n", done.stderr


def test_the_import_is_light(package: Path, python: str) -> None:
    program = """
import sys
before = set(sys.modules)
from inferscope import scope
with scope("x"): pass
print(sorted(set(sys.modules) - before))
"""
    assert bare(python, program, package).stdout == "['inferscope', 'inferscope._core']\n"


def test_the_module_may_be_initialised_again(traced: Any, python: str) -> None:
    found = traced(
        """
import sys, gc
from inferscope import scope
with scope("outer"):
    for name in [n for n in sys.modules if n.startswith("inferscope")]:
        del sys.modules[name]
    gc.collect()
    from inferscope import scope as again
    with again("inner"):
        pass
print(again is scope)
""",
        python,
    ).scopes
    assert found.around(found.one("inner")) == "outer"


def test_subinterpreters_have_their_own(traced: Any, python: str) -> None:
    """Their scopes are recorded too; nothing is shared between interpreters."""
    done = traced(
        """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
from inferscope import scope
code = '''
import inferscope
s = inferscope.scope("sub")
with s:
    with inferscope.scope("sub inner"):
        pass
s.__enter__()
'''
with scope("main"):
    for _ in range(3):
        sub = interpreters.create()
        interpreters.run_string(sub, code)
        interpreters.destroy(sub)
    with scope("main inner"):
        pass
print("alive")
""",
        python,
    )
    assert done.stdout == "alive\n"
    found = done.scopes
    assert len(found.named("sub")) == 6 and len(found.named("sub inner")) == 3
    assert {found.around(s) for s in found.named("sub inner")} == {"sub"}
    assert found.around(found.one("main inner")) == "main"
