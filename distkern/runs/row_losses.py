"""Losses of rows summed by groups, by which models are compared on the same rows: any number of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.core.held_out import Keys, keys_of, row_keys, stirred_bits
from distkern.core.scores import log_losses, row_log_losses
from distkern.core.types import Array, Block
from distkern.runs.ranking import row_squares

Codes = NDArray[np.int64]

_BITS = 7
#: groups of rows: rows of one key are in the same
GROUPS = 2**_BITS
#: decision values of rows without probabilities that are kept until all are known, at most
_KEPT_NUMBERS = 2**18
#: what they take in the driver, and fitting a sigmoid or a temperature to them
KEPT_BYTES = 80 * _KEPT_NUMBERS


def group_sums(block: Block, losses: Array) -> Array:
    """(128,) sums of the losses (n_rows,) of each group of rows; a row's key says which that is."""
    return _summed(keys_of(block), losses)


def _summed(keys: Keys, losses: Array) -> Array:
    groups = (keys >> np.uint64(64 - _BITS)).astype(np.intp)
    return np.bincount(groups, weights=losses, minlength=GROUPS).astype(np.float64)


def losses_of_groups(sums: Array, n_rows: int) -> list[float]:
    """128 numbers with the same mean as the losses of all rows.

    The mean of the differences between those of two models is that over the rows, and its standard error
    (:func:`~distkern.core.scores.mean_difference`) is estimated from how it varies between groups, so that
    rows of one key count as one.
    """
    return list((sums * (GROUPS / max(n_rows, 1))).tolist())


@dataclass(frozen=True)
class Lost:
    """What rows of classes lose in a figure that is a mean over rows.

    Attributes
    ----------
    n_rows : of the sums
    sums : (128,) losses of each group
    keys, values, codes : (n,), (n, k), (n,) of rows for which a model has no probabilities: what says their
        groups, decision values and class codes
    """

    n_rows: int
    sums: Array
    keys: Keys
    values: Array
    codes: Codes


@dataclass(frozen=True)
class Losing:
    """Losses of rows of classes.

    Decision values without probabilities are kept: their log losses are those of the sigmoid or temperature
    that suits all of them best.

    Attributes
    ----------
    figure : "error", "accuracy", "brier_score" or "log_loss"
    share : of the rows whose log losses are summed, drawn by their content and their place
    """

    figure: str
    share: float

    @classmethod
    def of(cls, figure: str | None, n_rows: int, n_outputs: int) -> Losing | None:
        """For so many rows; None for no figure, and for one that is no mean over rows."""
        if figure not in ("error", "accuracy", "brier_score", "log_loss"):
            return None
        return cls(figure, min(1.0, _KEPT_NUMBERS / (n_rows * n_outputs)))

    def lost(self, block: Block, values: Array, chances: Array | None, wrong: Array, codes: Codes) -> Lost:
        """The losses of a block of rows, summed by groups; log losses need probabilities.

        Where a model has none, what is kept of the rows says their groups, decision values and class codes.

        Parameters
        ----------
        block : the n rows
        values : (n, k) decision values
        chances : (n, n_classes) probabilities; None if the model has none
        wrong : (n,) whether each row is predicted wrongly
        codes : (n,) class codes
        """
        keys = keys_of(block)
        if self.figure == "log_loss":
            # bits that do not say the group, and that equal rows do not share
            places = np.uint64(block.index) * np.uint64(2**32) + np.arange(block.n_rows, dtype=np.uint64)
            drawn = stirred_bits(row_keys(block.features) + stirred_bits(places))
            taken = (drawn % np.uint64(2**32)) < self.share * 2**32
            keys, values, codes = keys[taken], values[taken], codes[taken]
            chances = None if chances is None else chances[taken]
        if chances is None and self.figure == "log_loss":
            return Lost(0, np.zeros(GROUPS), keys, values, codes)
        losses = wrong
        if chances is not None and self.figure in ("log_loss", "brier_score"):
            losses = (row_log_losses if self.figure == "log_loss" else row_squares)(chances, codes)
        return Lost(len(keys), _summed(keys, losses), keys[:0], values[:0], codes[:0])

    @staticmethod
    def total(parts: Sequence[Lost]) -> list[float]:
        """What all rows lose, see :func:`losses_of_groups`."""
        keys, values, codes = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("keys", "values", "codes")
        )
        sums = np.sum([part.sums for part in parts], axis=0)
        if len(keys):
            sums = sums + _summed(keys, log_losses(values, codes, by_sign=True))
        return losses_of_groups(sums, sum(part.n_rows for part in parts) + len(keys))
