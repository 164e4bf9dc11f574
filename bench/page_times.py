"""How long a page takes to open, and the frames of its timeline while it is zoomed: page_times.py PAGE.

Runs in the environment that has Playwright.  Prints JSON: open_ms of some loads, frame_ms of every frame drawn.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright  # type: ignore[import-not-found,unused-ignore]

LOADS, KEYS = 5, 40
# The page measures what each of its frames took itself.
FRAMES = "performance.getEntriesByName('timeline frame').map(e => e.duration)"


def main() -> None:
    open_ms, frame_ms = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for _ in range(LOADS):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.goto(Path(sys.argv[1]).resolve().as_uri())
            page.wait_for_selector("html[data-ready]", timeout=20000)
            open_ms.append(page.evaluate("performance.now()"))
            page.evaluate("document.getElementById('timeline').scrollIntoView()")
            page.wait_for_timeout(300)
            page.evaluate("performance.clearMeasures()")
            for i in range(KEYS):
                page.keyboard.press("wads"[i % 4] if i % 8 < 4 else "ws"[i % 2])
                page.wait_for_timeout(20)
            frame_ms += page.evaluate(FRAMES)
            page.close()
        browser.close()
    print(json.dumps({"open_ms": open_ms, "frame_ms": frame_ms}))


if __name__ == "__main__":
    main()
