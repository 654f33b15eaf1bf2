"""Which process is meant: numbers are used again, in a container that starts anew at once."""

from __future__ import annotations

import os
from pathlib import Path


def birth(pid: int) -> str:
    """When a process of this machine started, in ticks since the machine did; empty where not known."""
    try:
        # the name of the program, in brackets, may hold anything
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def is_running(pid: int, born: str = "") -> bool:
    """Whether the process with this number, and this :func:`birth` if it is given, runs on this machine."""
    try:
        # signal 0 asks whether there is such a process
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    now = birth(pid)
    return not born or not now or born == now
