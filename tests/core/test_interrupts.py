"""An interruption arrives once, whatever swallowed it on the way."""

import gc
import os
import signal
import subprocess
import sys
import threading

import pytest

from distkern.core import interrupts


def kill(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_both_signals_are_exceptions_and_the_handlers_come_back(number):
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), interrupts.as_exceptions():
        kill(number)
    assert signal.getsignal(number) is before


def test_one_that_is_lost_in_the_garbage_collector_is_found_again():
    def callback(phase, info):
        gc.callbacks.remove(callback)
        kill(signal.SIGINT)

    with interrupts.as_exceptions():
        interrupts.check()
        gc.callbacks.append(callback)
        gc.collect()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()


def test_ctrl_c_stays_ignored_in_the_background():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.as_exceptions():
            kill(signal.SIGINT)
            interrupts.check()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_put_off_until_the_end(number):
    reached = []

    def put_off():
        with interrupts.put_off():
            kill(number)
            reached.append("after the signal")

    with pytest.raises(KeyboardInterrupt):
        put_off()
    assert reached == ["after the signal"]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) & {signal.SIGINT, signal.SIGTERM} == set()
    with interrupts.put_off():
        pass


def test_threads_started_meanwhile_never_see_ctrl_c():
    masks = []
    with interrupts.put_off():
        thread = threading.Thread(target=lambda: masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
        thread.start()
        thread.join()
    assert signal.SIGINT in masks[0]
    assert signal.SIGTERM not in masks[0]


def test_a_callback_that_was_interrupted_half_way_says_nothing_later(monkeypatch):
    """As Dask's, which takes the time between the start and the stop of a collection."""
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: told.append(lost.exc_type))
    began = []

    def timer(phase, info):
        assert not began
        began.append(phase)
        signal.raise_signal(signal.SIGINT)

    def other(phase, info):
        if phase == "stop":
            raise ValueError

    gc.callbacks.extend([timer, other])
    try:
        with interrupts.as_exceptions():
            gc.collect()
            with pytest.raises(KeyboardInterrupt):
                interrupts.check()
    finally:
        gc.callbacks.remove(timer)
        gc.callbacks.remove(other)
    assert began == ["start"]
    assert told == [ValueError]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stuck", ["interrupts.put_off()", "suppress(KeyboardInterrupt)"])
def test_a_command_that_does_not_end_is_ended(number, stuck):
    """A cluster that hangs as it starts, and one that hangs as it closes."""
    script = (
        "import os, threading\n"
        "from contextlib import suppress\n"
        "from distkern.core import interrupts\n"
        "interrupts.GRACE = 0.1\n"
        "with interrupts.as_exceptions():\n"
        f"    with {stuck}:\n"
        f"        os.kill(os.getpid(), {number:d})\n"
        "        threading.Event().wait()\n"
        "    threading.Event().wait()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 130
    assert ended.stderr.startswith("distkern: interrupted and stopped, as it did not end within 10 s")
    assert len(ended.stderr.splitlines()) == 1


def test_what_is_heard_of_signals_is_closed_again():
    before = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(before)
    with interrupts.as_exceptions():
        inside = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(inside)
    assert inside not in (-1, before)
    assert signal.set_wakeup_fd(before) == before
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(inside)


def test_a_process_that_does_not_end_after_its_command_is_ended():
    script = (
        "import os, threading, time\n"
        "from distkern.core import interrupts\n"
        "interrupts.GRACE = 0.1\n"
        "try:\n"
        "    with interrupts.as_exceptions(ends_process=True):\n"
        "        threading.Thread(target=time.sleep, args=(50,)).start()\n"
        "        os.kill(os.getpid(), 15)\n"
        "except KeyboardInterrupt:\n"
        "    pass\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20)
    assert (ended.returncode, ended.stderr) == (130, "")
