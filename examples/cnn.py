"""A small convolutional network.  Its fault: pixels are prepared one by one in Python before each forward pass.

inferscope run --report cnn.html examples/cnn.py            # slow
inferscope run --report cnn.html examples/cnn.py --fixed    # the whole picture at once
"""

from __future__ import annotations

import sys

import numpy as np
from inferscope import scope

SIZE, CHANNELS, PICTURES = 48, (3, 16, 32), 60
rng = np.random.default_rng(7)
KERNELS = [rng.normal(0, 0.1, (a * 9, b)) for a, b in zip(CHANNELS, CHANNELS[1:])]
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def normalise_slowly(picture: np.ndarray) -> np.ndarray:
    out = np.empty(picture.shape)
    for y in range(SIZE):
        for x in range(SIZE):
            for c in range(3):
                out[y, x, c] = (picture[y, x, c] / 255 - MEAN[c]) / SPREAD[c]
    return out


def normalise(picture: np.ndarray) -> np.ndarray:
    return (picture / 255 - MEAN) / SPREAD


def convolve(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    padded = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(0, 1))
    return np.maximum(windows.reshape(len(x) * len(x), -1) @ kernel, 0).reshape(len(x), len(x), -1)


def pool(x: np.ndarray) -> np.ndarray:
    half = len(x) // 2
    return x.reshape(half, 2, half, 2, -1).max(axis=(1, 3))


def classify(picture: np.ndarray, fixed: bool) -> int:
    with scope("request"):
        with scope("prepare"):
            x = normalise(picture) if fixed else normalise_slowly(picture)
        with scope("forward"):
            for kernel in KERNELS:
                x = pool(convolve(x, kernel))
            return int(x.mean(axis=(0, 1)).argmax())


def main() -> None:
    fixed = "--fixed" in sys.argv[1:]
    found = {classify(rng.integers(0, 256, (SIZE, SIZE, 3)), fixed) for _ in range(PICTURES)}
    print(f"{PICTURES} pictures, {len(found)} classes")


if __name__ == "__main__":
    main()
