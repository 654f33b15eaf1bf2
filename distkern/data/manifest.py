"""The manifest of a data set (content, checksums, a fingerprint over them), and readers of its shards."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import Block
from distkern.data.scaling import Scaling
from distkern.data.store.arrays import CRC_BYTES, chunk_key, damaged
from distkern.data.store.description import Description
from distkern.data.store.places import Place, URLPlace, place_of, read_file
from distkern.data.table import Table

VERSION = 5
FILE = "manifest.json"
_DESCRIPTION = Description("distkern-dataset", "a data set", VERSION, "make one with `distkern shard`")
#: name of the array of the rows' numbers in their source
SOURCE_ROWS = "source_rows"
#: NumPy types of date labels
_DATES = re.compile(r"[<>=]M8\[(Y|M|W|D|h|m|s|ms|us|ns)\]")
#: keys of a shard that are left out without a value
_OPTIONAL = {"entries", "weights_crc32c", "weight_totals", "largest_weights", "group_keys_crc32c"}


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """One shard: rows, crc32c of its stored features and targets, rows of each class.

    Sparse shards have the number of stored ``entries``, and a crc32c each of data, indices and indptr.
    """

    rows: int
    features_crc32c: int | tuple[int, ...]
    targets_crc32c: int | None
    class_counts: tuple[int, ...] | None
    entries: int | None = None
    source_rows_crc32c: int | None = None
    nonzero: int | None = None
    weights_crc32c: int | None = None
    weight_totals: tuple[float, ...] | None = None
    largest_weights: tuple[float, ...] | None = None
    group_keys_crc32c: int | None = None

    def __post_init__(self) -> None:
        is_sparse = self.entries is not None
        if self.rows < 1 or (self.entries or 0) < 0:
            raise ValueError(f"a shard of {self.rows} rows and {self.entries} entries")
        if isinstance(self.features_crc32c, int) == is_sparse or (
            is_sparse and len(self.features_crc32c) != 3  # type: ignore[arg-type]
        ):
            raise ValueError("checksums do not fit the shard")

    def to_json(self) -> dict[str, Any]:
        return {
            name: value for name, value in asdict(self).items() if value is not None or name not in _OPTIONAL
        }


@dataclass(frozen=True, slots=True)
class SplitEntry:
    """One split: its shards in order, all but the last with ``rows_per_shard`` rows."""

    rows_per_shard: int
    shards: tuple[ShardEntry, ...]

    def __post_init__(self) -> None:
        rows = [shard.rows for shard in self.shards]
        if not rows or set(rows[:-1]) - {self.rows_per_shard} or rows[-1] > self.rows_per_shard:
            raise ValueError(f"shards do not have {self.rows_per_shard} rows")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of ``manifest.json``; FORMAT.md describes each key."""

    task: Literal["classification", "regression", "none"]
    n_features: int
    feature_names: tuple[str, ...] | None
    classes: tuple[bool | int | float | str, ...] | None
    scaling: Scaling
    splits: dict[str, SplitEntry]
    options: dict[str, Any]
    is_sparse: bool = False
    target_name: str | None = None
    table: Table | None = None
    group_name: str | None = None
    dates: str | None = None

    def __post_init__(self) -> None:
        width, shards = self.n_features, [shard for split in self.splits.values() for shard in split.shards]
        n_classes = None if self.classes is None else len(self.classes)
        if "train" not in self.splits or self.splits.keys() - {"train", "test"}:
            raise ValueError(f"the splits are {', '.join(self.splits)}")
        trained = self.splits["train"].shards
        if width < 1 or (self.feature_names is not None and len(self.feature_names) != width):
            raise ValueError(f"feature names do not fit {width} features")
        if self.table is not None and self.feature_names not in (None, self.table.features):
            raise ValueError("feature names do not fit the table")
        self.scaling.check_width(width)
        if (n_classes is None) == (self.task == "classification"):
            raise ValueError(f"task {self.task} with {n_classes} classes")
        if self.dates is not None:
            if not _DATES.fullmatch(self.dates):
                raise ValueError(f"dates of type {self.dates}")
            np.array(self.classes, dtype=self.dates)
        if any((shard.group_keys_crc32c is None) != (self.group_name is None) for shard in trained):
            raise ValueError("groups do not fit the rows")
        for shard in shards:
            if (shard.entries is not None) != self.is_sparse:
                raise ValueError("both sparse and dense shards")
            if shard.source_rows_crc32c is None or shard.nonzero is None:
                raise ValueError("a shard without source rows")
            if (shard.targets_crc32c is None) != (self.task == "none"):
                raise ValueError(f"targets of a shard do not fit task {self.task}")
            for of_weights in (shard.weight_totals, shard.largest_weights):
                if (of_weights is None) != (shard.weights_crc32c is None) or (
                    of_weights is not None and (len(of_weights) != (n_classes or 1) or min(of_weights) < 0)
                ):
                    raise ValueError("weights do not fit the rows")
            counts = shard.class_counts
            if n_classes is not None and (
                counts is None or len(counts) != n_classes or min(counts) < 0 or sum(counts) != shard.rows
            ):
                raise ValueError(f"class counts of a shard do not fit {n_classes} classes")

    def _content(self) -> dict[str, Any]:
        content = {
            "features": "csr_matrix" if self.is_sparse else None,
            "task": self.task,
            "n_features": self.n_features,
            "feature_names": self.feature_names,
            "target_name": self.target_name,
            "group_name": self.group_name,
            "table": None if self.table is None else self.table.to_json(),
            "classes": self.classes,
            "dates": self.dates,
            "scaling": self.scaling.to_json(),
            "splits": {
                name: {
                    "rows_per_shard": split.rows_per_shard,
                    "shards": [shard.to_json() for shard in split.shards],
                }
                for name, split in self.splits.items()
            },
            "options": self.options,
        }
        optional = ("features", "target_name", "group_name", "table", "dates")
        return {name: value for name, value in content.items() if value is not None or name not in optional}

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the content, which changes with any value, label or option."""
        digest: str = _DESCRIPTION.seal(self._content())["fingerprint"]
        return digest

    def to_text(self) -> str:
        """Return the file's content."""
        return _DESCRIPTION.text(self._content(), ensure_ascii=False)


