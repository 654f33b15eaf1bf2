"""Updating a fitted model with more rows: which rows are read, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.names import plain_labels
from distkern.core.types import AbstractSource, Block
from distkern.data.dataset import Split
from distkern.data.preparation import Preparation
from distkern.model.further import SavedForUpdate
from distkern.model.value import FittedModel
from distkern.runs.data import TrainingData, check_task, from_split
from distkern.runs.joined import JoinedRows

_WHERE = "--data"


@dataclass(frozen=True)
class UpdateRows:
    """Rows that a model is to learn from, as a source that it may not know, and how they become its own.

    Attributes
    ----------
    source : of the rows
    made : picklable function of a block of it that gives one with the model's features and class codes
    totals, largest : sum and largest of the weights of each of the model's classes, or of all rows
    """

    source: AbstractSource
    made: Callable[[Block], Block]
    totals: NDArray[np.float64]
    largest: NDArray[np.float64]

    @classmethod
    def of_split(cls, model: FittedModel, split: Split) -> UpdateRows:
        """A split of a data set.

        Raises
        ------
        InputError
            If it has other columns, is for another task, or has labels that the model does not know.
        """
        check_task(split.dataset, model.task)
        codes = _codes(model, split)
        data = from_split(split, model.task)
        totals, largest = data.class_totals, data.class_largest
        if codes is not None:
            n_classes = 0 if model.classes is None else len(model.classes)
            known = codes >= 0
            totals, largest = np.zeros(n_classes), np.zeros(n_classes)
            totals[codes[known]] = data.class_totals[known]
            largest[codes[known]] = data.class_largest[known]
        made = partial(
            made_block, model.columns.preparation(split.dataset), model.columns.dtype or split.dtype, codes
        )
        return cls(split, made, totals, largest)

    @classmethod
    def of_arrays(cls, data: TrainingData, classes: NDArray[Any]) -> UpdateRows:
        """Arrays whose rows are the model's features already, with codes of its classes as labels."""
        if not len(classes):
            return cls(data.source, _as_it_is, data.class_totals, data.class_largest)
        totals, largest = np.zeros((2, len(classes)))
        totals[data.classes], largest[data.classes] = data.class_totals, data.class_largest
        made = partial(made_block, None, data.source.dtype, data.classes.astype(np.int32))
        return cls(data.source, made, totals, largest)


def _codes(model: FittedModel, split: Split) -> NDArray[np.int32] | None:
    """The model's code of each of a data set's classes, -1 for one that has no rows; None without classes."""
    labels = split.dataset.classes
    if model.task != "classification" or labels is None:
        return None
    known = plain_labels(model.classes)
    counts = split.class_counts
    for code, label in enumerate(plain_labels(labels)):
        if label not in known and (counts is None or counts[code]):
            raise InputError(
                f"has rows of class {label!r}, which the model does not know",
                where=str(split.dataset.path),
                hint=f"leave them out (its classes are {known[:12]}), or train on the old and the new rows",
            )
    return np.array(
        [known.index(label) if label in known else -1 for label in plain_labels(labels)], np.int32
    )


def made_block(
    preparation: Preparation | None, dtype: np.dtype[Any], codes: NDArray[np.int32] | None, block: Block
) -> Block:
    """A block as a model knows its rows."""
    features = block.features
    if preparation is not None:
        features = preparation.apply_rows(features, dtype)
    elif features.dtype != dtype:
        features = features.astype(dtype)
    targets = block.targets if codes is None or block.targets is None else codes[block.targets]
    return replace(block, features=features, targets=targets)


def _as_it_is(block: Block) -> Block:
    return block


@dataclass(frozen=True)
class UpdateRun:
    """The settings of a fit that begins from a fitted model.

    Attributes
    ----------
    further : what the model keeps
    data : the rows to read, with the model's codes
    new : those of them that are new
    splits : of data sets, if they are of some
    n_earlier : rows that it has learned from and that are not among them
    sources : fingerprints of all that it will have learned from
    mean_weight, class_weights, class_shares : the model's
    fingerprint : of the model, see :func:`~distkern.model.files.fingerprint_of`
    """

    further: SavedForUpdate
    data: TrainingData
    new: AbstractSource
    splits: tuple[Split, ...]
    n_earlier: int
    sources: tuple[str, ...]
    mean_weight: float
    class_weights: NDArray[np.float64] | None
    class_shares: NDArray[np.float64] | None
    fingerprint: str

    @property
    def weight(self) -> float:
        """Sum of the weights of all rows that the model will have learned from."""
        earlier = self.further.weight if self.n_earlier else 0.0
        return earlier + float(self.data.class_totals.sum())

    @property
    def n_rows(self) -> int:
        """Rows that the model will have learned from."""
        return self.n_earlier + self.data.source.n_rows

    def mean_of(self, mean_weight: float) -> float:
        """Mean weight of the earlier rows and of the rows that are read, whose mean is given."""
        n_rows = self.data.source.n_rows
        return (mean_weight * n_rows + self.mean_weight * self.n_earlier) / (n_rows + self.n_earlier)

    def shares_of(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Likewise the shares of classes, by weight, of the weights of each class that are read; equal rows
        may be one, so that their number says nothing."""
        known = totals
        if self.class_shares is not None and self.n_earlier:
            known = totals + self.class_shares * self.further.weight
        shares: NDArray[np.float64] = known / known.sum()
        return shares


def further_of(model: FittedModel) -> SavedForUpdate:
    """What a fitted model keeps for updates.

    Raises
    ------
    InputError
        If it keeps nothing.
    """
    if model.further is None:
        raise InputError(
            "the model keeps nothing to go on from",
            where="update",
            hint="train it again: what an earlier distkern has written cannot be updated",
        )
    return model.further.loaded()


@dataclass(frozen=True)
class UpdateSplits:
    """The data sets of an update, by what the model knows of them.

    Attributes
    ----------
    old, new : those that it has learned from already, in its order, and those that it has not
    """

    old: tuple[Split, ...]
    new: tuple[Split, ...]


def chosen_splits(further: SavedForUpdate, splits: Sequence[Split]) -> UpdateSplits:
    """Which splits are new.

    Raises
    ------
    InputError
        If none is, or one comes twice.
    """
    prints = [split.fingerprint for split in splits]
    for number, split in enumerate(splits):
        if split.fingerprint in prints[:number]:
            raise InputError("comes twice", where=f"{_WHERE} {split.dataset.path}", hint="give it once")
    new = tuple(split for split in splits if split.fingerprint not in further.sources)
    if not new:
        raise InputError(
            "the model has learned from these rows already", where=_WHERE, hint="give a data set of new rows"
        )
    by_print = dict(zip(prints, splits, strict=True))
    return UpdateSplits(tuple(by_print[one] for one in further.sources if one in by_print), new)


def update_data(model: FittedModel, parts: Sequence[UpdateRows]) -> TrainingData:
    """Rows of several sources as training data of a model, in their order."""
    sources = [part.source for part in parts]
    if len({source.is_sparse for source in sources}) > 1:
        raise InputError(
            "some of the data sets are stored sparse and others dense",
            where=_WHERE,
            hint="shard them again, all with --sparse or all with --dense",
        )
    joined = JoinedRows(
        sources, [part.made for part in parts], model.width, model.columns.dtype or np.dtype(np.float32)
    )
    totals = np.sum([part.totals for part in parts], axis=0)
    largest = np.max([part.largest for part in parts], axis=0)
    classes = np.empty(0) if model.classes is None else model.classes
    return TrainingData(joined, classes, totals, largest, model.columns.scaling)
