"""Class labels as codes: provisional ones while reading, final ones when all labels are known.

Labels become the classes that ``fit`` finds in the same target in memory: booleans stay booleans, integers
become 64-bit integers, floats stay floats and dates stay dates. Texts stay as written: "01" is not "1". Text
files have no types: their labels become the classes that ``fit`` finds in the column read by
``pandas.read_csv``, see :func:`kind_of_words`.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.names import LabelKind, date_text, kind_of, label_texts, near_name, plain_labels, written
from distkern.data.columns._reading import parse_number
from distkern.data.formats.base import RawChunk, not_finite

MAX_CLASSES = 10_000
#: numeric labels with more distinct values than both are treated as a regression target
_MANY_VALUES, _MANY_SHARE = 100, 0.1
#: more integers than this are rarely names of classes
_MANY_NUMBERS = 32
#: a number with separators, and a currency or unit before or after it
_AMOUNT = re.compile(r"[^\w\d]*(?:[^\W\d]{2,3}\.?\s)?[-+]?\d[\d.,'\s]*(?:[^\W\d]{1,3}|[^\w\d]+)?")
#: floats beyond this do not represent all integers
_EXACT = 2**53
#: number of groups of similar labels to report
_MOST_ALIKE = 5

_BOOLEANS = {word: word[0] in "tT" for word in ("True", "TRUE", "true", "False", "FALSE", "false")}
_INTEGER, _LEADING_ZERO = re.compile(r"[+-]?[0-9]+"), re.compile(r"[+-]?0[0-9]")
#: marks around a label that carry little meaning
_MARKS = ".,;:'\"` "

#: share of the rows below which a class is rare
_RARE = 0.1
_REGRESSION = "give --task regression, or --target COLUMN if the labels are in another column"


def kind_of_words(words: Iterable[str]) -> LabelKind:
    """Return the kind of all labels of a text file: booleans, numbers or texts, as ``pandas.read_csv`` reads
    them.

    Numbers are texts if reading them as numbers would merge or change some: with leading zeros (01), integers
    of more than 64 bits, and fractions or exponents beyond 2^53.
    """
    words = list(words)
    if all(word in _BOOLEANS for word in words):
        return "boolean"
    if any(parse_number(word) is None or _LEADING_ZERO.match(word) for word in words):
        return "text"
    numbers = [_number(word) for word in words]
    if any(isinstance(number, float) for number in numbers):
        is_exact = all(abs(number) <= _EXACT for number in numbers)
    else:
        is_exact = _fit_64_bits(numbers)
    return "number" if is_exact else "text"


def _number(word: str) -> int | float:
    return int(word) if _INTEGER.fullmatch(word) else float(word)


def _fit_64_bits(numbers: Sequence[Any]) -> bool:
    """Whether one 64-bit integer type holds all of them."""
    low, high = min(numbers), max(numbers)
    return bool(low >= -(2**63) and high < 2**63) or bool(low >= 0 and high < 2**64)


def _label_of_word(word: str, kind: LabelKind) -> bool | int | float | str | None:
    """Return a text as a label of the given kind; None if it is not one."""
    if kind == "boolean":
        return _BOOLEANS.get(word)
    if kind == "number":
        return None if parse_number(word) is None else _number(word)
    if kind == "date":
        try:
            value = np.datetime64(word)
        except ValueError:
            return None
        return None if np.isnat(value) else date_text(value)
    return word


@dataclass(frozen=True, slots=True)
class _FirstSeen:
    """A label as first seen: its kind (None for a word of a text file) and place."""

    label: Any
    kind: LabelKind | None
    place: str

    def refused(self, why: str, hint: str) -> InputError:
        return InputError(f"the label {self.label!r} {why}", where=self.place, hint=hint)


class LabelEncoder:
    """Gives labels int32 codes in order of appearance; :meth:`finish` maps codes to classes.

    Parameters
    ----------
    takes_nan : "nan" and "inf" in text files are ordinary labels
    """

    def __init__(self, takes_nan: bool = False) -> None:
        self._takes_nan = takes_nan
        self._codes: dict[LabelKind | None, dict[Any, int]] = {}
        self._seen: list[_FirstSeen] = []
        #: the finest unit of dates
        self._dates = np.dtype("M8[D]")

    def encode(self, chunk: RawChunk) -> NDArray[np.int32]:
        """Return provisional codes (n_rows,) of a chunk's labels.

        Raises :class:`InputError` for a non-integer number, and for more than 10,000 distinct labels.
        """
        values = chunk.targets
        if values is None:
            raise InputError("the rows have no labels", where=chunk.file, hint="give --task none")
        if values.dtype.kind == "O":
            return self._encode_texts(chunk, values, None if chunk.is_untyped else "text")
        kind: LabelKind | None = kind_of(values)
        if kind == "date":
            self._dates = np.promote_types(self._dates, values.dtype)
        distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        labels = plain_labels(distinct)
        if chunk.is_untyped:
            # other parts of the file may hold words
            kind, labels = None, [str(label) for label in labels]
        codes = np.empty(len(distinct), dtype=np.int32)
        # in the order of the rows, so that a code does not depend on later labels
        for position in np.argsort(first):
            codes[position] = self._code(labels[position], kind, chunk, int(first[position]))
        return codes[inverse.reshape(-1)]

    @property
    def n_codes(self) -> int:
        """Number of provisional codes so far."""
        return len(self._seen)

    def _encode_texts(
        self, chunk: RawChunk, texts: NDArray[Any], kind: LabelKind | None
    ) -> NDArray[np.int32]:
        known = self._codes.setdefault(kind, {})
        codes = np.empty(len(texts), dtype=np.int32)
        for row, text in enumerate(texts):
            code = known.get(text)
            codes[row] = self._code(text, kind, chunk, row) if code is None else code
        return codes

    def _code(self, label: Any, kind: LabelKind | None, chunk: RawChunk, row: int) -> int:
        known = self._codes.setdefault(kind, {})
        code = known.get(label)
        if code is not None:
            return code
        met = _FirstSeen(label, kind, chunk.place(row))
        if kind is None and not self._takes_nan:
            number = parse_number(label)
            if number is not None and not np.isfinite(number):
                raise not_finite(number, f"{met.place}, target")
        if kind == "number":
            _refuse_fraction(label, met)
        if len(self._seen) == MAX_CLASSES:
            raise InputError(
                f"more than {MAX_CLASSES:,} distinct labels",
                where=met.place,
                hint="give --task regression for a numeric target, or --target COLUMN for another column",
            )
        known[label] = code = len(self._seen)
        self._seen.append(met)
        return code

    def finish(
        self, train_counts: NDArray[np.int64], positive: str | None, *, known: NDArray[Any] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Return the classes in sorted order and the class of every provisional code.

        Raises :class:`InputError` for labels of two kinds, for labels in the test rows only, for non-integer
        numbers, for a ``positive`` that makes other classes than the ``known`` ones and, without them, for
        fewer than two classes or an absent ``positive``.

        Parameters
        ----------
        train_counts : training rows of each provisional code
        positive : this label against the rest: classes become ("not V", "V"), so V has code 1
        known : classes of the rows of ``like``, some of which may be missing here; None without ``like``
        """
        keys, kind = self._of_one_kind(None if positive is not None else known)
        if positive is not None:
            return self._one_against_rest(keys, positive, train_counts, known)
        ordered = sorted(set(keys))
        place_of = {label: position for position, label in enumerate(ordered)}
        mapping = np.array([place_of[key] for key in keys], dtype=np.int32)
        totals = np.bincount(mapping, weights=train_counts, minlength=len(ordered))
        self._check_classes(ordered, keys, totals, int(train_counts.sum()))
        if len(ordered) < 2 and known is None:
            raise _one_class(written(ordered[0]), self._seen[0].place)
        return np.array(ordered, dtype=self._dates if kind == "date" else None), mapping

    def _of_one_kind(self, known: NDArray[Any] | None) -> tuple[list[Any], LabelKind]:
        """Return the label of each provisional code, all of one kind."""
        kind, is_typed = self._kind(known)
        keys = []
        for met in self._seen:
            key = met.label
            if met.kind is None:
                key = _label_of_word(met.label, kind)
                if key is None:
                    like = "labels of the other files" if is_typed else "classes of --like"
                    hint = "correct it, or leave the row out"
                    raise met.refused(f"is not a {kind} like the {like}", hint)
            elif met.kind != kind:
                key = written(key)
            if kind == "number":
                _refuse_fraction(key, met)
            keys.append(key)
        return (self._of_one_type(keys) if kind == "number" else keys), kind

    def _kind(self, known: NDArray[Any] | None) -> tuple[LabelKind, bool]:
        """Return the kind of all labels, and whether typed labels determine it.

        Otherwise it is the kind of the ``known`` classes, or the one of :func:`kind_of_words`.
        """
        if known is not None and kind_of(known) == "text":
            # a text class may be written as a number in another file
            return "text", False
        typed: dict[LabelKind, _FirstSeen] = {}
        for met in self._seen:
            if met.kind is not None:
                typed.setdefault(met.kind, met)
        if typed:
            (kind, first), *more = typed.items()
            if more:
                raise _two_kinds(more[0][1], first)
            return kind, True
        return kind_of_words(met.label for met in self._seen) if known is None else kind_of(known), False

    def _of_one_type(self, numbers: list[Any]) -> list[Any]:
        """Return numbers as floats if some are, else unchanged; refuse if that would merge or change some."""
        is_float = any(isinstance(number, float) for number in numbers)
        fit = not is_float and _fit_64_bits(numbers)
        if is_float:
            fit = all(abs(number) <= _EXACT for number in numbers if isinstance(number, int))
        if not fit:
            largest = max(range(len(numbers)), key=lambda code: abs(numbers[code]))
            raise self._seen[largest].refused(
                "shares no numeric type with the others, which are floats or negative",
                "give all labels as texts, or as integers of 64 bits",
            )
        return [float(number) for number in numbers] if is_float else numbers

    def _one_against_rest(
        self, keys: list[Any], positive: str, train_counts: NDArray[np.int64], known: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[np.int32]]:
        texts, label = [written(key) for key in keys], positive.strip()
        number = parse_number(label)
        wanted = label
        if number is not None and not isinstance(keys[0], str):
            wanted = written(_number(label) if np.isfinite(number) else number)
        elif isinstance(keys[0], bool):
            wanted = str(_BOOLEANS.get(label, label))
        mapping = np.array([text == wanted for text in texts], dtype=np.int32)
        totals = np.bincount(mapping, weights=train_counts, minlength=2)
        names = (f"not {wanted}", wanted)
        if known is not None:
            before, as_given = {*label_texts(known)}, (f"not {label}", label)
            names = as_given if before <= {*as_given} else names
            if not before <= {*names}:
                shown = ", ".join(map(repr, label_texts(known)[:10])) + (", ..." if len(known) > 10 else "")
                raise InputError(
                    f"the rows have classes {names[0]!r} and {names[1]!r}, but the data of --like "
                    f"have {shown}",
                    where=f"--positive {positive}",
                    hint="leave it out, or give the positive label of that data set",
                )
            if len({*mapping.tolist()}) == 2:
                return np.array(names), mapping
            return np.array([names[mapping.max()]]), 0 * mapping
        if not totals[1]:
            labels = [written(key) for key in sorted(set(keys))]
            raise InputError(
                f"no training row has the label {positive!r}",
                where=f"--positive {positive}",
                hint=near_name(positive, labels, "labels"),
            )
        if not totals[0]:
            raise _one_class(wanted, self._seen[0].place)
        return np.array(names), mapping

    def _check_classes(self, ordered: list[Any], keys: list[Any], totals: NDArray[Any], n_rows: int) -> None:
        refuse_many_numbers(ordered, n_rows, self._seen[0].place)
        for label, total in zip(ordered, totals, strict=True):
            if not total:
                hint = "correct it, leave the row out, or change --seed if the test rows were drawn"
                if quantity_note(ordered):
                    hint = f"give --task regression if the target is a quantity, or {hint}"
                raise InputError(
                    f"the label {written(label)!r} is in the test rows but not in any training row",
                    where=self._seen[keys.index(label)].place,
                    hint=hint,
                )


