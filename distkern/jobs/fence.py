"""Fences: of two drivers that both believe to run a job, the older one stops.

A driver claims a job by creating the next of the files ``epoch-00001``, ``epoch-00002``, ..., which only one
can create. It holds the job as long as no newer one is there, and looks before each stage is written. What it
could write between a look and the next claim is what the newer driver would write: same job, same bits.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass

from distkern.common.errors import FencedError
from distkern.storage.atomic import explain_errors
from distkern.storage.description import json_object
from distkern.storage.places import Place, create_exclusively

_NAME = re.compile(r"epoch-(\d{5,})")


@dataclass(frozen=True)
class Fence:
    """A claim to a run: ``epoch`` in ``folder``, and what was written into its file."""

    folder: Place
    epoch: int
    owner: str

    def holds(self) -> bool:
        """Whether nobody has claimed the run since, nor cleared the claim away."""
        return newest(self.folder) == self.epoch and self._is_there()

    def check(self) -> None:
        """Raise :class:`FencedError` if somebody has."""
        latest = newest(self.folder)
        if latest == 0:
            raise FencedError(
                f"the folder {self.folder.parent} was removed or emptied while it was trained to: "
                "start again, and leave the folder alone until the run has finished"
            )
        if latest != self.epoch or not self._is_there():
            raise FencedError(
                f"another driver has taken over the run in {self.folder.parent} (epoch {latest}, this one is "
                f"{self.epoch}): this one stops"
            )

    def _is_there(self) -> bool:
        try:
            return _file(self.folder, self.epoch).read_text(encoding="utf-8") == self.owner
        except FileNotFoundError:
            return False


def _file(folder: Place, epoch: int) -> Place:
    return folder / f"epoch-{epoch:05d}"


def newest(folder: Place) -> int:
    """The newest epoch of a job; 0 if nobody has claimed it."""
    try:
        found = (_NAME.fullmatch(entry.name) for entry in folder.iterdir())
        return max((int(match[1]) for match in found if match), default=0)
    except FileNotFoundError:
        return 0


def starts_at(folder: Place, progress: Sequence[int]) -> int:
    """How many of the last claims, in a row, were made when the job was as far as ``progress`` says."""
    starts = 0
    for epoch in range(newest(folder), 0, -1):
        try:
            claimed = json_object(_file(folder, epoch).read_text(encoding="utf-8"))["progress"]
        except (OSError, ValueError, KeyError):
            # its driver died while it wrote: it got no further
            claimed = list(progress)
        if claimed != list(progress):
            break
        starts += 1
    return starts


def claim(folder: Place, progress: Sequence[int] = ()) -> Fence:
    """Become the newest driver of a job.

    ``progress`` says how far the job is; see :func:`starts_at`.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    owner = json.dumps(
        {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "time": time.time(),
            "progress": list(progress),
            "claim": secrets.token_hex(8),
        }
    )
    owner += "\n"
    with explain_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    while True:
        epoch = newest(folder) + 1
        path = _file(folder, epoch)
        try:
            # create-if-absent is the one operation that every shared file system decides alone
            create_exclusively(path, owner)
        except FileExistsError:
            continue
        except OSError:
            with explain_errors(path):
                raise
        return Fence(folder, epoch, owner)
