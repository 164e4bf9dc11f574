"""The binding to the runtime inside this process."""

inert: bool
"""True when the runtime that is loaded is not of this version; then nothing here does anything."""

reason: str | None
"""Why it is inert."""

def attach(folder: str) -> bool:
    """Join the session in this folder; False when that cannot be done. Again: True, and nothing happens."""

def active() -> bool:
    """Is a session recording this process now?"""

def is_python() -> None:
    """Tell the session that this process runs Python."""
