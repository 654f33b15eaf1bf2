"""Files that grow at their end: logs, and the metrics of a run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from distkern.common.errors import InputError
from distkern.storage.atomic import explain_errors
from distkern.storage.places import Place, URLPlace


def append_text(place: Place, text: str) -> None:
    """Add to the end of a UTF-8 text file, on disk before this returns.

    An object cannot be added to: it is written anew, which is meant for small ones.

    Raises
    ------
    InputError
        If the disk is full or the place cannot be written.
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
    """Open a UTF-8 text file to write behind its end.

    Raises
    ------
    InputError
        If the disk is full or the place cannot be written, also where a link would lead to another place and
        a FIFO would wait for a reader.
    """
    with explain_errors(path):
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            what, hint = "cannot be written (not a regular file)", "remove it or use another folder"
            raise InputError(what, where=str(path), hint=hint)
        with path.open("a", encoding="utf-8") as file:
            yield file
