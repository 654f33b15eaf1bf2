"""The manifest of a data set: what it holds, checksums and all, and a fingerprint over that."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from distkern.core.errors import CorruptDataError, InputError
from distkern.storage.places import Place, URLPlace
from distkern.storage.scaling import Scaling

TYPE = "distkern-dataset"
#: of data sets with dense rows, and with sparse rows; the higher one is the newest this version reads
DENSE_VERSION, VERSION = 1, 2
FILE = "manifest.json"


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

    def to_json(self) -> dict[str, Any]:
        checksums = self.features_crc32c
        return {
            "rows": self.rows,
            **({} if self.entries is None else {"entries": self.entries}),
            "features_crc32c": checksums if isinstance(checksums, int) else list(checksums),
            "targets_crc32c": self.targets_crc32c,
            "class_counts": None if self.class_counts is None else list(self.class_counts),
        }


@dataclass(frozen=True, slots=True)
class SplitEntry:
    """One split: its shards in order, all but the last with ``rows_per_shard`` rows."""

    rows_per_shard: int
    shards: tuple[ShardEntry, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What ``manifest.json`` says; see FORMAT.md for each key."""

    task: str
    n_features: int
    feature_names: tuple[str, ...] | None
    classes: tuple[int, ...] | tuple[str, ...] | None
    scaling: Scaling
    splits: dict[str, SplitEntry]
    options: dict[str, Any]
    is_sparse: bool = False
    target_name: str | None = None

    def _content(self) -> dict[str, Any]:
        return {
            "encoding-type": TYPE,
            "encoding-version": VERSION if self.is_sparse else DENSE_VERSION,
            **({"features": "csr_matrix"} if self.is_sparse else {}),
            "task": self.task,
            "n_features": self.n_features,
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            **({} if self.target_name is None else {"target_name": self.target_name}),
            "classes": None if self.classes is None else list(self.classes),
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

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the content: it changes when any value, label or option does."""
        return _fingerprint(self._content())

    def to_text(self) -> str:
        """The file's content."""
        content = self._content()
        return (
            json.dumps({**content, "fingerprint": _fingerprint(content)}, indent=1, ensure_ascii=False) + "\n"
        )


def _fingerprint(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def read_manifest(folder: Place) -> tuple[Manifest, str]:
    """The manifest of the data set at ``folder`` and its fingerprint.

    Raises
    ------
    InputError
        If there is no finished data set, or a newer version wrote it.
    CorruptDataError
        If the manifest is damaged or was edited.
    """
    file = folder / FILE
    where = str(folder)
    if ".partial-" in folder.name:
        raise InputError("an unfinished data set", where=where, mend="run `distkern shard` again")
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise _absent(folder) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(file), mend="check it") from error
    except UnicodeDecodeError as error:
        raise _damaged(file, "it is not text") from error
    try:
        content = json.loads(text)
    except ValueError as error:
        raise _damaged(file, "it is not JSON") from error
    if not isinstance(content, dict) or content.get("encoding-type") != TYPE:
        raise InputError("not a data set of distkern", where=where, mend="make one with `distkern shard`")
    version = content.get("encoding-version")
    if not isinstance(version, int) or version > VERSION:
        raise InputError(
            f"written in format version {version}, and this distkern reads up to {VERSION}",
            where=where,
            mend="upgrade distkern",
        )
    stored = content.pop("fingerprint", None)
    if stored != _fingerprint(content):
        raise _damaged(file, "its content does not match its fingerprint")
    return _from_json(content), stored


def _from_json(content: dict[str, Any]) -> Manifest:
    splits = {
        name: SplitEntry(
            split["rows_per_shard"],
            tuple(
                ShardEntry(
                    shard["rows"],
                    _checksums(shard["features_crc32c"]),
                    shard["targets_crc32c"],
                    None if shard["class_counts"] is None else tuple(shard["class_counts"]),
                    shard.get("entries"),
                )
                for shard in split["shards"]
            ),
        )
        for name, split in content["splits"].items()
    }
    names, classes = content["feature_names"], content["classes"]
    return Manifest(
        content["task"],
        content["n_features"],
        None if names is None else tuple(names),
        None if classes is None else tuple(classes),
        Scaling.from_json(content["scaling"]),
        splits,
        content["options"],
        content.get("features") == "csr_matrix",
        content.get("target_name"),
    )


def _checksums(stored: int | list[int]) -> int | tuple[int, ...]:
    return stored if isinstance(stored, int) else tuple(stored)


def _absent(folder: Place) -> InputError:
    where = str(folder)
    if not folder.exists():
        return InputError("there is no data set", where=where, mend="check the path or run `distkern shard`")
    if not folder.is_dir():
        mend = f"turn it into a data set first: distkern shard {folder.name} --out {folder.stem}.zarr"
        return InputError("a file, not a data set", where=where, mend=mend)
    if isinstance(folder, URLPlace):
        # the manifest is written last
        return InputError(
            f"not a data set of distkern, or an unfinished one (no {FILE})", where=where,
            mend="make one with `distkern shard`, which replaces what a writer that died has left",
        )  # fmt: skip
    return InputError(
        f"not a data set of distkern, or an unfinished one (no {FILE})",
        where=where,
        mend="make one with `distkern shard`",
    )


def _damaged(file: Place, why: str) -> CorruptDataError:
    return CorruptDataError(f"the manifest is damaged ({why})", where=str(file), mend="shard the data again")
