"""Parameters: name, kind, range, default and help, declared once, where they are used.

A loss, kernel or solver is a frozen dataclass; its fields made by :func:`parameter` are its parameters.
Refusals, signatures of estimators, checks of job files and ``--set``, and tables in docstrings all come from
the declaration.
"""

from __future__ import annotations

import dataclasses
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from distkern.core.choices import Choices
from distkern.core.errors import InputError, invalid_value, nearest, other_way
from distkern.core.registry import Family

_KEY = "parameter"

_UNITS = {"": 1, "b": 1}
_UNITS |= {
    prefix + ending: base**power
    for power, prefix in enumerate("kmgt", start=1)
    for ending, base in (("ib", 1024), ("i", 1024), ("b", 1000), ("", 1000))
}
#: fewer bytes without a unit are probably a mistake
_LEAST = 10**6
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*")


class AbstractKind(ABC):
    """A set of values that a parameter may have."""

    @abstractmethod
    def accepts(self, value: Any) -> bool:
        """Whether the set contains the value."""

    @property
    @abstractmethod
    def description(self) -> str:
        """Return the accepted values in words, for messages and tables."""

    @property
    def annotation(self) -> str:
        """Return the type of values other than :attr:`words`, for type checkers."""
        return ""

    @property
    def docstring_type(self) -> str:
        """Return the same as scikit-learn's docstrings write types."""
        return self.annotation

    @property
    def words(self) -> tuple[str, ...]:
        """Return the accepted words."""
        return ()

    def refusal(self, value: Any) -> InputError | None:
        """Return an error that says more than the description about a refused value, or None."""
        return None

    def clean(self, value: Any) -> Any:
        """Return an accepted value as a plain Python object."""
        return value


@dataclass(frozen=True)
class Number(AbstractKind):
    """Finite numbers from ``least`` to ``most``; an ``open`` end is excluded."""

    least: float = -math.inf
    most: float = math.inf
    open: tuple[bool, bool] = (False, False)
    noun = "a number"
    annotation = "float"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
            return False
        value = float(value)
        above = value > self.least if self.open[0] else value >= self.least
        return bool(above and (value < self.most if self.open[1] else value <= self.most))

    @property
    def description(self) -> str:
        return "a positive number" if self == POSITIVE else f"{self.noun}{self._range}"

    @property
    def docstring_type(self) -> str:
        return f"{self.annotation}{self._range}"

    @property
    def _range(self) -> str:
        if math.isinf(self.least) and math.isinf(self.most):
            return ""
        if math.isinf(self.most):
            return f" {'>' if self.open[0] else '>='} {self.least:g}"
        if math.isinf(self.least):
            return f" {'<' if self.open[1] else '<='} {self.most:g}"
        left, right = "(" if self.open[0] else "[", ")" if self.open[1] else "]"
        # the largest seed has ten digits
        return f" in {left}{self.least:.10g}, {self.most:.10g}{right}"

    def clean(self, value: Any) -> Any:
        return float(value)


@dataclass(frozen=True)
class Whole(Number):
    """Integers from ``least`` to ``most``."""

    least: float = 1
    noun = "an integer"
    annotation = "int"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Integral) and super().accepts(value)

    def clean(self, value: Any) -> int:
        return int(value)


#: value of parameters that are chosen from the data
AUTO = "auto"
POSITIVE = Number(0, open=(True, False))
NOT_NEGATIVE = Number(0)


@dataclass(frozen=True)
class Numbers(AbstractKind):
    """A number of the given kind, or a nonempty sequence of them, of ``length`` if given."""

    kind: Number
    length: int | None = None
    annotation = "float | Sequence[float]"
    docstring_type = "float or list of float"

    def accepts(self, value: Any) -> bool:
        numbers = _as_list(value)
        known = len(numbers) == self.length if self.length is not None else bool(numbers)
        return known and all(self.kind.accepts(number) for number in numbers)

    @property
    def description(self) -> str:
        count = "numbers" if self.length is None else f"{self.length} numbers"
        return f"a list of {count}, each {self.kind.description}"

    def clean(self, value: Any) -> tuple[float, ...]:
        return tuple(self.kind.clean(number) for number in _as_list(value))


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else np.atleast_1d(value).ravel().tolist()


