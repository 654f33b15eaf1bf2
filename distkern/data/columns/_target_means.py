"""Target means by the values of a column; a training row gets the means of rows in other folds."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from distkern.data.columns._facts import in_parts
from distkern.data.columns._reading import Array
from distkern.data.columns.base import AbstractColumn, Ranges

#: a training row's target means come from the rows outside its fold
FOLDS = 5
#: signs of a value
N_SIGNS = 32
#: bounds on s, the rows with the overall mean that are added to each value and shrink means of rare values
_LEAST, _MOST = 0.1, 100.0


class TargetSums:
    """Sums of targets by value of a column and fold of the row.

    The mean of a value is (sum + s m) / (rows + s), with the mean m of all rows. s is the optimum for a
    random effect of the values: the variance of targets within a value over the variance of the means of
    values. Both are estimated by analysis of variance, pooled over the outputs, and s is clipped to [0.1,
    100]. Values that determine the target are trusted from one row on; values that say little need many.

    Parameters
    ----------
    n_values : number of values of the column
    span : smallest and largest targets of all rows, (n_outputs,) each
    heaviest : largest weight
    """

    def __init__(self, n_values: int, span: Ranges, heaviest: float = 1.0) -> None:
        self._low = np.asarray(span[0], dtype=np.float64)
        # targets minus their minimum, so that squares lose no digits to a large mean
        self._bound, self._heaviest = float(np.max(span[1] - self._low, initial=0.0)), heaviest
        n_outputs = len(self._low)
        #: weights, squares and weighted targets, in two parts each, so that sums are exact
        self._parts = np.zeros((2, 2 + n_outputs, FOLDS, n_values))
        self._seen = np.zeros((FOLDS, n_values), dtype=bool)

    def add(
        self,
        codes: NDArray[np.intp],
        targets: NDArray[Any],
        folds: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        """Add rows.

        Parameters
        ----------
        codes : (n,) codes of the values
        targets : (n, n_outputs)
        folds : (n,)
        weights : (n,) number of rows that each stands for; None for 1
        """
        flat = folds * self._seen.shape[1] + codes
        self._seen.reshape(-1)[flat] = True
        times = np.ones(len(codes)) if weights is None else weights
        own = targets - self._low
        weighted = own * times[:, None]
        largest, heaviest = self._bound, self._heaviest
        squares = np.einsum("ij,ij->i", weighted, own)
        summed = [(times, heaviest), (squares, len(self._low) * largest * largest * heaviest)]
        summed += [(column, largest * heaviest) for column in weighted.T]
        for at, (values, bound) in enumerate(summed):
            for part, (whole, exponent) in enumerate(in_parts(values, bound, 2)):
                sums = np.bincount(flat, np.ldexp(whole, exponent), self._seen.size)
                self._parts[part, at] += sums.reshape(self._seen.shape)

    def merge(self, other: TargetSums) -> None:
        """Add the rows of other sums, of the same values and bounds."""
        self._parts += other._parts
        self._seen |= other._seen

    @cached_property
    def _sums(self) -> Array:
        return np.asarray(self._parts[:, 2:].sum(axis=0).transpose(1, 2, 0))

    @cached_property
    def _counts(self) -> Array:
        return np.asarray(self._parts[:, 0].sum(axis=0))

    @property
    def smoothing(self) -> float:
        """The s of the class docstring."""
        counts, sums = self._counts.sum(axis=0), self._sums.sum(axis=0)
        there = counts > 0
        counts, sums = counts[there], sums[there]
        total = float(counts.sum())
        if not total:
            return _MOST
        explained = float((np.square(sums).sum(axis=1) / counts).sum())
        within = max(float(self._parts[:, 1].sum()) - explained, 0.0) / max(total - len(counts), 1.0)
        between = explained - float(np.square(sums.sum(axis=0)).sum()) / total - (len(counts) - 1) * within
        between /= max(total - float(np.square(counts).sum()) / total, 1e-300)
        return float(np.clip(within / between, _LEAST, _MOST)) if between > 0 else _MOST

    def means(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the means of all rows, (n_values, n_outputs), and m, (n_outputs,)."""
        counts, sums, s = self._counts.sum(axis=0), self._sums.sum(axis=0), self.smoothing
        prior = sums.sum(axis=0) / max(1.0, counts.sum())
        return (sums + s * prior) / (counts[:, None] + s) + self._low, prior + self._low

    def of_others(self, codes: NDArray[np.intp], folds: NDArray[np.intp]) -> Array:
        """Return the means (n, n_outputs) for rows that were added, each from the rows outside its fold."""
        return np.asarray(self._means_of_others[folds, codes])

    def ranges(self) -> Ranges:
        """Return the smallest and the largest of these means for each output."""
        found = self._means_of_others[self._seen]
        return found.min(axis=0), found.max(axis=0)

    @cached_property
    def _means_of_others(self) -> Array:
        counts, sums, s = self._counts.sum(axis=0), self._sums.sum(axis=0), self.smoothing
        counts, sums = counts - self._counts, sums - self._sums
        n_others = counts.sum(axis=1)[:, None]
        everything = self._sums.sum(axis=(0, 1)) / max(1.0, self._counts.sum())
        prior = np.where(n_others > 0, sums.sum(axis=1) / np.maximum(n_others, 1), everything)
        means = (sums + s * prior[:, None]) / (counts[:, :, None] + s)
        return np.asarray(means + self._low)


