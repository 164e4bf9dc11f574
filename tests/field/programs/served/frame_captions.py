"""Captioning of archived video frames: a reader hands out batches, two model processes encode them, results come back on a queue."""
import json
import multiprocessing as mp
import os
import sys
import time

import torch
import torch.nn as nn

LOADED = time.perf_counter()
BATCHES, FRAMES = 220, 8
WORKERS = 2


class FrameEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
                                  nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.ReLU())
        layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.words = nn.Linear(128, 2000)

    def forward(self, frames):
        h = self.stem(frames).flatten(2).transpose(1, 2)
        return self.words(self.encoder(h).mean(1)).topk(6).indices


def pin_reader():
    """The reader stays on the core that serves the disk's interrupts."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def caption_worker(index, cores, tasks, results):
    if cores:
        os.sched_setaffinity(0, cores)
    torch.set_num_threads(1)
    torch.manual_seed(2)
    model = FrameEncoder().eval()
    results.put(("up", index, None))
    wall = cpu = 0.0
    while (task := tasks.get()) is not None:
        t, c = time.perf_counter(), time.process_time()
        frames = torch.rand(FRAMES, 3, 160, 160, generator=torch.Generator().manual_seed(task))
        with torch.inference_mode():
            words = model(frames).tolist()
        wall += time.perf_counter() - t
        cpu += time.process_time() - c
        results.put(("done", task, words))
    results.put(("bye", index, (wall, cpu)))


class CaptionJob:
    def __init__(self, fixed):
        self.ctx = mp.get_context("spawn")
        self.tasks, self.results = self.ctx.Queue(maxsize=8), self.ctx.Queue()
        self.worker_cores = os.sched_getaffinity(0) if fixed else None

    def start(self):
        pin_reader()
        self.procs = [self.ctx.Process(target=caption_worker, args=(i, self.worker_cores, self.tasks, self.results), name=f"captioner-{i}") for i in range(WORKERS)]
        for p in self.procs:
            p.start()
        for _ in self.procs:
            self.results.get()

    def run(self, count):
        captions = {}
        for task in range(count):
            self.tasks.put(task)
            while not self.results.empty():
                _, k, words = self.results.get()
                captions[k] = words
        while len(captions) < count:
            _, k, words = self.results.get()
            captions[k] = words
        return captions

    def stop(self):
        for _ in self.procs:
            self.tasks.put(None)
        totals = [self.results.get()[2] for _ in self.procs]
        for p in self.procs:
            p.join()
        return totals


def main():
    fixed = "--fixed" in sys.argv
    job = CaptionJob(fixed)
    job.start()
    started = time.perf_counter()
    captions = job.run(BATCHES)
    serve = time.perf_counter() - started
    totals = job.stop()
    busy, cpu = sum(w for w, _ in totals), sum(c for _, c in totals)
    wall = time.perf_counter() - LOADED
    print(len(captions), "batches,", FRAMES * len(captions), "frames")
    print(json.dumps({
        "fault": None if fixed else "the reader pins itself to one core before it starts the workers; they inherit the mask, so both models share that core and the other one idles",
        "where": "pin_reader", "also": ["CaptionJob.start", "caption_worker"], "process": "captioner-0 and captioner-1 (cause in main)",
        "share": round((busy - cpu) / WORKERS / wall, 3), "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(os.times()[:4]), 3),
        "unit": "batch", "units": len(captions), "tags": []}))


if __name__ == "__main__":
    main()
