"""``python -m inferscope`` is the native command."""

import os
import sys

from inferscope import _command


def main() -> None:
    path = _command.find()
    if path is None:
        sys.exit("inferscope: cannot find the command: not beside this package nor on PATH; run pip install inferscope")
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
