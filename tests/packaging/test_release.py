"""What is given to users: a wheel that installs anywhere and goes away whole, a tarball that works where it lies."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import pythons

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
#: What every Linux that a wheel is for has: manylinux says so, of libz too.
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libz.so.1", "ld-linux-x86-64.so.2"}
PROGRAM = """
import os
def inner():
    return sum(range(200))
def work():
    for _ in range(50):
        inner()
work()
print(os.getuid())
"""
C_PROGRAM = '#include <stdio.h>\nint main(void) { for (volatile long i = 0; i < 50000000; i++); puts("done"); }\n'

as_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user, or for chroot")


def elf_files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and file.read_bytes()[:4] == b"\x7fELF"]


def needed(file: Path) -> set[str]:
    done = subprocess.run(["readelf", "-W", "-d", str(file)], capture_output=True, text=True, check=True)
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout))


def called(report: Path) -> dict[str, int]:
    return {function["name"]: function["calls"] for function in json.loads(report.read_text())["functions"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One that nobody in particular may write to, with the program in it."""
    for part in [tmp_path, *tmp_path.parents]:
        if part.stat().st_uid == os.getuid() and part != Path(part.anchor):
            part.chmod(part.stat().st_mode | 0o055)
    made = tmp_path / "work"
    made.mkdir()
    (made / "program.py").write_text(PROGRAM)
    if os.getuid() == 0:
        os.chown(made, NOBODY, NOBODY)
    return made


def test_the_wheel_carries_every_library_that_a_linux_may_lack(released: Callable[[str], Path], tmp_path: Path) -> None:
    wheel = released("wheel")
    own = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tags = re.fullmatch(
        rf"inferscope-[\d.]+-[cp\d.]*{own}[cp\d.]*-none-((?:\.?manylinux_2_\d+_x86_64)+)\.whl", wheel.name
    )
    assert tags, wheel.name
    # What docs/install.md says of glibc.
    assert min(int(minor) for minor in re.findall(r"manylinux_2_(\d+)_", tags[1])) <= 34
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    files = elf_files(tmp_path)
    carried = {file.name for file in files}
    assert len([name for name in carried if name.startswith("_core.cpython-")]) == wheel.name.count("cp")
    lacking = {file.name: needed(file) - SYSTEM - carried for file in files}
    assert not {name: rest for name, rest in lacking.items() if rest}
    assert {re.sub(r"-[0-9a-f]{8}.*", "", file.name) for file in files if file.parent.name == "inferscope.libs"} >= {
        "libyaml-0",
        "libsqlite3",
        "libzstd",
    }
    (command,) = [file for file in files if file.name == "inferscope"]
    assert command.parent.name == "scripts" and needed(command) <= SYSTEM


def test_no_library_of_the_machine_is_used(from_wheel: Any) -> None:
    (offline,) = from_wheel.package.glob("_offline*.so")
    for file in [offline, from_wheel.package / "libinferscope.so"]:
        said = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=True).stdout
        assert "not found" not in said
        found = dict(re.findall(r"(\S+) => (\S+)", said))
        foreign = {name: path for name, path in found.items() if not Path(path).is_relative_to(from_wheel.prefix)}
        assert set(foreign) <= SYSTEM


@as_root
def test_an_ordinary_user_runs_it_from_a_read_only_place_without_our_tree(from_wheel: Any, folder: Path) -> None:
    """As in a container: a root of its own, with the system, the Python and the installation, all of it read-only."""
    root = folder.parent / "root"
    base = Path(os.path.realpath(from_wheel.python)).parents[1]
    read_only = ["/usr", "/etc", str(from_wheel.prefix), *([] if base.is_relative_to("/usr") else [str(base)])]
    steps = [
        f"mkdir -p {root}{path} && mount --rbind {path} {root}{path}" for path in (*read_only, "/proc", "/dev", folder)
    ]
    steps += [f"mount -o remount,bind,ro {root}{path}" for path in read_only]
    steps += [f"ln -s usr{path} {root}{path}" for path in ("/bin", "/lib", "/lib64", "/sbin")]
    use = "import inferscope; print(inferscope.TraceBuffer(1).enqueue({'event_type': 'x', 'name': 'y', 'start_ns': 1}))"
    (folder / "use.py").write_text(use)
    (folder / "all.sh").write_text(
        f"set -e; test ! -e {ROOT}; cd {folder}; ! touch {from_wheel.package}/x 2>/dev/null\n"
        f"{from_wheel.command} run --report report.json program.py\n"
        f"{from_wheel.command} analyze inferscope.isc --output report.html\n"
        f"{from_wheel.python} use.py\n"
    )
    enter = f"chroot --userspec={NOBODY}:{NOBODY} {root} env -i HOME={folder} PATH=/usr/bin:/bin sh {folder}/all.sh"
    script = " && ".join([f"mkdir -p -m 1777 {root}/tmp", *steps, enter])
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False)
    if "unshare" in done.stderr:
        pytest.skip("no namespaces here")
    assert (done.returncode, done.stdout) == (0, f"{NOBODY}\nTrue\n"), done.stderr
    report = json.loads((folder / "report.json").read_text())
    assert called(folder / "report.json")["inner"] == 50
    assert Path(report["program"]["python_path"]).parent == from_wheel.prefix / "bin"


