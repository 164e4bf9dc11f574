"""NVTX ranges of a program become scopes, and the program does not notice."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Scopes, scopes_of

ROOT = Path(__file__).resolve().parents[3]
UNNAMED = "(no message)"


def left(scopes: Scopes) -> bool:
    return all(s.left_s is not None for s in scopes)


@pytest.fixture
def nvtx(inferscope: Any, target: Callable[[str], str]) -> Callable[..., tuple[Any, Scopes]]:
    """Runs one of the shapes; without a tool it must say the same."""

    def go(shape: str, *options: str, program: str = "") -> tuple[Any, Scopes]:
        program = program or target("nvtx.c")
        run = inferscope("run", "--follow", "all", *options, "--", program, shape)
        bare = subprocess.run([program, shape], env=inferscope.environment, capture_output=True, text=True, check=True)
        assert (run.returncode, run.stdout, run.theirs) == (0, bare.stdout, bare.stderr)
        few = [line for line in run.dump() if '"deep"' not in line and '"never ends"' not in line]
        return run, scopes_of(few if shape != "crowd" else [])

    return go


def counts(run: Any) -> dict[str, int]:
    return {s.name: s.count for s in run.report.scopes}


def check_shapes(run: Any, scopes: Scopes) -> None:
    names = ["outer", "lib:registered", "wide € 😀", "attributes", UNNAMED, UNNAMED, "x" * 1023]
    assert [s.name for s in scopes] == names
    assert [scopes.around(s) for s in scopes[:4]] == [None, "outer", "lib:registered", None]
    assert left(scopes)
    ends = [s.left_s or 0 for s in scopes]
    assert ends[0] > ends[2] > ends[1]
    marks = [line.split(" ", 4)[4] for line in run.dump() if " instant " in line]
    assert marks == ['instant "wäit:attributes"', 'instant "moment"']


def test_ranges_of_all_shapes_become_scopes(nvtx: Any) -> None:
    run, scopes = nvtx("shapes")
    check_shapes(run, scopes)
    assert counts(run)["outer"] == 1


def test_operators_of_pytorch_are_counted_by_their_names(nvtx: Any) -> None:
    run, _ = nvtx("operators")
    assert counts(run) == {"aten::addmm": 40, "step, part = 2": 1}


def test_a_range_may_end_on_another_thread_and_only_once(nvtx: Any) -> None:
    run, scopes = nvtx("threads")
    main, moves, open_one = scopes.one("main"), scopes.one("moves"), scopes.one("left open")
    assert moves.moved and moves.around == main.instance and moves.left_s is not None
    assert main.left_s is not None and not main.moved
    assert open_one.left_s is None and open_one.thread != main.thread
    named = [line for line in run.dump() if " thread_name " in line]
    assert len(named) == 1 and named[0].endswith('"the other"')


def test_a_fork_child_leaves_its_parents_ranges_alone(nvtx: Any) -> None:
    _, scopes = nvtx("fork")
    assert left(scopes)
    parent, child = scopes.one("around").process, scopes.one("child").process
    assert parent != child
    assert [s.process for s in scopes.named("lib:again")] == [parent, child]
    assert [s.name for s in scopes if s.process == child] == ["lib:again", "child"]


def test_more_ranges_in_each_other_than_there_is_room_for(nvtx: Any) -> None:
    run, scopes = nvtx("deep")
    assert 20000 < counts(run)["deep"] < 30000
    assert scopes.one("after").around == 0 and left(scopes)


def test_threads_do_not_disturb_each_other(nvtx: Any) -> None:
    run, _ = nvtx("crowd")
    found, lost = counts(run), run.report.overhead.lost
    for name in ("started", "second", "pushed"):
        assert 16000 - lost <= found[name] <= 16000, (name, found, lost)


def test_handles_are_not_believed(nvtx: Any) -> None:
    run, scopes = nvtx("hostile")
    assert [s.name for s in scopes] == [UNNAMED] * 3 + ["no such domain", UNNAMED, UNNAMED, "lib:string 1"]
    never = sum('scope_enter "never ends"' in line for line in run.dump())
    assert 65536 - run.report.overhead.lost <= never <= 65536


def test_a_tool_that_the_user_names_comes_first(inferscope: Any, target: Callable[[str], str]) -> None:
    env = {"NVTX_INJECTION64_PATH": "/nowhere/tool.so"}
    run = inferscope("run", "--follow", "all", "--", target("nvtx.c"), "shapes", env=env)
    assert run.returncode == 0 and "NVTX_INJECTION64_PATH=/nowhere/tool.so\n" in run.stdout
    assert not scopes_of(run.dump())


def test_ranges_before_the_recording_and_without_it_do_no_harm(nvtx: Any) -> None:
    _, scopes = nvtx("shapes", "--delay", "30")
    assert not scopes
    _, scopes = nvtx("shapes", "--no-agent")
    assert not scopes


@pytest.mark.integration
def test_the_real_header_finds_us(nvtx: Any, nvtx_python: str, tmp_path: Path) -> None:
    found = [*Path(nvtx_python).parents[1].glob("lib/python*/site-packages/nvidia/**/nvtx3/nvToolsExt.h")]
    assert found, "the package nvidia-nvtx brought no header"
    program = tmp_path / "real"
    source = ROOT / "tests" / "targets" / "nvtx.c"
    flags = ["-O1", "-D_GNU_SOURCE", "-DREAL_NVTX", f"-I{found[0].parents[1]}", "-pthread"]
    subprocess.run(["cc", *flags, str(source), "-o", str(program), "-ldl"], check=True)
    check_shapes(*nvtx("shapes", program=str(program)))


@pytest.mark.integration
def test_the_nvtx_package_of_python_finds_us(traced: Any, nvtx_python: str) -> None:
    done = traced(
        """
import os, threading
import nvtx
print([name for name in os.environ if "NVTX" in name])
with nvtx.annotate("step", color="blue"):
    with nvtx.annotate("inner", domain="lib"):
        nvtx.mark("moment")
started = nvtx.start_range("started")
thread = threading.Thread(target=nvtx.end_range, args=(started,))
thread.start()
thread.join()
nvtx.push_range("pushed")
nvtx.pop_range()
@nvtx.annotate()
def work(n):
    return n + 1
print([work(n) for n in range(3)])
""",
        nvtx_python,
    )
    scopes = done.scopes
    assert [s.name for s in scopes] == ["step", "lib:inner", "started", "pushed", "work", "work", "work"]
    assert scopes.around(scopes.one("lib:inner")) == "step"
    assert scopes.one("started").moved
    assert left(scopes)
