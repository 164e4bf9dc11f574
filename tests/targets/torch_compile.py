"""A compiled model: torch_compile.py BACKEND [PACKAGE].

With the folder of our package tracing begins after the first step.
"""

import os
import sys

if len(sys.argv) > 2:  # started with -S, so that nothing of ours has begun
    version = "python{}.{}".format(*sys.version_info[:2])
    sys.path.append(os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "lib", version, "site-packages"))

import torch
import torch._dynamo


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(16, 32)
        self.outer = torch.nn.Linear(32, 16)

    def forward(self, x):
        return x + self.outer(torch.nn.functional.gelu(self.inner(x)))


@torch._dynamo.disable
def helper(x):
    """Breaks the graph: Python goes on in between."""
    return x.sum().item()


def step(model, x):
    y = model(x)
    if helper(y) > 1e9:
        return y
    return torch.softmax(y, -1) * 2


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(Block(), Block()).eval()
    x = torch.randn(4, 16)
    compiled = torch.compile(step, backend=sys.argv[1])
    with torch.no_grad():
        first = compiled(model, x)
        if len(sys.argv) > 2:
            sys.path.insert(0, sys.argv[2])
            from inferscope import _core

            assert _core.attach(os.environ["INFERSCOPE_SESSION"]) is True
        for rows in (4, 4, 5, 6):
            y = compiled(model, x[:1].repeat(rows, 1))
        plain = step(model, x)
    torch.testing.assert_close(first, plain)
    counters = torch._dynamo.utils.counters
    print(y.shape, round(float(plain.sum()), 3), dict(counters["stats"]), sum(counters["graph_break"].values()))
    torch._dynamo.reset()
    learn(model, x)


def learn(model, x):
    """Forward and backward, each a graph of its own, and the same numbers as without a compiler."""
    loss = torch.compile(step, backend=sys.argv[1])(model, x).square().sum()
    loss.backward()
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    step(model, x).square().sum().backward()
    torch.testing.assert_close(found, [p.grad for p in model.parameters()])
    print(round(float(loss), 3), len(found))


main()
