"""%%inferscope in a notebook: with a shell that is like IPython's, and with IPython itself."""

from __future__ import annotations

import subprocess
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program = Callable[..., Any]

LIKE_IPYTHON = """
import types
shown = []
display = types.ModuleType("IPython.display")
display.Markdown = str
display.display = shown.append
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython.display"] = display

class Shell:
    def __init__(self):
        self.compile = types.SimpleNamespace(_filename_map={})
        self.magics, self.names = {}, {}
    def register_magic_function(self, function, magic_kind, magic_name): self.magics[magic_name] = function
    async def run_code(self, code, result=None): exec(code, self.names)
    def around(self): pass
    def run_cell(self, text, store_history=False, number=9):
        self.around()
        file = f"/tmp/ipykernel_{os.getpid()}/{abs(hash(text))}.py"
        self.compile._filename_map[file] = number
        try: step = self.run_code(compile(text, file, "exec"))
        except SyntaxError: return print("not understood")
        try: step.send(None)
        except StopIteration: pass

shell = Shell()
inferscope.load_ipython_extension(shell)
magic = shell.magics["inferscope"]
"""


def test_a_cell_is_traced_and_its_frames_are_named_by_cell_and_line(program: Program, python: str) -> None:
    said = program(
        python,
        LIKE_IPYTHON
        + """
shell.run_cell("def slow(n):\\n    return sum(range(n))\\n\\ndef quick(): return 1\\n", number=3)
magic("--budget off", "def here(): return slow(10) + quick()\\nx = here()")
before = shell.run_code
say(report=shown[0], x=shell.names["x"], restored=before == shell.run_code)
""",
    )
    report = said["report"]
    assert said["x"] == 46
    for place in ("`cell [3]:1`", "`cell [3]:4`", "`cell [9]:1`"):
        assert place in report
    assert "around" not in report and "ipykernel" not in report
    # A sample may meet what runs the cell, for samples leave nothing out; its calls are not recorded.
    rows = [line for line in report.splitlines() if line.startswith("| `") and "run_traced" in line.split("|")[1]]
    assert all("| sampled |" in row for row in rows)


def test_wrong_words_cells_and_failures_are_told(program: Program, python: str) -> None:
    said = program(
        python,
        LIKE_IPYTHON
        + """
told = []
for line in ("--all", "--budget", "--budget much", "--budget 200"):
    try: magic(line, "x = 1")
    except ValueError as error: told.append(str(error))
magic("", "this is no Python")
try: magic("", "raise KeyError(1)")
except KeyError: told.append("raised")
from inferscope import _command, _session
say(told=told, ran="x" in shell.names, shown=len(shown))
""",
    )
    assert len(said["told"]) == 5 and "does not know --all" in said["told"][0]
    assert not said["ran"] and said["shown"] == 0


@pytest.fixture(scope="module")
def ipython(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has IPython."""
    folder = tmp_path_factory.mktemp("ipython")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "ipython"]
    done = subprocess.run(install, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"IPython cannot be installed here: {done.stderr.strip().splitlines()[-1]}")
    return str(python)


@pytest.mark.integration
def test_ipython_shows_the_report_of_a_cell(program: Program, ipython: str, tmp_path: Path) -> None:
    said = program(
        ipython,
        """
        from IPython.core.interactiveshell import InteractiveShell
        import IPython.display
        shown = []
        IPython.display.display = shown.append
        shell = InteractiveShell.instance()
        loaded = shell.run_cell("%load_ext inferscope").success
        shell.run_cell("def slow(n):\\n    return sum(i for i in range(n))\\n", store_history=True)
        shell.run_cell("y = await later() if False else 1", store_history=True)
        run = shell.run_cell("%%inferscope --budget off\\nx = slow(20000)\\nz = 1", store_history=True)
        say(loaded=loaded, success=run.success, x=shell.user_ns["x"], report=shown[0].data)
        """,
        IPYTHONDIR=str(tmp_path),
    )
    assert said["loaded"] and said["success"] and said["x"] == 199990000
    assert "`cell [1]:1`" in said["report"] and "tokenize" not in said["report"]
