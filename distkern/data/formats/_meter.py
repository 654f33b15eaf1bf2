"""Progress of reading files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distkern.data.formats.base import InputFile


class Meter:
    """The share of some files that has been read, by positions in the stored (compressed) bytes.

    Local files count by size. If any is remote all count the same, since asking for sizes takes time.

    Attributes
    ----------
    n_bytes : size of all files as stored; None unless all are local
    """

    def __init__(self, files: Sequence[InputFile]) -> None:
        sizes = [_size_of(file) for file in files]
        self._weights = dict.fromkeys((file.url for file in files), 1)
        self.n_bytes = sum(size or 0 for size in sizes) if all(sizes) else None
        if all(sizes):
            self._weights.update({file.url: size for file, size in zip(files, sizes, strict=True) if size})
        self._done = 0
        self._under_way: tuple[int, Any] | None = None

    def begin(self, file: InputFile, raw: Any) -> None:
        """Note that a file was opened."""
        self._under_way = self._weights.get(file.url, 0), raw

    def end(self) -> None:
        """Note that the current file was read."""
        if self._under_way is not None:
            self._done += self._under_way[0]
        self._under_way = None

    @property
    def share(self) -> float:
        """From 0 to 1; a file of unknown size counts once it is read."""
        done = float(self._done)
        if self._under_way is not None:
            weight, raw = self._under_way
            size = getattr(raw, "size", None)
            done += weight * min(1.0, raw.tell() / size) if size and not raw.closed else 0.0
        return min(1.0, done / max(sum(self._weights.values()), 1))


def metered(files: Sequence[InputFile]) -> tuple[list[InputFile], Meter]:
    """Return the files, and a meter of the share that has been read."""
    meter = Meter(files)
    return [replace(file, meter=meter) for file in files], meter


def _size_of(file: InputFile) -> int | None:
    if not file.is_local:
        return None
    try:
        return os.path.getsize(file.url)
    except OSError:
        # opening the file will report this
        return None
