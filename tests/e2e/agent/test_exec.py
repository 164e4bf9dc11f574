"""Our variables follow the program into what it starts, and stay out of what could not bear them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

AGENT, FOLLOW_PYTHON, FOLLOW_ALL = 1, 2, 4
WAYS = [
    "execve",
    "execv",
    "execvp",
    "execvpe",
    "execl",
    "execlp",
    "execle",
    "execveat",
    "fexecve",
    "null",
    "spawn",
    "spawnp",
    "vfork",
]


def seen(text: str) -> dict[str, str]:
    """What show_env printed."""
    first, *rest = text.splitlines()
    pairs = (part.partition("=") for part in [*first.split(" "), *rest])
    return {name: value for name, _, value in pairs}


def ours(preload: Any) -> dict[str, str]:
    return {"loaded": "1", "LD_PRELOAD": str(preload.library), "INFERSCOPE_SESSION": str(preload.folder)}


NONE = {"loaded": "0", "LD_PRELOAD": "(none)", "INFERSCOPE_SESSION": "(none)"}


def has(found: dict[str, str], expected: dict[str, str]) -> bool:
    return {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize("way", WAYS)
def test_an_emptied_environment_gets_us_back(session: Any, target: Callable[[str], str], way: str) -> None:
    s = session()
    said = s(target("start_ways.c"), way, target("show_env.c"))
    assert said.returncode == 0, said.stderr
    found = seen(said.stdout)
    assert has(found, ours(s))
    assert found["KEPT"] == ("(none)" if way == "null" else "yes")
    assert found["argv0"] == target("show_env.c")


@pytest.mark.parametrize("way", WAYS)
def test_without_a_session_the_environment_is_the_programs(
    preload: Any, target: Callable[[str], str], way: str
) -> None:
    said = preload(target("start_ways.c"), way, target("show_env.c"))
    assert has(seen(said.stdout), NONE)


def test_the_way_holds_over_three_generations(session: Any, target: Callable[[str], str]) -> None:
    s, start = session(), target("start_ways.c")
    said = s(start, "vfork", "/usr/bin/env", "-i", start, "spawn", start, "execle", target("show_env.c"))
    assert said.returncode == 0, said.stderr
    said = s(start, "vfork", start, "spawn", start, "execve", start, "execvp", target("show_env.c"))
    assert has(seen(said.stdout), ours(s))


def cleaners(show: str, python: str) -> dict[str, list[str]]:
    run = f"import subprocess; subprocess.run(['{show}'], env={{}}"
    spawn = f"import os; pid = os.posix_spawn('{show}', ['{show}'], {{}}); os.waitpid(pid, 0)"
    return {
        "env -i": ["env", "-i", show],
        "env -u": ["env", "-u", "LD_PRELOAD", "-u", "INFERSCOPE_SESSION", show],
        "bash exec -c": ["bash", "-c", f"exec -c {show}"],
        "sh unset": ["sh", "-c", f"unset LD_PRELOAD INFERSCOPE_SESSION; {show}; true"],
        "perl exec": ["perl", "-e", f"%ENV = (); exec '{show}'"],
        "perl system": ["perl", "-e", f"%ENV = (); system '{show}', 'x'"],
        "python vfork": [python, "-c", run + ")"],
        "python fork": [python, "-c", run + ", preexec_fn=lambda: None)"],
        "python posix_spawn": [python, "-c", spawn],
        "python execve": [python, "-c", f"import os; os.execve('{show}', ['x'], {{}})"],
        "xargs": ["sh", "-c", f"echo x | env -i xargs {show}"],
        "find": ["env", "-i", "find", "/", "-maxdepth", "0", "-exec", show, ";"],
    }


@pytest.mark.parametrize("way", cleaners("", ""))
def test_programs_that_clean_the_environment_lose_us_not(
    session: Any, target: Callable[[str], str], python: str, way: str
) -> None:
    s = session()
    said = s(*cleaners(target("show_env.c"), python)[way])
    assert said.stderr == ""
    assert has(seen(said.stdout), ours(s))


def test_make_hands_us_on(session: Any, target: Callable[[str], str], tmp_path: Path) -> None:
    s = session()
    makefile = tmp_path / "Makefile"
    show = target("show_env.c")
    makefile.write_text(f"unexport LD_PRELOAD INFERSCOPE_SESSION\nall:\n\t@{show}\n\t@env -i {show}\n")
    said = s("make", "-s", "-f", makefile)
    lines = said.stdout.splitlines()
    assert len(lines) == 10
    for part in (lines[:5], lines[5:]):
        assert has(seen("\n".join(part)), ours(s))


def test_other_preloads_stay_behind_us(session: Any, target: Callable[[str], str]) -> None:
    s, show = session(), target("show_env.c")
    libm = "/lib/x86_64-linux-gnu/libm.so.6"
    said = s("env", "-i", f"LD_PRELOAD={libm}", show)
    assert seen(said.stdout)["LD_PRELOAD"] == f"{s.library}:{libm}"
    said = s("env", f"LD_PRELOAD={libm} {s.library}", show)
    assert seen(said.stdout)["LD_PRELOAD"] == f"{libm} {s.library}"


def test_the_folder_for_python_stays_out_of_other_programs(session: Any, target: Callable[[str], str]) -> None:
    s, show = session(), target("show_env.c")
    env = {**s.variables(), "PYTHONPATH": f"{s.library.parent}/_inject:/theirs"}
    assert seen(s.run("env", show, env=env).stdout)["PYTHONPATH"] == "/theirs"
    env["PYTHONPATH"] = "/a::/b"
    assert seen(s.run("env", show, env=env).stdout)["PYTHONPATH"] == "/a::/b"


def test_a_session_inside_the_session_is_left_alone(session: Any, target: Callable[[str], str]) -> None:
    for flags in (AGENT | FOLLOW_ALL, AGENT):
        s = session(flags)
        said = s("env", "INFERSCOPE_SESSION=/another/one", target("show_env.c"))
        assert seen(said.stdout)["INFERSCOPE_SESSION"] == "/another/one"
        assert seen(said.stdout)["LD_PRELOAD"] == str(s.library)
        shutil.rmtree(s.folder)


@pytest.mark.parametrize("way", WAYS)
def test_a_static_program_gets_nothing(
    session: Any, target: Callable[[str], str], build_c: Callable[..., Path], way: str
) -> None:
    static = build_c("show_env.c", "-static")
    s = session()
    found = seen(s(target("start_ways.c"), way, static).stdout)
    assert has(found, NONE)
    said = s("env", "LD_PRELOAD=" + f"/lib/x86_64-linux-gnu/libm.so.6:{s.library}", static)
    assert seen(said.stdout)["LD_PRELOAD"] == "/lib/x86_64-linux-gnu/libm.so.6"


def test_a_musl_program_gets_nothing_and_starts(session: Any, build_c: Callable[..., Path]) -> None:
    musl = build_c("show_env.c", cc="musl-gcc")
    said = session()("sh", "-c", f"{musl}; env -i {musl}")
    assert said.stderr == ""
    lines = said.stdout.splitlines()
    assert has(seen("\n".join(lines[:5])), NONE)
    assert has(seen("\n".join(lines[5:])), NONE)


def test_the_interpreter_of_a_script_decides(
    session: Any, target: Callable[[str], str], build_c: Callable[..., Path], tmp_path: Path
) -> None:
    static = build_c("show_env.c", "-static")
    for name, interpreter in (("of-static", static), ("of-ours", Path(target("show_env.c")))):
        script = tmp_path / name
        script.write_text(f"#! {interpreter} -x\n")
        script.chmod(0o755)
        again = tmp_path / f"{name}-again"
        again.write_text(f"#!{script}\n")
        again.chmod(0o755)
    s = session()
    for tail in ("", "-again"):
        assert has(seen(s("env", "-i", tmp_path / f"of-static{tail}").stdout), NONE)
        assert has(seen(s("env", "-i", tmp_path / f"of-ours{tail}").stdout), ours(s))


def test_a_library_that_is_gone_is_not_asked_for(
    session: Any, target: Callable[[str], str], tmp_path: Path, runtime: Path
) -> None:
    """A preload that is missing would be a line on the stderr of every program."""
    copy = tmp_path / "copy" / "libinferscope_rt.so"
    copy.parent.mkdir()
    shutil.copy(runtime, copy)
    s = session(library=copy)
    said = s("sh", "-c", f"rm {copy}; exec {target('show_env.c')}")
    # rm itself and the builtin exec come before and after it.
    assert said.stderr == ""
    assert has(seen(said.stdout), NONE)


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot is for root")
def test_after_chroot_we_are_taken_out(session: Any, tmp_path: Path, target: Callable[[str], str]) -> None:
    root = tmp_path / "root"
    libraries = subprocess.run(["ldd", "/bin/cat"], capture_output=True, text=True, check=True).stdout
    for file in ["/bin/cat", *(word for word in libraries.split() if word.startswith("/"))]:
        (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / file[1:])
    (root / "file").write_text("inside\n")
    said = session()("chroot", root, "/bin/cat", "/file")
    assert (said.returncode, said.stdout, said.stderr) == (0, "inside\n", "")


def test_a_path_with_blanks_goes_through_a_link(
    session: Any, target: Callable[[str], str], tmp_path: Path, runtime: Path
) -> None:
    project = tmp_path / "My Project"
    project.mkdir()
    shutil.copy(runtime, project / "libinferscope_rt.so")
    link = tmp_path / "link-inferscope_rt.so"
    link.symlink_to(project / "libinferscope_rt.so")
    s = session(library=link)
    found = seen(s("env", "-i", target("show_env.c")).stdout)
    assert found["LD_PRELOAD"] == str(link)
    assert found["loaded"] == "1"


def test_with_follow_none_children_do_not_have_us(session: Any, target: Callable[[str], str]) -> None:
    s, start, show = session(AGENT), target("start_ways.c"), target("show_env.c")
    for way in WAYS:
        assert has(seen(s(start, way, show).stdout), NONE), way
    assert has(seen(s("sh", "-c", f"{show}; true").stdout), NONE)


def test_with_follow_none_the_program_itself_keeps_us_through_exec(session: Any, target: Callable[[str], str]) -> None:
    pid_then_run = 'echo $$ > "$1"; shift; while [ ! -s "$1" ]; do :; done; shift; exec env -i "$@"'
    s = session(AGENT)
    control = s.folder / "control"
    # The recorder writes the root's number before its exec; here the program waits for that.
    go, number = s.folder / "go", s.folder / "pid"
    process = subprocess.Popen(
        ["sh", "-c", pid_then_run, "sh", str(number), str(go), target("show_env.c")],
        env={**s.environment, **s.variables()},
        stdout=subprocess.PIPE,
        text=True,
    )
    while not number.exists() or not number.read_text().endswith("\n"):
        assert process.poll() is None
    with control.open("r+b") as file:
        file.seek(36)
        file.write(int(number.read_text()).to_bytes(4, "little"))
    go.write_text("go\n")
    out, _ = process.communicate(timeout=30)
    assert has(seen(out), ours(s))


def test_a_session_without_the_agent_only_forwards(session: Any, target: Callable[[str], str]) -> None:
    s = session(FOLLOW_ALL)
    assert has(seen(s("env", "-i", target("show_env.c")).stdout), NONE)


def test_an_environment_that_just_fits_still_does(session: Any, target: Callable[[str], str]) -> None:
    """Our variables may be the ones that are too much; then the program's own environment counts."""
    code = (
        "import os, sys\n"
        "show, extra = sys.argv[1], 1 << 12\n"
        "def fits(total):\n"
        "    env = {'KEPT': 'yes'}\n"
        "    for i in range(total // 100000): env[f'V{i:04}'] = 'x' * (100000 - 6)\n"
        "    env['LAST'] = 'x' * (total % 100000)\n"
        "    try:\n"
        "        pid = os.posix_spawn(show, [show], env)\n"
        "    except OSError as error:\n"
        "        return False\n"
        "    assert os.waitpid(pid, 0)[1] == 0\n"
        "    return True\n"
        "low, high = 0, 8 << 20\n"
        "while low + 1 < high:\n"
        "    middle = (low + high) // 2\n"
        "    low, high = (middle, high) if fits(middle) else (low, middle)\n"
        "print(low)\n"
    )
    s = session()
    with_us = s("python3", "-c", code, "/bin/true")
    without = s.bare("python3", "-c", code, "/bin/true")
    assert with_us.stdout == without.stdout != ""


