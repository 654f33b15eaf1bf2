"""What a model stores for updates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.types import Array
from distkern.data.store.arrays import array_bytes, load_arrays
from distkern.data.store.description import Description
from distkern.data.store.places import Place

DESCRIPTION = Description("distkern-model", "a model", 6, "train it again")
#: prefix of these arrays in a model's folder
FURTHER = "further."
OWN = f"{FURTHER}own."


@dataclass(frozen=True)
class SavedForUpdate:
    """What a model stores for updates.

    Attributes
    ----------
    solver_state : fields of the solver's last state by name, arrays and numbers
    n_rows, weight : number of training rows (equal rows of small data count once) and the sum of their
        weights
    sources : fingerprints of the splits with these rows; "" for arrays
    low, high : (n_features,) smallest and largest number of each column in its own units; empty if unknown
    began : :func:`~distkern.runs.persistence.fingerprint_of` the model before the last update; "" without
        updates
    """

    solver_state: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 0
    weight: float = 0.0
    sources: tuple[str, ...] = ()
    low: Array = field(default_factory=lambda: np.zeros(0))
    high: Array = field(default_factory=lambda: np.zeros(0))
    began: str = ""

    def __post_init__(self) -> None:
        # all batches of arrays count as one source
        object.__setattr__(self, "sources", tuple(dict.fromkeys(self.sources)))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        own = {f"{OWN}{name}": np.asarray(value) for name, value in self.solver_state.items()}
        return {**own, f"{FURTHER}low": self.low, f"{FURTHER}high": self.high}

    @property
    def facts(self) -> dict[str, Any]:
        names = [f"{FURTHER}low", f"{FURTHER}high", *(f"{OWN}{name}" for name in self.solver_state)]
        facts = {"n_rows": self.n_rows, "weight": self.weight, "sources": list(self.sources), "arrays": names}
        return {**facts, "began": self.began} if self.began else facts

    def loaded(self) -> SavedForUpdate:
        return self


@dataclass(frozen=True)
class StoredForUpdate:
    """A :class:`SavedForUpdate` in a model's folder.

    Attributes
    ----------
    folder : folder of the model
    fingerprint : fingerprint of its arrays
    facts : see :attr:`SavedForUpdate.facts`
    n_features : number of features of the model
    """

    folder: Place
    fingerprint: str
    facts: Mapping[str, Any]
    n_features: int

    @property
    def n_bytes(self) -> int:
        """Its bytes in memory; raises as :meth:`loaded`."""
        return array_bytes(self.folder / "arrays", self.facts["arrays"])

    def loaded(self) -> SavedForUpdate:
        """Load it into memory; raises as :func:`~distkern.data.store.arrays.load_arrays`."""
        from distkern.core.stores import shaped

        arrays = load_arrays(self.folder / "arrays", self.facts["arrays"], fingerprint=self.fingerprint)
        own = {name.removeprefix(OWN): values for name, values in arrays.items() if name.startswith(OWN)}
        where = str(self.folder / "model.json")
        try:
            low, high = (shaped(arrays, f"{FURTHER}{end}", None) for end in ("low", "high"))
        except (KeyError, ValueError) as error:
            raise DESCRIPTION.damaged(str(error), where) from None
        if not len(low) == len(high) in (0, self.n_features):
            raise DESCRIPTION.damaged(f"ranges of {len(low)} columns for {self.n_features}", where)
        if odd := [name for name, values in own.items() if values.dtype.kind not in "fiub"]:
            raise DESCRIPTION.damaged(f"{odd[0]} is not of real numbers", where)
        return SavedForUpdate(
            {name: values if values.ndim else values.item() for name, values in own.items()},
            int(self.facts["n_rows"]),
            float(self.facts["weight"]),
            tuple(self.facts["sources"]),
            low,
            high,
            str(self.facts.get("began", "")),
        )
