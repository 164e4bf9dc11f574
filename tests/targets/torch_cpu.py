"""A small model on the CPU, and a loader whose workers are forked or spawned: torch_cpu.py fork|spawn."""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)).eval()
    with torch.inference_mode():
        x = torch.randn(32, 64)
        for _ in range(20):
            y = model(x)
    print(tuple(y.shape), round(float(y.double().abs().sum()), 3))
    data = TensorDataset(torch.arange(100))
    loader = DataLoader(data, batch_size=10, num_workers=2, multiprocessing_context=sys.argv[1])
    print(sum(int(batch[0].sum()) for batch in loader))


if __name__ == "__main__":
    main()
