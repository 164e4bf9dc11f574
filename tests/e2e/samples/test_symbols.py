"""Names of native functions from debug files that lie somewhere else."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

SOURCE = """
#include <time.h>

static volatile long sink;

static __attribute__((noinline)) void hidden_work(void)
{
	for (long i = 0; i < 1000000; i++)
		sink += i;
}

int main(void)
{
	for (time_t end = time(NULL) + 2; time(NULL) < end;)
		hidden_work();
	return 0;
}
"""


@pytest.fixture(scope="module")
def stripped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A program without a symbol, and what was taken out of it."""
    folder = tmp_path_factory.mktemp("stripped")
    whole, bare = folder / "whole", folder / "program"
    (folder / "program.c").write_text(SOURCE)
    subprocess.run(["cc", "-g", "-O1", "-Wl,--build-id=sha1", folder / "program.c", "-o", whole], check=True)
    subprocess.run(["objcopy", "--strip-all", whole, bare], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", whole, folder / "symbols"], check=True)
    return bare, folder / "symbols"


def build_id(program: Path) -> str:
    told = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    return told.split("Build ID: ")[1].split()[0]


def functions(path: Path) -> dict[str, Any]:
    return {one["name"]: one for one in json.loads(path.read_text())["functions"]}


def test_debug_files_of_another_folder_name_functions(
    inferscope: Any, stripped: tuple[Path, Path], tmp_path: Path
) -> None:
    program, symbols = stripped
    run = inferscope("run", "--", program)
    assert run.returncode == 0, run.stderr
    out = tmp_path / "report.json"

    def names(folder: Path) -> tuple[dict[str, Any], str]:
        done = inferscope("analyze", run.trace, "--symbols", folder, "--output", out, "--force")
        assert done.returncode == 0, done.stderr
        return functions(out), done.stderr

    given = build_id(program)
    for place in (
        f".build-id/{given[:2]}/{given[2:]}.debug",
        f"{given[:2]}/{given[2:]}.debug",
        "program",
        "program.debug",
    ):
        folder = tmp_path / place.replace("/", "_")
        (folder / place).parent.mkdir(parents=True)
        shutil.copy(symbols, folder / place)
        found, said = names(folder)
        assert "warning: " + str(folder) not in said
        assert found["hidden_work"]["file"].endswith("program.c"), place
        assert "hidden_work" not in json.loads((inferscope.folder / "report.json").read_text())["functions"]

    # Another program's file of the same name is not believed.
    folder = tmp_path / "other"
    folder.mkdir()
    shutil.copy(shutil.which("true") or "/bin/true", folder / "program")
    found, said = names(folder)
    assert "hidden_work" not in found
    assert f"{folder} has no file of this trace's programs and libraries" in said


def test_a_folder_that_is_none_is_refused(inferscope: Any, tmp_path: Path) -> None:
    run = inferscope("run", "-c", "pass")
    for folder, why in (tmp_path / "none", "No such file"), (Path(run.trace), "is not a folder"):
        done = inferscope("analyze", run.trace, "--symbols", folder)
        assert done.returncode == 2
        assert "--symbols" in done.stderr and why in done.stderr
