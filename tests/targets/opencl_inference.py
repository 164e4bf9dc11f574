"""tinygrad inference on OpenCL: a small transformer block with weights that never change; prints every output."""

import sys

import numpy as np
from tinygrad import Device, Tensor, TinyJit, nn

Tensor.manual_seed(0)
WIDTH, HEADS, LENGTH = 32, 2, 8


class Block:
    def __init__(self):
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def __call__(self, x):
        parts = [
            layer(x).reshape(1, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        ]
        x = x + self.out(parts[0].scaled_dot_product_attention(*parts[1:]).transpose(1, 2).reshape(1, LENGTH, WIDTH))
        return x + self.down(self.up(x).gelu())


block = Block()


@TinyJit
def infer(x):
    return block(x).mean(axis=1).realize()


random = np.random.default_rng(7)
for _ in range(int(sys.argv[1])):
    answer = infer(Tensor(random.random((1, LENGTH, WIDTH), dtype=np.float32)).realize()).numpy()
    print(" ".join(f"{value:.6f}" for value in answer[0, :8]))
print(Device.DEFAULT)
