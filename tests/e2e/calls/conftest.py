"""Test modules are not packages; this is how they share programs.py and counting.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
