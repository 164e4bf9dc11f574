"""``%%inferscope``: trace a cell of a notebook and show the report below it."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any

from inferscope import _core
from inferscope.cpu import State
from inferscope.profiler import Profiler

_INPUT = re.compile(r"<ipython-input-(\d+)-[0-9a-f]+>")


def cells(shell: Any) -> dict[str, str]:
    """What the files are called that the cells of a notebook were compiled as.

    >>> class Compiler:
    ...     _filename_map = {"/tmp/ipykernel_7/123.py": 3}
    >>> class Shell:
    ...     compile = Compiler()
    >>> cells(Shell())
    {'/tmp/ipykernel_7/123.py': 'cell [3]'}
    """
    known = getattr(getattr(shell, "compile", None), "_filename_map", None) or {}
    named = {str(file): f"cell [{number}]" for file, number in known.items()}
    for file in known:
        found = _INPUT.fullmatch(str(file))
        if found:
            named[str(file)] = f"cell [{found.group(1)}]"
    return named


def options_of(line: str) -> dict[str, Any]:
    """The words behind ``%%inferscope`` as options of a Profiler.

    >>> options_of("--all-frames --budget off")
    {'all_frames': True, 'budget': 'off'}
    """
    words = line.split()
    options: dict[str, Any] = {}
    while words:
        word = words.pop(0)
        if word in ("--all-frames", "--c-calls"):
            options[word[2:].replace("-", "_")] = True
        elif word in ("--budget", "--size-mb", "--trace") and words:
            value = words.pop(0)
            name = word[2:].replace("-", "_")
            options[name] = value if name == "trace" or value == "off" else float(value)
        else:
            raise ValueError(
                f"%%inferscope does not know {word}; there are --all-frames, --c-calls, --budget PCT, --size-mb N "
                "and --trace PATH"
            )
    return options


def _trace(shell: Any, cell: str, profiler: Profiler) -> None:
    """Run the cell as the shell would, and trace its code without what the shell does around it."""
    run_code, end = shell.run_code, None

    async def run_traced(*args: Any, **kwargs: Any) -> Any:
        nonlocal end
        profiler.start()
        try:
            return await run_code(*args, **kwargs)
        finally:
            end = _core.ticks()

    if iscoroutinefunction(run_code):
        shell.run_code = run_traced
    else:
        profiler.start()
    try:
        shell.run_cell(cell, store_history=False)
    finally:
        profiler.stop()
        shell.run_code = run_code
    if end is not None:
        profiler._cpu._window.end_at(end)


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext inferscope``: make ``%%inferscope`` known to a shell."""

    def inferscope(line: str, cell: str) -> None:
        """Trace the cell and show the report: %%inferscope [--all-frames] [--c-calls] [--budget PCT|off]"""
        profiler = Profiler(**options_of(line))
        _trace(shell, cell, profiler)
        if profiler.state is State.Finalized:
            display: Any = import_module("IPython.display")
            display.display(display.Markdown(profiler._cpu._window.report("markdown", cells(shell))))
        elif profiler.get_stats()["reason"]:
            print(f"inferscope: the cell was not traced: {profiler.get_stats()['reason']}")

    shell.register_magic_function(inferscope, magic_kind="cell", magic_name="inferscope")
