"""Fixtures for tests over the installed command.

INFERSCOPE_BUILD names a compiled build folder (default: build); it is installed once into its own
`stage`, so that the tests see the layout that users get.  INFERSCOPE_PYTHONS lists the interpreters to
test.  By hand:  ninja -C build && .venv/bin/pytest tests/e2e -k signals
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.accounting import beside
else:
    # Test modules are not packages; this is how they share accounting.py and waiting.py.
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from accounting import beside

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ROOT / "tests" / "targets"
BUILD = Path(os.environ.get("INFERSCOPE_BUILD", ROOT / "build")).resolve()
LONG = os.environ.get("INFERSCOPE_LONG") == "1"


class Facts(dict[str, Any]):
    """A JSON object whose members are attributes: run.report.overhead.lost."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no {name} here, only {', '.join(self)}") from None


@dataclass
class Run:
    """What one run of the command left behind."""

    returncode: int
    stdout: str
    stderr: str
    trace: Path
    report_path: Path
    command: Path
    dumped: dict[tuple[object, ...], list[str]] = field(default_factory=dict, repr=False)

    @property
    def report(self) -> Facts:
        """The JSON report."""
        return json.loads(self.report_path.read_text(), object_hook=Facts)  # type: ignore[no-any-return]

    @property
    def made(self) -> int:
        """How many events the program made itself, stored or lost; too many where samples or waits were lost."""
        overhead = self.report.overhead
        return int(overhead.events) + int(overhead.lost) - beside(self.dump())

    @property
    def verdict(self) -> Facts:
        return self.report.verdict  # type: ignore[no-any-return]

    @property
    def ours(self) -> list[str]:
        """Our lines on stderr."""
        return [line for line in self.stderr.splitlines() if line.startswith("inferscope:")]

    @property
    def theirs(self) -> str:
        """What the program itself wrote to stderr."""
        return "".join(line for line in self.stderr.splitlines(True) if not line.startswith("inferscope:"))

    def dump(self, *options: str) -> list[str]:
        """The trace as text, one line each; made once as long as the file stays the same."""
        now = self.trace.stat()
        key = (*options, self.trace, now.st_mtime_ns, now.st_size)
        if key not in self.dumped:
            command = [str(self.command), "dump", *options, str(self.trace)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
            self.dumped[key] = done.stdout.splitlines()
        return self.dumped[key]


@dataclass
class Command:
    """Calling it runs the command.  `run` gets a trace and a JSON report in the folder unless plain."""

    path: Path
    folder: Path
    environment: dict[str, str]

    def arguments(self, args: tuple[str | Path, ...], plain: bool = False) -> list[str]:
        given = [str(arg) for arg in args]
        if plain or given[:1] != ["run"]:
            return [str(self.path), *given]
        more = []
        if "--trace" not in given:
            more += ["--trace", str(self.folder / "inferscope.isc")]
        if "--report" not in given and "--no-report" not in given:
            more += ["--report", str(self.folder / "report.json")]
        return [str(self.path), "run", *more, *given[1:]]

    def __call__(
        self,
        *args: str | Path,
        plain: bool = False,
        env: dict[str, str] | None = None,
        input: str | None = None,
        timeout: float = 60,
        cwd: Path | None = None,
    ) -> Run:
        done = subprocess.run(
            self.arguments(args, plain),
            cwd=cwd or self.folder,
            env={**self.environment, **(env or {})},
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout,
            check=False,
        )
        return self.result(done.returncode, done.stdout, done.stderr)

    def start(self, *args: str | Path, plain: bool = False, **options: Any) -> subprocess.Popen[str]:
        """The same in the background; the caller waits for it."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        env = {**self.environment, **options.pop("env", {})}
        return subprocess.Popen(
            self.arguments(args, plain), cwd=options.pop("cwd", self.folder), env=env, text=True, **options
        )

    def result(self, returncode: int, stdout: str = "", stderr: str = "") -> Run:
        folder = self.folder
        return Run(returncode, stdout, stderr, folder / "inferscope.isc", folder / "report.json", self.path)


@pytest.fixture(scope="session")
def stage() -> Path:
    """The prefix of an installation of the build folder."""
    if not (BUILD / "build.ninja").exists():
        pytest.fail(f"{BUILD} is not a build folder; run make all, or set INFERSCOPE_BUILD")
    meson = Path(sys.executable).parent / "meson"
    install = [str(meson), "install", "-C", str(BUILD), "--no-rebuild", "--quiet", "--destdir", str(BUILD / "stage")]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"cannot install {BUILD}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return next((BUILD / "stage").glob("**/bin/inferscope")).parents[1]


@pytest.fixture
def inferscope(stage: Path, tmp_path: Path) -> Command:
    """The command, run in tmp_path with no setting from outside."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("INFERSCOPE_", "LD_", "PYTHON")) and name != "VIRTUAL_ENV"
    }
    clean["XDG_CONFIG_HOME"] = str(tmp_path / "no-config")
    return Command(stage / "bin" / "inferscope", tmp_path, clean)


