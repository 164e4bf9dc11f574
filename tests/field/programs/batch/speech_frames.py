"""Batch text-to-speech: an autoregressive decoder emits mel frames for a batch of utterances until the gate opens."""
import json
import os
import sys
import time

import torch
import torch.nn as nn

FIXED = "--fixed" in sys.argv
T0 = time.perf_counter()
BATCHES, PER_BATCH, MELS, MAX_STEPS = 8, 12, 80, 560
GATE_THRESHOLD = 0.5


class GateHead(nn.Module):
    """Stop token: the score peaks at the frame where the attention reaches the last input symbol."""

    def __init__(self, sharpness=1.5):
        super().__init__()
        self.sharpness = sharpness

    def forward(self, position, ends):
        return torch.sigmoid(3.0 - self.sharpness * (position - ends).abs())


class FrameDecoder(nn.Module):
    def __init__(self, dim=640, enc=256):
        super().__init__()
        self.prenet = nn.Sequential(nn.Linear(MELS, 192), nn.ReLU(), nn.Linear(192, 192), nn.ReLU())
        self.rnn1 = nn.LSTMCell(192 + enc, dim)
        self.rnn2 = nn.LSTMCell(dim, dim)
        self.query = nn.Linear(dim, enc)
        self.mel = nn.Linear(dim + enc, MELS)
        self.gate = GateHead()
        self.dim = dim

    def start(self, memory):
        b = memory.shape[0]
        zero = torch.zeros(b, self.dim)
        return torch.zeros(b, MELS), memory.mean(1), (zero, zero), (zero, zero)

    def step(self, frame, context, s1, s2, memory):
        s1 = self.rnn1(torch.cat([self.prenet(frame), context], 1), s1)
        s2 = self.rnn2(s1[0], s2)
        scores = torch.bmm(memory, self.query(s2[0]).unsqueeze(2)).squeeze(2).softmax(1)
        context = torch.bmm(scores.unsqueeze(1), memory).squeeze(1)
        return self.mel(torch.cat([s2[0], context], 1)), context, s1, s2


class Synthesizer:
    def __init__(self):
        torch.manual_seed(17)
        self.decoder = FrameDecoder().eval()
        self.steps = 0
        self.tail_s = 0.0

    @torch.inference_mode()
    def infer(self, memory, ends):
        frame, context, s1, s2 = self.decoder.start(memory)
        frames, stops = [], torch.full((len(memory),), MAX_STEPS)
        finished = torch.zeros(len(memory), dtype=torch.bool)
        longest = int(ends.max())
        for step in range(MAX_STEPS):
            t = time.perf_counter()
            frame, context, s1, s2 = self.decoder.step(frame, context, s1, s2, memory)
            frames.append(frame)
            opened = self.decoder.gate(step, ends) > GATE_THRESHOLD
            stops[opened & (stops == MAX_STEPS)] = step
            self.steps += 1
            if step > longest + 2:
                self.tail_s += time.perf_counter() - t
            if FIXED:
                finished |= opened
                if finished.all():
                    break
            elif opened.all():
                break
        mel = torch.stack(frames, 1)
        return [mel[i, : int(n) + 1] for i, n in enumerate(stops)]


def utterances(n_batches):
    g = torch.Generator().manual_seed(3)
    for _ in range(n_batches):
        memory = torch.randn(PER_BATCH, 96, 256, generator=g)
        ends = torch.randint(120, 300, (PER_BATCH,), generator=g).float()
        yield memory, ends


def main():
    torch.set_num_threads(1)
    synth = Synthesizer()
    kept = 0
    t = time.perf_counter()
    for memory, ends in utterances(BATCHES):
        kept += sum(len(m) for m in synth.infer(memory, ends))
    serve = time.perf_counter() - t
    wall = time.perf_counter() - T0
    tm = os.times()
    print("kept", kept, "frames of", synth.steps * PER_BATCH)
    print(json.dumps({
        "fault": None if FIXED else "the stop test wants all gates open in the same step instead of remembering who finished: each batch decodes to the step limit and the tail is cut off",
        "where": "Synthesizer.infer", "also": ["infer", "FrameDecoder.step", "step"], "process": "main", "thread": "main",
        "share": round(synth.tail_s / wall, 3), "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(tm[:4]), 3),
        "unit": "batch", "units": BATCHES, "tags": []}))


if __name__ == "__main__":
    main()
