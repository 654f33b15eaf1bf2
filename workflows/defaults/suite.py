"""Data sets of a folder: an ``index.tsv``, and a CSV file of each with the column ``target``.

The index has the columns ``name``, ``task`` (binary, multiclass or regression), ``rows`` and ``columns``. It
may have a column ``split``: empty for a random split, ``time COLUMN`` if the latest rows are the test rows,
``group COLUMN`` if no group has rows on both sides. Other columns are ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, train_test_split

Array = NDArray[Any]

INDEX, TARGET, REGRESSION = "index.tsv", "target", "regression"
TEST_SHARE = 0.3


def listed(folder: Path) -> pandas.DataFrame:
    """Read the index of a folder, the smallest tables first."""
    path = folder / INDEX
    if not path.is_file():
        raise click.UsageError(f"{folder} has no {INDEX}: give a folder that lists its tables there")
    index = pandas.read_csv(path, sep="\t", keep_default_na=False)
    missing = [name for name in ("name", "task", "rows", "columns") if name not in index]
    if missing:
        raise click.UsageError(f"{path} lacks the columns {', '.join(missing)}")
    order = np.argsort((index["rows"] * index["columns"]).to_numpy(), kind="stable")
    return index.iloc[order].reset_index(drop=True)


def file_of(folder: Path, name: str) -> Path:
    """Return the path of a table, compressed or not."""
    paths = [folder / f"{name}{ending}" for ending in (".csv.gz", ".csv")]
    for path in paths:
        if path.exists():
            return path
    raise click.UsageError(f"{folder / INDEX} lists {name}, but there is no {paths[0]}")


def fingerprint(path: Path) -> str:
    """Return a digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def half(names: Sequence[str], number: int) -> set[str]:
    """Return half 0 or 1 of the suite: every other name, in the order of the names' digests."""
    return set(sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[number::2])


def read(path: Path, task: str) -> tuple[pandas.DataFrame, Array]:
    """Read a table as pandas does by default, and its targets; rows without a target are left out."""
    frame = pandas.read_csv(path)
    frame = frame[frame[TARGET].notna()].reset_index(drop=True)
    y = frame.pop(TARGET)
    return frame, y.to_numpy(dtype=float if task == REGRESSION else None)


def sides(frame: pandas.DataFrame, y: Array, seed: int, task: str, split: str = "") -> tuple[Array, Array]:
    """Draw the numbers of training rows and of test rows, about 70 and 30 of a hundred.

    Parameters
    ----------
    task : targets of other tasks than regression have their shares on both sides
    split : see the module
    """
    numbers, (kind, _, column) = np.arange(len(y)), split.partition(" ")
    if kind == "time":
        times = frame[column]
        if not pandas.api.types.is_numeric_dtype(times):
            times = pandas.to_datetime(times)
        order = np.argsort(times.to_numpy(), kind="stable")
        n_train = round((1.0 - TEST_SHARE) * len(y))
        return order[:n_train], order[n_train:]
    if kind == "group":
        groups = pandas.factorize(frame[column])[0]
        drawn = GroupShuffleSplit(1, test_size=TEST_SHARE, random_state=seed)
        train, test = next(drawn.split(numbers, groups=groups))
        return train, test
    if kind:
        raise click.UsageError(f"unknown split {split!r}: leave it empty, or 'time COLUMN', 'group COLUMN'")
    shares = y if task != REGRESSION and np.unique(y, return_counts=True)[1].min() > 1 else None
    train, test = train_test_split(numbers, test_size=TEST_SHARE, random_state=seed, stratify=shares)
    return train, test
