"""Processes that end with the one that started them, however that ends: killed by SIGKILL, for instance."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.connection import wait

#: of the process that outlives this one: what it has read when its input ends is all that is left to kill
_GUARD = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


def end_with_parent() -> None:
    """Called in a process of ``multiprocessing``, this ends it at once when its parent has ended.

    Without it, a process of a pool whose parent is killed answers its question to the end and then waits for
    another one for ever: it holds both ends of the pipe that these come by.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        raise RuntimeError("this is not a process of multiprocessing")

    def watch(sentinel: int) -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, args=(parent.sentinel,), daemon=True).start()


@contextmanager
def killed_with_this(group: int) -> Iterator[None]:
    """Meanwhile, a process group is killed when this process ends."""
    tell = _guard()
    tell(f"+{group}\n")
    try:
        yield
    finally:
        tell(f"-{group}\n")


@cache
def _guard() -> Callable[[str], None]:
    """A process that waits for the end of this one; no signal to this one's group reaches it."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", _GUARD], stdin=subprocess.PIPE, start_new_session=True, text=True
    )
    assert process.stdin is not None
    pipe = process.stdin

    def tell(line: str) -> None:
        pipe.write(line)
        pipe.flush()

    def end() -> None:
        pipe.close()
        process.wait()

    atexit.register(end)
    return tell
