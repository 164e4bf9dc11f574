"""WSGI application of the ticket tagger. Imported by each gunicorn worker."""
import os
import time

BOOT = time.perf_counter()

import json

import torch
import torch.nn as nn

torch.set_num_threads(1)
TAGS = ["billing", "login", "shipping", "returns", "outage", "feedback"]


class TicketTagger(nn.Module):
    def __init__(self, vocab=30000, dim=320, layers=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        block = nn.TransformerEncoderLayer(dim, 8, dim * 4, batch_first=True)
        self.encoder = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.head = nn.Linear(dim, len(TAGS))

    def forward(self, ids):
        return self.head(self.encoder(self.embed(ids)).mean(1))


def load_tagger():
    torch.manual_seed(11)
    return TicketTagger().eval()


model = load_tagger()

with open(os.path.join(os.environ["TAGGER_RUN_DIR"], "boots.log"), "a") as f:
    f.write("%d %.4f\n" % (os.getpid(), time.perf_counter() - BOOT))


def tag(ids):
    with torch.inference_mode():
        p = model(torch.tensor([ids])).softmax(-1)[0]
    return {t: round(v, 4) for t, v in zip(TAGS, p.tolist())}


def application(environ, start_response):
    ticket = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
    body = json.dumps({"id": ticket["id"], "tags": tag(ticket["ids"])}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
