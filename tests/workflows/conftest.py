"""``workflows`` is not installed: it is found beside the tests, and nothing else is."""

from __future__ import annotations

import sys
import types
from pathlib import Path

_ROOT = Path(__file__).parents[2]
if "workflows" not in sys.modules:
    package = types.ModuleType("workflows")
    package.__path__ = [str(_ROOT / "workflows")]
    sys.modules["workflows"] = package