@pytest.mark.parametrize("base", pythons(), ids=lambda path: Path(path).name)
def test_an_uninstall_leaves_nothing(released: Callable[[str], Path], tmp_path: Path, base: str) -> None:
    subprocess.run([base, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q"]
    before = {str(file) for file in (tmp_path / "env").rglob("*") if "__pycache__" not in file.parts}
    subprocess.run([*pip, "install", "--no-index", str(released("wheel"))], check=True)
    subprocess.run([str(python), "-c", "import inferscope; inferscope.Profiler"], check=True)
    command = tmp_path / "env" / "bin" / "inferscope"
    (tmp_path / "program.py").write_text(PROGRAM)
    said = bare(tmp_path, command, "run", "--report", "report.json", "--report", "report.html", "program.py")
    assert (said.returncode, said.stdout) == (0, f"{os.getuid()}\n"), said.stderr
    assert called(tmp_path / "report.json")["inner"] == 50
    assert (tmp_path / "report.html").stat().st_size > 50_000
    subprocess.run([*pip, "uninstall", "-y", "inferscope"], check=True)
    after = {str(file) for file in (tmp_path / "env").rglob("*") if "__pycache__" not in file.parts}
    assert after == before
    assert not [file for file in (tmp_path / "env").rglob("*") if "inferscope" in file.name]


# ---- the tarball


@pytest.fixture
def unpacked(released: Callable[[str], Path], folder: Path) -> Path:
    with tarfile.open(released("tarball")) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda entry, path: entry)
        assert all(entry.uid == 0 and not entry.name.startswith(("/", "..")) for entry in archive)
        archive.extractall(folder)
    (made,) = folder.glob("inferscope-*")
    return made


def bare(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["env", "-i", *(str(argument) for argument in arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.long
def test_the_tarball_records_python_and_c_with_nothing_installed(unpacked: Path, folder: Path) -> None:
    command = unpacked / "bin" / "inferscope"
    assert needed(command) == set()
    assert (
        "INTERP"
        not in subprocess.run(["readelf", "-lW", str(command)], capture_output=True, text=True, check=True).stdout
    )
    python = os.path.realpath(sys.executable)
    said = bare(folder, command, "run", "--python", python, "--report", "report.json", "program.py")
    assert (said.returncode, said.stdout) == (0, f"{os.getuid()}\n"), said.stderr
    assert called(folder / "report.json")["inner"] == 50
    (folder / "program.c").write_text(C_PROGRAM)
    subprocess.run(["cc", "-O1", "-g", "-o", "program", "program.c"], cwd=folder, check=True)
    said = bare(folder, command, "run", "--report", "c.json", "--trace", "c.isc", "--", "./program")
    assert (said.returncode, said.stdout) == (0, "done\n"), said.stderr
    samples = {f["name"]: f["samples"] for f in json.loads((folder / "c.json").read_text())["functions"]}
    assert samples["main"] > 0
    said = bare(folder, command, "doctor", "--gpu-selftest")
    assert said.returncode == 4
    assert "the static command cannot load the CUDA driver" in said.stderr


@pytest.mark.long
@as_root
def test_the_tarball_works_in_a_root_of_libc_and_the_program(unpacked: Path, folder: Path) -> None:
    """What a small container has: no shell, no Python, no library but libc."""
    root = folder / "root"
    (folder / "program.c").write_text(C_PROGRAM)
    for part in ("proc", "tmp", "opt", "dev/shm"):
        (root / part).mkdir(parents=True)
    subprocess.run(["cc", "-O1", "-o", str(root / "program"), "program.c"], cwd=folder, check=True)
    said = subprocess.run(["ldd", str(root / "program")], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+)", said):
        place = root / library.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)
    shutil.copytree(unpacked, root / "opt" / "inferscope")
    inside = (
        f"mount -t proc proc {root}/proc && cd / && exec env -i /usr/sbin/chroot {root} /opt/inferscope/bin/inferscope"
    )
    script = f"{inside} run --trace /tmp/t.isc --report /tmp/r.json -- /program"
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False)
    if "unshare" in done.stderr:
        pytest.skip("no namespaces here")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert json.loads((root / "tmp" / "r.json").read_text())["program"]["exit_code"] == 0