def compiled(source: Path) -> Path:
    """The program of a C target; a line `flags: ...` in its first comment adds compiler flags."""
    text = source.read_text()
    flags = re.search(r"flags: (.*?)(?:\*/)?$", text, re.MULTILINE)
    key = hashlib.sha256((text + str(BUILD)).encode()).hexdigest()[:12]
    program = BUILD / "targets" / f"{source.stem}-{key}"
    if not program.exists():
        program.parent.mkdir(exist_ok=True)
        fresh = program.with_suffix(f".{os.getpid()}")
        base = ["cc", "-O1", "-g", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-pthread", f"-I{ROOT / 'include'}"]
        more = flags.group(1).split() if flags else []
        subprocess.run([*base, str(source), "-o", str(fresh), "-ldl", *more], check=True)
        fresh.rename(program)
    return program


@pytest.fixture(scope="session")
def target() -> Callable[[str], str]:
    """target("name.py") is its path, target("name.c") the path of its compiled program."""

    def path(name: str) -> str:
        source = TARGETS / name
        return str(compiled(source) if source.suffix == ".c" else source)

    return path


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the whole reports of each scene of tests/golden: NAME.report.json, NAME.report.md, NAME.summary."""
    folder = tmp_path_factory.mktemp("scenes")
    events = sorted((ROOT / "tests" / "golden").glob("*.events"))
    program = BUILD / "tests" / "unit" / "scene_reports"
    subprocess.run([str(program), str(folder), *map(str, events)], check=True, timeout=120)
    return folder


@pytest.fixture(scope="session")
def count() -> Callable[[int, int], int]:
    """count(short, long): how often to do something; the long count is for `make full`."""
    return lambda short, long: long if LONG else short


def environment_python(name: str) -> str:
    """The Python of an environment of tools/environments.py, made now or found again."""
    command = [sys.executable, str(ROOT / "tools" / "environments.py"), name]
    made = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    if made.returncode:
        pytest.skip(made.stderr.strip().splitlines()[-1])
    return made.stdout.strip()


@pytest.fixture(scope="session")
def torch_python() -> str:
    """A Python 3.11 with the pinned PyTorch and MiniLM."""
    return environment_python("torch")


@pytest.fixture(scope="session")
def numpy_python() -> str:
    """A Python with numpy."""
    return environment_python("numpy")


@pytest.fixture(scope="session")
def nvtx_python() -> str:
    """A Python with the nvtx package and the headers of NVTX."""
    return environment_python("nvtx")


@pytest.fixture(scope="session")
def viewers() -> str:
    """A Python with PyPI's perfetto and viztracer."""
    return environment_python("viewers")


@pytest.fixture
def greenlet_python(python: str) -> str:
    """That Python with greenlet, in an environment that later runs find again."""
    folder = ROOT / f".venv-greenlet-{Path(python).name}"
    found = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        got = subprocess.run([str(found), "-m", "pip", "install", "--quiet", "greenlet"], check=False, timeout=300)
        if got.returncode:
            pytest.skip("pip cannot install greenlet for this Python")
        (folder / "complete").touch()
    return str(found)


def pythons() -> list[str]:
    listed = [path for path in os.environ.get("INFERSCOPE_PYTHONS", "").split(os.pathsep) if path]
    if listed:
        return listed
    finder = [sys.executable, str(ROOT / "tools" / "pythons.py"), "3.11", "3.13"]
    return subprocess.run(finder, capture_output=True, text=True, check=True).stdout.split()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument `python` runs once for each interpreter."""
    if "python" in metafunc.fixturenames:
        found = pythons()
        metafunc.parametrize("python", found, ids=[Path(path).name for path in found])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Somebody else's program on the same machine makes it slower for tenths of a second, and then not."""
    for item in items:
        if item.get_closest_marker("timed"):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=1))