def read_manifest(folder: Place) -> tuple[Manifest, str]:
    """Read the manifest of the data set at ``folder``; return it and its fingerprint.

    Raises :class:`InputError` if there is no finished data set, or a newer version wrote it; and
    :class:`CorruptDataError` if the manifest is damaged or was edited.
    """
    file = folder / FILE
    where = str(folder)
    if ".partial-" in folder.name:
        raise InputError("an unfinished data set", where=where, hint="run `distkern shard` again")
    try:
        text = read_file(file)
    except (FileNotFoundError, NotADirectoryError):
        raise _absent(folder) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(file), hint="check it") from error
    content, digest = _DESCRIPTION.open(text, str(file))
    content["is_sparse"] = content.get("features") == "csr_matrix"
    return _DESCRIPTION.read(Manifest, content, str(file)), digest


def _absent(folder: Place) -> InputError:
    where = str(folder)
    if not folder.exists():
        return InputError("there is no data set", where=where, hint="check the path or run `distkern shard`")
    if not folder.is_dir():
        return not_sharded(folder)
    if (folder / "model.json").is_file():
        return InputError("is a model, not a data set", where=where, hint="give the data set")
    what, hint = f"is not a finished data set (no {FILE})", _DESCRIPTION.again
    if isinstance(folder, URLPlace):
        # the manifest is written last
        hint += ", which replaces the remains of a writer that died"
    return InputError(what, where=where, hint=hint)


def not_sharded(file: Place, like: str | None = None) -> InputError:
    """Return the error for a file in place of a data set; ``like``: the model that needs it."""
    hint = f"run `{shard_command(file, like)}`"
    if like is None:
        hint += " (--target COLUMN names the target)"
    return InputError("is a file, not a data set", where=str(file), hint=hint)


def shard_command(file: Place, like: str | None = None) -> str:
    """Return a command, valid in the current folder, that makes a data set of a file."""
    path = str(file)
    if isinstance(file, Path) and file.is_absolute() and file.is_relative_to(Path.cwd()):
        path = str(file.relative_to(Path.cwd()))
    stem = file.name.partition(".")[0] or "data"
    names = (f"{stem}{'' if number == 1 else f'-{number}'}.zarr" for number in count(1))
    out = next(name for name in names if not Path(name).exists())
    return shlex.join(["distkern", "shard", path, *(["--like", like] if like else []), "--out", out])


#: types of the arrays besides features and targets
_TYPES = {"weights": np.float64, "group_keys": np.uint64, SOURCE_ROWS: np.int64}


