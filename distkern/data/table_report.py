"""Warnings about table columns before anything is written: distinct values, codes, copies of the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.held_out import Keys
from distkern.core.names import listed_columns
from distkern.core.types import Floats
from distkern.data.columns.base import NOTHING

#: rows of the sample that shows copies of the target, and their most bytes
_MOST_ROWS, _MOST_BYTES = 20_000, 32 * 2**20
#: fewest rows of each half of the sample; with fewer, an easy task is as likely as a copy
_FEWEST = 100
#: cells of a number's range in which it predicts the target
_CELLS = 256
#: share of the error that a copy of the target explains on other rows
_COPY = 0.98


@dataclass(frozen=True)
class ColumnReport:
    """The encoding of a column.

    Attributes
    ----------
    name : name of the column
    kind : kind and notation of its values
    becomes : the features, in words
    missing : training rows without a value
    distinct : number of different values; an estimate beyond 1,024 numbers
    note : a note for the user with the option that helps; else ""
    """

    name: str
    kind: str
    becomes: str
    missing: int
    distinct: int | None
    note: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether the column is numeric and needs no note."""
        return self.kind == "numbers" and not (self.missing or self.note)

    @property
    def is_constant(self) -> bool:
        """Whether its features are the same in all training rows."""
        return self.distinct == 1 and (not self.missing or self.becomes == "1 feature")


class TableSample:
    """Every k-th row with its target, to find columns that alone nearly predict the target."""

    def __init__(self, n_rows: int, width: int) -> None:
        most = max(1, min(_MOST_ROWS, _MOST_BYTES // (8 * max(1, width))))
        self._step = -(-n_rows // most)
        self._seen = 0
        self._rows: list[NDArray[np.float64]] = []
        self._targets: list[NDArray[np.float64]] = []
        self._keys: list[Keys] = []

    def add(
        self, rows: Floats, wanted: Sequence[int], targets: NDArray[Any] | None, keys: Keys | None
    ) -> None:
        """Add the numbers of rows (n, n_numbers) at the places ``wanted`` (width,), the targets (n,), and
        group keys, if any.
        """
        part = slice(-self._seen % self._step, None, self._step)
        self._seen += len(rows)
        if targets is not None:
            # a view would keep all rows
            self._rows.append(np.array(rows[part][:, wanted], dtype=np.float64))
            self._targets.append(np.array(targets[part], dtype=np.float64))
            if keys is not None:
                self._keys.append(keys[part].copy())

    @property
    def found(self) -> tuple[NDArray[np.float64], NDArray[np.float64], Keys | None]:
        """All sampled rows, targets and keys; no rows without targets."""
        if not self._rows:
            return np.empty((0, 0)), np.empty(0), None
        keys = np.concatenate(self._keys) if self._keys else None
        return np.concatenate(self._rows), np.concatenate(self._targets), keys

    def copies(self, are_classes: bool) -> dict[int, float]:
        """Return the columns, by position, that alone nearly predict the target, with the explained share:
        of the errors of the most frequent class, or of the variance.
        """
        rows, targets, _ = self.found
        half = len(rows) // 2
        if half < _FEWEST:
            return {}
        found = {}
        for at in range(rows.shape[1]):
            explained = _explained(rows[:, at], targets, half, are_classes)
            if explained >= _COPY:
                found[at] = explained
        return found


def _explained(column: Floats, targets: NDArray[np.float64], half: int, are_classes: bool) -> float:
    """Return the share of the second half's targets explained by the first half's mean (for classes: most
    frequent one) in each cell of a column.
    """
    there = column[:half][~np.isnan(column[:half])]
    if not there.size:
        return 0.0
    edges = np.unique(there)
    if len(edges) > _CELLS:
        edges = np.unique(np.quantile(there, np.linspace(0, 1, _CELLS), method="lower"))
    cells = np.where(np.isnan(column), len(edges) + 1, np.searchsorted(edges, column, side="right"))
    first, second = cells[:half], cells[half:]
    n_cells, ours, theirs = len(edges) + 2, targets[:half], targets[half:]
    counts = np.bincount(first, minlength=n_cells)
    if are_classes:
        classes, codes = np.unique(targets, return_inverse=True)
        of_cells = np.bincount(first * len(classes) + codes[:half], minlength=n_cells * len(classes))
        by_class = of_cells.reshape(n_cells, len(classes))
        usual = int(by_class.sum(axis=0).argmax())
        guesses = np.where(counts > 0, by_class.argmax(axis=1), usual)
        left = np.mean(codes[half:] != usual)
        return float(1 - np.mean(codes[half:] != guesses[second]) / left) if left > 0 else 0.0
    sums = np.bincount(first, weights=ours, minlength=n_cells)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), ours.mean())
    left = np.mean((theirs - ours.mean()) ** 2)
    return float(1 - np.mean((theirs - means[second]) ** 2) / left) if left > 0 else 0.0


def column_notes(reports: Sequence[ColumnReport], *, left_out: bool = False) -> list[str]:
    """Return a sentence on each noteworthy column, or only on those that are ``left_out``; columns without
    values and constant columns share one.
    """
    noted = [report for report in reports if report.note and not (left_out and report.becomes != NOTHING)]
    notes = [f"column {report.name!r} {report.note}" for report in noted if report.distinct != 0]
    if empty := [report.name for report in noted if report.distinct == 0]:
        what = "is left out: it has" if len(empty) == 1 else "are left out: they have"
        notes.append(f"{listed_columns(empty)} {what} no value in any row; check the input if that is wrong")
    constant = [report.name for report in reports if report.is_constant and not report.note]
    if constant and not left_out:
        has, kept, them = ("has", "it is", "it") if len(constant) == 1 else ("have", "they are", "them")
        notes.append(
            f"{listed_columns(constant)} {has} one value in all training rows, so nothing can be learned "
            f"from {them}; {kept} kept, and nothing needs to be done (--drop leaves {them} out)"
        )
    return notes
