"""What the formats ask of Arrow's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.formats._texts import DAYS

#: a second of each unit of time
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def in_one_piece(values: Any) -> Any:
    """An Arrow array in one piece."""
    import pyarrow as pa

    if not isinstance(values, pa.ChunkedArray):
        return values
    if pa.types.is_dictionary(values.type):
        values = values.unify_dictionaries()
    whole = values.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], values.type)
    return whole


def in_numpy(values: Any) -> NDArray[Any]:
    """The numbers (n,) of an Arrow array, NaN where one is missing.

    The first number that Arrow itself converts has it import pandas, which takes longer than a small file.
    """
    whole = in_one_piece(values)
    found: NDArray[Any]
    if whole.null_count or whole.type.bit_width < 8:
        found = whole.to_numpy(zero_copy_only=False)
    else:
        found = np.from_dlpack(whole)
    return found


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers or booleans."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_label(kind: Any) -> bool:
    """Whether values of an Arrow type may be labels: numbers, booleans, decimals, dates and bytes."""
    import pyarrow as pa

    is_date = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    return is_number(kind) or bool(is_date or is_bytes or pa.types.is_decimal(kind))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def in_text(values: Any, where: str) -> Any:
    """An Arrow array of bytes as texts in UTF-8, as old writers of Parquet store them; others as they are.

    Raises :class:`InputError` at the place ``where`` for bytes that are no text.
    """
    import pyarrow as pa

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
    """Whether Arrow, which is quick, takes all texts for numbers."""
    import pyarrow as pa

    texts = values.dictionary if pa.types.is_dictionary(values.type) else values
    try:
        texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def is_plain(kind: Any) -> bool:
    """Whether an Arrow type has values of one number each: numbers, booleans, dates, times or decimals."""
    import pyarrow as pa

    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))


def any_matches(values: Any, pattern: str) -> bool:
    """Whether one of some texts matches a regular expression."""
    import pyarrow as pa
    from pyarrow import compute

    texts = values.dictionary if pa.types.is_dictionary(values.type) else values
    return bool(compute.any(compute.match_substring_regex(texts, pattern)).as_py())


def first_beyond(values: Any) -> int | None:
    """The first of an Arrow array of dates or timestamps that is of no year from 1 to 9999."""
    import pyarrow as pa

    of = values.type
    if pa.types.is_date32(of):
        days = values.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False)
    else:
        ticks = 86_400 * TICKS["ms" if pa.types.is_date64(of) else of.unit]
        days = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) // ticks
    beyond = np.flatnonzero((days < DAYS[0]) | (days >= DAYS[1]))
    return int(beyond[0]) if beyond.size else None
