"""The feature-major copy of the training rows: what it holds, group by group, and whose copy it is."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass
from typing import Any

from distkern.core.errors import CorruptDataError, InputError
from distkern.storage._sharded import Layout
from distkern.storage.places import Place

TYPE, VERSION = "distkern-columns", 1
#: the copy's folder inside that of its data set, and the manifest in it
FOLDER, FILE = "columns", "manifest.json"

#: values of an inner chunk of the arrays of a sparse group: small, because a column is a run within them
ENTRIES_PER_CHUNK = 4096
ENDS_PER_CHUNK = 1024


def dense_layout(n_features: int, n_rows: int) -> Layout:
    """Of the (n_features, n_rows) float32 array of a dense group: a column is an inner chunk."""
    return Layout(n_features, 4 * n_rows)


def entries_layout(n_entries: int) -> Layout:
    """Of ``data`` (float32) and of ``indices`` (int32) of a sparse group."""
    return Layout(-(-n_entries // ENTRIES_PER_CHUNK), 4 * ENTRIES_PER_CHUNK)


def ends_layout(n_features: int) -> Layout:
    """Of ``indptr`` (int64) of a sparse group."""
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
    entries: int | None
    checksums: dict[str, tuple[int, ...]]

    def layouts(self, n_features: int) -> dict[str, Layout]:
        """Of each array."""
        if self.entries is None:
            return {"values": dense_layout(n_features, self.rows)}
        return {
            "data": entries_layout(self.entries),
            "indices": entries_layout(self.entries),
            "indptr": ends_layout(n_features),
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            **({} if self.entries is None else {"entries": self.entries}),
            "checksums": {name: list(sums) for name, sums in self.checksums.items()},
        }


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

    @property
    def stored_bytes(self) -> int:
        """Size of all files that hold values."""
        return sum(
            layout.stored_bytes for group in self.groups for layout in group.layouts(self.n_features).values()
        )

    def to_text(self) -> str:
        """The file's content."""
        content: dict[str, Any] = {
            "encoding-type": TYPE,
            "encoding-version": VERSION,
            "copy_of": self.copy_of,
            "n_features": self.n_features,
            "groups": [group.to_json() for group in self.groups],
        }
        return json.dumps({**content, "fingerprint": _fingerprint(content)}, indent=1) + "\n"


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
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _damaged(folder, "it cannot be read as JSON") from error
    if not isinstance(content, dict) or content.get("encoding-type") != TYPE:
        raise _damaged(folder, "it is not that of a feature-major copy")
    version = content.get("encoding-version")
    if not isinstance(version, int) or version > VERSION:
        raise InputError(
            f"the feature-major copy is in format version {version}, and this distkern reads up to {VERSION}",
            where=str(file),
            mend="upgrade distkern",
        )
    stored = content.pop("fingerprint", None)
    if stored != _fingerprint(content):
        raise _damaged(folder, "its content does not match its fingerprint")
    if content["copy_of"] != copy_of:
        raise CorruptDataError(
            "the feature-major copy is of other data", where=str(file), mend=make_again(folder)
        )
    groups = tuple(
        GroupEntry(
            group["rows"],
            group.get("entries"),
            {name: tuple(sums) for name, sums in group["checksums"].items()},
        )
        for group in content["groups"]
    )
    if tuple(group.rows for group in groups) != group_rows:
        raise _damaged(folder, "its groups of rows are not those of the data set")
    return ColumnsManifest(content["copy_of"], content["n_features"], groups)


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


def _damaged(folder: Place, why: str) -> CorruptDataError:
    return CorruptDataError(
        f"the manifest of the feature-major copy is damaged ({why})",
        where=str(folder / FOLDER / FILE),
        mend=make_again(folder),
    )


def _fingerprint(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