def refuse_many_numbers(labels: Sequence[Any], n_rows: int, where: str) -> None:
    """Refuse many different numbers as labels of ``n_rows`` rows: they are probably a quantity."""
    if len(labels) > max(_MANY_VALUES, _MANY_SHARE * n_rows) and not isinstance(labels[0], str):
        what = f"{len(labels):,} different numbers as labels of {n_rows:,} training rows"
        raise InputError(what, where=where, hint=_REGRESSION)


def _refuse_fraction(label: float, met: _FirstSeen) -> None:
    if isinstance(label, float) and not label.is_integer():
        raise met.refused("is a number but not an integer", _REGRESSION)


def _two_kinds(met: _FirstSeen, other: _FirstSeen) -> InputError:
    return met.refused(
        f"is a {met.kind}, and {other.label!r} ({other.place}) is a {other.kind}",
        "give labels of one type in all files",
    )


def _one_class(label: str, place: str) -> InputError:
    return InputError(
        f"all training rows have the same label ({label})",
        where=place,
        hint="give rows of two or more classes, --target COLUMN for another column, or --task none",
    )


def quantity_note(labels: Sequence[Any]) -> str:
    """Return a note if labels are many integers or amounts and may be a quantity, else ""."""
    if len(labels) <= _MANY_NUMBERS:
        return ""
    of_words = isinstance(labels[0], str)
    if of_words and 2 * sum(_AMOUNT.fullmatch(label) is not None for label in labels) < len(labels):
        return ""
    kind = "amounts" if of_words else "integers"
    many = f"the target has {len(labels):,} different {kind}, which are treated as classes"
    return f"{many}; give --task regression if it is a quantity"


