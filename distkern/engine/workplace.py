"""Where a run keeps what its tasks store: beside its checkpoints, or for as long as it lasts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from distkern.engine.checkpoint import CheckpointFolder
from distkern.storage.description import fingerprint
from distkern.storage.parts import ArrayParts, SlicedParts
from distkern.storage.places import Place


class RunWorkplace:
    """Stores in a run's folder, or in one in this host's ``TMPDIR`` that is gone when the context closes.

    Parameters
    ----------
    checkpoints : of the run, beside which it stores: results of a run of another identity do not count; None
        for a temporary folder, which is made when it is first asked for

    Attributes
    ----------
    stays : what is stored is there after the context has closed
    """

    def __init__(self, checkpoints: CheckpointFolder | None) -> None:
        self._folder = None if checkpoints is None else checkpoints.path.parent
        self.stays = checkpoints is not None
        self._of = "" if checkpoints is None else fingerprint(checkpoints.identity)
        self._stack = ExitStack()

    def arrays(self, name: str) -> ArrayParts:
        """See :class:`~distkern.passes.Workplace`."""
        return ArrayParts(self._place / name, f"{self._of}/{name}", stays=self.stays)

    def slices(self, name: str, layout: Mapping[str, tuple[str, tuple[int, ...]]]) -> SlicedParts:
        """See :class:`~distkern.passes.Workplace`."""
        return SlicedParts(self._place / name, f"{self._of}/{name}", layout, stays=self.stays)

    @property
    def _place(self) -> Place:
        if self._folder is None:
            self._folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="distkern-")))
        return self._folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
