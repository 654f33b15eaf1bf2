"""Preparation of rows for a model: order of columns, encoding of tables, and scaling.

A scaling is fitted on the training rows, stored with the data, and applied to later rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import InputError
from distkern.core.names import order_by_name
from distkern.core.sparse import Rows, SparseRows, with_columns
from distkern.core.types import Floats

if TYPE_CHECKING:
    from distkern.data.dataset import Dataset
    from distkern.data.table import Table

ScalingKind: TypeAlias = Literal["none", "minmax", "standard", "unit", "ball", "maxabs"]
KINDS: tuple[ScalingKind, ...] = get_args(ScalingKind)
#: kinds that keep zeros
SPARSE_KINDS: tuple[ScalingKind, ...] = ("none", "unit", "ball", "maxabs")

#: the papers scale to [0, 1] and the solvers' defaults expect it; sparse rows are mostly counts, and norm 1
#: keeps zeros and makes long and short rows comparable
DEFAULT_SCALING: ScalingKind = "minmax"
DEFAULT_SPARSE_SCALING: ScalingKind = "unit"

#: the command that makes rows as a model needs them; the command line knows the model
SHARD_LIKE = "`distkern shard FILE --like MODEL --out NEW.zarr`"

#: bytes of the float64 copy of rows to scale at a time
_TILE_BYTES = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """x' = (x - shift) * factor per feature, or every row divided by its Euclidean norm (``unit``).

    ``minmax`` maps each training feature to [0, 1], ``standard`` gives it mean 0 and variance 1, ``ball``
    divides all rows by the largest norm of a training row, ``maxabs`` each feature by its largest absolute
    value, so that zeros stay zero. A feature that is constant in training has factor 1, a row of zeros stays
    zero, and later rows are not clipped.

    Attributes
    ----------
    kind : one of :data:`KINDS`
    shift, factor : (n_features,) float64, or (1,) for ``ball``; None for ``none`` and ``unit``
    """

    kind: ScalingKind = "none"
    shift: NDArray[np.float64] | None = None
    factor: NDArray[np.float64] | None = None

    def apply_rows(self, rows: Rows, out_dtype: DTypeLike = np.float32) -> Rows:
        """Scale rows of either form, like :meth:`apply`; :class:`InputError` if zeros of sparse rows would
        change.
        """
        if not isinstance(rows, SparseRows):
            return self.apply(rows, out_dtype)
        refuse_for_sparse(self.kind)
        if self.kind == "none":
            return rows.astype(out_dtype)
        values = rows.data.astype(np.float64)
        with np.errstate(over="ignore"):
            if self.kind == "unit":
                values /= rows.norms()[rows.row_of_entries]
            elif self.factor is not None:
                values *= self.factor if self.factor.size == 1 else self.factor[rows.indices]
            return rows.with_data(values.astype(out_dtype))

    def apply(self, features: Floats, out_dtype: DTypeLike = np.float32) -> Floats:
        """Return scaled rows (n_rows, n_features) of ``out_dtype``, computed in float64."""
        rows = np.asarray(features)
        if self.shift is not None and self.shift.size not in (1, rows.shape[1]):
            raise InputError(f"{rows.shape[1]} features, but the scaling was fitted on {self.shift.size}")
        out: Floats = np.empty(rows.shape, dtype=out_dtype)
        step = max(1, _TILE_BYTES // max(1, 8 * rows.shape[1]))
        with np.errstate(over="ignore"):
            for start in range(0, len(rows), step):
                tile = slice(start, start + step)
                out[tile] = self._scaled(rows[tile])
        return out

    def apply_columns(self, columns: Rows, wanted: NDArray[np.intp], out_dtype: DTypeLike) -> Rows:
        """Scale some columns of rows, (n_columns, n_rows), with the operations of :meth:`apply`, to the
        same bits.
        """
        if self.shift is None or self.factor is None:
            return columns.astype(out_dtype)
        if isinstance(columns, SparseRows):
            entries = columns.data.astype(np.float64) * self.factor[wanted][columns.row_of_entries]
            return columns.with_data(entries.astype(out_dtype))
        values = columns.astype(np.float64)
        values -= self.shift[wanted][:, None]
        values *= self.factor[wanted][:, None]
        return values.astype(out_dtype)

    def _scaled(self, rows: Floats) -> Floats:
        if self.kind == "none":
            return rows
        values = rows.astype(np.float64)
        if self.kind == "unit":
            norms = row_norms(values)
            norms[norms == 0] = 1.0
            values /= norms[:, np.newaxis]
        elif self.shift is not None and self.factor is not None:
            values -= self.shift
            values *= self.factor
        return values

    def pulled_back(
        self, weights: NDArray[np.float64], constants: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a linear function of scaled rows as one of unscaled rows, for any kind but ``unit``.

        Parameters and results are the weights (n_features, n_outputs) and constants (n_outputs,).
        """
        if self.shift is None or self.factor is None:
            return weights, constants
        own = weights * self.factor[:, None]
        shift = np.broadcast_to(self.shift, len(own))
        return own, constants - shift @ own

    def reordered(self, order: NDArray[np.intp]) -> Scaling:
        """Return this scaling for reordered columns: column j is the former column ``order[j]``."""
        if self.shift is None or self.factor is None or self.shift.size == 1:
            return self
        return Scaling(self.kind, self.shift[order], self.factor[order])

    def of_stored(self, stored: Scaling) -> Scaling:
        """Return this scaling for rows stored with the scaling ``stored``, which is undone first.

        x' = (s - (shift - shift_s) factor_s) factor / factor_s, for s = (x - shift_s) factor_s. The scaling
        "none" thus restores the rows' own units. Norms that rows were divided by (``unit``) are not stored,
        so such rows keep norm 1.

        Raises :class:`InputError` if one of two different scalings is ``unit``.
        """
        if self == stored:
            return Scaling()
        if stored.kind == "none":
            return self
        if stored.shift is None or stored.factor is None:
            raise InputError("the original norms of rows of norm 1 are not stored")
        if self.kind == "none":
            return Scaling(stored.kind, -stored.shift * stored.factor, 1.0 / stored.factor)
        if self.shift is None or self.factor is None:
            raise InputError("shifted rows have other norms")
        # a kind for dense rows only, if one of them is, so that sparse rows are refused
        kind = self.kind if stored.kind in SPARSE_KINDS else stored.kind
        return Scaling(kind, (self.shift - stored.shift) * stored.factor, self.factor / stored.factor)

    def check_width(self, n_features: int) -> None:
        """Raise ValueError unless the scaling is for rows of ``n_features``."""
        size = n_features if self.factor is None else self.factor.size
        if size != n_features and (size != 1 or self.kind != "ball"):
            raise ValueError(f"a scaling of {size} features for {n_features}")

    def in_own_units(self, rows: Rows) -> Rows:
        """Undo this scaling, in float64; ``none`` and ``unit`` return the rows unchanged, the latter
        irreversible.
        """
        if self.factor is None:
            return rows
        return Scaling().of_stored(self).apply_rows(rows, np.float64)

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and lists, exact."""
        return {
            "kind": self.kind,
            "shift": None if self.shift is None else self.shift.tolist(),
            "factor": None if self.factor is None else self.factor.tolist(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Scaling:
        """Read the result of :meth:`to_json`; an unknown kind and inconsistent numbers are refused."""
        kind = stored["kind"]
        if kind not in KINDS:
            raise InputError(f"unknown scaling {kind!r}", hint="upgrade distkern")
        shift, factor = (
            None if stored[name] is None else np.array(stored[name], np.float64)
            for name in ("shift", "factor")
        )
        sizes = {None if part is None else part.size for part in (shift, factor)}
        if len(sizes) > 1 or (None in sizes) != (kind in ("none", "unit")):
            raise InputError(f"shift and factor do not fit scaling {kind!r}")
        return cls(cast(ScalingKind, kind), shift, factor)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic import AfterValidator

        return handler(Annotated[_Stored, AfterValidator(lambda stored: cls.from_json(vars(stored)))])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scaling) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.kind, None if self.factor is None else self.factor.tobytes()))


@dataclass(frozen=True)
class _Stored:
    """A scaling in JSON."""

    kind: str
    shift: tuple[float, ...] | None
    factor: tuple[float, ...] | None


def row_norms(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Euclidean norms (n_rows,), without overflow for finite rows."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    unit = rows / scale[:, np.newaxis]
    norms: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", unit, unit)) * scale
    return norms


def refuse_for_sparse(kind: ScalingKind) -> None:
    """Raise :class:`InputError` unless the scaling keeps zeros."""
    if kind not in SPARSE_KINDS:
        raise InputError(
            f"{kind} scaling would turn the zeros of sparse rows into numbers",
            where="--scale",
            hint=f"scale by one of {', '.join(SPARSE_KINDS)}, or give dense rows (--dense)",
        )


class ScalingFit:
    """Fits a :class:`Scaling` in one pass over the training rows, in memory independent of their number.

    Means and variances are merged as in Chan, Golub & LeVeque (1983) and scikit-learn's ``partial_fit``.
    Unlike there, later rows may have more features, which count as zero in earlier ones (svmlight).
    """

    def __init__(self, kind: ScalingKind) -> None:
        self.kind = kind
        self._count = 0
        self._low = np.zeros(0)
        self._high = np.zeros(0)
        self._mean = np.zeros(0)
        self._squares = np.zeros(0)
        self._largest_norm = 0.0

    def update(self, features: Rows) -> None:
        """Add training rows (n_rows, n_features)."""
        if not len(features) or self.kind in ("none", "unit"):
            return
        if isinstance(features, SparseRows):
            refuse_for_sparse(self.kind)
            if self.kind == "ball":
                self._largest_norm = max(self._largest_norm, float(features.norms().max()))
            else:
                self._widen(features.shape[1])
                widen_ranges(features, self._low, self._high)
            return
        self._widen(features.shape[1])
        step = max(1, _TILE_BYTES // max(1, 8 * features.shape[1]))
        # result() refuses overflow, naming the feature
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(features), step):
                rows = features[start : start + step].astype(np.float64)
                if self.kind == "ball":
                    self._largest_norm = max(self._largest_norm, float(row_norms(rows).max()))
                elif self.kind in ("minmax", "maxabs"):
                    self._update_range(rows)
                else:
                    self._update_moments(rows)
                self._count += len(rows)

    def _widen(self, width: int) -> None:
        missing = width - self._low.size
        if missing > 0:
            for name in ("_low", "_high", "_mean", "_squares"):
                setattr(self, name, np.concatenate((getattr(self, name), np.zeros(missing))))

    def _update_range(self, rows: NDArray[np.float64]) -> None:
        low, high = rows.min(axis=0), rows.max(axis=0)
        self._low = np.minimum(self._low, low) if self._count else low
        self._high = np.maximum(self._high, high) if self._count else high

    def _update_moments(self, rows: NDArray[np.float64]) -> None:
        mean = rows.mean(axis=0)
        squares = np.square(rows - mean).sum(axis=0)
        total = self._count + len(rows)
        difference = mean - self._mean
        self._squares += squares + np.square(difference) * (self._count * len(rows) / total)
        self._mean += difference * (len(rows) / total)

    def result(self, n_features: int) -> Scaling:
        """Return the scaling for rows of ``n_features``; :class:`InputError` for values too large to
        scale.
        """
        if self.kind in ("none", "unit"):
            return Scaling(self.kind)
        if self.kind == "ball":
            norm = np.array([self._largest_norm if self._largest_norm > 0 else 1.0])
            return _fitted(self.kind, np.zeros(1), norm)
        self._widen(n_features)
        return scaling_of(self.kind, self._low, self._high, self._mean, self._squares, self._count)


def widen_ranges(rows: SparseRows, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    """Update the minimum and maximum of each column with the entries of sparse rows, in place."""
    values = rows.data.astype(np.float64)
    np.minimum.at(low, rows.indices, values)
    np.maximum.at(high, rows.indices, values)


def scaling_of(
    kind: ScalingKind,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    mean: NDArray[np.float64],
    squares: NDArray[np.float64],
    count: float,
) -> Scaling:
    """Return the scaling per feature fitted on ``count`` rows; :class:`InputError` for values too large to
    scale.

    Parameters
    ----------
    low, high, mean, squares : (n_features,) minimum, maximum, mean and sum of squared differences from it, as
        far as this kind needs them
    """
    epsilon = np.finfo(np.float64).eps
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == "maxabs":
            largest = np.maximum(high, -low)
            return _fitted(kind, np.zeros_like(low), np.where(largest > 0, largest, 1.0))
        if kind == "minmax":
            spread, noise = high - low, 10 * epsilon * np.maximum(np.abs(low), np.abs(high))
            return _fitted(kind, low, np.where(spread <= noise, 1.0, spread))
        variance = squares / max(1.0, count)
        # scikit-learn's bound on the variance of a constant feature by rounding
        noise = count * epsilon * variance + np.square(count * mean * epsilon)
        return _fitted(kind, mean, np.sqrt(np.where(variance <= noise, 1.0, variance)))


def _fitted(kind: ScalingKind, shift: NDArray[np.float64], spread: NDArray[np.float64]) -> Scaling:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        factor = 1.0 / spread
    usable = np.isfinite(shift) & np.isfinite(factor) & (factor > 0)
    if not usable.all():
        where = "the largest row" if kind == "ball" else f"feature {int(np.flatnonzero(~usable)[0]) + 1}"
        hint = "divide the values by a constant first, or give --scale none"
        raise InputError(f"the values are too large to scale by {kind}", where=where, hint=hint)
    return Scaling(kind, shift, factor)


# -- preparation for a model

#: message for numbers that would become infinite
TOO_LARGE = "there are numbers too large for single precision"


@dataclass(frozen=True, slots=True)
class Like:
    """Preparation of earlier rows that new rows reproduce.

    Attributes
    ----------
    n_features : features of a row
    names : column names, or None
    target_name : name of the target, or None
    scaling : scaling of the features
    table : encoding of the columns, unless they are plain numbers
    classes : the labels; None without labels
    task : task of the rows
    positive : the label against the rest, if known
    from_zero : whether the indices of svmlight files start at 0; None if unknown
    """

    n_features: int
    names: tuple[str, ...] | None
    target_name: str | None
    scaling: Scaling
    table: Table | None
    classes: NDArray[Any] | None = None
    task: Literal["classification", "regression", "none"] = "classification"
    positive: str | None = None
    from_zero: bool | None = None


@dataclass(frozen=True, slots=True)
class Preparation:
    """Reorders columns as a model's, then scales them as its training rows.

    Attributes
    ----------
    order : (n_features,) column of the rows for each column of the model; None if they match
    scaling : scaling of incoming rows; None if they are scaled already
    dtype : type of the prepared rows; None for the caller's choice
    """

    order: NDArray[np.intp] | None = None
    scaling: Scaling | None = None
    dtype: np.dtype[Any] | None = None

    def apply_rows(self, rows: Rows, out_dtype: DTypeLike = np.float32) -> Rows:
        """Return prepared rows of :attr:`dtype` or else ``out_dtype``; raises as :meth:`Scaling.apply_rows`.

        Raises :class:`InputError` if numbers are too large for a narrower :attr:`dtype`.
        """
        if self.order is not None:
            rows = with_columns(rows, self.order)
        scaling = Scaling() if self.scaling is None else self.scaling
        if self.dtype is None:
            return scaling.apply_rows(rows, out_dtype)
        found = scaling.apply_rows(rows, self.dtype)
        numbers = found.data if isinstance(found, SparseRows) else found
        if self.dtype.itemsize < rows.dtype.itemsize and np.isinf(numbers).any():
            raise InputError(TOO_LARGE, where="X", hint="leave such rows out, or fit with dtype='float64'")
        return found


def preparation_for(
    dataset: Dataset,
    n_features: int,
    names: tuple[str, ...] | None,
    own: Scaling | None,
    table: Table | None = None,
) -> Preparation | None:
    """Return the preparation that the stored rows of a data set still need; None if they need none.

    Rows that were stored with another scaling are converted to the scaling of the fit in one step. Raises
    :class:`InputError` if the columns differ, or if only one of the scalings divided rows by their norms.

    Parameters
    ----------
    n_features, names, own : number, names and scaling of the model's columns, each None if unknown
    table : encoding of the model's columns, unless they are plain numbers
    """
    where = str(dataset.path)
    from distkern.data.table import are_alike

    if table is not dataset.table and not are_alike(table, dataset.table):
        raise InputError(
            "encodes its columns differently from the training data",
            where=where,
            hint=f"shard its file again: {SHARD_LIKE}",
        )
    order = None
    if names is not None and dataset.feature_names is not None:
        # users know columns, not their features
        own_columns, columns = (
            given if of is None else tuple(column.name for column in of.columns if column.features)
            for given, of in ((names, table), (dataset.feature_names, dataset.table))
        )
        order_by_name(columns, own_columns, where=where, owner="the training data", may_have_others=True)
        order = order_by_name(
            dataset.feature_names, names, where=where, owner="the training data", may_have_others=True
        )
        if len(names) < len(dataset.feature_names) and dataset.scaling.kind in ("unit", "ball"):
            raise InputError(
                f"the rows were divided by norms that include columns unknown to the model "
                f"({dataset.scaling.kind})",
                where=where,
                hint=f"shard it with --drop and these columns, or as the model needs it: {SHARD_LIKE}",
            )
    elif dataset.n_features != n_features:
        raise InputError(
            f"{dataset.n_features} features, but the model has {n_features}",
            where=where,
            hint="predict on data with the columns of the training data",
        )
    stored = dataset.scaling if order is None else dataset.scaling.reordered(order)
    wanted = Scaling() if own is None else own
    try:
        scaling = wanted.of_stored(stored)
    except InputError:
        hint = "shard it with --scale none: the model will scale them"
        if wanted.kind == "none":
            hint = "shard it with --scale none, or give rows as in fit: split[:]"
        raise InputError(
            f"its rows are scaled with {stored.kind}, the training rows with {wanted.kind}, and norms cannot "
            "be undone",
            where=where,
            hint=hint,
        ) from None
    if scaling.kind == "none":
        return None if order is None else Preparation(order)
    return Preparation(order, scaling)
