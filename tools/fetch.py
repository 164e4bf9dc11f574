"""Bring the pinned third-party archives into subprojects/packagefiles, through pip."""

import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
archives = root / "subprojects" / "packagefiles"
pins = root / "tools" / "third-party.txt"


def wanted() -> list[str]:
    lines = [line.split() for line in pins.read_text().splitlines()]
    return [line[0].replace("==", "-") + ".tar.gz" for line in lines if line]


def main() -> None:
    missing = [name for name in wanted() if not (archives / name).exists()]
    if not missing:
        return
    # -I: a build frontend hides pip by way of PYTHONPATH.
    pip = [sys.executable, "-I", "-m", "pip", "--quiet", "--disable-pip-version-check", "download"]
    done = subprocess.run(
        [*pip, "--no-deps", "--no-binary", ":all:", "--require-hashes", "-r", str(pins), "-d", str(archives)]
    )
    if done.returncode:
        sys.exit(
            f"inferscope: cannot fetch {', '.join(missing)}: pip failed; run `make setup` where a package "
            f"index can be reached, or put the files into {archives.relative_to(root)}"
        )


main()
