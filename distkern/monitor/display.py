"""What a fit with ``verbose`` shows: bars in a terminal or in a notebook, plain lines elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distkern.monitor.terminal import Terminal


def progress_display() -> Terminal:
    """A listener, to be entered, for wherever this process is looked at."""
    from rich.console import Console

    from distkern.monitor.notebook import Notebook
    from distkern.monitor.terminal import Terminal

    return Notebook() if Console().is_jupyter else Terminal()
