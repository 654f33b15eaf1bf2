"""Ctrl-C and termination signals, put off while worker processes start or stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def put_off() -> Iterator[None]:
    """Hold interruptions back until the end of the context, then raise one :class:`KeyboardInterrupt`.

    A cluster that is interrupted half-way through its start or its end leaves processes and tracebacks
    behind. Processes and threads started inside never see Ctrl-C, which a terminal sends to all of them at
    once: what started them decides what becomes of them. Outside the main thread, which alone handles
    signals, nothing is put off.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
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
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
    if arrived:
        raise KeyboardInterrupt


def _start_resource_tracker() -> None:
    """Start multiprocessing's helper process now: it would unblock the signals when it is started later."""
    with suppress(OSError, ImportError):
        from multiprocessing.resource_tracker import ensure_running

        ensure_running()
