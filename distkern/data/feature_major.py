"""The feature-major copy of the training rows: its manifest, and its groups."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from distkern.core.errors import CorruptDataError, InputError
from distkern.data.manifest import ShardEntry, ShardReader
from distkern.data.store.description import Description
from distkern.data.store.places import Place

_DESCRIPTION = Description("distkern-columns", "the feature-major copy", 2, "")
#: folder of the copy inside its data set, and its manifest
FOLDER, FILE = "columns", "manifest.json"


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """A group of the copy; its columns are stored like the rows of a split.

    Attributes
    ----------
    rows : rows of the group
    blocks : blocks of its columns; the ``rows`` of a block are columns
    """

    rows: int
    blocks: tuple[ShardEntry, ...]

    def readers(self, folder: Place, number: int) -> list[ShardReader]:
        """Return readers of each block of columns of group ``number`` of the data set at ``folder``."""
        name = f"{FOLDER}/{number}"
        per_block = self.blocks[0].rows
        return [
            ShardReader(str(folder), "", name, index, entry, per_block, self.rows, None)
            for index, entry in enumerate(self.blocks)
        ]


@dataclass(frozen=True, slots=True)
class ColumnsManifest:
    """The manifest of the copy.

    Attributes
    ----------
    copy_of : fingerprint of the data set
    n_features : number of features of the data set
    groups : entries of the groups, in order
    """

    copy_of: str
    n_features: int
    groups: tuple[GroupEntry, ...]

    def __post_init__(self) -> None:
        for group in self.groups:
            columns = [block.rows for block in group.blocks]
            of_sparse = {block.entries is not None for block in group.blocks}
            if sum(columns) != self.n_features or len(of_sparse) != 1:
                raise ValueError(f"blocks of columns that are not {self.n_features}")
            if of_sparse == {False} and set(columns[:-1]) - {columns[0]}:
                raise ValueError("blocks of dense columns of several sizes")

    @property
    def stored_bytes(self) -> int:
        """Size of all files with values."""
        readers = (
            reader for number, group in enumerate(self.groups) for reader in group.readers(Path(), number)
        )
        return sum(size for reader in readers for _, size, _ in reader.feature_files())

    def to_text(self) -> str:
        """Return the file's content."""
        groups = [
            {"rows": group.rows, "blocks": [block.to_json() for block in group.blocks]}
            for group in self.groups
        ]
        content = {"copy_of": self.copy_of, "n_features": self.n_features, "groups": groups}
        return _DESCRIPTION.text(content)


def read_columns(folder: Place, copy_of: str, group_rows: tuple[int, ...]) -> ColumnsManifest | None:
    """Read the copy's manifest of the data set at ``folder``; None if it has no copy.

    Raises :class:`CorruptDataError` if the copy is damaged, or belongs to other data; and :class:`InputError`
    if a newer version wrote it.

    Parameters
    ----------
    folder : folder of the data set
    copy_of : the data set's fingerprint
    group_rows : rows of each of its groups
    """
    file = folder / FOLDER / FILE
    where = str(file)
    description = replace(_DESCRIPTION, again=make_again(folder))
    try:
        content, _ = description.load(file)
    except FileNotFoundError:
        return None
    manifest = description.read(ColumnsManifest, content, where)
    if manifest.copy_of != copy_of:
        raise CorruptDataError(
            "the feature-major copy belongs to other data", where=where, hint=make_again(folder)
        )
    if tuple(group.rows for group in manifest.groups) != group_rows:
        raise description.damaged("its groups of rows are not those of the data set", where)
    return manifest


def no_columns(folder: Place) -> InputError:
    """Return the error for a data set without a copy."""
    return InputError(
        "the data set has no feature-major copy, and this algorithm reads single columns",
        where=str(folder),
        hint=f"add it with `distkern shard {shlex.quote(str(folder))} --columns`",
    )


def make_again(folder: Place) -> str:
    """Return the remedy for a damaged copy."""
    return f"make the copy again with `distkern shard {shlex.quote(str(folder))} --columns --overwrite`"
