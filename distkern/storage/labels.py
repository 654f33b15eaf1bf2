"""Class labels as codes: provisional ones while reading, final ones when all labels are known."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.formats._lines import parse_number
from distkern.formats.base import RawChunk, not_finite

MAX_CLASSES = 10_000
#: numeric labels with more distinct values than both of these are taken for a regression target
_MANY_VALUES, _MANY_SHARE = 100, 0.1
#: more than so many whole numbers are rarely the names of classes
_MANY_NUMBERS = 32
_LARGEST_INTEGER = 2**53


class LabelEncoder:
    """Gives labels int32 codes in the order they are met; :meth:`finish` says which class each code is.

    Parameters
    ----------
    takes_nan : among texts "nan" and "inf" are labels like others
    of_files : texts may be numbers, as all is text in a file; else they stay what they are
    """

    def __init__(self, takes_nan: bool = False, *, of_files: bool = True) -> None:
        self._takes_nan, self._of_files = takes_nan, of_files
        self._codes: dict[int | str, int] = {}
        self._places: list[str] = []

    def encode(self, chunk: RawChunk) -> NDArray[np.int32]:
        """Provisional codes (n_rows,) of a chunk's labels.

        Raises
        ------
        InputError
            For a number that is not an integer, and for more than 10,000 distinct labels.
        """
        values = chunk.targets
        if values is None:
            raise InputError("the rows have no labels", where=chunk.file, hint="give --task none")
        if values.dtype.kind == "O":
            return self._encode_words(chunk, values)
        distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        codes = np.empty(len(distinct), dtype=np.int32)
        # in the order of the rows, so that the code of a label does not depend on the values of others
        for position in np.argsort(first):
            number, row = distinct[position].item(), int(first[position])
            label = _as_integer(number)
            if label is None:
                raise _not_an_integer(repr(number), chunk.place(row))
            codes[position] = self._code(label, chunk, row)
        return codes[inverse.reshape(-1)]

    @property
    def n_codes(self) -> int:
        """Provisional codes so far."""
        return len(self._codes)

    def _encode_words(self, chunk: RawChunk, words: NDArray[Any]) -> NDArray[np.int32]:
        known = self._codes
        codes = np.empty(len(words), dtype=np.int32)
        for row, word in enumerate(words):
            code = known.get(word)
            codes[row] = self._code(word, chunk, row) if code is None else code
        return codes

    def _code(self, label: int | str, chunk: RawChunk, row: int) -> int:
        code = self._codes.get(label)
        if code is not None:
            return code
        if isinstance(label, str) and not self._takes_nan:
            number = parse_number(label)
            if number is not None and not np.isfinite(number):
                raise not_finite(number, f"{chunk.place(row)}, target")
        if len(self._codes) == MAX_CLASSES:
            raise InputError(
                f"more than {MAX_CLASSES:,} distinct labels",
                where=chunk.place(row),
                hint="give --task regression for a numeric target, or --target COLUMN for another column",
            )
        self._codes[label] = code = len(self._codes)
        self._places.append(chunk.place(row))
        return code

    def finish(
        self, train_counts: NDArray[np.int64], positive: str | None, *, known: Sequence[Any] | None = None
    ) -> tuple[tuple[int, ...] | tuple[str, ...], NDArray[np.int32]]:
        """The classes in sorted order and the class of every provisional code.

        Parameters
        ----------
        train_counts : training rows of each provisional code
        positive : the label against the rest: classes become ("not V", "V"), so V has code 1
        known : classes of the rows that these are like, which may be of some of them alone; None where there
            are none

        Labels that are all numbers become integers, also those that a file writes as text; otherwise all stay
        text as written, as where the ``known`` are text. Raises :class:`InputError` for labels of the test
        rows that no training row has, for numbers that are not integers, for a ``positive`` that makes other
        classes than the ``known``, and, where there are none, for fewer than two classes or a ``positive``
        that does not occur.
        """
        raw = list(self._codes)
        numbers = [parse_number(label) if isinstance(label, str) else float(label) for label in raw]
        keys: list[int] | list[str]
        are_text = positive is None and known and all(isinstance(label, str) for label in known)
        are_text = are_text or (not self._of_files and any(isinstance(label, str) for label in raw))
        if are_text or any(number is None for number in numbers):
            keys = [str(label) for label in raw]
        else:
            keys = [
                self._integer(label, number, place)
                for label, number, place in zip(raw, numbers, self._places, strict=True)
            ]
        if positive is not None:
            return self._one_against_rest(keys, positive, train_counts, known)
        ordered: list[Any] = sorted(set(keys))
        place_of = {label: position for position, label in enumerate(ordered)}
        mapping = np.array([place_of[key] for key in keys], dtype=np.int32)
        totals = np.bincount(mapping, weights=train_counts, minlength=len(ordered))
        self._check_classes(ordered, keys, totals, int(train_counts.sum()))
        if len(ordered) < 2 and known is None:
            raise _one_class(str(ordered[0]), self._places[0])
        return tuple(ordered), mapping

    def _integer(self, label: int | str, number: float | None, place: str) -> int:
        integer = label if isinstance(label, int) else _as_integer(number)
        if integer is None:
            raise _not_an_integer(repr(label), place)
        return integer

    def _one_against_rest(
        self,
        keys: list[int] | list[str],
        positive: str,
        train_counts: NDArray[np.int64],
        known: Sequence[Any] | None,
    ) -> tuple[tuple[str, ...], NDArray[np.int32]]:
        label = positive.strip()
        number = _as_integer(parse_number(label)) if keys and isinstance(keys[0], int) else None
        wanted: int | str = label if number is None else number
        mapping = np.array([key == wanted for key in keys], dtype=np.int32)
        totals = np.bincount(mapping, weights=train_counts, minlength=2)
        names = (f"not {wanted}", str(wanted))
        if known is not None:
            written = (f"not {label}", label)
            names = written if {*known} <= {*written} else names
            if not {*known} <= {*names}:
                told = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
                raise InputError(
                    f"the rows would be of classes {names[0]!r} and {names[1]!r}, and those that they are to "
                    f"be like are of {told}",
                    where=f"--positive {positive}",
                    hint="leave it out, or give the label that these are of against the rest",
                )
            return (
                (names, mapping) if len({*mapping.tolist()}) == 2 else ((names[mapping.max()],), 0 * mapping)
            )
        if not totals[1]:
            labels = [str(key) for key in sorted(set(keys))]  # type: ignore[type-var]
            near = difflib.get_close_matches(positive, labels, n=1)
            shown = ", ".join(labels[:10]) + (", ..." if len(labels) > 10 else "")
            hint = f"did you mean {near[0]!r}?" if near else f"the labels are {shown}"
            raise InputError(
                f"no training row has the label {positive!r}", where=f"--positive {positive}", hint=hint
            )
        if not totals[0]:
            raise _one_class(str(wanted), self._places[0])
        return names, mapping

    def _check_classes(
        self, ordered: list[Any], keys: list[int] | list[str], totals: NDArray[Any], n_rows: int
    ) -> None:
        many = len(ordered) > max(_MANY_VALUES, _MANY_SHARE * n_rows)
        if many and isinstance(ordered[0], int):
            raise InputError(
                f"{len(ordered):,} different numbers as labels of {n_rows:,} training rows",
                where=self._places[0],
                hint="give --task regression, or --target COLUMN if the labels are in another column",
            )
        for label, total in zip(ordered, totals, strict=True):
            if not total:
                where = self._places[keys.index(label)]
                hint = "correct it, leave the row out, or change --seed if the test rows were drawn"
                if told_numbers(ordered):
                    hint = f"give --task regression if the target is a quantity, or {hint}"
                raise InputError(
                    f"the label {str(label)!r} is in the test rows but not in any training row",
                    where=where,
                    hint=hint,
                )


def told_numbers(labels: Sequence[int | str]) -> str:
    """A sentence on labels that are so many whole numbers that they may be a quantity, else ""."""
    if len(labels) <= _MANY_NUMBERS or isinstance(labels[0], str):
        return ""
    many = f"the target has {len(labels):,} different whole numbers, which are taken for classes"
    return f"{many}; give --task regression if it is a quantity"


def _one_class(label: str, place: str) -> InputError:
    return InputError(
        f"all training rows have the same label ({label})",
        where=place,
        hint="give rows of two or more classes, --target COLUMN for another column, or --task none",
    )


def _not_an_integer(label: str, place: str) -> InputError:
    return InputError(
        f"the label {label} is a number but not an integer",
        where=place,
        hint="give --task regression, or --target COLUMN if the labels are in another column",
    )


def _as_integer(number: float | None) -> int | None:
    if number is None or not float(number).is_integer():
        return None
    integer = int(number)
    return integer if abs(integer) <= _LARGEST_INTEGER else None
