"""The request for a search, and the settings it tries: a full grid, or settings drawn by the seed.

A search is requested by :func:`distkern.tune` or the table ``[search]`` of a job file. Without given values
it tries those that the hyperparameters of the algorithm declare
(:meth:`~distkern.core.parameters.Parameter.space`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from distkern.choose.tuning.record import TuningCandidate
from distkern.core.errors import InputError, invalid_value, nearest, unknown_name
from distkern.data.dataset import Split

if TYPE_CHECKING:
    from distkern.runs.data import TrainingData

METHODS = ("grid", "random", "halving")
#: significant digits of drawn numbers, for readability
_DIGITS = 4
_VALUES = "a list of values or a range such as {low = 0.1, high = 10.0, log = true}"


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included; integers if both ends are.

    Attributes
    ----------
    log : draw uniformly on a logarithmic scale
    points : number of points in a grid, evenly spaced on that scale; None: only drawn

    Raises
    ------
    InputError
        If the range is empty or has no logarithm.
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
            what, hint = f"a logarithmic range from {self.low:g}", "give low > 0, or leave log out"
        elif self.points is not None and self.points < 2:
            what, hint = f"a grid of {self.points} points", "give at least 2"
        if what:
            raise InputError(what, hint=hint)

    @property
    def is_whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def rvs(self, random_state: Any = None) -> float:
        """Draw a number, as :class:`sklearn.model_selection.ParameterSampler` requires."""
        from sklearn.utils import check_random_state

        share = float(check_random_state(random_state).uniform())
        if not self.is_whole:
            return self._at(share, self.high)
        # every integer, also the last, has a probability proportional to its width
        return min(math.floor(self._at(share, self.high + 1)), self.high)

    def grid(self) -> list[float]:
        assert self.points is not None
        places = (self._at(share, self.high) for share in np.linspace(0, 1, self.points).tolist())
        return list(dict.fromkeys(round(place) if self.is_whole else place for place in places))

    def _at(self, share: float, high: float) -> float:
        if self.log:
            value = self.low * (high / self.low) ** share
        else:
            value = self.low + share * (high - self.low)
        return value if self.is_whole else min(max(float(f"{value:.{_DIGITS}g}"), self.low), high)


@dataclass(frozen=True)
class Distribution:
    """A distribution with its own sampler, such as a frozen one of ``scipy.stats``."""

    given: Any
    points: None = None

    def rvs(self, random_state: Any = None) -> Any:
        value = self.given.rvs(random_state=random_state)
        value = value.item() if hasattr(value, "item") else value
        return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


#: values to draw; a range may also have grid points
Drawable: TypeAlias = Range | Distribution


def values_of(name: str, given: Any) -> Sequence[Any] | Drawable:
    """Return the requested values of a hyperparameter; raises :class:`InputError` that names it.

    Optuna distributions become lists and ranges.
    """
    if isinstance(given, Drawable):
        return given
    if hasattr(given, "rvs"):
        return Distribution(given)
    if type(given).__module__.startswith("optuna."):
        given = _of_optuna(name, given)
    if isinstance(given, Mapping):
        known = [one.name for one in fields(Range)]
        for key in given:
            if key not in known:
                error = unknown_name("key of a range", key, known)
                raise InputError(error.what, where=name, hint=error.hint)
        try:
            return Range(**given)
        except TypeError:
            raise invalid_value(name, dict(given), _VALUES) from None
        except InputError as error:
            raise InputError(error.what, where=name, hint=error.hint) from None
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise invalid_value(name, given, _VALUES)
    if not len(given):
        raise InputError("must have at least one value", where=name)
    return [value.item() if isinstance(value, np.generic) else value for value in given]


def _of_optuna(name: str, given: Any) -> Any:
    """Return a distribution of Optuna as a list or as the keys of a :class:`Range`."""
    if hasattr(given, "choices"):
        return list(given.choices)
    low, high, step, log = (getattr(given, key, None) for key in ("low", "high", "step", "log"))
    if low is None or high is None:
        raise invalid_value(name, given, _VALUES)
    if low == high:
        return [low]
    if step is None or (step == 1 and isinstance(low, int)):
        return {"low": low, "high": high, "log": bool(log)}
    n_steps = math.floor((high - low) / step + 1e-9)
    return [low + number * step for number in range(n_steps + 1)]


@dataclass(frozen=True)
class SearchTable:
    """The search of a job; its fields are the keys of the table [search].

    Attributes
    ----------
    method : "grid", "random" or "halving", see :func:`distkern.choose.tuning.tune.tune`
    candidates : number of candidates to draw
    validation : share of held-out training rows, or a number of folds
    metric : figure by which candidates are compared
    factor : in halving, one of ``factor`` candidates continues
    params : hyperparameter -> list of values, or the keys of a :class:`Range`; empty: the default ranges

    Raises
    ------
    InputError
        For an invalid value; ``where`` is the name of the field or the hyperparameter.
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
            accepted = "a share of the rows, like 0.2, or a number of folds, like 5"
            raise invalid_value("validation", self.validation, accepted)
        check_whole("factor", self.factor, 2)
        if self.candidates is not None:
            check_whole("candidates", self.candidates, 1)
        if not isinstance(self.params, Mapping):
            raise invalid_value("params", self.params, "a table: write [search.params] above the values")
        for name, values in self.params.items():
            values_of(name, values)

    @property
    def chosen_method(self) -> str:
        """The given method, or the one that suits the given values."""
        if self.method is not None or not self.params:
            return self.method or "halving"
        return "random" if any(_is_open(values) for values in self.space.values()) else "grid"

    @property
    def space(self) -> dict[str, Sequence[Any] | Drawable]:
        return {name: values_of(name, values) for name, values in self.params.items()}

    @classmethod
    def of_table(cls, given: Any, where: str) -> SearchTable:
        """Return the search of a job file's table; ``where`` starts the messages.

        Raises
        ------
        InputError
            If it is not a table or has an unknown key, with the nearest known one; and as the class.
        """
        if not isinstance(given, dict):
            raise InputError(
                "key 'search' is not a table", where=where, hint="write [search] and its keys below"
            )
        known = [one.name for one in fields(cls)]
        for key in given:
            if key not in known:
                error = unknown_name("key of [search]", key, known)
                hint = f"write {key} below [search.params] if it is a hyperparameter"
                # a misspelt key has a hint of its own
                raise InputError(
                    error.what, where=where, hint=hint if nearest(key, known) is None else error.hint
                )
        try:
            return cls(**given)
        except InputError as error:
            raise InputError(error.what, where=f"{where}, {place_of(error)}", hint=error.hint) from None


