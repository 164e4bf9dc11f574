"""What every measurement needs: the installed command, the programs of bench/, a folder to write into."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turns import Failed, Player

TICKS = 1_000_000  # nanoseconds in a millisecond


@dataclass(frozen=True)
class Done:
    """A program that ran: when it was started and was gone, what it said."""

    started_ns: int
    gone_ns: int
    cpu_s: float
    out: bytes

    @property
    def wall_ms(self) -> float:
        return (self.gone_ns - self.started_ns) / TICKS

    @property
    def said(self) -> dict[str, Any]:
        """The line of JSON that our programs print."""
        return json.loads(self.out)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Kit:
    build: Path
    scratch: Path
    seconds: float  # for one comparison
    long: bool = False

    @property
    def command(self) -> Path:
        return next((self.build / "stage").glob("**/bin/inferscope"))

    @property
    def runtime(self) -> Path:
        return next((self.build / "stage").glob("**/libinferscope_rt.so"))

    def program(self, name: str) -> str:
        return str(self.build / "bench" / name)

    @property
    def environment(self) -> dict[str, str]:
        ours = ("INFERSCOPE_", "LD_", "PYTHON")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        kept.pop("VIRTUAL_ENV", None)
        kept["PYTHONHASHSEED"] = "0"  # two processes that are compared lay out their tables alike
        return {**kept, "XDG_CONFIG_HOME": str(self.scratch / "no-config")}

    def run(self, argv: list[str], env: dict[str, str] | None = None, code: int = 0) -> Done:
        """Started and waited for with nothing in between that would take time."""
        out_path = self.scratch / "out"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        to_file = [
            (os.POSIX_SPAWN_OPEN, 1, str(out_path), flags, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, str(self.scratch / "err"), flags, 0o600),
        ]
        started = time.monotonic_ns()
        pid = os.posix_spawn(argv[0], argv, {**self.environment, **(env or {})}, file_actions=to_file)
        _, status, usage = os.wait4(pid, 0)
        gone = time.monotonic_ns()
        if os.waitstatus_to_exitcode(status) != code:
            last = (self.scratch / "err").read_text(errors="replace")[-500:]
            raise Failed(f"{' '.join(argv)}: status {status}: {last}")
        return Done(started, gone, usage.ru_utime + usage.ru_stime, out_path.read_bytes())

    def peak_kb(self, argv: list[str], code: int = 0) -> int:
        """The most memory that a program had."""
        self.run([self.program("memory_peak"), str(self.scratch / "peak"), *argv], code=code)
        return int((self.scratch / "peak").read_text())

    def traced(self, argv: list[str], *options: str, command: bool = True) -> Done:
        """The same under `run`; the trace is scratch/trace.isc, the report (if any) scratch/report.json."""
        return self.run(self.recorded(argv, *options, command=command))

    def recorded(self, argv: list[str], *options: str, command: bool = True) -> list[str]:
        files = ["--trace", str(self.trace), "--report", str(self.scratch / "report.json")]
        return [str(self.command), "run", "--quiet", *files, *options, *(["--"] if command else []), *argv]

    def player(self, argv: list[str], env: dict[str, str] | None = None) -> Callable[[], Player]:
        """Starts a program that works in turn with another."""
        return lambda: Player(argv, {**self.environment, **(env or {})}, self.scratch / f"err-{id(argv)}")

    @property
    def trace(self) -> Path:
        return self.scratch / "trace.isc"

    @property
    def report(self) -> dict[str, Any]:
        return json.loads((self.scratch / "report.json").read_text())  # type: ignore[no-any-return]


def install(build: Path) -> None:
    """As users get it, into the build folder's own stage."""
    meson = Path(sys.executable).parent / "meson"
    stage = ["--destdir", str(build / "stage")]
    done = subprocess.run(
        [str(meson), "install", "-C", str(build), "--no-rebuild", "--quiet", *stage],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"cannot install {build.name}: {done.stderr[-500:]}")
