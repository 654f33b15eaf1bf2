"""What a model keeps for updates, read from its folder only when it is updated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.types import Array
from distkern.storage.arrays import load_arrays
from distkern.storage.places import Place

#: what the names of its arrays in a model's folder begin with
PREFIX = "further."
_OWN = f"{PREFIX}own."


@dataclass(frozen=True)
class Further:
    """What a model keeps for updates.

    Attributes
    ----------
    own : what its solver has kept of its last state, by name: arrays and numbers
    n_rows, weight : rows that it has learned from, equal ones of few as one, and the sum of their weights
    sources : fingerprints of the splits of data sets that these are of; "" for arrays
    low, high : (n_features,) the smallest and the largest number of each column of these rows, in their own
        units; without numbers where they are not known
    """

    own: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 0
    weight: float = 0.0
    sources: tuple[str, ...] = ()
    low: Array = field(default_factory=lambda: np.zeros(0))
    high: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a model's folder holds of it."""
        own = {f"{_OWN}{name}": np.asarray(value) for name, value in self.own.items()}
        return {**own, f"{PREFIX}low": self.low, f"{PREFIX}high": self.high}

    @property
    def facts(self) -> dict[str, Any]:
        """What ``model.json`` says of it."""
        names = [f"{PREFIX}low", f"{PREFIX}high", *(f"{_OWN}{name}" for name in self.own)]
        return {"n_rows": self.n_rows, "weight": self.weight, "sources": list(self.sources), "arrays": names}

    def loaded(self) -> Further:
        """Itself, in memory."""
        return self


@dataclass(frozen=True)
class StoredFurther:
    """A :class:`Further` that lies in a model's folder.

    Attributes
    ----------
    folder : of the model
    fingerprint : of its arrays
    facts : see :attr:`Further.facts`
    """

    folder: Place
    fingerprint: str
    facts: Mapping[str, Any]

    def loaded(self) -> Further:
        """It, in memory; raises as :func:`~distkern.storage.arrays.load_arrays`."""
        arrays = load_arrays(self.folder / "arrays", self.facts["arrays"], fingerprint=self.fingerprint)
        own = {name.removeprefix(_OWN): values for name, values in arrays.items() if name.startswith(_OWN)}
        return Further(
            {name: values if values.ndim else values.item() for name, values in own.items()},
            int(self.facts["n_rows"]),
            float(self.facts["weight"]),
            tuple(self.facts["sources"]),
            arrays[f"{PREFIX}low"],
            arrays[f"{PREFIX}high"],
        )
