"""A4: only files that we made are removed or written to; whatever else lies in the place of a session survives."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Command, Run
    from tests.e2e.waiting import program_under, until
else:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from waiting import program_under, until

Target = Callable[[str], str]
FLAGS_AT = 12  # in the control file of a session
TRACE_PATH_AT = 256
SCRATCH = 1 << 6


def session_name() -> str:
    return f"inferscope-{os.geteuid()}-{secrets.token_hex(8)}"


def snapshot(folder: Path) -> dict[str, tuple[int, int, str | bytes]]:
    """Everything below a folder: type and rights, inode, and content."""
    found: dict[str, tuple[int, int, str | bytes]] = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        content: str | bytes = ""
        if stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(status.st_mode):
            content = str(path.readlink())
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_ino, content)
    return found


def age(folder: Path) -> None:
    """Older than a session that is still being made."""
    os.utime(folder, (time.time() - 60,) * 2, follow_symlinks=False)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in which sessions are looked for (XDG_RUNTIME_DIR), on the same file system as /dev/shm."""
    folder = Path(tempfile.mkdtemp(prefix="isc-test-", dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


def plain_files(folder: Path) -> None:
    (folder / "thesis.tex").write_text("ten years of work")


def nothing(_folder: Path) -> None:
    pass


def our_names(folder: Path) -> None:
    """Every name that a session has, with something else behind it."""
    for name in ["lock", "control", "spare", "p12.ab", "d12.ab"]:
        (folder / name).write_bytes(name.encode() * 5000)
    os.mkfifo(folder / "bell")
    (folder / "rt.so").symlink_to(folder / "lock")
    (folder / "_inject").symlink_to("/etc")


def empty_files(folder: Path) -> None:
    for name in ["lock", "control", "spare", "p12.ab", "d12.ab"]:
        (folder / name).touch()


def nested(folder: Path) -> None:
    for name in ["lock", "control", "p12.ab", "deeper/and/deeper"]:
        (folder / name).mkdir(parents=True)
        (folder / name / "kept").write_text(name)


def links_and_pipes(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.write_text("not to be touched")
    for name in ["lock", "control", "p12.ab"]:
        (folder / name).symlink_to(outside)
    os.link(outside, folder / "spare")
    os.mkfifo(folder / "d12.ab")


KINDS = [nothing, plain_files, our_names, empty_files, nested, links_and_pipes]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("where", ["runtime", "beside"])
def test_a4_a_folder_that_only_has_the_name_of_a_session_survives(
    inferscope: Command, target: Target, place: Path, tmp_path: Path, kind: Callable[[Path], None], where: str
) -> None:
    """Whoever owns the parent can give that name to any folder of ours."""
    parent = place if where == "runtime" else tmp_path
    folder = parent / session_name()
    folder.mkdir(0o700)
    kind(folder)
    age(folder)
    outside = parent / "outside"
    before = snapshot(folder), outside.read_bytes() if outside.exists() else b""
    environment = {"XDG_RUNTIME_DIR": str(place)}
    done = inferscope("doctor", env=environment)
    assert (snapshot(folder), outside.read_bytes() if outside.exists() else b"") == before
    lines = [line for line in done.stdout.splitlines() if str(folder) in line]
    assert len(lines) == 1, done.stdout
    assert lines[0].startswith("limited  dead session")
    assert f"left {folder} alone: it has no lock file of InferScope's; move or remove it yourself" in lines[0]
    run = inferscope("run", "--no-report", "--", target("marks.c"), "10", env=environment)
    assert run.returncode == 0
    assert snapshot(folder) == before[0]


@pytest.mark.parametrize("kind", ["link", "file", "open to others"])
def test_a4_what_is_no_private_folder_is_left_alone_and_named(
    inferscope: Command, place: Path, tmp_path: Path, kind: str
) -> None:
    planted = place / session_name()
    mine = tmp_path / "mine"
    mine.mkdir(0o700)
    plain_files(mine)
    if kind == "link":
        planted.symlink_to(mine)
        why = "it is not a folder"
    elif kind == "file":
        planted.write_text("mine")
        why = "it is not a folder"
    else:
        mine = planted
        planted.mkdir(0o750)
        our_names(planted)
        why = "others have access to it"
    age(planted)
    before = snapshot(mine), planted.lstat().st_ino
    done = inferscope("doctor", env={"XDG_RUNTIME_DIR": str(place)})
    assert (snapshot(mine), planted.lstat().st_ino) == before
    assert f"left {planted} alone: {why}" in done.stdout


# ---- dead sessions ----------------------------------------------------------------------------


@dataclass
class Dead:
    """A session whose recorder was killed and whose program has ended, and its trace."""

    inferscope: Command
    folder: Path
    trace: Path
    place: Path

    def doctor(self, cwd: Path | None = None, **more: str) -> Run:
        return self.inferscope("doctor", cwd=cwd, env={"XDG_RUNTIME_DIR": str(self.place), **more})

    def lines(self, done: Run) -> list[str]:
        return [line for line in done.stdout.splitlines() if self.folder.name in line or str(self.trace) in line]

    def name_trace(self, path: Path) -> None:
        with (self.folder / "control").open("r+b") as file:
            file.seek(TRACE_PATH_AT)
            file.write(bytes(path) + b"\0")


def sessions_of(folder: Path) -> list[Path]:
    """Of traces in this folder; others' come and go meanwhile."""
    found = []
    for session in Path("/dev/shm").glob(f"inferscope-{os.getuid()}-*"):
        with suppress(OSError):
            if bytes(folder) in (session / "control").read_bytes():
                found.append(session)
    return found


@pytest.fixture
def dead(inferscope: Command, target: Target, tmp_path: Path, place: Path) -> Dead:
    """In a place of its own, where no other command on this machine clears it."""
    program = target("marks.c")
    running = inferscope.start("run", "--no-report", "--", program, "800", "1", "500")
    until(lambda: program_under(running.pid, "marks"), "the program")
    # Published, and with a pool of the program's in it.
    own = until(lambda: [folder for folder in sessions_of(tmp_path) if list(folder.glob("p*"))], "the session")
    running.kill()
    running.communicate(timeout=60)  # the program holds stdout until it has ended
    folder = place / own[0].name
    own[0].rename(folder)
    return Dead(inferscope, folder, tmp_path / "inferscope.isc", place)


def test_a4_a_dead_session_goes_with_all_that_is_ours(dead: Dead) -> None:
    """The counterpart: nothing of a session that is whole is taken for somebody else's."""
    before = dead.trace.read_bytes()
    done = dead.doctor()
    assert not dead.folder.exists(), done.stdout
    assert f"what a killed recorder left is now in {dead.trace}" in done.stdout
    assert dead.trace.read_bytes() != before


def test_a4_the_next_run_salvages_a_dead_session(dead: Dead, target: Target) -> None:
    other = dead.trace.with_name("next.isc")
    run = dead.inferscope(
        "run", "--no-report", "--trace", other, "--", target("marks.c"), "10", env={"XDG_RUNTIME_DIR": str(dead.place)}
    )
    assert run.returncode == 0
    assert not dead.folder.exists()


@pytest.mark.parametrize("kind", [plain_files, nested], ids=lambda kind: kind.__name__)
def test_a4_what_somebody_put_into_a_dead_session_survives(dead: Dead, kind: Callable[[Path], None]) -> None:
    """Ours is salvaged and goes; theirs stays, is named, and the folder goes when they have taken it."""
    mine = dead.place / "mine"
    mine.mkdir(0o700)
    if kind is nested:
        (mine / "sub" / "deeper").mkdir(parents=True)
        (mine / "sub" / "deeper" / "kept").write_text("mine")
    else:
        kind(mine)
    before = snapshot(mine)
    for entry in list(mine.iterdir()):
        entry.rename(dead.folder / entry.name)
    done = dead.doctor()
    assert f"what a killed recorder left is now in {dead.trace}" in done.stdout
    assert any("stays: it holds" in line and "which InferScope did not make" in line for line in dead.lines(done))
    left = [entry.name for entry in dead.folder.iterdir()]
    assert len(left) == 2
    assert "lock" in left
    for name in left:
        if name != "lock":
            (dead.folder / name).rename(mine / name)
    assert snapshot(mine) == before
    age(dead.folder)
    dead.doctor()
    assert not dead.folder.exists()


def test_a4_a_dead_session_with_another_control_file_is_not_one(dead: Dead) -> None:
    """Lock and control file must be of one session."""
    with (dead.folder / "lock").open("r+b") as file:
        file.seek(8)
        file.write(secrets.token_bytes(16))
    before = snapshot(dead.folder), dead.trace.read_bytes()
    done = dead.doctor()
    assert (snapshot(dead.folder), dead.trace.read_bytes()) == before
    assert f"left {dead.folder} alone: its control file is not InferScope's" in done.stdout


# ---- where salvage writes -------------------------------------------------------------------------


def test_a4_a_trace_elsewhere_is_not_written_to_and_nothing_is_lost(dead: Dead, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    before = snapshot(dead.folder), dead.trace.read_bytes()
    done = dead.doctor(cwd=elsewhere)
    assert (snapshot(dead.folder), dead.trace.read_bytes()) == before
    line = f"{dead.folder} has the rest of {dead.trace}: run inferscope doctor in the folder of that trace"
    assert f"limited  dead session      {line}" in done.stdout
    # What it says helps, also where settings name another trace.
    done = dead.doctor(cwd=tmp_path, INFERSCOPE_TRACE=str(elsewhere / "other.isc"))
    assert f"what a killed recorder left is now in {dead.trace}" in done.stdout
    assert not dead.folder.exists()
    assert dead.trace.read_bytes() != before[1]


def test_a4_a_link_on_the_way_to_a_trace_leads_nowhere(dead: Dead, tmp_path: Path) -> None:
    """The trace seems to lie below the folder of this call, and does not."""
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    elsewhere.mkdir()
    here.mkdir()
    moved = dead.trace.rename(elsewhere / dead.trace.name)
    (here / "sub").symlink_to(elsewhere)
    before = moved.read_bytes()
    for named in [here / "sub" / moved.name, here / ".." / "elsewhere" / moved.name]:
        dead.name_trace(named)
        dead.doctor(cwd=here)
        assert moved.read_bytes() == before
        assert dead.folder.is_dir()
    # By its own path, and by a link that leads to the folder of this call, it is the caller's.
    dead.name_trace(here / "sub" / moved.name)
    done = dead.doctor(cwd=elsewhere)
    assert "what a killed recorder left is now in" in done.stdout
    assert moved.read_bytes() != before


def test_a4_the_rest_of_a_trace_that_is_gone_is_removed(dead: Dead, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    dead.trace.unlink()
    done = dead.doctor(cwd=elsewhere)
    assert f"removed {dead.folder}: its trace {dead.trace} is gone" in done.stdout
    assert not dead.folder.exists()


def test_a4_a_scratch_session_removes_no_other_trace(dead: Dead, tmp_path: Path) -> None:
    """It may name any file: only one in the place of such traces, by such a name, is its own."""
    control = dead.folder / "control"
    with control.open("r+b") as file:
        file.seek(FLAGS_AT)
        flags = struct.unpack("<I", file.read(4))[0]
        file.seek(FLAGS_AT)
        file.write(struct.pack("<I", flags | SCRATCH))
    named = tmp_path / f"inferscope-{os.geteuid()}-{secrets.token_hex(8)}.isc"
    before = dead.trace.rename(named).read_bytes()
    dead.name_trace(named)
    dead.doctor()
    assert named.read_bytes() == before
    assert not dead.folder.exists()


# ---- the end of an ordinary run -------------------------------------------------------------------


def test_a4_files_that_the_program_puts_into_its_session_survive_the_run(inferscope: Command) -> None:
    script = (
        'cd "$INFERSCOPE_SESSION" && echo mine >notes && mkdir sub && echo mine >sub/p1.1 && echo mine >p77.ab; pwd'
    )
    run = inferscope("run", "--", "bash", "-c", script)
    folder = Path(run.stdout.strip())
    try:
        assert run.returncode == 0
        warning = [line for line in run.ours if str(folder) in line]
        assert len(warning) == 1, run.stderr
        assert "which InferScope did not make; move out what you need and remove the folder" in warning[0]
        assert sorted(entry.name for entry in folder.iterdir()) == ["lock", "notes", "p77.ab", "sub"]
        for name in ["notes", "sub/p1.1", "p77.ab"]:
            assert (folder / name).read_text() == "mine\n"
    finally:
        shutil.rmtree(folder)


def test_a4_a_folder_that_takes_the_place_of_the_session_survives_the_run(inferscope: Command) -> None:
    """Even with the names of our files in it."""
    script = """
mv "$INFERSCOPE_SESSION" "$INFERSCOPE_SESSION.moved"
mkdir -m 700 "$INFERSCOPE_SESSION"
cd "$INFERSCOPE_SESSION"
for name in lock control spare p1.1 d1.1 notes; do echo "$name" >"$name"; done
echo "$INFERSCOPE_SESSION"
"""
    run = inferscope("run", "--", "bash", "-c", script)
    folder = Path(run.stdout.strip())
    try:
        assert run.returncode == 0
        names = ["control", "d1.1", "lock", "notes", "p1.1", "spare"]
        assert sorted(entry.name for entry in folder.iterdir()) == names
        for name in names:
            assert (folder / name).read_text() == f"{name}\n"
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(f"{folder}.moved", ignore_errors=True)


def test_a4_an_ordinary_run_leaves_nothing(inferscope: Command, target: Target, tmp_path: Path) -> None:
    """In a place where nobody else records."""
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("this user may not make a mount namespace")
    command = inferscope.arguments(("run", "--no-report", "--", target("marks.c"), "1000"))
    script = 'mount -t tmpfs none /dev/shm && "$@" && ls -A /dev/shm'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "-", *command],
        cwd=tmp_path, env=inferscope.environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "3001\n"), done.stderr


# ---- too few descriptors --------------------------------------------------------------------------


def test_a_session_that_lacks_descriptors_names_the_limit_to_raise(inferscope: Command, target: Target) -> None:
    """Not more room in /dev/shm, which would not help."""
    words = inferscope.arguments(("run", "--quiet", "--no-report", "--", target("marks.c"), "10"))
    failed = 0
    for limit in range(4, 14):
        done = subprocess.run(
            ["bash", "-c", f'ulimit -n {limit}; exec "$@"', "-", *words],
            capture_output=True, text=True, env=inferscope.environment, cwd=inferscope.folder, timeout=60, check=False,
        )  # fmt: skip
        if "Too many open files" in done.stderr:
            failed += "cannot make the session" in done.stderr
            assert "raise the limit of open files (ulimit -n)" in done.stderr, done.stderr
            assert "/dev/shm, or" not in done.stderr
    assert failed > 0
