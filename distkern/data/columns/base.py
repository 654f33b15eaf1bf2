"""The base of kinds of table columns: how values are read, counted and encoded as features.

To add one, write a file in this folder with a frozen dataclass that derives from :class:`AbstractColumn`;
files, frames, ``shard``, ``predict`` and the contract tests find it there. Its class methods read values as
numbers, NaN for missing ones. Its facts count the numbers of the training rows. An instance is the column
fitted to these facts, as stored in ``manifest.json`` and ``model.json``.

A kind (:class:`AbstractColumn`) must give:

    kind, noun, plural      its name in files; the word for one value, and for several
    examples                texts of a few different values, for the contract tests
    parse                   numbers of texts
    fit                     the column fitted to the facts of its training rows
    features, encode        names of the features, and the features of values

It may give:

    rank, claims            its turn to inspect the texts of a new column, and whether it claims them
    holds, from_arrow       which typed columns it takes, and their numbers
    by_words, read, width   if parsing the distinct texts is not enough, or a value is several numbers
    facts, signals          what is counted of the training rows
    extremes, at_means      values with the smallest and largest features; which of these are target means
    is_number, is_plain, recurs, fills, missing_is_a_value    properties of its values
    is_identity             its feature is the value
    known_words             words by the codes of values
    known, unseen           the interval of values like the training rows; the words for others
    filled                  what a missing value becomes, in words
    refilled                the column with another replacement for missing values
    remark, described       a warning about the training rows; its notation in words
    joint                   features that mean nothing alone
    grid, shown, axis       values for partial dependence, their display, and their axis
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from distkern.core.errors import InputError
from distkern.data.columns._arrow import distinct_values, is_text, value_type
from distkern.data.columns._facts import NumberFacts
from distkern.data.columns._reading import Array, ColumnWords, Fitting, Parsed, Reading, word_of

#: smallest and largest value of each feature, (n_features,) each
Ranges = tuple[Array, Array]
#: returns the place of a row, for messages
Place = Callable[[int], str]

#: encoding of a column without features, in files, and in words
DROP, NOTHING = "drop", "nothing"
LABELS_OR_NUMBERS = (
    "a regression target is a number; give --task classification for labels, or --target COLUMN"
)
#: quantiles between which partial dependence is measured, as in scikit-learn
_WITHIN = (0.05, 0.95)


@dataclass(frozen=True)
class AbstractColumn(ABC):
    """A fitted column, and its kind.

    Attributes
    ----------
    name : name of the column
    rule : notation of its values, see :class:`Reading`
    has_missing : some training row has no value
    """

    kind: ClassVar[str]
    noun: ClassVar[str]
    plural: ClassVar[str]
    examples: ClassVar[tuple[str, ...]]
    #: its turn to inspect the texts of a new column, None for never: numbers have 0, booleans 1, dates 2,
    #: times 3, categories 9, and the first kind that claims the texts gets them
    rank: ClassVar[int | None] = None
    #: count of numbers that a value is read as
    width: ClassVar[int] = 1
    #: values are numbers, so that tables of such columns may be stored sparse
    is_number: ClassVar[bool] = False
    #: texts without units are numbers to Arrow
    is_plain: ClassVar[bool] = False
    #: values recur: each distinct one is parsed once
    recurs: ClassVar[bool] = True
    #: missing values are filled with a mean
    fills: ClassVar[bool] = False
    #: a missing value is a value of its own, never refused
    missing_is_a_value: ClassVar[bool] = False

    name: str
    rule: str = ""
    has_missing: bool = False

    # -- reading

    @classmethod
    def claims(cls, words: ColumnWords) -> str | None:
        """Return this kind's name if ``words`` match it, another kind's name if they match that, or None."""
        return None

    @classmethod
    def holds(cls, of: Any) -> bool:
        """Whether this kind takes columns of an Arrow type."""
        return False

    @classmethod
    def by_words(cls, of: Any) -> bool:
        """Whether columns of an Arrow type are read by the texts of their values."""
        return is_text(value_type(of))

    @classmethod
    @abstractmethod
    def parse(cls, words: Sequence[str | None], reading: Reading) -> Parsed:
        """Parse the distinct words of a column; None for a missing one."""

    @classmethod
    def from_arrow(cls, values: Any, reading: Reading, place: Place) -> Array | None:
        """Return the numbers (n,) of an Arrow array of another type; None if it is not of this kind."""
        return None

    @classmethod
    def read(
        cls, values: Any, reading: Reading, place: Place, refuse: Callable[[InputError, int], None]
    ) -> Array:
        """Return the numbers (n,) or (n, width) of an Arrow array, by words; ``refuse`` is called with the
        error of the first row with a wrong text, and the number of such rows.
        """
        distinct, indices = distinct_values(values)
        words = [word_of(value, reading.na) for value in distinct]
        parsed = cls.parse(words, reading)
        rows = np.flatnonzero(np.isin(indices, parsed.wrong)) if len(parsed.wrong) else indices[:0]
        if rows.size:
            word = words[indices[rows[0]]] or ""
            is_odd = 2 * len(parsed.wrong) < len(words)
            hint = parsed.hint or cls._hint(word, reading, is_odd=is_odd)
            what = parsed.what.format(repr(word[:60]))
            refuse(InputError(what, where=place(int(rows[0])), hint=hint), rows.size)
        # index -1, for null, selects the last
        null = np.full((1, *parsed.values.shape[1:]), np.nan)
        numbers: Array = np.concatenate([parsed.values, null])[indices]
        return numbers

    @classmethod
    def _hint(cls, word: str | None, reading: Reading, *, is_odd: bool) -> str:
        """Return how to correct a word; ``is_odd``: most words of the column are right."""
        if reading.is_target and is_odd and not reading.notation.is_fixed:
            return f"correct it, or give --na {word!r} --drop-missing-target if such rows have no target"
        if reading.is_target:
            return LABELS_OR_NUMBERS
        hints = ["correct it"]
        if not reading.notation.is_fixed:
            hints.append(reading.remedy("as_category"))
            missing = reading.notation.remedies.as_missing
            hints += [missing.format(repr(word))] if missing else []
        return ", or ".join(hints)

    @classmethod
    def parsed(cls, words: Sequence[str | None], values: Array, reading: Reading) -> Parsed:
        """Return the numbers of words; words with NaN are refused."""
        wrong = [at for at, word in enumerate(words) if word is not None and np.isnan(values[at])]
        return Parsed(values, wrong, f"{{}} is not {cls.noun}{reading.others}")

    # -- fitting

    @classmethod
    def facts(cls) -> Any:
        """Return empty facts of training rows."""
        return NumberFacts(cls.signals)

    @classmethod
    def signals(cls, values: Array) -> Array | None:
        """Return numbers (n, k) of values (n,) that the features increase or decrease with; None: the
        values.
        """
        return None

    @classmethod
    @abstractmethod
    def fit(cls, facts: Any, how: Fitting) -> AbstractColumn:
        """Return the column fitted to facts with at least one value."""

    def ranges(self, facts: Any, of_means: Ranges) -> Ranges:
        """Return the smallest and largest value of each feature on the training rows; ``of_means`` are the
        ranges of target means.
        """
        values = self.extremes(facts)
        values = np.append(values, np.nan) if self.has_missing else values
        found = np.zeros((len(values), len(self.features)))
        self.encode(values, found)
        low, high = found.min(axis=0, initial=np.inf), found.max(axis=0, initial=-np.inf)
        low[self.at_means], high[self.at_means] = of_means
        return low, high

    def extremes(self, facts: Any) -> Array:
        """Return present values for which features are smallest and largest."""
        found: Array = facts.extremes
        return found

    def refilled(self, value: float) -> Self:
        """Return the column with ``value``, in the unit of :meth:`parse`, for missing values."""
        return self

    def remark(self, facts: Any, reading: Reading) -> str:
        """Return a warning about the training rows with a remedy; "" if there is none."""
        return ""

    # -- encoding

    @property
    @abstractmethod
    def features(self) -> tuple[str, ...]:
        """Names of the features."""

    @abstractmethod
    def encode(self, values: Array, out: Array, means: Array | None = None) -> None:
        """Fill ``out``, (n, n_features) zeros, from values (n,) or (n, width).

        ``means`` (n, n_outputs): target means from other rows, instead of those of all rows.
        """

    @property
    def at_means(self) -> slice:
        """The features that are target means."""
        return slice(0, 0)

    @property
    def joint(self) -> tuple[slice, str]:
        """The features that mean nothing alone, and what they are for display."""
        return slice(0, 0), ""

    @property
    def encoding(self) -> str:
        """The encoding of values as features, in files."""
        return self.kind

    @property
    def is_identity(self) -> bool:
        """Whether the only feature is the value itself, where present."""
        return False

    @property
    def is_numeric(self) -> bool:
        """Whether the only feature is the value itself, present in all training rows."""
        return self.is_identity and not self.has_missing

    @property
    def signature(self) -> Any:
        """A value that is equal for columns with the same encoding."""
        return self.name if self.is_numeric else self

    @property
    def known(self) -> tuple[float, float]:
        """The interval of values like those of the training rows."""
        return -np.inf, np.inf

    @property
    def unseen(self) -> str:
        """Words for values unlike those of the training rows, in a note."""
        return ""

    @property
    def filled(self) -> str:
        """What a missing value becomes if no training row had one, in a note."""
        return "treated as unknown"

    @property
    def known_words(self) -> tuple[str, ...]:
        """Words by the codes of values."""
        return ()

    # -- describing

    @property
    def described(self) -> str:
        """The kind and the notation of the values."""
        return f"{self.plural}, {self.rule}" if self.rule else self.plural

    @property
    def becomes(self) -> str:
        """The features, in words."""
        n_means = len(self.features[self.at_means])
        counts = {"feature": len(self.features) - n_means, "mean target": n_means}
        parts = [f"{count:,} {what}{'s' * (count > 1)}" for what, count in counts.items() if count]
        return " and ".join(parts) or NOTHING

    @property
    def axis(self) -> Literal["number", "category", "date", "time"]:
        """Axis of the values on pages, see :class:`~distkern.show.explanation.Dependence`."""
        return "category"

    def grid(self, features: Array, most: int) -> Array:
        """Return at most ``most`` values for partial dependence, from features (n, n_features); none for
        columns with neither order nor categories.
        """
        return np.zeros(0)

    def shown(self, value: float, digits: int) -> float | str:
        """Return a value of the grid for display, rounded to ``digits`` significant digits."""
        return shown_number(value, digits)

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers, texts and lists, exact; defaults are left out."""
        usual = {one.name: one.default for one in fields(self)}
        given = {name: value for name, value in asdict(self).items() if value != usual[name]}
        return {**given, "name": self.name, "kind": self.kind, "encoding": self.encoding}