class Words(AbstractKind):
    """Words, and the names of the members of a family, looked up on demand.

    ``purpose`` returns what an excluded member is for: ``for regression``.
    """

    def __init__(
        self, *words: str, of: Family[Any] | None = None, purpose: Callable[[str], str] | None = None
    ) -> None:
        self._words, self._of, self._purpose = words, of, purpose

    @property
    def words(self) -> tuple[str, ...]:
        return self._words if self._of is None else (*self._words, *self._of)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and (
            value in self._words or (self._of is not None and value in self._of)
        )

    @property
    def description(self) -> str:
        return ", ".join(repr(word) for word in self.words)

    def excluded(self, value: str) -> str | None:
        """Return what a member of the family is for that this kind excludes, or None for other words."""
        if self._of is None or self.accepts(value) or value not in replace(self._of, which=None):
            return None
        return "that" if self._purpose is None else f"{self._purpose(value)} and"

    def clean(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True)
class Literal(AbstractKind):
    """Single values, compared by type as well: True is not 1."""

    values: tuple[Any, ...]
    description: str = ""

    def accepts(self, value: Any) -> bool:
        plain = bool(value) if isinstance(value, np.bool_) else value
        return any(type(plain) is type(one) and plain == one for one in self.values)

    @property
    def annotation(self) -> str:
        return " | ".join(dict.fromkeys("None" if one is None else type(one).__name__ for one in self.values))

    def clean(self, value: Any) -> Any:
        return bool(value) if isinstance(value, np.bool_) else value


FLAG = Literal((True, False), "true or false")
NOTHING = Literal((None,), "none")
#: description -> its parts, in a list of other alternatives
_ALTERNATIVES = {FLAG.description: ["true", "false"]}


@dataclass(frozen=True)
class Instance(AbstractKind):
    """Instances of a type."""

    type: type
    description: str = ""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.type)

    @property
    def annotation(self) -> str:
        return "dict[Any, Any]" if self.type is dict else self.type.__name__

    @property
    def docstring_type(self) -> str:
        return "dict" if self.type is dict else f"{self.type.__name__} instance"


@dataclass(frozen=True)
class Parameter:
    """A parameter.

    Attributes
    ----------
    default : its default value
    kinds : accepted kinds of values; the first that accepts a value cleans it
    help : its meaning, one clause
    used_with : other parameters, each with the values for which this one has an effect
    searched : candidates for "auto", if allowed
    tried : candidates for ``distkern tune``; None: those of ``searched``
    """

    default: Any
    kinds: tuple[AbstractKind, ...]
    help: str
    used_with: Mapping[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict)
    searched: Choices | None = None
    tried: Choices | None = None

    def space(self, n_rows: int) -> list[Any]:
        """Return the values that ``distkern tune`` tries for ``n_rows`` rows, the default first; none if
        fixed.
        """
        choices = self.tried or self.searched
        if choices is None:
            return []
        return list(dict.fromkeys([self.default, choices.default, *choices.at(n_rows)]))

    @property
    def description(self) -> str:
        """Return the accepted values in words."""
        words = list(map(repr, dict.fromkeys(self.words)))
        others = [kind.description for kind in self.kinds if not kind.words and not kind.accepts(None)]
        alternatives = [one for other in others for one in _ALTERNATIVES.get(other, [other])]
        return in_words([*alternatives, *words, *["none"] * self.can_be_none])

    @property
    def annotation(self) -> str:
        """Return its type for type checkers."""
        words = ", ".join(f'"{word}"' for word in dict.fromkeys(self.words))
        types = [f"Literal[{words}]" if words else "", *(kind.annotation for kind in self.kinds)]
        return " | ".join(dict.fromkeys(one for one in types if one))

    @property
    def docstring_type(self) -> str:
        """Return its type and default as scikit-learn's docstrings write them.

        >>> Parameter(AUTO, (POSITIVE, Words("auto", "scale"), NOTHING), "").docstring_type
        'float > 0, {"auto", "scale"} or None, default="auto"'
        """
        words = [f'"{word}"' for word in dict.fromkeys(self.words)]
        choice = f"{{{', '.join(words)}}}" if len(words) > 1 else "".join(words)
        types = dict.fromkeys([*(kind.docstring_type for kind in self.kinds), choice])
        ordered = sorted(filter(None, types), key=lambda one: one == "None")
        default = f'"{self.default}"' if isinstance(self.default, str) else repr(self.default)
        return f"{in_words(ordered)}, default={default}"

    @property
    def words(self) -> list[str]:
        """Return the accepted words."""
        return [word for kind in self.kinds for word in kind.words]

    @property
    def can_be_none(self) -> bool:
        return any(kind.accepts(None) for kind in self.kinds)

    def clean(self, name: str, value: Any) -> Any:
        """Return the value as a plain Python object.

        Raises :class:`InputError`, naming the parameter, the accepted values and, for a word, the nearest
        accepted one.
        """
        for kind in self.kinds:
            if kind.accepts(value):
                return kind.clean(value)
            if (refusal := kind.refusal(value)) is not None:
                raise InputError(refusal.what, where=name, hint=refusal.hint)
        if isinstance(value, str) and self.words:
            for kind in self.kinds:
                if isinstance(kind, Words) and (which := kind.excluded(value)):
                    what = f"{value!r} is a {name} {which} cannot be used here"
                    raise InputError(what, where=name, hint=f"use {self.description}")
            close = nearest(value, self.words)
            if close or other_way(name, value):
                hint = other_way(name, value) or f"did you mean {close!r}?"
                raise InputError(f"unknown value {value!r}", where=name, hint=hint)
        # 1e3 is a float
        whole = int(value) if isinstance(value, float) and value.is_integer() else None
        fits = whole is not None and any(kind.accepts(whole) for kind in self.kinds)
        raise invalid_value(name, value, self.description, f"write {whole}" if fits else None)


