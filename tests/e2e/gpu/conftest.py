"""Real OpenCL programs, on PoCL."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from ..conftest import environment_python

NO_OPENCL = 77


@pytest.fixture(scope="session")
def opencl(target: Callable[[str], str]) -> str:
    """The program opencl.c, where there is a device for it."""
    program = target("opencl.c")
    tried = subprocess.run([program, "many", "1"], capture_output=True, text=True, timeout=120, check=False)
    if tried.returncode == NO_OPENCL:
        pytest.skip("no OpenCL device here: install pocl-opencl-icd and ocl-icd-libopencl1, as make setup does")
    assert (tried.returncode, tried.stdout) == (0, "1\n")
    return program


@pytest.fixture(scope="session")
def opencl_python(opencl: str) -> str:
    """A Python with pyopencl and tinygrad, where there is a device for them."""
    assert opencl
    return environment_python("opencl")


@pytest.fixture
def traced(inferscope: Any, opencl: str) -> Callable[..., Any]:
    """Runs opencl.c and gives the run; without us it must say the same."""

    def go(*arguments: str, options: tuple[str, ...] = ()) -> Any:
        run = inferscope("run", "--follow", "all", *options, "--", opencl, *arguments)
        bare = subprocess.run([opencl, *arguments], env=inferscope.environment, capture_output=True, text=True)
        assert (run.returncode, run.stdout, run.theirs) == (0, bare.stdout, bare.stderr)
        return run

    return go
