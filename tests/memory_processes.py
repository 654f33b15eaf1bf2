"""Scripts in processes of their own, so that their peaks of memory are their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(code: str, *arguments: str, folder: Path) -> str:
    """What a script prints; it is a file, since processes that it spawns import it."""
    script = folder / "script.py"
    script.write_text(code)
    command = [sys.executable, str(script), *arguments]
    places = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
