"""Pickles of models: they hold what a loaded model leaves in its folder."""

from __future__ import annotations

from typing import Any, Self, cast

from distkern.common.errors import InputError
from distkern.monitor.text import in_bytes
from distkern.runs.persistence import StoredForUpdate

#: bytes that a pickle holds of a model's folder, at most
MOST_PICKLED = 2**30


class Pickled:
    """A model that is pickled with what it needs, whatever becomes of the folder that it was loaded from."""

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, in memory.

        Raises
        ------
        InputError
            If more than 1 GiB of them lies in the model's folder.
        CorruptDataError
            If the folder is gone, or changed.
        """
        # predicting loads nothing that writes
        from distkern.storage.parts import StoredParts

        state = dict(cast("dict[str, Any]", super().__getstate__()))
        stored = {name: one for name, one in state.items() if isinstance(one, StoredForUpdate | StoredParts)}
        n_bytes = sum(one.n_bytes for one in stored.values())
        if n_bytes > MOST_PICKLED:
            raise InputError(
                f"a pickle would hold {in_bytes(n_bytes)} of the model's folder, and holds at most "
                f"{in_bytes(MOST_PICKLED)}",
                where=str(next(iter(stored.values())).folder),
                hint="copy the folder instead, and load it where the model is needed",
            )
        return state | {name: one.loaded() for name, one in stored.items()}

    def __copy__(self) -> Self:
        # shares everything with the model, its folder too
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        return made
