#!/usr/bin/env python3
"""Add the fetched archives to a source distribution, so that it builds without a network."""

import os
import pathlib
import shutil

FOLDER = pathlib.Path("subprojects") / "packagefiles"
for archive in (pathlib.Path(os.environ["MESON_SOURCE_ROOT"]) / FOLDER).glob("*.tar.gz"):
    shutil.copy2(archive, pathlib.Path(os.environ["MESON_DIST_ROOT"]) / FOLDER)