def test_a_huge_environment_is_passed_on_as_it_is(session: Any, target: Callable[[str], str]) -> None:
    code = (
        "import os, sys\n"
        "env = {f'V{i}': '' for i in range(30000)} | {'KEPT': 'yes'}\n"
        "os.execve(sys.argv[1], [sys.argv[1]], env)\n"
    )
    found = seen(session()("python3", "-c", code, target("show_env.c")).stdout)
    assert has(found, {**NONE, "KEPT": "yes"})


def test_vfork_and_exec_leave_nothing_behind(
    session: Any, target: Callable[[str], str], count: Callable[[int, int], int]
) -> None:
    said = session()(target("start_ways.c"), "storm", str(count(1500, 10000)), "/bin/true", timeout=300)
    assert said.stdout == "failed 0, grown 0, environment kept\n"


def test_threads_that_start_programs_do_not_meet(
    session: Any, target: Callable[[str], str], count: Callable[[int, int], int]
) -> None:
    s = session()
    said = s(target("start_ways.c"), "threads", str(count(40, 1000)), target("show_env.c"), timeout=300)
    first, _, rest = said.stdout.partition("\n")
    assert first == "failed 0"
    assert has(seen(rest), ours(s))


@pytest.mark.parametrize("variables, follows", [(100, True), (2000, False), (4000, False)])
def test_a_small_stack_is_not_overrun_by_our_environment(
    session: Any, target: Callable[[str], str], variables: int, follows: bool
) -> None:
    s = session()
    said = s(target("start_ways.c"), "small", str(variables), target("show_env.c"))
    assert said.returncode == 0
    assert has(seen(said.stdout), {**(ours(s) if follows else NONE), "KEPT": "yes"})