def in_words(alternatives: Sequence[str]) -> str:
    """Return alternatives as a list.

    >>> in_words(["a number", "'auto'", "none"])
    "a number, 'auto' or none"
    """
    return " or ".join(filter(None, [", ".join(alternatives[:-1]), *alternatives[-1:]]))


def parameter(
    default: Any, *kinds: AbstractKind, help: str, tried: Choices | None = None, **used_with: tuple[Any, ...]
) -> Any:
    """Return a dataclass field for a parameter; for ``used_with`` see :class:`Parameter`."""
    one = Parameter(default, kinds, help, used_with, tried=tried)
    return field(default=default, metadata={_KEY: one})


def redeclared(kind: type, name: str, default: Any) -> Any:
    """Return a field for a parameter of another dataclass with another default."""
    one = dataclasses.replace(declared(kind)[name], default=default)
    return field(default=default, metadata={_KEY: one})


def declared(kind: type) -> dict[str, Parameter]:
    """Return the parameters that a dataclass declares, by name."""
    return {one.name: one.metadata[_KEY] for one in dataclasses.fields(kind) if _KEY in one.metadata}


class Declared:
    """A frozen dataclass that refuses wrong values of its parameters and cleans accepted ones."""

    def __post_init__(self) -> None:
        for name, declaration in declared(type(self)).items():
            value = getattr(self, name)
            # a default is clean
            if value is not declaration.default:
                object.__setattr__(self, name, declaration.clean(name, value))


def parse_bytes(text: str) -> int:
    """Parse a number of bytes such as ``"512MiB"``, ``"1.5 GB"`` or ``"1048576"``.

    Raises :class:`InputError` if it is not a positive number with a known unit, or has no unit and is below 1
    MB.
    """
    match = _SIZE.fullmatch(text)
    unit = match[2].lower() if match else None
    size = int(float(match[1]) * _UNITS[unit]) if match and unit in _UNITS else 0
    if size < 1:
        raise invalid_value(None, text, "a size such as '512MiB' or '2GB'")
    if not unit and size < _LEAST:
        raise InputError(f"must have a unit, got {text}", hint=f"write for instance {text}MiB")
    return size


class Bytes(AbstractKind):
    """Sizes of memory: a text or a number of bytes."""

    description = "a size like '512MiB', or a number of bytes"
    annotation = "int | str"
    docstring_type = "int or str"

    def accepts(self, value: Any) -> bool:
        return _may_be_size(value) and self.refusal(value) is None

    def refusal(self, value: Any) -> InputError | None:
        if _may_be_size(value):
            try:
                self.clean(value)
            except InputError as error:
                return error
        return None

    def clean(self, value: Any) -> int:
        return parse_bytes(str(value))


def _may_be_size(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, Integral) and not isinstance(value, bool))