def place_of(error: InputError) -> str:
    """Return the place in a job file for an error whose ``where`` is a key or a hyperparameter."""
    is_key = error.where in [one.name for one in fields(SearchTable)]
    return f"[search], key {error.where!r}" if is_key else f"[search.params], {error.where!r}"


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse values other than integers of at least ``least``."""
    if not _is_whole(value, least):
        raise invalid_value(name, value, f"an integer >= {least}")


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


#: default number of drawn candidates
DRAWN = 10
#: default number of candidates without given values
_OWN = 20


def own_candidates(
    estimator: Any, split: Split, method: str, n_tried: int | None, seed: int, given: Collection[str] = ()
) -> list[TuningCandidate]:
    """Return settings of the hyperparameters worth searching: first the estimator's own, then others.

    For an estimator that chooses its algorithm, they are settings of the chosen one. Hyperparameters without
    an effect and incompatible settings are left out.

    Parameters
    ----------
    n_tried : number of settings; None: 20, or all of a grid
    given : hyperparameters that are not searched, in addition to those set on the estimator

    Raises
    ------
    InputError
        If nothing is left to try, or as :func:`settings_of`.
    """
    # reading a job does not import scikit-learn
    from sklearn.base import clone

    from distkern.model.settings import has_effect
    from distkern.passes import Machine
    from distkern.runs.limits import refuse_choice

    recipe = estimator.recipe()
    refuse_choice(recipe, recipe.data_of(split), split, lambda: Machine("synchronous", 1), has_test=False)
    given, estimator = estimator.changed().union(given), estimator.named(split)
    known = estimator.recipe().settings.given
    space = {
        name: list(dict.fromkeys([getattr(estimator, name), *values]))
        for name, parameter in estimator.hyperparameters.items()
        if name not in given
        and (values := parameter.space(split.n_rows))
        and has_effect(estimator.hyperparameters, known, name)
    }
    if not space:
        raise InputError(
            f"nothing is left to search: all hyperparameters of {estimator.name} worth searching are set",
            hint="set fewer of them, give values to try, or train with these settings (`distkern train`)",
        )
    if method != "grid":
        n_tried = n_tried or min(_OWN, math.prod(map(len, space.values())))
    drawn = settings_of(space, method, n_tried, seed)
    own = {name: values[0] for name, values in space.items()}
    data = estimator.recipe().data_of(split)
    tried = [own, *(one for one in drawn if one != own and _is_legal(estimator, one, data))][:n_tried]
    return [
        TuningCandidate(number, one, clone(estimator).set_params(**one)) for number, one in enumerate(tried)
    ]


def _is_legal(estimator: Any, settings: Mapping[str, Any], data: TrainingData) -> bool:
    """Return whether the settings are compatible with each other and with the stored rows."""
    from sklearn.base import clone

    from distkern.runs.scaled import spreading

    made = clone(estimator).set_params(**settings)
    try:
        recipe = made.recipe()
        recipe.check()
        spreading(data, recipe.own_scale(data))
    except InputError:
        return False
    return True


def settings_of(
    parameters: Mapping[str, Sequence[Any] | Drawable], method: str, n_drawn: int | None, seed: int
) -> list[dict[str, Any]]:
    """Return the settings to try, in order and without repetition: all combinations, or drawn ones.

    "grid" tries all combinations and "random" draws some. "halving" tries all, unless a number of candidates
    is given or a range has no points.

    Raises
    ------
    InputError
        If there is nothing to try, the method cannot try it, or there are fewer combinations than requested;
        ``where`` is the parameter or "candidates".
    """
    from sklearn.model_selection import ParameterGrid

    if not parameters:
        raise InputError("nothing to try", where="params", hint="give lists of values or ranges")
    open_ranges = [name for name, values in parameters.items() if _is_open(values)]
    if method == "grid" and open_ranges:
        raise InputError(
            "is a range or distribution, but a grid needs values",
            where=open_ranges[0],
            hint="give a list, add points = 5 to the range, or use method random or halving",
        )
    if method == "grid" and n_drawn is not None:
        raise InputError(
            "has no effect with method grid", where="candidates", hint="leave it out, or use method random"
        )
    if method == "grid" or (method == "halving" and n_drawn is None and not open_ranges):
        grid = {name: _points(values) for name, values in parameters.items()}
        return [_in_order(found, parameters) for found in ParameterGrid(grid)]
    return _drawn(parameters, DRAWN if n_drawn is None else n_drawn, seed, given=n_drawn is not None)


def _is_open(values: Sequence[Any] | Drawable) -> bool:
    """Return whether values are drawn because they have no list."""
    return isinstance(values, Drawable) and values.points is None


def _points(values: Sequence[Any] | Drawable) -> list[Any]:
    return values.grid() if isinstance(values, Range) else list(cast("Sequence[Any]", values))


def _drawn(
    parameters: Mapping[str, Sequence[Any] | Drawable], n_drawn: int, seed: int, *, given: bool
) -> list[dict[str, Any]]:
    from sklearn.model_selection import ParameterGrid, ParameterSampler

    space = {
        name: values if isinstance(values, Drawable) else list(values) for name, values in parameters.items()
    }
    if all(isinstance(values, list) for values in space.values()):
        size = len(ParameterGrid(space))
        if n_drawn > size and given:
            raise InputError(
                f"{n_drawn} are requested, but there are {size} combinations",
                where="candidates",
                hint=f"give at most {size}, or use method grid",
            )
        n_drawn = min(n_drawn, size)
    found: list[dict[str, Any]] = []
    for setting in ParameterSampler(space, n_drawn, random_state=seed):
        ordered = _in_order(setting, parameters)
        if ordered not in found:
            found.append(ordered)
    return found


def _in_order(setting: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: setting[name] for name in parameters}
