"""Append to files: logs, and the metrics of a run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from distkern.core.errors import InputError
from distkern.data.store.atomic import explain_errors
from distkern.data.store.places import Place, URLPlace


def append_text(place: Place, text: str) -> None:
    """Append to a UTF-8 text file; on disk when this returns.

    Objects of a store are rewritten, which suits small ones only. Raises :class:`InputError` if the disk is
    full or the place cannot be written.
    """
    if isinstance(place, URLPlace):
        try:
            before = place.read_bytes()
        except FileNotFoundError:
            before = b""
        place.write_bytes(before + text.encode())
        return
    with open_to_append(place) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def open_to_append(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 text file for appending.

    Raises :class:`InputError` if the disk is full or the place cannot be written, also for a link and for a
    FIFO, which would wait for a reader.
    """
    with explain_errors(path):
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            what, hint = "cannot be written (not a regular file)", "remove it or use another folder"
            raise InputError(what, where=str(path), hint=hint)
        with path.open("a", encoding="utf-8") as file:
            yield file
