"""Opens a page in chromium and does what it is told: browser.py PAGE < steps, a JSON list; prints what was seen.

Runs in the environment that has Playwright.  A step is [what, argument...]; a script's value is among the answers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from playwright.sync_api import Dialog, Page, sync_playwright  # type: ignore[import-not-found,unused-ignore]

SIGNATURE = """() => {
  const seen = [];
  for (const node of document.querySelectorAll("*")) {
    const names = node.getAttributeNames().sort().join(" ");
    seen.push(node.tagName + "[" + names + "]");
  }
  return seen;
}"""


def step(page: Page, what: str, *arguments: str) -> object:
    if what == "script":
        return page.evaluate(arguments[0])
    if what == "signature":
        return page.evaluate(SIGNATURE)
    if what == "press":
        for key in arguments:
            page.keyboard.press(key)
        page.wait_for_timeout(50)
    elif what == "type":
        page.keyboard.type(arguments[0])
        page.wait_for_timeout(50)
    elif what == "click":
        page.click(arguments[0])
    elif what == "size":
        page.set_viewport_size({"width": int(arguments[0]), "height": int(arguments[1])})
        page.wait_for_timeout(100)
    elif what == "theme":
        page.emulate_media(color_scheme=arguments[0])
    elif what == "media":
        page.emulate_media(media=arguments[0])
    elif what == "picture":
        page.screenshot(path=arguments[0], full_page="whole" in arguments)
    else:
        raise SystemExit(f"browser.py: no such step: {what}")
    return None


def main() -> None:
    seen: dict[str, list[object]] = {"requests": [], "console": [], "errors": [], "dialogs": [], "answers": []}

    def dismiss(dialog: Dialog) -> None:
        seen["dialogs"].append(dialog.message)
        dialog.dismiss()

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.on("request", lambda r: seen["requests"].append(r.url[:200]))
        page.on("console", lambda m: seen["console"].append(f"{m.type}: {m.text}"))
        page.on("pageerror", lambda e: seen["errors"].append(str(e)))
        page.on("dialog", dismiss)
        page.goto(Path(sys.argv[1]).resolve().as_uri())
        page.wait_for_selector("html[data-ready]", timeout=20000)
        seen["answers"] = [step(page, *one) for one in json.load(sys.stdin)]
        browser.close()
    # The page itself is the one thing that is asked for; its icon is inside it.
    seen["requests"] = [url for url in seen["requests"][1:] if not str(url).startswith("data:")]
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
