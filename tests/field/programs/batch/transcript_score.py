"""Scores call transcripts for compliance on two worker processes."""
import json
import multiprocessing as mp
import os
import sys
import time

import torch
import torch.nn as nn

FIXED = "--fixed" in sys.argv
T0 = time.perf_counter()
WORKERS, CALLS = 2, 950


class ComplianceNet(nn.Module):
    def __init__(self, vocab=12000, dim=256):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 768, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 6)

    def forward(self, ids):
        return self.head(self.enc(self.emb(ids)).mean(1))


def archive():
    """The archive lists calls by duration (it is its primary index)."""
    g = torch.Generator().manual_seed(12)
    lengths = (torch.rand(CALLS, generator=g) ** 2.2 * 560 + 40).int().sort().values.tolist()
    return [(i, n) for i, n in enumerate(lengths)]


def score_calls(model, calls):
    out = {}
    with torch.inference_mode():
        for call_id, length in calls:
            g = torch.Generator().manual_seed(call_id)
            ids = torch.randint(0, 12000, (1, length), generator=g)
            out[call_id] = model(ids).softmax(1)[0].tolist()
    return out


def worker(model, calls, conn):
    torch.set_num_threads(1)
    t = time.perf_counter()
    out = score_calls(model, calls)
    conn.send((out, time.perf_counter() - t))


def partition(calls):
    if FIXED:
        return [calls[k::WORKERS] for k in range(WORKERS)]
    size = -(-len(calls) // WORKERS)
    return [calls[k * size:(k + 1) * size] for k in range(WORKERS)]


def run(model, calls):
    ctx = mp.get_context("fork")
    parts = []
    for k, part in enumerate(partition(calls)):
        conn, far = ctx.Pipe()
        proc = ctx.Process(target=worker, args=(model, part, far), name=f"scorer-{k}")
        proc.start()
        parts.append((proc, conn))
    scores, busy = {}, []
    for proc, conn in parts:
        out, s = conn.recv()
        scores.update(out)
        busy.append(s)
        proc.join()
    return scores, busy


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = ComplianceNet().eval()
    calls = archive()
    t = time.perf_counter()
    scores, busy = run(model, calls)
    serve = time.perf_counter() - t
    wall = time.perf_counter() - T0
    tm = os.times()
    idle = max(busy) - sum(busy) / len(busy)
    print("calls", len(scores), "worker seconds", [round(b, 2) for b in busy])
    print(json.dumps({
        "fault": None if FIXED else "the list is sorted by length and cut into contiguous halves: one worker gets all long calls and the other is done early",
        "where": "partition", "also": ["run", "worker", "score_calls", "main"], "process": "main (partition), scorer-1 (works longest)", "thread": "main",
        "share": round(idle / wall, 3), "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(tm[:4]), 3),
        "unit": "call", "units": CALLS, "tags": []}))


if __name__ == "__main__":
    main()
