"""Two samples as rows of two labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.types import AbstractSource, Block, Reader
from distkern.engine.dask.arrays import in_turn, is_dask
from distkern.runs.data import TrainingData
from distkern.storage.dataset import Dataset, Split


def are_samples(X: Any, y: Any) -> bool:
    """Whether ``y`` is rows as ``X`` is, and not their labels; it is rows where both are one column."""
    if isinstance(y, Dataset | Split):
        return True
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple):
        shape = np.shape(y)
    if shape is None or len(shape) != 2:
        return False
    return bool(shape[1] > 1 or np.shape(X)[-1:] == (1,))


def joined_arrays(P: Any, Q: Any) -> tuple[Any, Any]:
    """The rows of both, and 1 for those of ``P`` and 0 for those of ``Q``.

    Raises
    ------
    InputError
        If they have other columns, or are not of one kind.
    """
    if np.shape(P)[1:] != np.shape(Q)[1:]:
        raise InputError(
            f"rows of shape {np.shape(P)[1:]} and of shape {np.shape(Q)[1:]}",
            where="the second sample",
            mend="give the same columns",
        )
    if is_dask(P, Q):
        return in_turn(P, Q, (1, 0))
    sparse = [hasattr(part, "tocsr") for part in (P, Q)]
    labels = np.repeat([1, 0], [np.shape(P)[0], np.shape(Q)[0]])
    if all(sparse):
        from scipy.sparse import vstack

        return vstack([P.tocsr(), Q.tocsr()]).tocsr(), labels
    if any(sparse) or hasattr(P, "columns") or hasattr(Q, "columns"):
        raise InputError(
            f"a {type(P).__name__} and a {type(Q).__name__}",
            where="the second sample",
            mend="give two arrays or two sparse matrices, or the rows of both together and their labels",
        )
    return np.concatenate([np.asarray(P), np.asarray(Q)]), labels


def joined_splits(P: Split, Q: Split) -> TrainingData:
    """The rows of two splits, 1 for those of ``P`` and 0 for those of ``Q``.

    Raises
    ------
    InputError
        If they have other columns, or were prepared in another way.
    """
    first, second = P.dataset, Q.dataset
    same = first.n_features == second.n_features and P.is_sparse == Q.is_sparse
    if not same or first.feature_names != second.feature_names or first.table != second.table:
        raise InputError(
            f"has other columns than {first.path}",
            where=str(second.path),
            mend="shard files with the same columns",
        )
    if first.scaling != second.scaling:
        raise InputError(
            f"was scaled in another way than {first.path}",
            where=str(second.path),
            mend="shard both with --scale none, or one file with the sample as its target",
        )
    counts = np.array([Q.n_rows, P.n_rows], dtype=np.float64)
    return TrainingData(JoinedSplits(P, Q), np.array([0, 1]), counts, np.ones(2), first.scaling)


class JoinedSplits(AbstractSource):
    """The blocks of two splits one after the other, without weights; targets are 1 and then 0."""

    is_shuffled = False

    def __init__(self, first: Split, second: Split) -> None:
        self._splits = first, second
        self.block_rows = (*first.block_rows, *second.block_rows)
        self.n_features, self.dtype, self.is_sparse = first.n_features, first.dtype, first.is_sparse
        self.fingerprint = f"{first.fingerprint}+{second.fingerprint}"
        self.reader_bytes = max(first.reader_bytes, second.reader_bytes)
        self.has_groups = first.has_groups and second.has_groups

    @property
    def row_numbers(self) -> int:
        return max(split.row_numbers for split in self._splits)

    @property
    def n_nonzero(self) -> int | None:
        counts = [split.n_nonzero for split in self._splits]
        return None if None in counts else sum(count or 0 for count in counts)

    def reader(self, index: int) -> Reader:
        first, second = self._splits
        if index < first.n_blocks:
            return _Labelled(first.reader(index), 1, index)
        return _Labelled(second.reader(index - first.n_blocks), 0, index)


@dataclass(frozen=True, slots=True)
class _Labelled:
    """Reads a block, all of one label."""

    read: Reader
    label: int
    index: int

    def __call__(self) -> Block:
        block = self.read()
        targets: NDArray[np.int32] = np.full(block.n_rows, self.label, dtype=np.int32)
        return replace(block, targets=targets, weights=None, index=self.index)
