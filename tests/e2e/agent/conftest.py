"""Fixtures for tests of the preload hooks: the runtime of a build folder, preloaded by hand, without the command."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("INFERSCOPE_BUILD", ROOT / "build")).resolve()

AGENT, FOLLOW_PYTHON, FOLLOW_ALL = 1, 2, 4
LAYOUT = (ROOT / "src" / "runtime" / "layout.h").read_text()
ABI = int(re.search(r"#define ISC_RT_ABI (\d+)u", LAYOUT).group(1))  # type: ignore[union-attr]


def clean_environment() -> dict[str, str]:
    """This process's, without what could load or steer anything of ours."""
    ours = ("INFERSCOPE_", "LD_", "PYTHON", "CMOCKA")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@dataclass
class Preload:
    """Runs a program with the runtime preloaded; with a session folder it also attaches to it."""

    library: Path
    environment: dict[str, str]
    folder: Path | None = None

    def variables(self, behind: str = "", before: str = "") -> dict[str, str]:
        ours = {"LD_PRELOAD": ":".join(part for part in (before, str(self.library), behind) if part)}
        if self.folder:
            ours["INFERSCOPE_SESSION"] = str(self.folder)
        return ours

    def __call__(self, *command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        return self.run(*command, env=self.variables(), **options)

    def bare(self, *command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        return self.run(*command, env={}, **options)

    def run(
        self, *command: str | Path, env: dict[str, str], timeout: float = 60, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        options.setdefault("stdin", subprocess.DEVNULL if "input" not in options else None)
        if "input" in options:
            options.pop("stdin")
        return subprocess.run(
            [str(part) for part in command],
            env={**self.environment, **env},
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout,
            check=False,
            **options,
        )

    def same(self, *command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        """Runs with and without us: output and exit status must not differ.  The run with us is returned."""
        without, with_us = self.bare(*command, **options), self(*command, **options)
        assert with_us.stdout == without.stdout
        assert with_us.stderr == without.stderr
        assert with_us.returncode == without.returncode
        return with_us


@pytest.fixture(scope="session")
def runtime() -> Path:
    """libinferscope_rt.so."""
    library = BUILD / "src" / "libinferscope_rt.so"
    if not library.exists():
        pytest.fail(f"{library} is not there; run make all, or set INFERSCOPE_BUILD")
    if b"libasan" in library.read_bytes() or b"libtsan" in library.read_bytes():
        pytest.skip("a sanitized runtime cannot be preloaded into ordinary programs")
    return library


@pytest.fixture
def preload(runtime: Path) -> Preload:
    """The runtime preloaded, and no session: hooks that only forward."""
    return Preload(runtime, clean_environment())


@pytest.fixture
def session(runtime: Path, tmp_path: Path) -> Callable[..., Preload]:
    """session(flags) makes a session folder as the recorder would; src/runtime/layout.h has the bytes."""

    def make(flags: int = AGENT | FOLLOW_PYTHON, root_pid: int = 0, library: Path | None = None) -> Preload:
        folder = tmp_path / "session"
        folder.mkdir(mode=0o700)
        entries = 4096
        sizes = (32, 64, 64, 4096, 65536, entries)
        head = struct.pack("<QII16s8I", 0x314C544353494E49, ABI, flags, b"s" * 16, 0, root_pid, *sizes)
        control = folder / "control"
        control.write_bytes(head + bytes(4096 - len(head) + entries * 256))
        control.chmod(0o600)
        return Preload(library or runtime, clean_environment(), folder)

    return make


@pytest.fixture(scope="session")
def build_c(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """build_c("name.c", "-static", cc="musl-gcc") compiles a target in a special way; skips when it cannot."""

    def build(name: str, *flags: str, cc: str = "cc", out: str = "program") -> Path:
        if shutil.which(cc) is None:
            pytest.skip(f"no {cc} here")
        program = tmp_path_factory.mktemp("built") / out
        source = ROOT / "tests" / "targets" / name
        command = [cc, "-O1", "-g", "-D_GNU_SOURCE", str(source), "-o", str(program), *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"{' '.join(command)}: {done.stderr[-300:]}")
        return program

    return build