@dataclass(frozen=True)
class AbstractMeansColumn(AbstractColumn):
    """A column that may have target means and signs of its values.

    Signs tell many values apart by few features: +-1 / sqrt(32) for each of 32 bits of the BLAKE2b digest of
    a value's bytes, 0 for an unknown one. This is a random projection of the values' indicators with entries
    +-1 (Achlioptas 2003), which needs no random numbers. The squared distance of two values is 2 on average,
    as that of indicators, with a standard deviation of .35. So kernels can learn what is special about a
    value, of which its mean target says nothing, such as its trend.

    Attributes
    ----------
    means : (n_levels + has_missing, n_outputs) target means
    default : (n_outputs,) target means of unknown values
    outputs : names of the target means
    """

    means: tuple[tuple[float, ...], ...] = ()
    default: tuple[float, ...] = ()
    outputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n_means = self.n_levels + self.has_missing if self.has_means else 0
        if len(self.means) != n_means or {len(row) for row in self.means} - {len(self.default)}:
            raise ValueError(f"column {self.name!r} does not have the means of {n_means} values")

    @property
    @abstractmethod
    def has_means(self) -> bool:
        """Whether some features are target means."""

    @property
    @abstractmethod
    def has_signs(self) -> bool:
        """Whether some features are signs."""

    @property
    @abstractmethod
    def n_levels(self) -> int:
        """Number of values that have means, except missing ones."""

    @abstractmethod
    def codes(self, values: Array) -> NDArray[np.intp]:
        """Return the positions (n,) of values (n,) among those with means, n_levels if missing and -1 if
        unknown.
        """

    @property
    def names_of_means(self) -> tuple[str, ...]:
        """Names of the features that are target means."""
        return tuple(f"mean of {output} by {self.name}" for output in self.outputs)

    @property
    def names_of_signs(self) -> tuple[str, ...]:
        """Names of the features that are signs."""
        return tuple(f"sign {at + 1} of {self.name}" for at in range(N_SIGNS * self.has_signs))

    @property
    @abstractmethod
    def bytes_of_values(self) -> Iterable[bytes]:
        """The bytes of each value with means, except missing ones, whose signs are those of the byte 255."""

    @property
    def at_signs(self) -> slice:
        """The features that are signs: those after the target means, if any."""
        first = self.at_means.stop
        return slice(first, first + N_SIGNS * self.has_signs)

    @property
    def joint(self) -> tuple[slice, str]:
        return self.at_signs, f"{N_SIGNS} signs of {self.name}"

    def put_signs(self, codes: NDArray[np.intp], out: Array) -> None:
        """Fill the signs of ``out``, (n, n_features), with those of codes (n,), if any."""
        if self.has_signs:
            # code -1 selects the last row, of unknown values
            out[:, self.at_signs] = self._table_of_signs[codes] / np.sqrt(N_SIGNS)

    def ranges(self, facts: Any, of_means: Ranges) -> Ranges:
        low, high = super().ranges(facts, of_means)
        # each scaled to [0, 1], two values would be at the squared distance 16
        low[self.at_signs], high[self.at_signs] = -0.5, 0.5
        return low, high

    @cached_property
    def _table_of_signs(self) -> NDArray[np.int8]:
        # bytes, since tasks carry this table
        values = [*self.bytes_of_values, *([b"\xff"] if self.has_missing else [])]
        digests = b"".join(hashlib.blake2b(value, digest_size=N_SIGNS // 8).digest() for value in values)
        bits = np.unpackbits(np.frombuffer(digests, dtype=np.uint8)).reshape(-1, N_SIGNS).astype(np.int8)
        return np.vstack([2 * bits - 1, np.zeros(N_SIGNS, dtype=np.int8)])

    def with_outputs(self, outputs: Sequence[str], **changes: Any) -> Self:
        """Return the column with target means of 0, if any, to be replaced by :meth:`with_means`."""
        zeros = (0.0,) * len(outputs)
        n_levels = len(changes.get("values", ())) or self.n_levels
        means = (zeros,) * (n_levels + self.has_missing) if outputs else ()
        return replace(self, means=means, default=zeros, outputs=tuple(outputs), **changes)

    def with_means(self, sums: TargetSums) -> Self:
        """Return the column with the target means of all rows."""
        means, prior = sums.means()
        return replace(self, means=tuple(map(tuple, means.tolist())), default=tuple(prior.tolist()))

    def with_missing(self, codes: Array, values: Array) -> NDArray[np.intp]:
        """Return the codes (n,), with the last one for missing values."""
        missing = self.n_levels if self.has_missing else -1
        return np.where(np.isnan(values), missing, codes).astype(np.intp)

    def put_means(self, codes: NDArray[np.intp], out: Array, means: Array | None) -> None:
        """Fill ``out`` (n, n_outputs) with the means of codes (n,), or with ``means`` from other rows."""
        # code -1 selects the last row, the default
        out[:] = self._table_of_means[codes] if means is None else means

    @cached_property
    def _table_of_means(self) -> Array:
        return np.array([*self.means, self.default], dtype=np.float64)
