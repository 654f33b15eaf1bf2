"""Ctrl-C and termination signals: never lost, and put off while worker processes start or stop."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_arrived = False


@contextmanager
def as_exceptions() -> Iterator[None]:
    """Ctrl-C and termination both raise :class:`KeyboardInterrupt` inside, and again in :func:`check`.

    The second time is needed: an exception that happens to be raised in a finaliser or in a callback of the
    garbage collector, where Dask has one, would be printed and forgotten.
    """
    global _arrived
    _arrived = False
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        # a program in the background was started with Ctrl-C ignored, and wants it so
        if handler is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    hook = sys.unraisablehook
    half_done: list[Any] = []

    def report(lost: Any) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            if lost.object not in half_done:
                hook(lost)
        elif lost.object in gc.callbacks:
            # Dask's keeps a time that it began to take, and fails at every later collection
            half_done.append(lost.object)

    sys.unraisablehook = report
    try:
        yield
    finally:
        sys.unraisablehook = hook
        _restore(before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _arrived
    _arrived = True
    raise KeyboardInterrupt


def check() -> None:
    """Raise :class:`KeyboardInterrupt` if an interruption arrived and got lost; long loops call this."""
    global _arrived
    if _arrived and threading.current_thread() is threading.main_thread():
        _arrived = False
        raise KeyboardInterrupt


def _restore(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        # None: installed by something other than Python, which cannot be asked for it
        signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def put_off(*, starts_processes: bool = True) -> Iterator[None]:
    """Hold interruptions back until the end of the context, then raise one :class:`KeyboardInterrupt`.

    A cluster that is interrupted half-way through its start or its end leaves processes and tracebacks
    behind. Processes and threads started inside never see Ctrl-C, which a terminal sends to all of them at
    once: what started them decides what becomes of them. Outside the main thread, which alone handles
    signals, nothing is put off.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if starts_processes:
        _start_resource_tracker()
    arrived = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal arrived
        arrived = True

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    for number in _SIGNALS:
        signal.signal(number, remember)
    try:
        yield
    finally:
        # a signal that waits behind the mask is still to be remembered
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _restore(before)
    if arrived:
        raise KeyboardInterrupt


def _start_resource_tracker() -> None:
    """Start multiprocessing's helper process now: it would unblock the signals when it is started later."""
    with suppress(OSError, ImportError):
        from multiprocessing.resource_tracker import ensure_running

        ensure_running()