@dataclass(frozen=True)
class DroppedColumn(AbstractColumn):
    """A column without features: it has no values, or too many different ones.

    Attributes
    ----------
    dropped : its kind
    """

    dropped: str = "number"

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.dropped

    @classmethod
    def parse(cls, words: Sequence[str | None], reading: Reading) -> Parsed:
        return Parsed(np.full(len(words), np.nan))

    @classmethod
    def fit(cls, facts: Any, how: Fitting) -> DroppedColumn:
        return cls(how.reading.name)

    def extremes(self, facts: Any) -> Array:
        return np.zeros(0)

    @property
    def features(self) -> tuple[str, ...]:
        return ()

    def encode(self, values: Array, out: Array, means: Array | None = None) -> None:
        """Do nothing."""

    @property
    def encoding(self) -> str:
        return DROP

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind, "encoding": self.encoding}


def kind_name(kind: type) -> str | None:
    """Return the kind that a class declares itself, ignoring its bases; None if it declares none."""
    found = vars(kind).get("kind")
    return found if isinstance(found, str) else None


def shown_number(value: float, digits: int) -> float:
    """Round a number to ``digits`` significant digits."""
    return float(f"{value:.{digits}g}")


def spread(values: Array, most: int) -> Array:
    """Return the distinct values, or quantiles if there are more than ``most``."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= most:
        return distinct
    shares = np.linspace(*_WITHIN, most)
    found = np.unique(np.quantile(values, shares, method="inverted_cdf"))
    if len(found) > most // 2:
        return found
    # one value dominates, as zero does in sparse columns
    return np.union1d(distinct[counts.argmax()], np.quantile(distinct, shares[1:], method="inverted_cdf"))


@dataclass(frozen=True)
class AbstractMeasure(AbstractColumn):
    """Numbers on a scale.

    Attributes
    ----------
    fill : replacement for a missing number, in ``unit``
    flag : a last feature is 1 where the value is missing, else 0
    span : smallest and largest number of the training rows
    """

    #: unit of the first feature
    unit: ClassVar[float] = 1.0
    #: share of the span by which numbers may lie outside it without a note; None: no span is kept
    far: ClassVar[float | None] = None

    fill: float = 0.0
    flag: bool = False
    span: tuple[float, float] | None = None

    @classmethod
    def fit(cls, facts: Any, how: Fitting) -> Self:
        missing = facts.n_present < how.n_rows
        return cls(
            how.reading.name,
            how.reading.rule,
            has_missing=missing,
            fill=facts.mean / cls.unit,
            flag=missing and how.flags,
            span=None if cls.far is None else (facts.low, facts.high),
        )

    def refilled(self, value: float) -> Self:
        return replace(self, fill=value / self.unit)

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the features that mark missing values."""
        return (f"{self.name} is missing",) if self.flag else ()

    @property
    def filled(self) -> str:
        value = self.shown(self.fill * self.unit, 4)
        return f"filled with {value if isinstance(value, str) else format(value, 'g')}"

    def there(self, features: Array) -> Array:
        """Return the features of rows with a value, as far as the features show it."""
        return features[features[:, -1] < 0.5] if self.flag else features

    @property
    def known(self) -> tuple[float, float]:
        if self.span is None or self.far is None:
            return -np.inf, np.inf
        (low, high), far = self.span, self.far
        return low - far * (high - low), high + far * (high - low)
