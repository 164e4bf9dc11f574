"""Odd surroundings: variables of the loader and of Python, other rights, roots, namespaces and names (X9, X12)."""

from __future__ import annotations

import os
import re
import resource
import select
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command, Run

Target = Callable[[str], str]
LIBM = "/lib/x86_64-linux-gnu/libm.so.6"


def bare(inferscope: Command, *words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, env={**inferscope.environment, **env}, cwd=inferscope.folder, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


# ---- X9: variables -------------------------------------------------------------------------

LOADER = {
    "a preload that is missing": {"LD_PRELOAD": "/no/such/library.so"},
    "a preload that is no library": {"LD_PRELOAD": "/etc/passwd"},
    "a preload by name": {"LD_PRELOAD": "libm.so.6"},
    "preloads with blanks": {"LD_PRELOAD": f" {LIBM}  {LIBM} "},
    "an empty preload": {"LD_PRELOAD": ""},
    "an audit library that is missing": {"LD_AUDIT": "/no/such/audit.so"},
    "a library path of nothing": {"LD_LIBRARY_PATH": "::/no/such/folder:"},
    "the working folder as library path": {"LD_LIBRARY_PATH": "."},
    "binding now": {"LD_BIND_NOW": "1"},
    "binding never": {"LD_BIND_NOT": "1"},
    "tunables": {"GLIBC_TUNABLES": "glibc.malloc.perturb=85:glibc.malloc.check=3"},
    "an allocator that checks": {"MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "7"},
    "a session that is not ours": {"INFERSCOPE_SESSION": "/no/such/session"},
    "no home, no path": {"HOME": "", "PATH": "/usr/bin:/bin"},
}
# Which preloads the program and its child see, ours apart, and whether they run at all.
LOOK = (
    "for i in 1 2; do env | sed -n 's/^LD_PRELOAD=//p' | tr ': ' '\\n\\n' | grep -v inferscope; done;"
    " sh -c 'exit 3'; echo $?; exit 6"
)


@pytest.mark.parametrize("name", LOADER)
def test_x9_odd_variables_of_the_loader_mean_what_they_mean_bare(inferscope: Command, name: str) -> None:
    """X9: kept as they are, behind ours."""
    env = LOADER[name]
    expected = bare(inferscope, "sh", "-c", LOOK, env=env)
    run = inferscope("run", "--quiet", "--follow", "all", "--", "sh", "-c", LOOK, env=env)
    assert run.returncode == expected.returncode == 6
    words = [word for word in run.stdout.split() if word]
    assert words == [word for word in expected.stdout.split() if word]

    def told(text: str) -> Counter[str]:
        return Counter(re.sub(r"\(.*", "", line) for line in text.splitlines())

    # The loader's own complaints: one more, when it starts the recorder.
    assert set(told(run.theirs)) == set(told(expected.stderr))
    assert all(told(run.theirs)[line] - n == 1 for line, n in told(expected.stderr).items())
    assert run.report.program.exit_code == 6


PYTHON = {
    "nothing": {},
    "a path of theirs": {"PYTHONPATH": "theirs"},
    "an empty path": {"PYTHONPATH": ""},
    "a startup file": {"PYTHONSTARTUP": "startup.py"},
    "a home that is wrong": {"PYTHONHOME": "/no/such/home"},
    "development mode": {"PYTHONDEVMODE": "1"},
    "warnings as errors": {"PYTHONWARNINGS": "error"},
    "optimised": {"PYTHONOPTIMIZE": "2"},
    "no bytecode": {"PYTHONDONTWRITEBYTECODE": "1"},
    "unbuffered": {"PYTHONUNBUFFERED": "1"},
    "debug allocator": {"PYTHONMALLOC": "debug"},
    "allocations traced": {"PYTHONTRACEMALLOC": "3"},
    "faults handled": {"PYTHONFAULTHANDLER": "1"},
    "hashes fixed": {"PYTHONHASHSEED": "0"},
    "no user folder": {"PYTHONNOUSERSITE": "1"},
    "safe path": {"PYTHONSAFEPATH": "1"},
    "UTF-8 and Latin": {"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1", "LC_ALL": "C"},
    "a user folder elsewhere": {"PYTHONUSERBASE": "/no/such/base"},
}
SHOW = r"""
import os, sys, threading, tracemalloc
try:
    import their_module
    print(their_module.name)
except ImportError as error:
    print(error.name)
print(sys.flags)
print([p for p in sys.path if "_inject" not in p])
print(sorted(k for k in os.environ if k not in ("LD_PRELOAD", "INFERSCOPE_SESSION", "PYTHONPATH")))
print([p for p in os.environ.get("PYTHONPATH", "").split(":") if p and "_inject" not in p])
print(sorted(m for m in sys.modules if "inferscope" in m))
print(hash("x") if os.environ.get("PYTHONHASHSEED") == "0" else "", tracemalloc.is_tracing(), threading.active_count())
print(sys.gettrace(), sys.getprofile())
assert False, "only without -O"
"""


def plain(text: str) -> str:
    """Without addresses, and without what a dying Python says of its path."""
    return re.sub(r"0x[0-9a-f]+|PYTHONPATH = .*|^.*/_inject',\n", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", PYTHON)
def test_x9_odd_variables_of_python_mean_what_they_mean_bare(inferscope: Command, python: str, name: str) -> None:
    """X9."""
    theirs = inferscope.folder / "theirs"
    theirs.mkdir()
    (theirs / "their_module.py").write_text("name = 'found'")
    (theirs / "sitecustomize.py").write_text("print('their sitecustomize')")
    (inferscope.folder / "startup.py").write_text("print('started up')")
    (inferscope.folder / "show.py").write_text(SHOW)
    expected = bare(inferscope, python, "show.py", env=PYTHON[name])
    run = inferscope("run", "--quiet", "--python", python, "show.py", env=PYTHON[name])
    assert run.returncode == expected.returncode
    assert run.stdout == expected.stdout
    assert plain(run.theirs) == plain(expected.stderr)


@pytest.mark.parametrize("flag", ["-I", "-E", "-S", "-s", "-O", "-B", "-u", "-X dev", "-X importtime", "-W error"])
def test_x9_flags_of_python_mean_what_they_mean_bare(inferscope: Command, python: str, flag: str) -> None:
    """Also where nothing of ours can get in; then a line may say so."""
    (inferscope.folder / "show.py").write_text(SHOW)
    words = [python, *flag.split(), "show.py"]
    expected = bare(inferscope, *map(str, words), env={})
    run = inferscope("run", "--quiet", "--", *words)
    assert run.returncode == expected.returncode
    assert run.stdout == expected.stdout
    if flag != "-X importtime":  # a list with times, and with what imports us
        assert run.theirs == expected.stderr


# ---- other rights, other roots, other namespaces ---------------------------------------------


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter: pytest's own are closed."""
    folder = Path(tempfile.mkdtemp(prefix="isc-open-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@needs_root
def test_x9_a_child_with_raised_rights_runs_untraced_and_unharmed(
    inferscope: Command, target: Target, open_folder: Path
) -> None:
    """X9: as sudo and ping do: the loader drops our preload, and nothing of ours is in it."""
    program = open_folder / "raised"
    shutil.copy(target("crowd.c"), program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    if os.statvfs(open_folder).f_flag & os.ST_NOSUID:
        pytest.skip("the file system ignores set-user-ID")
    script = f"{program} ids; echo $?; {target('crowd.c')} ids >/dev/null; exit 9"
    expected = bare(inferscope, "sh", "-c", script, env={})
    run = inferscope("run", "--follow", "all", "--", "sh", "-c", script)
    assert run.stdout == expected.stdout == "uid 0, euid 65534, preload none\n4\n"
    assert (run.returncode, run.theirs) == (9, expected.stderr)
    listed = {Path(p.argv[0]).name: p.traced for p in run.report.program.processes}
    assert listed["raised"] is False
    assert run.made == 1


@needs_root
def test_a_child_in_another_root_runs_untraced_and_unharmed(
    inferscope: Command, target: Target, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    program = target("crowd.c")
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for file in [program, *(word for word in libraries.split() if word.startswith("/"))]:
        (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / file[1:])
    run = inferscope("run", "--follow", "all", "--", "chroot", root, program, "ids")
    assert (run.returncode, run.stdout, run.theirs) == (4, "uid 0, euid 0, preload none\n", "")
    assert len(run.report.program.processes) == 1


def tree_of(root: Path, *programs: str) -> None:
    """A root with these programs and the libraries that they need, and nothing else."""
    for program in programs:
        libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for file in [program, *(word for word in libraries.split() if word.startswith("/"))]:
            (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, root / file[1:])


@needs_root
@pytest.mark.parametrize("how", ["chroot", "setuid", "python"])
def test_shells_of_a_program_that_cannot_reach_us_any_more_say_nothing(
    inferscope: Command, stage: Path, target: Target, tmp_path: Path, python: str, open_folder: Path, how: str
) -> None:
    """H1: libc starts them past our hooks, and the loader would complain of our library on their stderr."""
    program = open_folder / "shells"
    shutil.copy(target("shells.c"), program)
    tree_of(tmp_path / "root", "/bin/sh")
    # Nobody but root comes in here.
    (tmp_path / "own").mkdir(mode=0o700)
    shutil.copytree(stage, tmp_path / "own" / "prefix", symlinks=True)
    inferscope.path = tmp_path / "own" / "prefix" / "bin" / "inferscope"
    words: list[str | Path] = [program, how, tmp_path / "root"]
    if how == "python":
        code = "import os; os.setgid(65534); os.setuid(65534); print(os.system('echo of system'), flush=True)"
        words = [python, "-c", code]
    expected = bare(inferscope, *map(str, words), env={})
    run = inferscope("run", "--follow", "all", "--", *words)
    assert (expected.returncode, expected.stderr) == (0, "")
    assert "of system\n" in expected.stdout
    assert (run.returncode, run.stdout, run.theirs) == (0, expected.stdout, "")


def test_shells_of_a_program_are_followed(inferscope: Command, target: Target) -> None:
    run = inferscope("run", "--follow", "all", "--", target("shells.c"), "stay")
    assert (run.returncode, run.theirs) == (0, "")
    assert "kept preload session\nkept more\n" in run.stdout
    assert sum(p.traced for p in run.report.program.processes) >= 4


@needs_root
def test_children_in_another_pid_namespace_are_listed_and_accounted_for(inferscope: Command, target: Target) -> None:
    script = f"{target('marks.c')} 1000; {target('crowd.c')} forks 20; echo $$"
    words = ["unshare", "-pf", "--mount-proc", "sh", "-c", script]
    expected = bare(inferscope, *map(str, words), env={})
    if expected.returncode:
        pytest.skip("namespaces are refused here")
    run = inferscope("run", "--follow", "all", "--", *words)
    assert (run.returncode, run.stdout, run.theirs) == (0, expected.stdout, "")
    assert run.made == 3001
    # unshare, sh, marks, crowd and its 20 children.
    assert len(run.report.program.processes) >= 24


# ---- odd names ---------------------------------------------------------------------------------

NAMES = ["with blanks", "with:colon", "dollar$ORIGIN", "ünïcödé", "quote'\"quote", "new\nline", "-dash", "semi;colon"]


@pytest.mark.parametrize("name", NAMES)
def test_a_program_with_an_odd_name_is_recorded(inferscope: Command, target: Target, tmp_path: Path, name: str) -> None:
    program = tmp_path / name / name
    program.parent.mkdir()
    shutil.copy(target("marks.c"), program)
    run = inferscope("run", "--", program, "100", cwd=program.parent)
    assert (run.returncode, run.stdout, run.theirs) == (0, "301\n", "")
    assert run.made == 301
    assert run.report.program.argv[0] == str(program)


@pytest.mark.parametrize("name", NAMES)
def test_an_installation_in_an_odd_folder_works(
    inferscope: Command, stage: Path, target: Target, tmp_path: Path, python: str, name: str
) -> None:
    prefix = tmp_path / name / "My Project:x"
    shutil.copytree(stage, prefix, symlinks=True)
    inferscope.path = prefix / "bin" / "inferscope"
    script = f"{target('marks.c')} 100; env -i {target('marks.c')} 100"
    run = inferscope("run", "--follow", "all", "--", "sh", "-c", script)
    assert (run.returncode, run.stdout, run.theirs) == (0, "301\n301\n", "")
    assert run.made == 602
    assert all(p.traced for p in run.report.program.processes)
    code = "import os, subprocess; subprocess.run(['true'], check=True); print(sorted(os.listdir('.')) != [], 1)"
    run = inferscope("run", "--python", python, "-c", code)
    assert (run.returncode, run.stdout, run.theirs) == (0, "True 1\n", "")


# ---- X12: what is touched -----------------------------------------------------------------------


def calls(inferscope: Command, words: list[str], tmp_path: Path) -> str:
    if shutil.which("strace") is None:
        pytest.fail("strace is not installed; run make setup")
    log = tmp_path / "calls"
    traced = "trace=network,%file,creat"
    done = subprocess.run(
        ["strace", "-f", "-qq", "-e", traced, "-o", str(log), *words],
        env=inferscope.environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if "strace: " in done.stderr:
        pytest.skip("strace may not watch here")
    assert done.returncode == 0, done.stderr
    text = log.read_text()
    log.unlink()
    return text


def foreign(text: str, tmp_path: Path) -> list[str]:
    """Calls that change something that is not ours, or leave the machine."""
    allowed = (str(tmp_path), "/dev/shm/inferscope-", "/dev/null", "/proc/self/", "/dev/tty")
    found = re.findall(r"^.*\b(?:socket|connect|bind|sendto|listen)\(.*$", text, re.MULTILINE)
    for line in text.splitlines():
        changes = re.search(r"\b(?:mkdir|unlink|rename|symlink|chmod|creat)", line)
        if not changes and not re.search(r"O_WRONLY|O_RDWR|O_CREAT", line):
            continue
        paths = re.findall(r'"(/[^"]*)"', line)
        found += [line for path in paths if not path.startswith(allowed)]
    return found


def test_x12_the_sieve_finds_what_it_is_for(tmp_path: Path) -> None:
    for line in (
        '7 openat(AT_FDCWD, "/etc/other", O_WRONLY|O_CREAT, 0600) = 3',
        '7 unlink("/home/x") = 0',
        f'7 rename("{tmp_path}/a", "/var/b") = 0',
        "7 socket(AF_INET, SOCK_STREAM, 0) = 3",
    ):
        assert foreign(line, tmp_path) == [line]
    assert (
        foreign(f'7 openat(AT_FDCWD, "{tmp_path}/r", O_RDWR) = 3\n7 openat(AT_FDCWD, "/etc/x", O_RDONLY) = 3', tmp_path)
        == []
    )


def test_x12_a_python_run_touches_its_outputs_and_its_session_only(
    inferscope: Command, python: str, tmp_path: Path
) -> None:
    """X12: run with a script, children and a report."""
    code = "import os, subprocess; subprocess.run(['true'], check=True); os.fork() or os._exit(0)"
    words = inferscope.arguments(("run", "--python", python, "--follow", "all", "--report", "r.md", "-c", code))
    environment = {**inferscope.environment, "PYTHONDONTWRITEBYTECODE": "1"}
    inferscope.environment = environment
    assert foreign(calls(inferscope, words, tmp_path), tmp_path) == []


def test_x12_the_other_commands_touch_nothing_but_their_output(
    inferscope: Command, target: Target, tmp_path: Path
) -> None:
    """X12."""
    run: Run = inferscope("run", "--", target("marks.c"), "100")
    command = str(inferscope.path)
    for words in (
        ["analyze", str(run.trace), "--output", "again.md"],
        ["dump", str(run.trace)],
        ["config", "show"],
        ["doctor"],
    ):
        assert foreign(calls(inferscope, [command, *words], tmp_path), tmp_path) == [], words


def test_a_program_that_never_waits_is_not_told_that_its_times_are_unknown(inferscope: Command) -> None:
    if "ok       context switches" not in inferscope("doctor").stdout:
        pytest.skip("context switches are not seen here")
    run = inferscope("run", "--", "/bin/true")
    assert not any(warning.id == "no_switches" for warning in run.report.warnings)


@pytest.mark.parametrize("number", [100, 1500])
def test_a_detached_recorder_holds_no_descriptor_of_the_program(inferscope: Command, number: int) -> None:
    """Whoever reads from the program's pipe would wait for the recorder's end too."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most[1] != resource.RLIM_INFINITY and most[1] <= number:
        pytest.skip("descriptors do not go that far here")
    read, write = os.pipe()
    program = subprocess.Popen(["sleep", "60"])
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(most[0], number + 1), most[1]))
    try:
        os.dup2(write, number)
        os.close(write)
        said = subprocess.run(
            [str(inferscope.path), "watch", "--pid", str(program.pid)],
            cwd=inferscope.folder,
            env=inferscope.environment,
            pass_fds=[number],
            capture_output=True,
            timeout=60,
            check=True,
        )
        assert said.stdout.count(b"\n") == 4  # folder, runtime, and the parts that CUDA and OpenCL load
        os.close(number)
        assert select.select([read], [], [], 20)[0] == [read]
        assert program.poll() is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
        program.kill()
        program.wait()
        os.close(read)
