"""The tree is the architecture: includes go one way, files stay small, and nothing names this machine."""

from __future__ import annotations

import re
import warnings
from collections import Counter
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
OFFLINE = re.compile(r"python/offline/\w+\.[ch]")
OFFLINE_ALLOWED = {"report", "analyze", "import", "timeline", "trace", "base"}
LINES_MAX = 800
LINES_MUCH = 400  # a warning: is it still one noun?
COLUMNS_MAX = 120
FILES_MAX = 60  # of one folder, without those below it
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
    offline = "python/offline/offline.c"
    assert wrong_includes("python", f'#include "{path}"\n', offline) == [path]
    both = '#include "python/offline/offline.h"\n#include "report/report.h"\n'
    assert wrong_includes("python", both, offline) == []
    assert wrong_includes("python", '#include "report/report.h"\n', "python/core.c") == ["report/report.h"]


def test_every_folder_of_src_has_its_layer(tracked: Files) -> None:
    assert {file.relative_to(SRC).parts[0] for file in tracked("src/*.c", "src/*.h")} <= set(ALLOWED)


def test_no_base_code_is_linked_into_the_program() -> None:
    text = (SRC / "meson.build").read_text()
    runtime = re.search(r"shared_library\('inferscope_rt',(.*?)\)", text, re.DOTALL)
    assert runtime and "base_src" not in runtime.group(1) and "dependencies" not in runtime.group(1)


@pytest.mark.filterwarnings("default:.*files of src have more than")
def test_no_file_is_too_long(tracked: Files) -> None:
    sources = tracked("*.c", "*.h", "*.py", "*.js")
    lines = {str(file.relative_to(ROOT)): file.read_text().count("\n") for file in sources}
    much = sorted(
        (file for file in lines if file.startswith("src/") and lines[file] > LINES_MUCH), key=lines.__getitem__
    )
    if much:
        warnings.warn(f"{len(much)} files of src have more than {LINES_MUCH} lines, most {much[-5:]}", stacklevel=1)
    assert not {file: n for file, n in lines.items() if n > LINES_MAX}, "two nouns in one file"


def test_lines_of_the_page_fit_a_screen(tracked: Files) -> None:
    """C and Python have their formatters; the scripts and the style of the page have this."""
    wide = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in tracked("src/*.js", "src/*.css")
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if len(line.expandtabs(8)) > COLUMNS_MAX
    ]
    assert not wide, f"more than {COLUMNS_MAX} columns, with tabs of 8: {wide}"


def test_no_folder_of_src_is_a_flat_list(tracked: Files) -> None:
    folders = Counter(str(file.relative_to(ROOT).parent) for file in tracked("src/*.c", "src/*.h", "src/*.js"))
    assert not {folder: n for folder, n in folders.items() if n > FILES_MAX}


COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
TAGGED = re.compile(r"\b(?:struct|enum|union)\s+(\w+)\s*\{")
NAMED = re.compile(r"^typedef\s+(?:struct|enum|union)\s*\w*\s*\{.*?^\}\s*(\w+);", re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(r"^typedef\s[^;{}]*?\(\*?\s*(\w+)\)\s*\(", re.MULTILINE)


def type_names(text: str) -> set[str]:
    """The types that a file defines; one that it only declares is defined elsewhere."""
    text = COMMENT.sub("", text)
    return {name for pattern in (TAGGED, NAMED, FUNCTION) for name in pattern.findall(text)}


def test_no_two_types_share_a_name(tracked: Files) -> None:
    where: dict[str, list[str]] = {}
    for file in tracked("src/*.c", "src/*.h", "include/*.h"):
        for name in type_names(file.read_text()):
            where.setdefault(name, []).append(str(file.relative_to(ROOT)))
    assert not {name: files for name, files in where.items() if len(files) > 1}


PROTOTYPE = re.compile(r"^(?!static|typedef)[A-Za-z][^;{}()=]*?\b(isc_\w+)\(", re.MULTILINE)


def test_no_two_functions_share_a_name(tracked: Files) -> None:
    """An archive would give one of them to both who call it."""
    where: dict[str, set[str]] = {}
    for file in tracked("src/*.h"):
        for name in PROTOTYPE.findall(COMMENT.sub("", file.read_text())):
            where.setdefault(name, set()).add(str(file.relative_to(ROOT)))
    assert len(where) > 500
    assert not {name: files for name, files in where.items() if len(files) > 1}


def test_no_two_functions_of_the_page_share_a_name(tracked: Files) -> None:
    """Its scripts are one program, in which the later would silently take the place of the other."""
    files = [file for file in tracked("src/report/html/page/*.js") if file.name != "diff.js"]
    names = Counter(name for file in files for name in re.findall(r"^function (\w+)", file.read_text(), re.MULTILINE))
    assert len(names) > 100
    assert not [name for name, count in names.items() if count > 1]


def test_a_type_is_found_however_it_is_defined() -> None:
    text = "typedef struct isc_a {\n\tint x;\n} isc_a;\nenum b { C };\ntypedef bool (*take)(int);\nstruct only;\n"
    assert type_names(text) == {"isc_a", "b", "take"}


def test_there_is_no_drawer_for_odds_and_ends(tracked: Files) -> None:
    bad = re.compile(r"(^|[/_])(utils?|helpers?|misc|common)(\.|/|$)")
    assert not [str(file) for file in tracked() if bad.search(str(file.relative_to(ROOT)))]
