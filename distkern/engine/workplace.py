"""Where a run keeps what its tasks store: beside its checkpoints, or for as long as it lasts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from distkern.storage.description import as_read, fingerprint
from distkern.storage.parts import ArrayParts
from distkern.storage.places import Place
from distkern.storage.sliced import SlicedParts


class RunWorkplace:
    """Stores in a folder, or in one in this host's ``TMPDIR`` that is gone when the context closes.

    Parameters
    ----------
    folder : of the run; None for a temporary one, which is made when it is first asked for
    identity : what the run is a function of: results of another run do not count

    Attributes
    ----------
    stays : what is stored is there after the context has closed
    """

    def __init__(self, folder: Place | None, identity: Mapping[str, Any]) -> None:
        self._folder = folder
        self.stays = folder is not None
        self._of = fingerprint(as_read(identity))
        self._stack = ExitStack()

    def arrays(self, name: str) -> ArrayParts:
        """See :class:`~distkern.passes.Workplace`."""
        return ArrayParts(self._place / name, f"{self._of}/{name}")

    def slices(self, name: str, layout: Mapping[str, tuple[str, tuple[int, ...]]]) -> SlicedParts:
        """See :class:`~distkern.passes.Workplace`."""
        return SlicedParts(self._place / name, f"{self._of}/{name}", layout)

    @property
    def _place(self) -> Place:
        if self._folder is None:
            self._folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="distkern-")))
        return self._folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
