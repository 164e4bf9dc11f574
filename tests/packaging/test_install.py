"""What an installation puts where, and that it works from there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text()).group(1)  # type: ignore[union-attr]
SYMBOLS = Path(__file__).with_name("runtime-symbols.txt")


def elf(file: Path, *options: str) -> str:
    return subprocess.run(["readelf", "-W", *options, file], capture_output=True, text=True, check=True).stdout


def needed(file: Path) -> set[str]:
    """A library that came with the wheel by the name it had before: libzstd-37412b7a.so.1.5.4 is libzstd.so.1."""
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", elf(file, "-d"))
    return {re.sub(r"-[0-9a-f]{8}(\.so\.\d+).*", r"\1", name) for name in names}


def core_of(installation: Any) -> Path:
    """A wheel has one for every Python."""
    (core,) = installation.package.glob(f"_core.cpython-{installation.version.replace('.', '')}-*.so")
    return Path(core)


def paths(file: Path) -> list[str]:
    """Where the loader looks for its libraries."""
    (found,) = re.findall(r"\(RUNPATH\).*\[(.*)\]", elf(file, "-d"))
    return str(found).split(":")


def undefined(file: Path) -> set[str]:
    listed = subprocess.run(["nm", "-D", "--undefined-only", file], capture_output=True, text=True, check=True).stdout
    # A weak one may be absent; who uses it has to look.
    found = [line.split() for line in listed.splitlines()]
    return {name.split("@")[0] for kind, name in found if kind == "U"}


def test_the_command_in_bin_is_native(installation: Any) -> None:
    assert installation.command.read_bytes()[:4] == b"\x7fELF"
    said = installation.run(installation.command, "--version")
    assert (said.returncode, said.stdout.strip(), said.stderr) == (0, f"inferscope {VERSION}", "")


def test_the_command_needs_nothing_but_libc(installation: Any) -> None:
    assert needed(installation.command) <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}


def test_the_package_imports_and_is_not_inert(installation: Any) -> None:
    code = (
        "import inferscope as i; from inferscope import _core as c; print(i.__version__, c.inert, c.reason, i.active())"
    )
    said = installation.run(installation.python, "-I", "-c", code)
    assert (said.stdout.strip(), said.stderr) == (f"{VERSION} False None False", "")


def test_python_dash_m_is_the_command(installation: Any) -> None:
    said = installation.run(installation.python, "-m", "inferscope", "--version")
    assert (said.returncode, said.stdout.strip()) == (0, f"inferscope {VERSION}")


def test_everything_in_the_program_lies_in_the_package_folder(installation: Any) -> None:
    assert (installation.package / "libinferscope_rt.so").is_file()
    assert (installation.package / "_inject" / "sitecustomize.py").is_file()
    assert [file.name for file in installation.site.glob("*.pth") if "inferscope" in file.name] == ["inferscope.pth"]
    assert (installation.package / "py.typed").is_file()


def test_core_needs_the_runtime_beside_it_and_nothing_else(installation: Any) -> None:
    core = core_of(installation)
    assert needed(core) <= {"libinferscope_rt.so", "libc.so.6"}
    assert "libinferscope_rt.so" in needed(core)
    assert paths(core) == ["$ORIGIN"]


def test_what_reads_traces_is_one_file_for_all_pythons_and_needs_nothing_of_the_runtime(installation: Any) -> None:
    (offline,) = installation.package.glob("_offline*.so")
    assert offline.name == "_offline.abi3.so"
    libraries = {"libzstd.so.1", "libz.so.1", "libsqlite3.so.0", "libyaml-0.so.2", "libm.so.6", "libc.so.6"}
    assert needed(offline) <= libraries
    event = "{'event_type': 'x', 'name': 'y', 'start_ns': 1}"
    code = f"import inferscope as i; print(i.TraceBuffer(1).enqueue({event}))"
    said = installation.run(installation.python, "-I", "-c", code)
    assert (said.stdout, said.stderr) == ("True\n", "")


def test_the_profiler_works_from_where_it_is_installed(installation: Any) -> None:
    library = installation.package / "libinferscope.so"
    assert needed(library) <= {"libinferscope_rt.so", "libzstd.so.1", "libm.so.6", "libc.so.6", "ld-linux-x86-64.so.2"}
    assert "$ORIGIN" in paths(library) and set(paths(library)) <= {"$ORIGIN", "$ORIGIN/../inferscope.libs"}
    code = "import inferscope as i; p = i.CPUProfiler(); print(p.start(), p.stop(), p.state()['note'])"
    said = installation.run(installation.python, "-I", "-c", code)
    assert (said.stdout, said.stderr) == ("True True None\n", "")


def test_a_part_of_a_program_is_traced_from_inside(installation: Any) -> None:
    code = (
        "import inferscope\ndef f(): pass\nwith inferscope.Profiler() as p: f()\n"
        "print([e['name'] for e in p.stop() if e['event_type'] == 'cpu_call'])"
    )
    said = installation.run(installation.python, "-I", "-c", code)
    assert (said.stdout, said.stderr) == ("['f']\n", "")


def test_what_is_loaded_into_the_program_is_bound_at_load(installation: Any) -> None:
    for file in [installation.package / "libinferscope_rt.so", *installation.package.glob("_core*.so")]:
        assert re.search(r"\(FLAGS(_1)?\).*NOW", elf(file, "-d")), file


def test_the_runtime_needs_only_allowed_symbols_of_libc(installation: Any) -> None:
    """One that musl lacks would keep a musl program from starting; FORTIFY's and the stack protector's are such."""
    runtime = installation.package / "libinferscope_rt.so"
    allowed = {line for line in SYMBOLS.read_text().splitlines() if line and not line.startswith("#")}
    assert needed(runtime) <= {"libc.so.6", "ld-linux-x86-64.so.2"}
    assert undefined(runtime) <= allowed, undefined(runtime) - allowed


def test_the_list_of_symbols_has_none_that_only_glibc_has() -> None:
    names = SYMBOLS.read_text().split()
    assert not [name for name in names if name.endswith("_chk") or name in ("__stack_chk_fail", "dlvsym")]


def test_the_runtime_uses_no_dynamic_tls(installation: Any) -> None:
    """Initial-exec only: __tls_get_addr may allocate, and a signal handler must not."""
    runtime = installation.package / "libinferscope_rt.so"
    assert "__tls_get_addr" not in undefined(runtime)
    assert "DTPMOD" not in elf(runtime, "-r")


@pytest.mark.parametrize("options", [[], ["-I"], ["-E"], ["-s"]], ids=lambda options: "".join(options) or "plain")
def test_a_session_that_is_gone_is_not_noticed(installation: Any, options: list[str]) -> None:
    said = installation.run(installation.python, *options, "-c", "print('ok')", INFERSCOPE_SESSION="/nonexistent/x")
    assert (said.returncode, said.stdout, said.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize("value", ["0", "", "yes"])
def test_only_one_means_enabled(installation: Any, value: str) -> None:
    code = "import sys; print('_inferscope_boot' in sys.modules)"
    said = installation.run(installation.python, "-c", code, INFERSCOPE_ENABLED=value)
    assert (said.stdout, said.stderr) == ("False\n", "")
    said = installation.run(installation.python, "-c", code, INFERSCOPE_SESSION="/nonexistent/x")
    assert said.stdout == "True\n"
