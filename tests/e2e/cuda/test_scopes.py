"""Scopes of kernels: pushed to CUPTI, which names them with each call, on the double."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, Cuda, warned

# No call of the program is told of: what is known of a kernel's scope, CUPTI has said.
MUTE: dict[str, Any] = {"fail": "cuptiEnableCallback"}
LINE = re.compile(r'gpu_scope "([^"]+)" correlation (\d+)')


@pytest.fixture(scope="module")
def scoped(libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("scoped") / "cuda_scopes"
    flags = ["-O1", "-g", "-Wall", "-Wextra", "-Wno-unused-function", "-D_GNU_SOURCE", f"-I{ROOT / 'include'}"]
    source = ROOT / "tests" / "targets" / "cuda_scopes.c"
    libs = ["-l:libcudart.so", "-ldl", "-lpthread"]
    subprocess.run(["cc", *flags, str(source), "-o", str(out), f"-L{libraries}", *libs], check=True)
    return out


@pytest.fixture
def scopes(cuda: Cuda, scoped: Path) -> Cuda:
    cuda.program = scoped
    return cuda


def scope_of(run: Any) -> dict[str, str | None]:
    return {k.name.removesuffix("_50us"): k.scope for k in run.report.kernels}


def links(run: Any) -> dict[int, str]:
    """Correlation -> scope, as the trace has it from CUPTI."""
    return {int(m[2]): m[1] for line in run.dump() if (m := LINE.search(line))}


@pytest.mark.parametrize("how", ["marks", "nvtx", "crossed", "threads"])
def test_cupti_names_the_scope_of_each_kernel(scopes: Cuda, how: str) -> None:
    """Thread and time tell nothing here: there are no calls.  Every link that CUPTI gave is the true one."""
    run = scopes(how, "1500", **MUTE)
    assert (run.returncode, run.stdout) == (0, f"done {how} 1500\n")
    prefix = {"prefill": "a:", "decode": "b:"} if how == "crossed" else {}
    launched = {w.correlation: w.name.removesuffix("_50us") for w in run.truth if w.kind == "kernel"}
    told = links(run)
    assert {scope for scope in told.values()} == {prefix.get(n, "") + n for n in set(launched.values()) - {"plain"}}
    for correlation, scope in told.items():
        name = launched[correlation]
        assert scope == prefix.get(name, "") + name
    # The first come before the records are on.
    scoped = Counter(name != "plain" for name in launched.values())[True]
    assert len(told) > scoped / 2
    found = scope_of(run)
    assert found.pop("plain") is None
    assert found == {name: prefix.get(name, "") + name for name in found}


@pytest.mark.parametrize(
    "script",
    [
        {},
        {"generation": 11},
        {"fail": "cuptiActivityPushExternalCorrelationId"},
        {"fail": "cuptiActivityPopExternalCorrelationId"},
        {"fail": "cuptiActivityEnableRuntimeApi"},
        {"nested": 1},
    ],
    ids=str,
)
def test_where_cupti_cannot_tell_thread_and_time_do(scopes: Cuda, script: dict[str, Any]) -> None:
    run = scopes("marks", "60", **script)
    assert run.returncode == 0
    assert scope_of(run) == {"prefill": "prefill", "decode": "decode", "outer": "outer", "plain": None}
    assert warned(run) == []
    if script:
        assert "generation" not in script or "enable 39" not in scopes.log()


def test_without_either_nothing_is_made_up(scopes: Cuda) -> None:
    run = scopes("marks", "60", generation=11, **MUTE)
    assert run.returncode == 0
    assert set(scope_of(run).values()) == {None}


def test_a_program_without_scopes_asks_for_nothing(cuda: Cuda) -> None:
    run = cuda("gpu", "20")
    assert run.returncode == 0
    assert "enable 39" not in cuda.log()


def test_the_programs_own_profiler_finds_no_numbers_of_ours(scopes: Cuda) -> None:
    run = scopes("held", "40")
    assert run.returncode == 0
    assert run.stdout == "own profiler 0, left behind nothing\ndone held 40\n"
    assert "disable 39" in scopes.log()


PYTHON = """
import ctypes
from inferscope import scope
cuda = ctypes.CDLL("libcudart.so")
class Dim(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]
cuda.cudaLaunchKernel.argtypes = [ctypes.c_void_p, Dim, Dim, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
def launch():
    cuda.cudaLaunchKernel(1, Dim(1, 1, 1), Dim(32, 1, 1), None, 0, None)
cuda.cudaDeviceSynchronize()
for step in range(2000):
    with scope("request"):
        with scope("forward"):
            launch()
        cuda.cudaDeviceSynchronize()
"""


def test_scopes_of_python(cuda: Cuda, python: str, site: str, tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text(PYTHON)
    run = cuda.command("run", "--python", python, str(script), env={**cuda.environment(**MUTE), "PYTHONPATH": site})
    assert run.returncode == 0
    assert set(links(run).values()) == {"forward"}
    assert [(k.count, k.scope) for k in run.report.kernels] == [(2000, "forward")]
