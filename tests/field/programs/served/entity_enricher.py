"""Entity enrichment: each document's entity card is fetched from the knowledge service, then a small torch model scores
document and card together. Asynchronous from end to end; 24 documents are in flight."""
import asyncio
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import torch
import torch.nn as nn

LOADED = time.perf_counter()
DOCUMENTS, IN_FLIGHT, CARD = 600, 24, 256
torch.set_num_threads(1)

# stands for the knowledge service of the other team: answers each GET after 45 ms, keeps connections open
KNOWLEDGE = r"""
use IO::Socket::INET; $| = 1; $SIG{CHLD} = 'IGNORE';
my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 128, ReuseAddr => 1) or die;
print $s->sockport, "\n";
while (1) { my $c = $s->accept or next; my $pid = fork; if ($pid) { close $c; next }
  close $s; setsockopt($c, 6, 1, pack('l', 1)); my $buf = '';
  while (sysread($c, my $part, 4096)) { $buf .= $part;
    while ($buf =~ s/^(.*?)\r\n\r\n//s) { select(undef, undef, undef, 0.045);
      my $body = '{"card":[' . join(',', map { $_ % 17 / 17 } 1 .. 256) . ']}';
      syswrite($c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " . length($body) . "\r\n\r\n" . $body) } }
  exit 0 }
"""
UPSTREAM_S = 0.045


class PairScorer(nn.Module):
    def __init__(self, dim=CARD, depth=5):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, 4, dim * 4, batch_first=True)
        self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 1)

    def forward(self, tokens, card):
        return self.head(self.body(tokens + card).mean(1)).squeeze(-1)


class KnowledgeClient:
    def __init__(self, base_url, max_connections):
        self.http = httpx.AsyncClient(base_url=base_url, timeout=httpx.Timeout(10.0, pool=None),
                                      limits=httpx.Limits(max_connections=max_connections, max_keepalive_connections=max_connections))
        self.spent = 0.0

    async def card(self, entity):
        t = time.perf_counter()
        response = await self.http.get("/cards", params={"entity": entity})
        self.spent += time.perf_counter() - t
        return torch.tensor(response.json()["card"])


class Enricher:
    def __init__(self, knowledge):
        torch.manual_seed(4)
        self.knowledge = knowledge
        self.model = PairScorer().eval()
        self.compute = ThreadPoolExecutor(1, thread_name_prefix="scorer")

    def score(self, document, card):
        tokens = torch.randn(1, 112, CARD, generator=torch.Generator().manual_seed(document))
        with torch.inference_mode():
            return self.model(tokens, card).item()

    async def enrich(self, document):
        card = await self.knowledge.card(document % 97)
        return await asyncio.get_running_loop().run_in_executor(self.compute, self.score, document, card)

    async def worker(self, todo, results):
        while todo:
            document = todo.pop()
            results[document] = await self.enrich(document)


async def run(port, fixed):
    knowledge = KnowledgeClient(f"http://127.0.0.1:{port}", max_connections=IN_FLIGHT if fixed else 2)
    enricher = Enricher(knowledge)
    todo, results = list(range(DOCUMENTS)), {}
    started = time.perf_counter()
    await asyncio.gather(*(enricher.worker(todo, results) for _ in range(IN_FLIGHT)))
    serve = time.perf_counter() - started
    await knowledge.http.aclose()
    return results, serve, knowledge.spent


def main():
    fixed = "--fixed" in sys.argv
    service = subprocess.Popen(["perl", "-e", KNOWLEDGE], stdout=subprocess.PIPE, text=True)
    try:
        results, serve, spent = asyncio.run(run(int(service.stdout.readline()), fixed))
    finally:
        service.kill()
    queued = max(0.0, spent - UPSTREAM_S * len(results))
    wall = time.perf_counter() - LOADED
    print(len(results), "documents", round(sum(results.values()), 3))
    print(json.dumps({
        "fault": None if fixed else "the HTTP client's pool has two connections for 24 requests in flight: requests queue for a connection inside the client",
        "where": "KnowledgeClient.__init__", "also": ["KnowledgeClient.card", "Enricher.enrich", "run", "AsyncConnectionPool.handle_async_request"],
        "process": "main", "share": None if fixed else round(queued / IN_FLIGHT / wall, 3), "fixed_saves": None, "limit": "native_compute",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(os.times()[:4]), 3),
        "unit": "document", "units": len(results), "tags": []}))


if __name__ == "__main__":
    main()
