"""A sharded data set, read lazily: one reader per shard, usable in any process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import Rows, SparseRows, converted, stacked
from distkern.core.types import AbstractSource, GroupOpener, Indices
from distkern.data.manifest import Manifest, ShardReader, read_manifest
from distkern.data.scaling import Scaling
from distkern.data.spool import MAX_SHUFFLED_ROWS
from distkern.data.store.places import Location, Place, URLPlace, absolute

if TYPE_CHECKING:
    from distkern.data.feature_major import ColumnsManifest

#: how targets are stored, by task: class codes or numbers
TARGET_TYPES = {"classification": "int32", "regression": "float64"}

#: features beyond which notebooks show no rows
_WIDE = 50
#: magnitude of numbers that are 0 but for the rounding of their scaling
_ROUNDED = 1e-4

#: memory for the driver of a store: s3fs, fsspec's largest (measured, rounded up)
STORE_DRIVER_BYTES = 56 * 2**20


class Dataset:
    """A finished data set on disk. Opening it reads only its manifest.

    Attributes
    ----------
    path : absolute path of its folder, or its URL
    task : "classification", "regression" or "none"
    train, test : the splits; ``test`` is None if there is none
    classes : (n_classes,) labels in the order of their codes: booleans, numbers, dates or texts; None unless
        classification
    n_features : number of features
    is_sparse : the shards hold :class:`~distkern.core.sparse.SparseRows`
    feature_names : names of the features, if the input has names
    table : columns of the input and their encoding, unless they are plain numbers
    target_name : name of the target column, if the input has names
    group_name : name of the column with the groups of the training rows, or None
    scaling : scaling of the features
    fingerprint : SHA-256 that changes with any value
    options : options of the data set
    """

    def __init__(self, path: Place, manifest: Manifest, fingerprint: str) -> None:
        self.path = path
        self.task = manifest.task
        self.n_features = manifest.n_features
        self.is_sparse = manifest.is_sparse
        self.feature_names = manifest.feature_names
        self.target_name, self.group_name = manifest.target_name, manifest.group_name
        self.table = manifest.table
        self.classes: NDArray[Any] | None = None
        if manifest.classes is not None:
            self.classes = np.array(manifest.classes, dtype=manifest.dates)
        self.scaling: Scaling = manifest.scaling
        self.options = manifest.options
        self.fingerprint = fingerprint
        self.train = Split(self, "train", manifest)
        self.test = Split(self, "test", manifest) if "test" in manifest.splits else None

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return self.train.n_rows

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n_rows, n_features) of the training rows."""
        return self.train.shape

    def head(self, n_rows: int = 5) -> Any:
        """Return the first training rows as a pandas frame, see :meth:`Split.head`."""
        return self.train.head(n_rows)

    def _repr_html_(self) -> str:
        shown = "" if self.test is None else f"{self.test.n_rows:,} test rows; "
        words = f"{self.task}, {shown}scaled by {self.scaling.kind}"
        return _template("dataset", self.path.name, words, self.train._repr_html_())

    def __repr__(self) -> str:
        test = "" if self.test is None else f" + {self.test.n_rows:,} test"
        shape = f"{self.n_rows:,}{test} rows x {self.n_features:,} features"
        return f"<Dataset {self.path.name}: {self.task}, {shape}>"


