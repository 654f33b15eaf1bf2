"""Ctrl-C and termination signals: never lost, deferred while workers start or stop, obeyed in time."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

#: seconds that an interrupted command has to end by itself
GRACE = 10.0

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_OVERDUE = (
    f"distkern: interrupted and stopped, as it did not end within {GRACE:.0f} s: --resume continues from the "
    "last checkpoint; other commands start anew\n"
).encode()
_arrived = False


@contextmanager
def as_exceptions(*, ends_process: bool = False) -> Iterator[None]:
    """Make Ctrl-C and termination raise :class:`KeyboardInterrupt` inside, and again in :func:`check`.

    The second time is needed because Python prints and drops an exception raised in a finaliser or in a
    callback of the garbage collector, where Dask has one. A process still inside :data:`GRACE` seconds after
    the first signal ends with exit status 130, even while it waits. With ``ends_process`` the deadline
    applies to the rest of the process too.
    """
    global _arrived
    _arrived = False
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        # shells start background programs with Ctrl-C ignored
        if handler is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    hook = sys.unraisablehook
    half_done: list[Any] = []

    def report(lost: Any) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            if lost.object not in half_done:
                hook(lost)
        elif lost.object in gc.callbacks:
            # Dask's timer was interrupted half-way and fails at every later collection
            half_done.append(lost.object)

    sys.unraisablehook = report
    try:
        with _overseen(ends_process):
            yield
    finally:
        sys.unraisablehook = hook
        _restore(before)


@contextmanager
def _overseen(ends_process: bool) -> Iterator[None]:
    """End the process if the context is still open :data:`GRACE` seconds after a signal.

    Python runs handlers in the main thread, which may be in a compiled loop or waiting for a lock. The wakeup
    descriptor is written as soon as the signal arrives.
    """
    heard, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    ended = threading.Event()
    seen = (heard, ended, ends_process)
    watch = threading.Thread(target=_oversee, args=seen, name="distkern-signals", daemon=True)
    try:
        watch.start()
    except RuntimeError:
        # no thread can be started, which the command reports next
        os.close(heard)
        os.close(wakeup)
        yield
        return
    before = signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        ended.set()
        # closing would not wake the reader if a forked process holds this end open
        with suppress(OSError):
            os.write(wakeup, b"\0")
        os.close(wakeup)


def _oversee(heard: int, ended: threading.Event, ends_process: bool) -> None:
    with open(heard, "rb", buffering=0) as stream:
        while not set(stream.read(64) or ()) & set(_SIGNALS):
            if ended.is_set():
                return
        deadline = time.monotonic() + GRACE
        has_ended = ended.wait(GRACE)
        if has_ended and not ends_process:
            return
        time.sleep(max(0.0, deadline - time.monotonic()))
    with suppress(Exception):
        if not has_ended:
            os.write(2, _OVERDUE)
        from multiprocessing import active_children

        for process in active_children():
            process.kill()
    os._exit(130)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _arrived
    _arrived = True
    raise KeyboardInterrupt


def check() -> None:
    """Raise :class:`KeyboardInterrupt` if an interruption arrived and was lost; long loops call this."""
    global _arrived
    if _arrived and threading.current_thread() is threading.main_thread():
        _arrived = False
        raise KeyboardInterrupt


def _restore(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        # None: a handler that was not installed from Python
        signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def put_off(*, starts_processes: bool = True) -> Iterator[None]:
    """Defer interruptions to the end of the context, then raise one :class:`KeyboardInterrupt`.

    A cluster interrupted while it starts or stops leaves processes and tracebacks behind. Processes and
    threads started inside never receive Ctrl-C, which a terminal sends to all of them; their parent decides
    when they stop. Does nothing outside the main thread, which alone handles signals.
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
        # unblocking first delivers a pending signal to remember()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _restore(before)
    if arrived:
        raise KeyboardInterrupt


def _start_resource_tracker() -> None:
    """Start multiprocessing's helper process now: starting it later would unblock the signals."""
    with suppress(OSError, ImportError):
        from multiprocessing.resource_tracker import ensure_running

        ensure_running()
