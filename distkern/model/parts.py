"""Parts of a fitted model: its columns, the history of the fit, and the values stored for updates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.types import Array
from distkern.data.scaling import Like, Preparation, Scaling, preparation_for
from distkern.data.store.arrays import array_bytes, load_arrays
from distkern.data.store.description import Description
from distkern.data.store.places import Place
from distkern.model.fields import fitted

if TYPE_CHECKING:
    from pandas import DataFrame

    from distkern.data.dataset import Dataset
    from distkern.data.table import Table
    from distkern.show.page import PlotPage


# -- columns


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns that a model expects.

    Attributes
    ----------
    estimator : class name of the estimator, for scikit-learn's messages
    is_of_frame : whether the fit had a frame in memory, whose column order scikit-learn checks
    """

    estimator: str
    n_features_in: int = fitted("number of columns in ``fit``")
    feature_names_in: NDArray[Any] | None = fitted(
        "(n_features_in_,) names of the columns, if they had names", default=None, always=False
    )
    table: Table | None = fitted(
        "encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or None",
        default=None,
    )
    target_name: str | None = fitted(
        "name of the target's column, if the data set was made from a table", default=None
    )
    zero_based: bool | None = fitted(
        "whether indices of svmlight files start at 0, for models fitted on a data set",
        default=None,
        internal=True,
    )
    scaling: Scaling | None = fitted(
        "scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``. "
        "``coefficients_`` apply to scaled rows. None without scaling",
        default=None,
    )
    dtype: np.dtype[Any] | None = fitted(
        "precision of the training rows, to which rows given to ``predict`` are cast; None for stored models "
        "without one, which predict rows in their own precision",
        default=None,
    )
    is_of_frame: bool = False

    @classmethod
    def of_dataset(cls, estimator: str, dataset: Dataset) -> Columns:
        """Return the columns of a data set."""
        table, names = dataset.table, dataset.feature_names
        if table is not None:
            names = table.names if table.is_named else None
        return cls(
            estimator=estimator,
            n_features_in=dataset.n_features if table is None else len(table.columns),
            feature_names_in=None if names is None else np.asarray(names, dtype=object),
            table=table,
            target_name=dataset.target_name,
            zero_based=bool(dataset.options.get("zero_based")),
            scaling=dataset.scaling,
        )

    @cached_property
    def width(self) -> int:
        return int(self.n_features_in) if self.table is None else self.table.n_features

    @property
    def names(self) -> tuple[str, ...] | None:
        return None if self.feature_names_in is None else tuple(self.feature_names_in)

    def preparation(self, dataset: Dataset) -> Preparation | None:
        """Return the preparation of the stored rows of a data set, see :func:`preparation_for`."""
        names, width = self.names, self.n_features_in
        if self.table is not None:
            own_names = self.table.is_named or not self.table.is_numeric
            names, width = self.table.features if own_names else None, self.table.n_features
        return preparation_for(dataset, width, names, self.scaling, self.table)

    def like(self, task: Any, classes: NDArray[Any] | None) -> Like:
        """Return how the rows of the fit were prepared."""
        scaling = self.scaling or Scaling()
        own = self.width, self.names, self.target_name, scaling, self.table
        return Like(*own, classes, task, from_zero=self.zero_based)


# -- the history of a fit

#: figures that ``repr`` shows if known
_SHOWN = ("stage", "passes", "seconds", "objective", "train_error", "test_error", "model_size")


class History(list[dict[str, Any]]):
    """A list with one dict of figures per stage, as in ``metrics.jsonl``.

    ``history.to_frame()`` returns a pandas frame, and ``history.plot()`` draws the plots of the report.
    """

    def __repr__(self) -> str:
        from distkern.core.text import listed

        names = [name for name in _SHOWN if any(line.get(name) is not None for line in self)]
        rows = [[line.get(name, "") for name in names] for line in self]
        return listed(
            f"<History of {len(self)} stage{'s' * (len(self) != 1)}; .to_frame(), .plot()>", names, rows
        )

    def to_frame(self) -> DataFrame:
        """Return a pandas frame with a row per stage and a column per figure."""
        from pandas import DataFrame

        return DataFrame(list(self))

    def plot(self) -> PlotPage:
        """Plot objective, errors and other changing figures; notebooks draw them, ``save`` writes a page."""
        from distkern.show.page import PlotPage
        from distkern.show.stages import stage_plots

        return PlotPage("Stages", (stage_plots(self),) if self else (), f"{len(self)} stages")


# -- values for updates

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
