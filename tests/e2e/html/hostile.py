"""Names that try to be something else, and traces that are full of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PAYLOADS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</ScRiPt >",
    "]]></script>",
    "<!--<script>",
    "--><svg onload=alert(1)>",
    "</style><img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    '"><b onmouseover=alert(1)>',
    "' onfocus='alert(1)' autofocus='",
    '" style="background:url(http://example.invalid/x)',
    "<!-- opened",
    "<![CDATA[ x ]]>",
    "<?php echo 1 ?>",
    "&lt;script&gt;",
    "&#x3c;script&#x3e;",
    "</title><h1>owned</h1>",
    "</code></td></table><h1>owned</h1>",
    "<a href='javascript:alert(1)'>x</a>",
    "<meta http-equiv=refresh content='0;url=http://example.invalid/'>",
    "<link rel=stylesheet href=http://example.invalid/x.css>",
    "<base href=http://example.invalid/>",
    "<form action=http://example.invalid/><input>",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "${alert(1)}",
    "`+alert(1)+`",
    "'-alert(1)-'",
    '\\";alert(1)//',
    "\\u003cscript\\u003e",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "line\u2028separator\u2029end",
    "nul\x00inside",
    "\x1b[2Jcleared",
    "right\u202eleft",
    "zero\u200bwidth\ufeff",
    "lone \ud800 half".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
    "a\tb\nc\rd",
    "x" * 1_000_000,
    "<" * 5000,
]
PLAIN = [f"name {i}" for i in range(len(PAYLOADS))]


def span(cat: str, name: str, on: tuple[int, int], when: tuple[int, int], **more: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": on[0],
        "tid": on[1],
        "ts": when[0],
        "dur": when[1],
        "args": more,
    }


def kineto(names: list[str], path: Path) -> Path:
    """Each name once as whatever a trace of another tool has names for."""
    events: list[dict[str, Any]] = []
    at = 0
    for i, name in enumerate(names):
        pid, tid = 100 + i % 3, 200 + i

        events.append({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}})
        events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}})
        events.append(span("user_annotation", name, (pid, tid), (at, 90)))
        events.append(span("python_function", f"{name}({i + 1}): {name}", (pid, tid), (at + 1, 80)))
        events.append(span("cpu_op", name, (pid, tid), (at + 2, 60)))
        events.append(span("cuda_runtime", "cudaLaunchKernel", (pid, tid), (at + 3, 5), correlation=i + 1))
        work = {"device": 0, "stream": 7, "correlation": i + 1}
        events.append(span("kernel", name, (0, 7), (at + 20, 30 + i), **work))
        events.append({"ph": "i", "name": name, "pid": pid, "tid": tid, "ts": at + 4, "s": "t"})
        events.append({"ph": "C", "name": name, "pid": pid, "tid": tid, "ts": at + 5, "args": {name: i}})
        at += 120
    device = {"id": 0, "name": names[0]}
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events}))
    return path


#: The same for a program of our own: functions, files, scopes, marks, counters, threads and tasks.
PROGRAM = """
import json, sys, threading, time
from inferscope import counter, mark_event, scope

def body(n):
    return sum(i * i for i in range(n))

for name in json.load(open(sys.argv[1])):
    odd = name.replace("\\0", "0")[:2000]
    code = body.__code__.replace(co_name=odd, co_filename=odd)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=odd)
    work = type(body)(code, globals())
    thread = threading.Thread(target=work, args=(2000,), name=odd)
    with scope(odd):
        mark_event(odd, {odd: odd})
        counter(odd, 1)
        work(30000)
        thread.start()
        thread.join()
"""
