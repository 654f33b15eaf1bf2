"""Steps of long work that is no pass: whoever works says where it is, and whoever started it may listen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

#: called with what is done now, the number of finished steps, and the number of all
Told: TypeAlias = Callable[[str, int, int], object]

_LISTENER: ContextVar[Told | None] = ContextVar("distkern steps", default=None)


def at_step(doing: str, done: int, total: int) -> None:
    """Report a step that begins."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(doing, done, total)


@contextmanager
def steps_told(listener: Told) -> Iterator[None]:
    """Hear of the steps of this context and thread; an inner listener hears them alone."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
