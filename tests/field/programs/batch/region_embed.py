"""Embeds the text regions of scanned pages: a DataLoader with workers crops and normalises, the main process runs the net."""
import json
import os
import sys
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
T0 = time.perf_counter()
PAGES, PER_BATCH, REGIONS = 3360, 16, 8


class PageRegions(Dataset):
    """One item: the regions of a page and their boxes."""

    def __init__(self, n):
        self.n = n
        self.scan = torch.rand(1024, 256, generator=torch.Generator().manual_seed(4))

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        tops = torch.randint(0, 1024 - 16, (REGIONS,), generator=g).tolist()
        crops, boxes = [], []
        for top in tops:
            c = self.scan[top:top + 16, 32:64]
            crops.append((c - c.mean()) / c.std())
            boxes.append(torch.tensor([top / 1024, 0.125, 16 / 1024, 0.125]))
        return crops, boxes


def collate(pages):
    crops = [c for p, _ in pages for c in p]
    boxes = [b for _, q in pages for b in q]
    if FIXED:
        return torch.stack(crops), torch.stack(boxes)
    return crops, boxes


class RegionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 96, 3, stride=2, padding=1), nn.ReLU(),
                                  nn.Conv2d(96, 128, 3, stride=2, padding=1), nn.ReLU())
        self.box = nn.Linear(4, 128)
        self.out = nn.Linear(128, 128)

    def forward(self, crops, boxes):
        h = self.conv(crops.unsqueeze(1)).mean((2, 3))
        return self.out(h + self.box(boxes))


def as_batch(part):
    return part if isinstance(part, torch.Tensor) else torch.stack(part)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = RegionNet().eval()
    loader = DataLoader(PageRegions(PAGES), batch_size=PER_BATCH, num_workers=1, collate_fn=collate, prefetch_factor=4)
    total, n, waited = torch.zeros(128), 0, 0.0
    t = time.perf_counter()
    it = iter(loader)
    while True:
        w = time.perf_counter()
        batch = next(it, None)
        waited += time.perf_counter() - w
        if batch is None:
            break
        crops, boxes = (as_batch(p) for p in batch)
        with torch.inference_mode():
            total += net(crops, boxes).sum(0)
        n += len(crops)
    serve = time.perf_counter() - t
    wall = time.perf_counter() - T0
    tm = os.times()
    print(n, "regions, waited for the loader %.2f s" % waited)
    print(json.dumps({
        "fault": None if FIXED else "collate returns lists of hundreds of tiny tensors: each crosses from the worker as its own shared-memory file",
        "where": "collate", "also": ["main", "next"], "process": "DataLoader worker", "thread": None,
        "share": None if FIXED else round(waited / wall, 3), "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(tm[:4]), 3),
        "unit": "batch", "units": PAGES // PER_BATCH, "tags": []}))


if __name__ == "__main__":
    main()
