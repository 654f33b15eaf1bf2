"""``workflows`` is not installed: it is found beside the tests, and nothing else is."""

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
if "workflows" not in sys.modules:
    package = types.ModuleType("workflows")
    package.__path__ = [str(_ROOT / "workflows")]
    sys.modules["workflows"] = package


@pytest.fixture
def command():
    """What a workflow that is run by its name prints: as a user runs it, in the folder where it lies."""

    def run(name, *arguments):
        words = [sys.executable, "-m", f"workflows.{name}", *arguments]
        environment = {**os.environ, "PYTHONSAFEPATH": ""}
        ran = subprocess.run(words, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run
