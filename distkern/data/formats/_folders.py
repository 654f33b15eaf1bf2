"""Columns from the names of folders: ``colour=red/part-0.parquet`` has a column ``colour``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote

from distkern.data.columns._arrow import pa
from distkern.data.columns._reading import parse_number

Value: TypeAlias = int | float | str | None

#: folder name that Hive, Spark and Arrow use for a missing value
MISSING = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class FolderKey:
    """A column with one value in all rows of a file.

    Attributes
    ----------
    name : name of the column
    text : its value in the folder's name, empty if it is missing
    texts : the values of all files that are read together, which determine its kind
    """

    name: str
    text: str
    texts: tuple[str, ...]

    def column(self, n_rows: int, *, from_text: bool) -> Any:
        """Return the column as an Arrow array (n_rows,): texts with ``from_text``, else numbers if
        possible.
        """
        if from_text:
            return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), n_rows), [self.text])
        return pa.repeat(pa.scalar(self._values([self.text])[0], self._type()), n_rows)

    def sample(self, *, from_text: bool) -> Any:
        """Return the values of all files."""
        values = self.texts if from_text else self._values(self.texts)
        return pa.array(values, pa.string() if from_text else self._type())

    def _type(self) -> Any:
        known = [text for text in self.texts if text]
        if all(re.fullmatch(r"[+-]?[0-9]{1,18}", text) for text in known):
            return pa.int64()
        return pa.float64() if all(parse_number(text) is not None for text in known) else pa.string()

    def _values(self, texts: Sequence[str]) -> list[Value]:
        of = self._type()
        read: Any = {pa.int64(): int, pa.float64(): parse_number}.get(of, str)
        return [read(text) if text else None for text in texts]


def keys_of(paths: Sequence[str]) -> list[tuple[FolderKey, ...]]:
    """Return the columns from the folder names of files, given by paths or URLs."""
    found = [_pairs(path) for path in paths]
    texts: dict[str, dict[str, None]] = {}
    for pairs in found:
        for name, text in pairs.items():
            texts.setdefault(name, {})[text] = None
    among = {name: tuple(values) for name, values in texts.items()}
    return [tuple(FolderKey(name, text, among[name]) for name, text in pairs.items()) for pairs in found]


def _pairs(path: str) -> dict[str, str]:
    """Return name and text of every folder on the path that is named ``name=text``."""
    pairs = {}
    for folder in re.split(r"[/\\]", path.partition("?")[0])[:-1]:
        name, equals, text = folder.partition("=")
        if equals and name:
            text = unquote(text)
            pairs[unquote(name)] = "" if text == MISSING else text
    return pairs
