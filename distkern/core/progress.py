"""Progress of long work outside passes: the worker reports steps, and the caller may listen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

#: called with a description of the step, the number of finished steps, and the total
StepListener: TypeAlias = Callable[[str, int, int], object]

_LISTENER: ContextVar[StepListener | None] = ContextVar("distkern steps", default=None)


def at_step(doing: str, done: int, total: int) -> None:
    """Report the start of a step."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(doing, done, total)


@contextmanager
def listening(listener: StepListener) -> Iterator[None]:
    """Send the steps of this context and thread to ``listener``; an inner listener replaces it."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
