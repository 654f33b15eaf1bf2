"""Helpers for Arrow arrays."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError


class _OnDemand:
    """A module that is imported at its first use: processes that read encoded rows do without Arrow."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._module), name)
        setattr(self, name, value)
        return value


pa: Any = _OnDemand("pyarrow")
compute: Any = _OnDemand("pyarrow.compute")

#: rows up to which each value is parsed by itself, as in requests to a service
_FEW = 8
#: ticks of a second in each unit of time
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def in_one_piece(values: Any) -> Any:
    """Return an Arrow array as one contiguous array."""
    if not isinstance(values, pa.ChunkedArray):
        return values
    if pa.types.is_dictionary(values.type):
        values = values.unify_dictionaries()
    whole = values.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], values.type)
    return whole


def value_type(of: Any) -> Any:
    """Return an Arrow type, or the type of the values of a dictionary."""
    return of.value_type if pa.types.is_dictionary(of) else of


def in_numpy(values: Any) -> NDArray[Any]:
    """Return the numbers (n,) of an Arrow array, NaN for missing ones.

    Arrow's own conversion imports pandas on first use, which takes longer than reading a small file.
    """
    whole = in_one_piece(values)
    found: NDArray[Any]
    if whole.null_count or whole.type.bit_width < 8:
        found = whole.to_numpy(zero_copy_only=False)
    else:
        found = np.from_dlpack(whole)
    return found


def distinct_values(values: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the distinct values of an Arrow array, and each row's position among them, -1 if missing.
    With few rows, finding equal values costs more than it saves, and all values are returned.
    """
    if len(values) <= _FEW:
        return values.to_pylist(), np.arange(len(values))
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    indices = encoded.indices.cast(pa.int64())
    places = in_numpy(indices.fill_null(-1) if indices.null_count else indices)
    return encoded.dictionary.to_pylist(), places


def is_number(kind: Any) -> bool:
    """Whether an Arrow type holds numbers or booleans."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_label(kind: Any) -> bool:
    """Whether an Arrow type may hold labels: numbers, booleans, decimals, dates and bytes."""
    is_date = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    return is_number(kind) or bool(is_date or is_bytes or pa.types.is_decimal(kind))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type holds texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def in_text(values: Any, where: str) -> Any:
    """Decode an Arrow array of bytes as UTF-8, as old writers of Parquet store texts; return others
    unchanged.

    Raises :class:`InputError` at the place ``where`` for bytes that are not text.
    """
    of = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not (pa.types.is_binary(of) or pa.types.is_large_binary(of) or pa.types.is_binary_view(of)):
        return values
    try:
        if pa.types.is_dictionary(values.type):
            return pa.DictionaryArray.from_arrays(values.indices, values.dictionary.cast(pa.string()))
        return values.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise InputError(
            f"the column holds {of} that is not UTF-8 text", where=where, hint="leave the column out"
        ) from error


def are_numbers(values: Any) -> bool:
    """Whether Arrow, which is fast, reads all texts as numbers."""
    texts = values.dictionary if pa.types.is_dictionary(values.type) else values
    try:
        texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def is_plain(kind: Any) -> bool:
    """Whether a value of an Arrow type is one number: numbers, booleans, dates, times or decimals."""
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))


def any_matches(values: Any, pattern: str) -> bool:
    """Whether a regular expression matches one of the texts."""
    texts = values.dictionary if pa.types.is_dictionary(values.type) else values
    return bool(compute.any(compute.match_substring_regex(texts, pattern)).as_py())
