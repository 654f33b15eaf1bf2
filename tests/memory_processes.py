"""Scripts in processes of their own, so that their peaks of memory are their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run(code: str, *arguments: str, folder: Path) -> str:
    """What a script prints; it is a file, since processes that it spawns import it."""
    script = folder / "script.py"
    script.write_text(code)
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
