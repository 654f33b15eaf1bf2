"""A run in a notebook: the terminal's lines, and below them a bar that goes when the run is over."""

from __future__ import annotations

import html
import time
from importlib import import_module
from types import TracebackType
from typing import Any

from distkern.monitor.terminal import Terminal

#: seconds between two changes of a bar
_INTERVAL = 0.1


class Notebook(Terminal):
    """A listener that shows a run below the cell that made it. Use it as a context manager."""

    def __init__(self) -> None:
        super().__init__()
        self.live = True
        self._lines: list[str] = []
        self._bar = ""
        self._changed = 0.0
        self._shown: Any = None

    def __enter__(self) -> Notebook:
        self._render()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def line(self, text: str) -> None:
        """Write a line above the bar."""
        self._lines.append(text)
        self._render()

    def show(self, description: str, done: int, total: int | None, rates: str = "") -> None:
        """Put the bar at ``done`` of ``total``."""
        share = done / total if total else 0.0
        self._bar = (
            f'<progress max="1" value="{share:.4f}"></progress> {100 * share:.0f}&nbsp;% '
            f"{html.escape(description)} {html.escape(rates)}"
        )
        if time.monotonic() - self._changed >= _INTERVAL:
            self._render()

    def clear(self) -> None:
        """Take the bar away."""
        if self._bar:
            self._bar = ""
            self._render()

    def _render(self) -> None:
        self._changed = time.monotonic()
        display: Any = import_module("IPython.display")
        text = html.escape("\n".join(self._lines))
        page = display.HTML(
            f'<pre style="font-family:monospace;line-height:1.3">{text}</pre><div>{self._bar}</div>'
        )
        if self._shown is None:
            self._shown = display.display(page, display_id=True)
        else:
            self._shown.update(page)
