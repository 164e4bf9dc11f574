"""Redaction service in front of the hosted language model: transcripts come in over TCP as JSON lines, go out redacted.

Rules come from the compliance team's table (customer names, product codes, case numbers of the running year)."""
import json
import os
import random
import re
import socket
import socketserver
import subprocess
import sys
import threading
import time

LOADED = time.perf_counter()
TRANSCRIPTS, RULES = 180, 620

CLIENT = r"""
import json, random, socket, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(8)
words = ["the", "case", "was", "opened", "by", "agent", "please", "call", "back", "about", "invoice", "and", "contract", "number", "thanks"]
s = socket.create_connection(("127.0.0.1", port)); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
f = s.makefile("rwb")
hits = 0
for i in range(count):
    text = " ".join(rng.choice(words) if rng.random() < .97 else "Q%d-%04d" % (rng.randrange(620), rng.randrange(10000)) for _ in range(1100))
    f.write(json.dumps({"id": i, "text": text}).encode() + b"\n"); f.flush()
    hits += json.loads(f.readline())["hits"]
print(hits)
"""


def rule_table():
    rng = random.Random(1)
    table = []
    for k in range(RULES):
        name = "".join(rng.choice("bcdfglmnprst") + rng.choice("aeiou") for _ in range(3)).capitalize()
        table.append((f"rule-{k}", rf"(?:\bQ{k}-(?P<case>\d{{4}})\b|\b{name}(?:son|berg)?(?:\s+(?:Inc|Ltd|GmbH))?\b)"))
    return table


class Redactor:
    def __init__(self, rules):
        self.rules = rules
        self.hits = 0

    def redact(self, text):
        found = 0
        for label, pattern in self.rules:
            text, n = re.subn(pattern, f"[{label}]", text)
            found += n
        self.hits += found
        return text, found


class CompiledRedactor(Redactor):
    def __init__(self, rules):
        super().__init__([(label, re.compile(pattern)) for label, pattern in rules])

    def redact(self, text):
        found = 0
        for label, pattern in self.rules:
            text, n = pattern.subn(f"[{label}]", text)
            found += n
        self.hits += found
        return text, found


class Session(socketserver.StreamRequestHandler):
    wbufsize = -1
    disable_nagle_algorithm = True

    def handle(self):
        for line in self.rfile:
            t = time.thread_time()
            message = json.loads(line)
            text, found = self.server.redactor.redact(message["text"])
            self.wfile.write(json.dumps({"id": message["id"], "text": text, "hits": found}).encode() + b"\n")
            self.wfile.flush()
            self.server.busy += time.thread_time() - t
            self.server.done += 1


class RedactionServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    busy, done = 0.0, 0


def main():
    fixed = "--fixed" in sys.argv
    server = RedactionServer(("127.0.0.1", 0), Session)
    server.redactor = (CompiledRedactor if fixed else Redactor)(rule_table())
    threading.Thread(target=server.serve_forever, daemon=True, name="acceptor").start()
    started = time.perf_counter()
    out = subprocess.run([sys.executable, "-c", CLIENT, str(server.server_address[1]), str(TRANSCRIPTS)], capture_output=True, text=True, check=True).stdout
    serve = time.perf_counter() - started
    server.shutdown()
    wall = time.perf_counter() - LOADED
    print("hits", out.strip(), "busy", round(server.busy, 2))
    print(json.dumps({
        "fault": None if fixed else "620 patterns through re.subn are more than the re module's cache holds, so each rule is compiled again for each transcript",
        "where": "Redactor.redact", "also": ["Session.handle", "_compile", "subn", "compile"], "process": "main", "thread": "Thread-1 (process_request_thread)",
        "share": None, "fixed_saves": None, "limit": "interpreter (the regex engine)",
        "serve_s": round(serve, 3), "wall_s": round(wall, 3), "cpu_s": round(sum(os.times()[:4]), 3), "unit": "transcript", "units": server.done, "tags": []}))


if __name__ == "__main__":
    main()
