"""Reads traces with the importer of chrome://tracing: chrome_page.py TRACE...; prints what its model holds, as JSON.

Debian's chromium does not ship that page.  PyPI's torch-tb-profiler has its code (Catapult's trace viewer) in one
file, made for browsers that still knew custom elements of the first kind; what takes their place is Debian's
libjs-webcomponentsjs-custom-element-v0.  Runs in an environment with both Python packages and Playwright.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright  # type: ignore[import-not-found,unused-ignore]

ELEMENTS = Path("/usr/lib/javascript/webcomponentsjs-custom-element-v0/CustomElements.js")
SCRIPT = "Object.defineProperty(document, '_currentScript', { get: () => document.currentScript });"
IMPORT = """(text) => {
  const model = new tr.Model();
  new tr.importer.Import(model).importTraces([text]);
  const found = { slices: 0, counters: 0, asyncs: 0, threads: [] };
  for (const process of Object.values(model.processes)) {
    for (const counter of Object.values(process.counters))
      found.counters += counter.timestamps.length;
    for (const thread of Object.values(process.threads)) {
      found.threads.push([process.pid, thread.tid, thread.name || null]);
      found.slices += thread.sliceGroup.length;
      found.asyncs += thread.asyncSliceGroup.length;
    }
  }
  const warnings = model.importWarnings.map((warning) => warning.type + ': ' + warning.message);
  return Object.assign(found, { flows: model.flowEvents.length, warnings });
}"""


def main() -> None:
    package = importlib.util.find_spec("torch_tb_profiler")  # not imported: of its libraries nothing is here
    if package is None or not package.submodule_search_locations:
        raise SystemExit("torch-tb-profiler is not here")
    viewer = Path(package.submodule_search_locations[0]) / "static" / "trace_viewer_full.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)[:300]))
        page.add_init_script(path=ELEMENTS)
        page.add_init_script(SCRIPT)
        page.goto(viewer.as_uri())
        found = [page.evaluate(IMPORT, Path(trace).read_text()) for trace in sys.argv[1:]]
        browser.close()
    json.dump({"traces": found, "page_errors": errors}, sys.stdout)


if __name__ == "__main__":
    main()
