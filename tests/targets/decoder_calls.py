"""The calls of a decoder that makes tokens, and next to no work in them: N tokens of 362 calls each."""

import sys


class Linear:
    def __init__(self, n):
        self.n = n

    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        return matmul(x, self.n)


class Norm:
    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        return scale(x)


class Attention:
    def __init__(self):
        self.q, self.k, self.v, self.o = (Linear(n) for n in range(4))

    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        return self.o(mix(self.q(x), self.k(x), self.v(x)))


class Block:
    def __init__(self):
        self.attention, self.norm, self.up, self.down = Attention(), Norm(), Linear(5), Linear(6)

    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        return self.down(act(self.up(self.norm(x + self.attention(self.norm(x))))))


def matmul(x, n):
    return x + n


def scale(x):
    return x - 1


def mix(q, k, v):
    return q + k - v


def act(x):
    return x if x > 0 else 0


BLOCKS = [Block() for _ in range(12)]


def token(x):
    for block in BLOCKS:
        x = block(x) % 1000
    return x


def generate(n):
    for _ in range(n):
        yield token(1)


if __name__ == "__main__":
    for _ in generate(int(sys.argv[1])):
        pass
