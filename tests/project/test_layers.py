"""The tree is the architecture: includes go one way, files stay small, and nothing names this machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"

# folder: what it may include besides itself.  include/inferscope is open to all.
ALLOWED = {
    "base": set(),
    "trace": {"base"},
    "timeline": {"trace", "base"},
    "import": {"timeline", "trace", "base"},
    "analyze": {"import", "timeline", "trace", "base"},
    "report": {"analyze", "import", "timeline", "trace", "base"},
    "export": {"timeline", "trace", "base"},
    "library": {"report", "export", "analyze", "import", "timeline", "trace", "base"},
    "runtime": {"base"},
    "collect": {"runtime", "base"},
    "cuda": {"collect/gpu.h", "runtime", "base"},
    "opencl": {"collect/gpu.h", "runtime", "base"},
    "symbol": {"base"},
    "profiler": {"runtime", "symbol", "base"},
    "session": {"runtime/layout.h", "symbol", "trace", "base"},
    "cli": {"session", "analyze", "report", "export", "import", "trace", "base"},
    "python": {"runtime", "base"},
}
# inferscope._offline is another library than _core: it reads, and has nothing of the runtime.
OFFLINE = re.compile(r"python/(offline\w*|trace_buffer)\.[ch]")
OFFLINE_ALLOWED = {"report", "analyze", "import", "timeline", "trace", "base"}
LINES_MAX = 600
Files = Callable[..., list[Path]]


def wrong_includes(folder: str, text: str, file: str = "") -> list[str]:
    """The includes in text that this file of this folder may not have."""
    wrong = []
    allowed = OFFLINE_ALLOWED if OFFLINE.fullmatch(file) else ALLOWED[folder]
    for path in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE):
        if path.startswith("inferscope/") or "/" not in path:
            continue
        top = path.split("/")[0]
        if top == folder:
            good = not OFFLINE.fullmatch(file) or OFFLINE.fullmatch(path) is not None
        else:
            good = top in allowed or path in allowed
        if not good:
            wrong.append(path)
    return wrong


def test_includes_follow_the_layers(tracked: Files) -> None:
    found = []
    for file in tracked("src/*.c", "src/*.h"):
        folder = file.relative_to(SRC).parts[0]
        wrong = wrong_includes(folder, file.read_text(), str(file.relative_to(SRC)))
        found += [f"{file.relative_to(ROOT)} includes {path}" for path in wrong]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("folder", "path"),
    [
        ("base", "trace/format.h"),
        ("trace", "analyze/x.h"),
        ("runtime", "session/x.h"),
        ("session", "runtime/runtime.h"),
    ],
)
def test_a_wrong_include_is_seen(folder: str, path: str) -> None:
    assert wrong_includes(folder, f'#include <stdio.h>\n#include "{path}"\n') == [path]


@pytest.mark.parametrize("path", ["runtime/runtime.h", "python/calls.h", "session/session.h"])
def test_the_library_that_reads_has_nothing_of_the_one_that_traces(path: str) -> None:
    assert wrong_includes("python", f'#include "{path}"\n', "python/offline.c") == [path]
    assert (
        wrong_includes("python", '#include "python/offline.h"\n#include "report/report.h"\n', "python/offline.c") == []
    )
    assert wrong_includes("python", '#include "report/report.h"\n', "python/core.c") == ["report/report.h"]


def test_every_folder_of_src_has_its_layer(tracked: Files) -> None:
    assert {file.relative_to(SRC).parts[0] for file in tracked("src/*.c", "src/*.h")} <= set(ALLOWED)


def test_no_base_code_is_linked_into_the_program() -> None:
    text = (SRC / "meson.build").read_text()
    runtime = re.search(r"shared_library\('inferscope_rt',(.*?)\)", text, re.DOTALL)
    assert runtime and "base_src" not in runtime.group(1) and "dependencies" not in runtime.group(1)


def test_no_file_is_too_long(tracked: Files) -> None:
    sources = tracked("*.c", "*.h", "*.py")
    long = {str(file.relative_to(ROOT)): n for file in sources if (n := file.read_text().count("\n")) > LINES_MAX}
    assert not long, f"two nouns in one file: {long}"


def test_there_is_no_drawer_for_odds_and_ends(tracked: Files) -> None:
    bad = re.compile(r"(^|[/_])(utils?|helpers?|misc|common)(\.|/|$)")
    assert not [str(file) for file in tracked() if bad.search(str(file.relative_to(ROOT)))]