def names_note(labels: Sequence[Any], counts: Sequence[int]) -> str:
    """Return a note if most of many classes have one row, as ids and free texts have, else ""."""
    if len(labels) <= _MANY_NUMBERS or quantity_note(labels) or 2 * sum(counts) >= 3 * len(labels):
        return ""
    return (
        f"the target has {len(labels):,} classes for {sum(counts):,} training rows, as ids or texts have; "
        "give --target COLUMN if the labels are in another column"
    )


def rare_first_note(labels: Sequence[Any], counts: Sequence[int]) -> str:
    """Return a note if the first of two classes is rare and so probably the one of interest, else ""."""
    if len(labels) != 2 or not 0 < counts[0] < _RARE * sum(counts):
        return ""
    label, share = written(labels[0]), f"{100 * counts[0] / sum(counts):.2g} %"
    about = "makes thresholds and precision about it"
    return (
        f"{label!r} has {share} of the rows and is the first class; --positive {shlex.quote(label)} {about}"
    )


def lookalike_notes(labels: Sequence[Any], counts: Sequence[int]) -> list[str]:
    """Return a note on each group of texts that differ only in case, blanks, surrounding marks or notation
    of a number, with the rows of each.
    """
    groups: dict[Any, list[int]] = {}
    for code, label in enumerate(labels):
        if isinstance(label, str):
            text = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
            number = parse_number(text)
            groups.setdefault(text.strip(_MARKS) or text if number is None else number, []).append(code)
    found = []
    for codes in groups.values():
        if len(codes) > 1:
            *first, last = [
                f"{labels[code]!r} ({counts[code]:,} row{'s' * (counts[code] != 1)})" for code in codes
            ]
            found.append(f"the labels {', '.join(first)} and {last} look alike but are separate classes")
    more = len(found) - _MOST_ALIKE
    return found[:_MOST_ALIKE] + ([f"{more:,} more groups of labels look alike"] if more > 0 else [])
