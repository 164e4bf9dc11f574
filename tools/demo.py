"""Trace a small model and show the report: demo.py FOLDER [minilm|numpy].

FOLDER is a build folder.  MiniLM on PyTorch where that can be had, else a transformer of our own in numpy.
The report, as Markdown, a page and JSON, and the trace stay in FOLDER/demo.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import environments
import tree

#: Name: the environment it needs, its program, and what to say of it.
MODELS = {
    "minilm": ("torch", "examples/minilm.py", "MiniLM, a sentence encoder, on PyTorch"),
    "numpy": ("numpy", "examples/transformer_numpy.py", "a transformer encoder in numpy"),
}


def say(text: str) -> None:
    print(text, flush=True)


def install(build: Path) -> Path:
    """The prefix of an installation of the build folder."""
    stage = build / "stage"
    meson = str(Path(sys.executable).parent / "meson")
    command = [meson, "install", "-C", str(build), "--no-rebuild", "--quiet", "--destdir", str(stage)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(stage.glob("**/bin/inferscope")).parents[1]


def choose(names: list[str]) -> tuple[str, Path] | None:
    """The first model that can run here, and its Python."""
    for name in names:
        environment, _, about = MODELS[name]
        try:
            python = environments.make(environment)
        except environments.Lacking as why:
            say(f"demo: without {about}: {why}")
            continue
        say(f"demo: {about}, in .venv-{environment}; runs offline")
        return name, python
    return None


def near(path: Path) -> str:
    return str(path.relative_to(tree.ROOT))


def run(prefix: Path, python: Path, program: list[str], folder: Path) -> int:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    options = ["--python", near(python), "--trace", near(folder / "inferscope.isc")]
    for report in ("report.md", "report.html", "report.json"):
        options += ["--report", near(folder / report)]
    site = next(prefix.glob("lib/python3*/site-packages"))
    # The program imports the package that was just built; models come from the environment, never from a network.
    environment = dict(os.environ, PYTHONPATH=str(site), HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
    say(f"$ {shlex.join(['inferscope', 'run', *options, *program])}")
    command = [str(prefix / "bin" / "inferscope"), "run", *options, *program]
    return subprocess.run(command, cwd=tree.ROOT, env=environment, check=False).returncode


def main() -> int:
    asked = sys.argv[2:] or list(MODELS)
    if len(sys.argv) < 2 or not set(asked) <= set(MODELS):
        print(f"usage: demo.py FOLDER [{'|'.join(MODELS)}]", file=sys.stderr)
        return 2
    build = tree.ROOT / sys.argv[1]
    folder = build / "demo"
    prefix = install(build)
    chosen = choose(asked)
    if chosen is None:
        say("demo: no model can run here; let pip reach an index that has numpy, then make demo again")
        return 1
    # The examples have a fault, which docs/examples.md is about; a first look is at what is well.
    code = run(prefix, chosen[1], [MODELS[chosen[0]][1], "--fixed"], folder)
    if code == 0:
        say(f"\n{(folder / 'report.md').read_text()}")
        say(f"demo: this report is {near(folder / 'report.md')}; open {near(folder / 'report.html')} in a browser;")
        say(f"demo: all figures are in {near(folder / 'report.json')}")
    return code


if __name__ == "__main__":
    sys.exit(main())
