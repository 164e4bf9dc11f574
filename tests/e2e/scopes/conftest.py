"""Programs that use the package: how they are run, and what the trace says of their scopes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ENTER = re.compile(r'(\S+) p(\d+) t(\d+) #\d+ scope_enter "(.*?)" scope (\d+)(?: in (\d+))?$')
EXIT = re.compile(r'(\S+) p(\d+) t(\d+) #\d+ scope_exit "(.*?)"( arg 1)? scope (\d+) ticks (\d+)$')


@dataclass
class Scope:
    """One time that a scope was entered."""

    name: str
    process: int
    thread: int
    instance: int
    around: int
    entered_s: float
    left_s: float | None = None
    moved: bool = False


class Scopes(list[Scope]):
    """In the order they were entered."""

    def named(self, name: str) -> list[Scope]:
        return [scope for scope in self if scope.name == name]

    def one(self, name: str) -> Scope:
        (found,) = self.named(name)
        return found

    def around(self, scope: Scope) -> str | None:
        """The name of the scope that it is in."""
        return next((s.name for s in self if s.instance == scope.around), None)


def scopes_of(lines: list[str]) -> Scopes:
    found = Scopes()
    for line in lines:
        if match := ENTER.match(line):
            at, process, thread, name, instance, around = match.groups()
            found.append(Scope(name, int(process), int(thread), int(instance), int(around or 0), float(at)))
    for line in lines:
        if match := EXIT.match(line):
            at, process, _, name, moved, instance, _ = match.groups()
            mine = [s for s in found if (s.process, s.name, s.instance) == (int(process), name, int(instance))]
            assert mine, f"left and never entered: {line}"
            mine[0].left_s = float(at)
            mine[0].moved = bool(moved)
    return Scopes(sorted(found, key=lambda scope: scope.entered_s))


@pytest.fixture(scope="session")
def package(stage: Path) -> Path:
    """The folder that holds the package."""
    return next(stage.glob("**/inferscope/__init__.py")).parents[1]


@dataclass
class Traced:
    run: Any
    scopes: Scopes

    @property
    def stdout(self) -> str:
        return str(self.run.stdout)


@pytest.fixture
def traced(inferscope: Any, package: Path, tmp_path: Path) -> Callable[..., Traced]:
    """Runs a program under the command and reads its scopes; bare it must say the same."""

    def go(program: str, python: str, *options: str, same: bool = True, code: int = 0) -> Traced:
        script = tmp_path / "program.py"
        script.write_text(program)
        env = {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
        run = inferscope("run", "--python", python, *options, script, env=env)
        assert run.returncode == code, run.stderr
        if same:
            command = [python, str(script)]
            bare = subprocess.run(
                command, env={**inferscope.environment, **env}, capture_output=True, text=True, timeout=60, check=False
            )
            assert (bare.returncode, bare.stdout, bare.stderr) == (code, run.stdout, run.theirs)
        return Traced(run, scopes_of(run.dump()))

    return go
