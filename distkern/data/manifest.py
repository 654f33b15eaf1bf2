"""The manifest of a data set: content, checksums, and a fingerprint over them."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np

from distkern.core.errors import InputError
from distkern.data.scaling import Scaling
from distkern.data.store.description import Description
from distkern.data.store.places import Place, URLPlace, read_file
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
