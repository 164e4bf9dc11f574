"""CUDA on the double of tests/double: what the programs call, and what its devices really did."""

import ctypes
import os
from pathlib import Path

from said import skip

TO_DEVICE, TO_HOST = 1, 2
FOLDER = os.environ.get("TRUTH_CUDA")  # where the double tells the truth


class Dim(ctypes.Structure):
    _fields_ = (("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint))


class Cuda:
    """Kernels take the time that their name says: gemm_400us."""

    def __init__(self, **script: object) -> None:
        if FOLDER is None:
            skip("there is no double of CUDA")
            raise SystemExit
        self.told = Path(FOLDER) / "cuda"
        os.environ["CUDA_DOUBLE"] = ";".join(f"{key}={value}" for key, value in {"truth": self.told, **script}.items())
        self.library = ctypes.CDLL("libcudart.so")
        launch = self.library.cudaLaunchKernel
        launch.argtypes = [ctypes.c_void_p, Dim, Dim, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        for name in ("cudaMemcpy", "cudaMemcpyAsync"):
            copy = getattr(self.library, name)
            copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
        self.register = getattr(self.library, "__cudaRegisterFunction")  # a class changes such names
        self.register.argtypes = [ctypes.c_void_p] * 10
        self.kernels: dict[str, ctypes.Array[ctypes.c_char]] = {}

    def kernel(self, name: str) -> int:
        """The host's side of a kernel, as nvcc registers it."""
        self.kernels[name] = ctypes.create_string_buffer(name.encode())
        address = ctypes.addressof(self.kernels[name])
        self.register(None, address, address, address, None, None, None, None, None, None)
        return address

    def launch(self, kernel: int) -> None:
        self.library.cudaLaunchKernel(kernel, Dim(64, 1, 1), Dim(128, 1, 1), None, 0, None)

    def synchronize(self) -> None:
        self.library.cudaDeviceSynchronize()

    def memory(self, size: int, kind: str = "cudaMalloc") -> int:
        at = ctypes.c_void_p()
        getattr(self.library, kind)(ctypes.byref(at), ctypes.c_size_t(size))
        return int(at.value or 0)

    def copy(self, to: int, source: int, size: int, direction: int) -> None:
        self.library.cudaMemcpy(to, source, size, direction, None)

    def copy_async(self, to: int, source: int, size: int, direction: int) -> None:
        self.library.cudaMemcpyAsync(to, source, size, direction, None)

    def shares(self) -> "dict[str, float]":
        """Percent of the time from its first to its last work that the device was idle, busy and copying."""
        kinds = ("kernel", "h2d", "d2h", "memset")
        pieces = []
        for line in Path(f"{self.told}.{os.getpid()}").read_text().splitlines():
            words = line.split()
            if words[0] in kinds:
                pieces.append((int(words[5]), int(words[6]), words[0]))
        span = max(end for _, end, _ in pieces) - min(start for start, _, _ in pieces)
        copies = [(start, end) for start, end, kind in pieces if kind in ("h2d", "d2h")]
        busy = union([(start, end) for start, end, _ in pieces])
        return {
            "idle": (span - busy) / span * 100,
            "busy": busy / span * 100,
            "copy": union(copies) / span * 100,
        }


def union(pieces: "list[tuple[int, int]]") -> int:
    total, to = 0, 0
    for start, end in sorted(pieces):
        total += max(0, end - max(start, to))
        to = max(to, end)
    return total