class Split(AbstractSource):
    """The training or the test rows of a data set: float32 features in shards, dense or sparse.

    ``split[10:20]`` reads rows in their own units, ``split.labels`` reads labels, ``split.head()`` returns a
    frame and ``split.to_dask()`` Dask arrays. Rows are read on demand, a shard at a time, in the order of the
    shards.

    Attributes
    ----------
    dataset : the data set
    name : "train" or "test"
    class_counts : (n_classes,) rows of each class; None unless classification
    n_entries : number of stored numbers
    weight_totals, largest_weights : (n_classes,) sum and maximum of the weights of each class's rows, or (1,)
        of all rows; None without weights
    """

    def __init__(self, dataset: Dataset, name: str, manifest: Manifest) -> None:
        entry = manifest.splits[name]
        self.dataset = dataset
        self.name = name
        self.n_features = manifest.n_features
        self.dtype = np.dtype(np.float32)
        self.is_sparse = manifest.is_sparse
        self.block_rows = tuple(shard.rows for shard in entry.shards)
        self.fingerprint = f"{dataset.fingerprint}/{name}"
        self.class_counts: NDArray[np.int64] | None = None
        if manifest.classes is not None:
            counts = [shard.class_counts for shard in entry.shards]
            self.class_counts = np.array(counts, dtype=np.int64).sum(axis=0)
        self.weight_totals: NDArray[np.float64] | None = None
        self.largest_weights: NDArray[np.float64] | None = None
        if all(shard.weight_totals is not None for shard in entry.shards):
            self.weight_totals = np.array([shard.weight_totals for shard in entry.shards]).sum(axis=0)
            self.largest_weights = np.array([shard.largest_weights for shard in entry.shards]).max(axis=0)
        self.has_groups = entry.shards[0].group_keys_crc32c is not None
        self._rows_per_shard = entry.rows_per_shard
        self._shards = entry.shards
        self.n_entries = self.entries_of(range(len(entry.shards)))
        self._target_type = TARGET_TYPES.get(dataset.task)
        # rows beyond the limit of shuffling are only accepted in random order
        self.is_shuffled = self.n_rows > MAX_SHUFFLED_ROWS or (
            name == "train" and bool(dataset.options.get("shuffle", True))
        )
        self._columns: ColumnsManifest | None = None
        if isinstance(dataset.path, URLPlace):
            self.reader_bytes = STORE_DRIVER_BYTES

    @property
    def row_numbers(self) -> int:
        if not self.is_sparse:
            return self.n_features
        return 2 + max(-(-2 * (shard.entries or 0) // shard.rows) for shard in self._shards)

    @property
    def n_nonzero(self) -> int:
        return sum(shard.nonzero or 0 for shard in self._shards)

    def entries_of(self, blocks: Iterable[int]) -> int:
        """Return the number of stored numbers in some shards."""
        shards = [self._shards[block] for block in blocks]
        return sum(
            shard.rows * self.n_features if shard.entries is None else shard.entries for shard in shards
        )

    @property
    def column_copy(self) -> ColumnsManifest | None:
        """The manifest of these rows' feature-major copy, or None.

        Raises :class:`CorruptDataError` if the copy is damaged or belongs to other data.
        """
        from distkern.data.feature_major import read_columns

        # absence is not cached, as the copy may be added while the data set is open
        if self._columns is None and self.name == "train":
            group_rows = tuple(sum(self.block_rows[block] for block in blocks) for blocks in self.groups)
            self._columns = read_columns(self.dataset.path, self.dataset.fingerprint, group_rows)
        return self._columns

    @property
    def has_columns(self) -> bool:
        """Whether single columns can be read; raises as :attr:`column_copy`."""
        return self.column_copy is not None

    def group(self, index: int) -> GroupOpener:
        """Return a small picklable call that opens group ``index`` in any process; raises as
        :attr:`column_copy`.

        Without a feature-major copy its columns cannot be read: the :class:`~distkern.core.errors.InputError`
        names the command that adds one.
        """
        from distkern.data.group import StoredGroup

        copy = self.column_copy
        readers = tuple(self.reader(block) for block in self.groups[index])
        return partial(StoredGroup, readers, index, None if copy is None else copy.groups[index])

    def reader(self, index: int) -> ShardReader:
        return ShardReader(
            str(self.dataset.path),
            self.dataset.fingerprint,
            self.name,
            index,
            self._shards[index],
            self._rows_per_shard,
            self.n_features,
            self._target_type,
        )

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n_rows, n_features)."""
        return self.n_rows, self.n_features

    def __getitem__(self, rows: Any) -> Any:
        """Return features in their own units: (n, n_features) for a slice, positions or a mask, (n_features,)
        for one position; a SciPy matrix for sparse rows.

        They are float32 as stored, or float64 if the data set was scaled when it was stored, which is undone
        (``dataset.scaling``). The scaling ``unit`` cannot be undone: such rows have norm 1.
        """
        taken = self._in_own_units(self._positions(rows))
        found = taken.to_scipy() if isinstance(taken, SparseRows) else taken
        return found[0] if isinstance(rows, int | np.integer) else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        features = self._in_own_units(np.arange(self.n_rows))
        return np.asarray(converted(features, sparse=False), dtype=dtype)

    def _in_own_units(self, positions: NDArray[np.int64]) -> Rows:
        return self.dataset.scaling.in_own_units(self._taken(positions))

    def _positions(self, rows: Any) -> NDArray[np.int64]:
        everything = range(self.n_rows)
        if isinstance(rows, slice):
            return np.array(everything[rows], dtype=np.int64)
        positions = np.atleast_1d(np.asarray(rows))
        if positions.ndim != 1 or positions.dtype.kind not in "biu":
            what = f"rows are selected by position, got {rows!r}"
            raise InputError(what, where=repr(self), hint="give an integer, a slice or an array of integers")
        if positions.dtype.kind == "b" and len(positions) == self.n_rows:
            positions = np.flatnonzero(positions)
        if positions.dtype.kind == "b" or (
            positions.size and not -self.n_rows <= positions.min() <= positions.max() < self.n_rows
        ):
            # also ends iteration
            raise IndexError(f"row out of range: there are {self.n_rows:,} rows")
        return positions.astype(np.int64) % self.n_rows

    def _taken(self, positions: NDArray[np.int64]) -> Rows:
        return rows_at(
            np.cumsum(self.block_rows), positions, lambda shard, own: self.reader(shard)().features[own]
        )

    @property
    def labels(self) -> NDArray[Any] | None:
        """Labels (n_rows,) or regression targets, read on every access; None without targets."""
        return self._labels(self.n_rows)

    def _labels(self, n_rows: int) -> NDArray[Any] | None:
        if self.dataset.task == "none":
            return None
        parts: list[NDArray[Any]] = []
        found = 0
        for shard in range(self.n_blocks):
            targets = self.reader(shard).targets()
            assert targets is not None
            parts.append(targets)
            found += len(targets)
            if found >= n_rows:
                break
        values = np.concatenate(parts)[:n_rows]
        classes = self.dataset.classes
        return values if classes is None else classes[values]

    def head(self, n_rows: int = 5) -> Any:
        """Return the first rows as a pandas frame, the target last; features are in their own units.

        Features that mean nothing alone, such as the signs of a category, are one column of ``+``, ``-`` and
        ``0``.
        """
        import pandas as pd

        n_rows = max(0, min(n_rows, self.n_rows))
        names = self.dataset.feature_names
        features = np.asarray(converted(self._in_own_units(np.arange(n_rows)), sparse=False))
        if self.dataset.table is None:
            frame = pd.DataFrame(features, columns=None if names is None else list(names))
        else:
            frame = pd.DataFrame({name: _cells(features[:, at]) for name, at in self.dataset.table.shown})
        labels = self._labels(n_rows)
        if labels is not None:
            frame[self.dataset.target_name or "target"] = labels[:n_rows]
        return frame

    def to_dask(self) -> tuple[Any, Any]:
        """Return features and labels as lazy Dask arrays with a block per shard. Features are those of
        ``split[:]``; blocks of sparse data are SciPy matrices. Labels are None without targets.
        """
        # this layer does not import Dask
        arrays: tuple[Any, Any] = import_module("distkern.engine.dask.arrays").arrays_of_split(self)
        return arrays

    def _repr_html_(self) -> str:
        shards = f"{self.n_blocks:,} shard{'s' * (self.n_blocks != 1)}"
        table = self.dataset.table
        n_shown = self.n_features if table is None else len(table.shown)
        words = f"{self.n_rows:,} {self.name} rows x {self.n_features:,} features, {shards}"
        return _template("rows", words, "" if n_shown > _WIDE else self.head()._repr_html_())

    def __repr__(self) -> str:
        groups = f", in groups of {self.dataset.group_name!r}" if self.has_groups else ""
        return f"<{self.name} rows of {self.dataset!r}, {self.n_blocks:,} shards{groups}>"


def _cells(features: NDArray[Any]) -> Any:
    """Return cells (n,) of a feature (n, 1), or of the signs of several."""
    if features.shape[1] == 1:
        return features[:, 0]
    codes = np.where(abs(features) < _ROUNDED, 0, np.sign(features)).astype(int)
    return ["".join("0+-"[code] for code in row) for row in codes]


def _template(name: str, *parts: str) -> str:
    # only notebooks need Jinja2
    from distkern.core.templates import TEMPLATES

    return str(getattr(TEMPLATES, name)(*parts))


def rows_at(ends: NDArray[Any], positions: Indices, rows_of: Callable[[int, Indices], Rows]) -> Rows:
    """Return rows by position in several consecutive parts.

    Parameters
    ----------
    ends : end of each part
    positions : positions of the wanted rows, in any order
    rows_of : returns the rows of a part, by its number and their positions in it; called once per part
    """
    parts = np.searchsorted(ends, positions, side="right")
    within = positions - np.append(0, ends)[parts]
    found = [rows_of(part, within[parts == part]) for part in np.unique(parts).tolist()]
    order = np.argsort(np.argsort(parts, kind="stable"), kind="stable")
    return stacked(found)[order] if found else rows_of(0, positions)


def open_dataset(path: Location) -> Dataset:
    """Open a data set that ``distkern shard`` or :func:`distkern.write_dataset` wrote.

    Parameters
    ----------
    path : str or path-like
        Its folder or fsspec URL. Rows are read when they are used.

    Returns
    -------
    dataset : Dataset
        With splits ``train`` and ``test`` (or None), ``classes``, ``n_rows`` and ``n_features``.

    Raises
    ------
    InputError
        If there is no data set, it is unfinished, or a newer version wrote it.
    CorruptDataError
        If its manifest is damaged.

    Examples
    --------
    >>> _ = dk.write_dataset([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], "four.zarr")
    >>> open_dataset("four.zarr").classes
    array([0, 1])
    """
    folder = absolute(path)
    manifest, fingerprint = read_manifest(folder)
    return Dataset(folder, manifest, fingerprint)
