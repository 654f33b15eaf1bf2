"""The feature-major copy of the training rows: what it holds, group by group, and whose copy it is."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from distkern.common.errors import CorruptDataError, InputError
from distkern.storage._sharded import Layout
from distkern.storage.description import Description, without_absent
from distkern.storage.places import Place

_DESCRIPTION = Description("distkern-columns", "the feature-major copy", 1, 1, "")
#: the copy's folder inside that of its data set, and the manifest in it
FOLDER, FILE = "columns", "manifest.json"

#: values of an inner chunk of the arrays of a sparse group: small, because a column is a run within them
ENTRIES_PER_CHUNK = 4096
ENDS_PER_CHUNK = 1024


def dense_layout(n_features: int, n_rows: int) -> Layout:
    """Inner chunks of the (n_features, n_rows) float32 array of a dense group, one for each column."""
    return Layout(n_features, 4 * n_rows)


def entries_layout(n_entries: int) -> Layout:
    """Inner chunks of ``data`` (float32) or ``indices`` (int32), (n_entries,) arrays of a sparse group."""
    return Layout(-(-n_entries // ENTRIES_PER_CHUNK), 4 * ENTRIES_PER_CHUNK)


def ends_layout(n_features: int) -> Layout:
    """Inner chunks of the (n_features + 1,) int64 array ``indptr`` of a sparse group."""
    return Layout(-(-(n_features + 1) // ENDS_PER_CHUNK), 8 * ENDS_PER_CHUNK)


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """A group of the copy.

    Attributes
    ----------
    rows : of the group
    entries : of the group if it is sparse, else None
    checksums : array ("values"; or "data", "indices", "indptr") -> one for each of its files
    """

    rows: int
    entries: int | None = None
    checksums: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def layouts(self, n_features: int) -> dict[str, Layout]:
        """The layout of each array."""
        if self.entries is None:
            return {"values": dense_layout(n_features, self.rows)}
        return {
            "data": entries_layout(self.entries),
            "indices": entries_layout(self.entries),
            "indptr": ends_layout(n_features),
        }

    def to_json(self) -> dict[str, Any]:
        return without_absent(asdict(self), "entries")


@dataclass(frozen=True, slots=True)
class ColumnsManifest:
    """What the copy's manifest says.

    Attributes
    ----------
    copy_of : fingerprint of the data set
    n_features : of the data set
    groups : in order
    """

    copy_of: str
    n_features: int
    groups: tuple[GroupEntry, ...]

    def __post_init__(self) -> None:
        for group in self.groups:
            files = {name: layout.n_files for name, layout in group.layouts(self.n_features).items()}
            if files != {name: len(sums) for name, sums in group.checksums.items()}:
                raise ValueError("a group of rows with checksums of other files")

    @property
    def stored_bytes(self) -> int:
        """Size of all files that hold values."""
        return sum(
            layout.stored_bytes for group in self.groups for layout in group.layouts(self.n_features).values()
        )

    def to_text(self) -> str:
        """The file's content."""
        groups = [group.to_json() for group in self.groups]
        content = {"copy_of": self.copy_of, "n_features": self.n_features, "groups": groups}
        return _DESCRIPTION.text(content)


def read_columns(folder: Place, copy_of: str, group_rows: tuple[int, ...]) -> ColumnsManifest | None:
    """The manifest of the copy of the data set at ``folder``, or None if it has no copy.

    Parameters
    ----------
    folder : of the data set
    copy_of : the data set's fingerprint
    group_rows : rows of each of its groups

    Raises
    ------
    CorruptDataError
        If the copy is damaged, or of other data.
    InputError
        If a newer version wrote it.
    """
    file = folder / FOLDER / FILE
    where = str(file)
    description = replace(_DESCRIPTION, again=make_again(folder))
    try:
        content, _ = description.open(file.read_bytes(), where)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise description.damaged(f"it cannot be read: {error.strerror}", where) from error
    manifest = description.read(ColumnsManifest, content, where)
    if manifest.copy_of != copy_of:
        raise CorruptDataError(
            "the feature-major copy is of other data", where=where, mend=make_again(folder)
        )
    if tuple(group.rows for group in manifest.groups) != group_rows:
        raise description.damaged("its groups of rows are not those of the data set", where)
    return manifest


def no_columns(folder: Place) -> InputError:
    """The error for a data set without a copy."""
    return InputError(
        "the data set has no feature-major copy, from which single columns are read",
        where=str(folder),
        mend=f"add it with `distkern shard {shlex.quote(str(folder))} --columns`",
    )


def make_again(folder: Place) -> str:
    """What to do about a damaged copy."""
    return f"make the copy again with `distkern shard {shlex.quote(str(folder))} --columns --overwrite`"
