"""Blocks of several sources as one source, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import numpy as np

from distkern.core.types import AbstractSource, Block, Reader


class JoinedRows(AbstractSource):
    """The blocks of several sources, one after the other, each as a picklable function makes it.

    Parameters
    ----------
    parts : of as many features once the functions have made them
    functions : of a block, one for each part
    n_features, dtype : of what the functions give
    """

    def __init__(
        self,
        parts: Sequence[AbstractSource],
        functions: Sequence[Callable[[Block], Block]],
        n_features: int,
        dtype: np.dtype[Any],
    ) -> None:
        self._parts, self._functions = tuple(parts), tuple(functions)
        self._places = [(number, own) for number, part in enumerate(parts) for own in range(part.n_blocks)]
        self.block_rows = tuple(rows for part in parts for rows in part.block_rows)
        self.n_features, self.dtype, self.is_sparse = n_features, dtype, parts[0].is_sparse
        self.fingerprint = "+".join(part.fingerprint for part in parts)
        self.has_groups = all(part.has_groups for part in parts)
        # solvers take blocks in random order, so that it is enough if each part is shuffled
        self.is_shuffled = all(part.is_shuffled for part in parts)
        # a block as it is read, beside what is made of it
        self.reader_bytes = max(part.reader_bytes + max(part.block_rows) * part.row_bytes for part in parts)
        self._name = uuid4().hex

    @property
    def row_numbers(self) -> int:
        return max(part.row_numbers for part in self._parts) if self.is_sparse else self.n_features

    @property
    def n_nonzero(self) -> int | None:
        counts = [part.n_nonzero for part in self._parts]
        return None if None in counts else sum(count or 0 for count in counts)

    def reader(self, index: int) -> Reader:
        number, own = self._places[index]
        return _Made(self._name, index, self._parts[number].reader(own), self._functions[number])


@dataclass(frozen=True, slots=True)
class _Made:
    """Reads a block; two of the same source and block are equal."""

    source: str
    index: int
    read: Reader = field(compare=False)
    function: Callable[[Block], Block] = field(compare=False)

    def __call__(self) -> Block:
        return replace(self.function(self.read()), index=self.index)
