"""Categories: words, or numbers that name something."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.data.columns._arrow import is_plain, pa, value_type
from distkern.data.columns._reading import Array, ColumnWords, Fitting, Parsed, Reading, parse_number
from distkern.data.columns._target_means import N_SIGNS, AbstractMeansColumn
from distkern.data.columns.base import AbstractColumn, DroppedColumn

#: most distinct values of a column, which are held in memory
MAX_LEVELS = 100_000
#: a column with more categories than this gets target means and signs, as many as the most indicators
MAX_ONEHOT = N_SIGNS
#: most one-hot features of a column, as rows are stored dense
_MOST_ONEHOT = 2_000
#: most outputs of target means, one per class
_MOST_OUTPUTS = 32

#: a number and its unit
_WITH_UNIT = re.compile(r"[-+]?\d[\d.,']*\s*([^\W\d_][^\d]*)")
#: the fraction of a text that is an integer
_FRACTION = re.compile(r"(?<=\d)\.0*$")


class LevelFacts:
    """Facts of categories: the number of rows of each.

    Attributes
    ----------
    n_rows, n_present : number of rows, and of rows with a value
    counts : rows of each code of :attr:`Reading.levels`
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self.counts = np.zeros(0, dtype=np.int64)

    @property
    def n_present(self) -> int:
        return int(self.counts.sum())

    @property
    def distinct(self) -> int | None:
        """The number of categories."""
        return int(np.count_nonzero(self.counts)) or None

    def add(self, values: Array) -> None:
        """Add codes (n,); NaN is missing."""
        self.n_rows += len(values)
        self._add(np.bincount(values[~np.isnan(values)].astype(np.intp), minlength=len(self.counts)))

    def merge(self, other: LevelFacts) -> None:
        """Add the rows of other facts, of the same codes."""
        self.n_rows += other.n_rows
        self._add(np.pad(other.counts, (0, max(0, len(self.counts) - len(other.counts)))))

    def _add(self, counts: NDArray[np.int64]) -> None:
        counts[: len(self.counts)] += self.counts
        self.counts = counts


