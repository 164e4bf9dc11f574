"""Bringing what watches GPUs into this process, and taking it out again."""

from __future__ import annotations

import glob
import os
from _thread import allocate_lock

from inferscope import _core

_CUDA = "CUDA_INJECTION64_PATH"
_LAYERS = "OPENCL_LAYERS"
_LAYER = "libinferscope_opencl.so"

_lock = allocate_lock()
_watching = 0
#: What the CUDA driver is to load; "": there is none, or somebody else saw to it.
_cuda_part = ""


def found_cuda(part: str) -> None:
    """The recorder found a CUDA driver; its part is to be loaded when that is initialised."""
    global _cuda_part
    _cuda_part = part


def _forked() -> None:
    global _lock, _watching
    _lock, _watching = allocate_lock(), 0


os.register_at_fork(after_in_child=_forked)


def watch() -> None:
    """From now on, whether CUDA and OpenCL are in use already or not; calls of this nest."""
    global _watching
    with _lock:
        _watching += 1
        path = os.path.join(os.path.dirname(__file__), _LAYER)
        before = os.environ.get(_LAYERS, "")
        if os.path.exists(path) and ":" not in path and _LAYER not in before and not _mapped(_LAYER)[0]:
            os.environ[_LAYERS] = f"{before}:{path}" if before else path
        if _cuda_part:
            os.environ.setdefault(_CUDA, _cuda_part)
        _core.cuda(1)


def unwatch() -> None:
    """What devices have done is in the trace; nothing more is watched if nobody else wants it."""
    global _watching
    with _lock:
        if _watching == 0:  # of another process, before a fork
            return
        _watching -= 1
        if _watching == 0 and _cuda_part and os.environ.get(_CUDA) == _cuda_part:
            del os.environ[_CUDA]
        _core.cuda(0 if _watching else -1)


def _mapped(*names: str) -> list[bool]:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            text = maps.read()
    except OSError:
        return [False] * len(names)
    return [f"/{name}" in text for name in names]


def missing() -> str | None:
    """Why no GPU can be seen here; None: one may be."""
    opencl = glob.glob(os.path.join(os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors"), "*.icd"))
    if opencl or _cuda_part or os.path.exists("/dev/nvidiactl") or any(_mapped("libcuda.so", "libOpenCL")):
        return None
    return (
        "there is no CUDA or OpenCL device here: GPU activity is not recorded; inferscope doctor says what is missing"
    )


def unseen() -> str | None:
    """Why OpenCL commands of this process were not seen; None: they were, or there were none."""
    loader, layer = _mapped("libOpenCL", _LAYER)
    if not loader or layer:
        return None
    return "OpenCL was in use before start(): its commands are not seen; start earlier, or run under inferscope run"
