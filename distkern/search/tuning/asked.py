"""What a search is asked for, as :func:`distkern.tune` and the table ``[search]`` of a job file say it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from distkern.common.errors import InputError, unknown_name

METHODS = ("grid", "random", "halving")
#: significant digits of a number that is drawn: more tell nothing, and are hard to read
_DIGITS = 4
_MEND = "give a list of values, or {low = 0.1, high = 10.0, log = true}"


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both among them; whole ones if both ends are.

    Attributes
    ----------
    log : drawn uniformly on a logarithmic scale
    points : how many of them a grid has, evenly apart on that scale; None: it is drawn from only

    Raises
    ------
    InputError
        If it holds nothing, or has no logarithm.
    """

    low: float
    high: float
    log: bool = False
    points: int | None = None

    def __post_init__(self) -> None:
        what, hint = "", "give low < high"
        if not (math.isfinite(self.low) and math.isfinite(self.high)) or self.low >= self.high:
            what = f"a range from {self.low:g} to {self.high:g}"
        elif self.log and self.low <= 0:
            what, hint = f"a logarithmic range from {self.low:g}", "let it begin above 0, or leave log out"
        elif self.points is not None and self.points < 2:
            what, hint = f"a grid of {self.points} points", "give at least 2"
        if what:
            raise InputError(what, hint=hint)

    @property
    def is_whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def rvs(self, random_state: Any = None) -> float:
        """A number, drawn as :class:`sklearn.model_selection.ParameterSampler` asks for it."""
        from sklearn.utils import check_random_state

        share = float(check_random_state(random_state).uniform())
        if not self.is_whole:
            return self._at(share, self.high)
        # every whole number is as likely as it is wide, the last one too
        return min(math.floor(self._at(share, self.high + 1)), self.high)

    def grid(self) -> list[float]:
        """Its points, without repetition."""
        assert self.points is not None
        places = (self._at(share, self.high) for share in np.linspace(0, 1, self.points).tolist())
        return list(dict.fromkeys(round(place) if self.is_whole else place for place in places))

    def _at(self, share: float, high: float) -> float:
        if self.log:
            value = self.low * (high / self.low) ** share
        else:
            value = self.low + share * (high - self.low)
        return value if self.is_whole else min(max(float(f"{value:.{_DIGITS}g}"), self.low), high)


def values_of(name: str, given: Any) -> Sequence[Any] | Range:
    """The values of a hyperparameter that are asked for; raises :class:`InputError` that names it."""
    if isinstance(given, Range):
        return given
    if isinstance(given, Mapping):
        known = [one.name for one in fields(Range)]
        for key in given:
            if key not in known:
                error = unknown_name("key of a range", key, known)
                raise InputError(error.what, where=name, hint=error.hint)
        try:
            return Range(**given)
        except TypeError:
            raise InputError(f"not a range: {dict(given)!r}", where=name, hint=_MEND) from None
        except InputError as error:
            raise InputError(error.what, where=name, hint=error.hint) from None
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise InputError(f"is {given!r}", where=name, hint=_MEND)
    if not len(given):
        raise InputError("an empty list", where=name, hint="give at least one value")
    return [value.item() if isinstance(value, np.generic) else value for value in given]


@dataclass(frozen=True)
class Asked:
    """What is tried and how; the fields are the keys of the table.

    Attributes
    ----------
    method : "grid", "random" or "halving", see :func:`distkern.search.tuning.api.tune`
    candidates : how many are drawn
    validation : share of the training rows that are held out, or a number of folds
    metric : by which they are compared
    factor : of halving, one of so many goes on
    params : hyperparameter -> list of values, or what a :class:`Range` is of; none: those that are worth it

    Raises
    ------
    InputError
        For a value that one of them cannot have; ``where`` is its name, or that of the hyperparameter.
    """

    method: str | None = None
    candidates: int | None = None
    validation: float | int = 0.2
    metric: str | None = None
    factor: int = 3
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.method not in (None, *METHODS):
            error = unknown_name("method", str(self.method), METHODS)
            raise InputError(error.what, where="method", hint=error.hint)
        is_share = isinstance(self.validation, float) and 0 < self.validation < 1
        if not (is_share or _is_whole(self.validation, 2)):
            raise InputError(
                f"is {self.validation!r}",
                where="validation",
                hint="give a share of the rows, like 0.2, or a number of folds, like 5",
            )
        check_whole("factor", self.factor, 2)
        if self.candidates is not None:
            check_whole("candidates", self.candidates, 1)
        if not isinstance(self.params, Mapping):
            raise InputError(f"is {self.params!r}", where="params", hint="write [search.params] above them")
        for name, values in self.params.items():
            values_of(name, values)

    @property
    def way(self) -> str:
        """The method, that of what is asked for where none is named."""
        return self.method or ("grid" if self.params else "halving")

    @property
    def space(self) -> dict[str, Sequence[Any] | Range]:
        """The values of each hyperparameter that are asked for."""
        return {name: values_of(name, values) for name, values in self.params.items()}

    @classmethod
    def of_table(cls, given: Any, where: str) -> Asked:
        """From the table of a job file at ``where``, by which messages begin.

        Raises
        ------
        InputError
            For what is no table, or an unknown key, with the nearest right one; and as the class.
        """
        if not isinstance(given, dict):
            raise InputError(
                "key 'search' is not a table", where=where, hint="write [search] and its keys below"
            )
        known = [one.name for one in fields(cls)]
        for key in given:
            if key not in known:
                error = unknown_name("key of [search]", key, known)
                raise InputError(error.what, where=where, hint=error.hint)
        try:
            return cls(**given)
        except InputError as error:
            raise InputError(error.what, where=f"{where}, {place_of(error)}", hint=error.hint) from None


def place_of(error: InputError) -> str:
    """Where in a job file the cause of an error is whose ``where`` is a key or a hyperparameter."""
    is_key = error.where in [one.name for one in fields(Asked)]
    return f"[search], key {error.where!r}" if is_key else f"[search.params], {error.where!r}"


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse what is no whole number of at least so much."""
    if not _is_whole(value, least):
        raise InputError(f"is {value!r}", where=name, hint=f"give a whole number >= {least}")


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
