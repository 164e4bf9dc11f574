"""Where the native command of this installation is."""

import os
import sys


def find() -> "str | None":
    """The path of the native ``inferscope``, or None.

    The one installed with this package comes first: its parts and ours are of one version.
    """
    for folder in _folders():
        path = os.path.join(folder, "inferscope")
        if os.path.isabs(folder) and _is_native(path):
            return path
    return None


def _folders() -> "list[str]":
    package = os.path.dirname(os.path.abspath(__file__))
    above = os.path.dirname(package)
    folders = [
        os.path.join(above, "..", "..", "..", "bin"),  # PREFIX/lib/pythonX.Y/site-packages
        os.path.join(above, "bin"),  # pip install --target
        os.path.dirname(sys.executable or ""),
        os.path.join(sys.prefix, "bin"),
        os.path.join(os.environ.get("PYTHONUSERBASE") or os.path.expanduser("~/.local"), "bin"),
    ]
    return [os.path.normpath(folder) for folder in folders] + os.environ.get("PATH", "").split(os.pathsep)


def _is_native(path: str) -> bool:
    """A script of that name may be anybody's, and may be Python again."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF" and os.access(path, os.X_OK)
    except OSError:
        return False