@dataclass(frozen=True, slots=True)
class ShardReader:
    """Reads one shard and compares every byte with the checksum in the data set's manifest.

    Calling it returns a :class:`Block`: features (n_rows, n_features) float32, dense or sparse, targets
    (n_rows,) int32 class codes, float64 numbers, or None, and weights and group keys, if rows have them.
    Raises :class:`CorruptDataError` naming the missing or changed file.
    """

    path: str
    fingerprint: str
    split: str
    index: int
    entry: ShardEntry
    rows_per_shard: int
    n_features: int
    target_type: str | None

    def __call__(self) -> Block:
        checksums = self.entry.features_crc32c
        features: Rows
        if isinstance(checksums, int):
            features = self._array("features", checksums, np.float32, self.n_features)
        else:
            features = self._sparse_rows(checksums, self.entry.entries or 0)
        return Block(features, self.targets(), self.weights(), self.index, self.group_keys())

    def values(self, name: str) -> NDArray[Any] | None:
        """Return the array (n_rows,) of this name, or None."""
        dtype = self.target_type if name == "targets" else _TYPES[name]
        checksum = getattr(self.entry, f"{name}_crc32c")
        if dtype is None or checksum is None:
            return None
        found = self._array(name, checksum, dtype)
        if name == "targets" and self.entry.class_counts is not None:
            n_classes = len(self.entry.class_counts)
            if not (found.min() >= 0 and found.max() < n_classes):
                raise damaged(f"class codes outside 0 to {n_classes - 1}", self._folder / name)
        return found

    def targets(self) -> NDArray[Any] | None:
        """Return the targets, as in the block."""
        return self.values("targets")

    def weights(self) -> NDArray[np.float64] | None:
        """Return the weights (n_rows,), or None."""
        return self.values("weights")

    def group_keys(self) -> NDArray[np.uint64] | None:
        """Return the group keys (n_rows,), or None."""
        return self.values("group_keys")

    def source_rows(self) -> NDArray[np.int64]:
        """Return the number of each row in its source (n_rows,), counted from 0 over all files."""
        found = self.values(SOURCE_ROWS)
        assert found is not None
        return found

    def feature_files(self) -> list[tuple[str, int, int]]:
        """Return path, size and crc32c of the chunk files of the features.

        Dense: one. Sparse: data and indices (neither if the shard has no entries), then indptr.
        """
        folder, checksums = self._folder / "features", self.entry.features_crc32c
        if isinstance(checksums, int):
            size = 4 * self.rows_per_shard * self.n_features + CRC_BYTES
            return [(str(folder / chunk_key(self.index, 2)), size, checksums)]
        entries = self.entry.entries or 0
        sizes = {"data": 4 * entries, "indices": 4 * entries, "indptr": 8 * (self.entry.rows + 1)}
        return [
            (str(folder / str(self.index) / name / chunk_key(0)), size + CRC_BYTES, checksum)
            for (name, size), checksum in zip(sizes.items(), checksums, strict=True)
            if size
        ]

    @property
    def _folder(self) -> Place:
        return place_of(self.path) / self.split

    def _array(self, name: str, checksum: int, dtype: DTypeLike, *inner: int) -> NDArray[Any]:
        """Return the shard's chunk of an array over all rows."""
        folder, rows = self._folder / name, self.entry.rows
        return _chunk(folder, self.index, checksum, dtype, (self.rows_per_shard, *inner), rows)

    def _sparse_rows(self, checksums: tuple[int, ...], entries: int) -> SparseRows:
        """Return the shard's own group as sparse rows."""
        group = self._folder / "features" / str(self.index)
        expected = (
            ("data", np.float32, entries),
            ("indices", np.int32, entries),
            ("indptr", np.int64, self.entry.rows + 1),
        )
        data, indices, indptr = (
            _chunk(group / name, 0, checksum, dtype, (size,), size)
            for (name, dtype, size), checksum in zip(expected, checksums, strict=True)
        )
        try:
            return SparseRows(data, indices, indptr, self.n_features).checked()
        except ValueError as error:
            raise damaged(str(error), group) from None


def _chunk(
    folder: Place, number: int, checksum: int, dtype: DTypeLike, shape: tuple[int, ...], n_rows: int
) -> NDArray[Any]:
    """Return the first rows of a chunk of this shape."""
    from distkern.data.store._zarr import read_rows

    start = number * shape[0]
    return read_rows(folder, shape[1:], shape[0], dtype, {number: checksum}, start, start + n_rows)
