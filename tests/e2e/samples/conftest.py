"""Test modules are not packages; this is how they share sampling.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