@dataclass(frozen=True)
class CategoryColumn(AbstractMeansColumn):
    """Categories: a feature for each, or few features for all.

    Values are positions among the levels, -1 for an unknown category.

    Attributes
    ----------
    levels : categories of the training rows, sorted; missing values are one more, the last
    encoding : ``onehot`` 0 or 1 for each category, ``target`` their mean targets, ``signs`` mean targets (if
        there are targets) and signs
    """

    kind: ClassVar[str] = "category"
    noun: ClassVar[str] = "a category"
    plural: ClassVar[str] = "categories"
    examples: ClassVar[tuple[str, ...]] = ("red", "green", "dark blue")
    rank: ClassVar[int | None] = 9
    missing_is_a_value: ClassVar[bool] = True
    unseen: ClassVar[str] = "a category not in the training rows, treated as unknown"

    levels: tuple[str, ...] = ()
    encoding: Literal["onehot", "target", "signs"] = "onehot"

    @classmethod
    def claims(cls, words: ColumnWords) -> str | None:
        return cls.kind if words.distinct else None

    @classmethod
    def holds(cls, of: Any) -> bool:
        if not pa.types.is_dictionary(of):
            return False
        # dates and times have their own kinds
        return not pa.types.is_temporal(of.value_type) or bool(pa.types.is_duration(of.value_type))

    @classmethod
    def by_words(cls, of: Any) -> bool:
        return value_type(of) != of or super().by_words(of) or is_plain(of)

    @classmethod
    def parse(cls, words: Sequence[str | None], reading: Reading) -> Parsed:
        if cls._are_integers(words, reading):
            words = [word and _FRACTION.sub("", word) for word in words]
        levels, is_fixed = reading.levels, reading.notation.is_fixed
        codes = np.full(len(words), np.nan)
        for at, word in enumerate(words):
            if word is None:
                continue
            code = levels.get(word)
            if code is None and is_fixed:
                code = -1
            elif code is None:
                code = len(levels)
                if code == MAX_LEVELS:
                    reading.overflows, reading.levels = True, {}
                    what = f"more than {MAX_LEVELS:,} different values in a column of categories"
                    hint = f"{reading.remedy('leave_out')}, or group its values"
                    return Parsed(np.full(len(words), np.nan), [at] * reading.is_given, what, hint)
                levels[word] = code
            codes[at] = code
        return Parsed(codes)

    @classmethod
    def _are_integers(cls, words: Sequence[str | None], reading: Reading) -> bool:
        """Whether a column declared categorical holds only numbers: in its first rows, or in a model's
        categories if their integers have no fraction.
        """
        is_fixed = reading.notation.is_fixed
        if reading.is_of_integers is None:
            known = [*reading.levels] if is_fixed else [word for word in words if word]
            if not known:
                return False
            reading.is_of_integers = (
                reading.is_given
                and all(parse_number(word) is not None for word in known)
                and not (is_fixed and any(map(_FRACTION.search, known)))
            )
        return reading.is_of_integers

    @classmethod
    def facts(cls) -> LevelFacts:
        return LevelFacts()

    @classmethod
    def fit(cls, facts: LevelFacts, how: Fitting) -> AbstractColumn:
        name, n_outputs = how.reading.name, len(how.outputs)
        words = sorted(word for word, code in how.reading.levels.items() if _count(facts, code))
        n_levels = len(words)
        are_names = 2 * np.count_nonzero(facts.counts == 1) > facts.n_present
        if how.wanted is None and n_levels > MAX_ONEHOT and are_names:
            return DroppedColumn(name, dropped=cls.kind)
        has_means = 0 < n_outputs <= _MOST_OUTPUTS
        # means of many classes would be more features than indicators
        most = MAX_ONEHOT if has_means else _MOST_ONEHOT
        encoding = how.wanted or ("onehot" if n_levels <= most else "signs")
        what = hint = ""
        if encoding == "onehot" and n_levels > _MOST_ONEHOT:
            what = f"{n_levels:,} categories; one-hot encoding takes at most {_MOST_ONEHOT:,}"
            hint = f"give --categorical {shlex.quote(name)}=signs (or drop)"
        elif encoding == "target" and not has_means:
            why = f"there are {n_outputs:,} classes" if n_outputs else "there is no target"
            hint, encoding = how.reading.remedy("as_columns"), "onehot"
            # an unknown target is a problem of its own
            if how.has_target:
                what = f"{n_levels:,} categories cannot be encoded by target means: {why}"
        if what:
            how.refuse(InputError(what, where=f"column {name!r}", hint=hint))
        found = cls(name, has_missing=facts.n_present < how.n_rows, levels=tuple(words))
        if encoding == "onehot":
            return found
        return found.with_outputs(how.outputs if has_means else (), encoding=encoding)

    def remark(self, facts: LevelFacts, reading: Reading) -> str:
        return remark_on_unit(reading)

    def positions(self, reading: Reading) -> NDArray[np.float64]:
        """Return the position among the levels of each code of a reading; -1 for words without training
        rows.
        """
        places = {level: place for place, level in enumerate(self.levels)}
        return np.array([places.get(word, -1) for word in reading.levels], dtype=np.float64)

    @property
    def n_levels(self) -> int:
        return len(self.levels)

    @property
    def has_means(self) -> bool:
        return bool(self.outputs)

    @property
    def has_signs(self) -> bool:
        return self.encoding == "signs"

    @property
    def at_means(self) -> slice:
        return slice(0, len(self.default))

    @property
    def features(self) -> tuple[str, ...]:
        if self.encoding != "onehot":
            return self.names_of_means + self.names_of_signs
        missing = [f"{self.name} is missing"] if self.has_missing else []
        return (*(f"{self.name}={level}" for level in self.levels), *missing)

    def encode(self, values: Array, out: Array, means: Array | None = None) -> None:
        codes = self.codes(values)
        if self.encoding == "onehot":
            known = np.flatnonzero(codes >= 0)
            out[known, codes[known]] = 1.0
            return
        if self.has_means:
            self.put_means(codes, out[:, self.at_means], means)
        self.put_signs(codes, out)

    @property
    def bytes_of_values(self) -> Iterable[bytes]:
        return map(str.encode, self.levels)

    def codes(self, values: Array) -> NDArray[np.intp]:
        return self.with_missing(values, values)

    def extremes(self, facts: LevelFacts) -> Array:
        return np.arange(self.n_levels, dtype=np.float64)

    @property
    def known_words(self) -> tuple[str, ...]:
        return self.levels

    @property
    def known(self) -> tuple[float, float]:
        return 0.0, np.inf

    def grid(self, features: Array, most: int) -> Array:
        n_levels = self.n_levels + self.has_missing
        if self.encoding == "onehot":
            kept = np.argsort(-features[:, :n_levels].sum(axis=0), kind="stable")[:most]
        else:
            order = np.argsort([means[0] for means in self.means] or range(n_levels), kind="stable")
            kept = order[np.unique(np.linspace(0, n_levels - 1, most).astype(np.intp))]
        return np.where(np.sort(kept) < self.n_levels, np.sort(kept), np.nan)

    def shown(self, value: float, digits: int) -> float | str:
        return "missing" if np.isnan(value) else self.levels[int(value)]


def remark_on_unit(reading: Reading) -> str:
    """Return a warning if most categories are numbers with one unit; "" if not."""
    if len(reading.levels) <= MAX_ONEHOT:
        return ""
    found = Counter(match[1].strip() for match in map(_WITH_UNIT.fullmatch, reading.levels) if match)
    for unit, count in found.most_common(1):
        if 2 * count > len(reading.levels):
            return f"holds numbers with the unit {unit!r}, which are read as texts; write them without it"
    return ""


def _count(facts: LevelFacts, code: int) -> int:
    # categories that only test rows have are beyond the counts
    return int(facts.counts[code]) if code < len(facts.counts) else 0
