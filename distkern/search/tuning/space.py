"""Which settings are tried: lists of values and ranges of numbers, on a grid or drawn by the seed.

Unless values are given, those are tried that the hyperparameters of an algorithm declare as worth it
(:meth:`~distkern.common.parameters.Parameter.space`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler

from distkern.common.errors import InputError
from distkern.search.tuning.asked import Range
from distkern.search.tuning.record import Candidate
from distkern.storage.dataset import Split

#: that are drawn where no number is given
DRAWN = 10
#: candidates where no values are given either
_OWN = 20


def own_candidates(
    estimator: Any, split: Split, method: str, n_tried: int | None, seed: int, given: Collection[str] = ()
) -> list[Candidate]:
    """Settings of hyperparameters that are worth a search: first the estimator's own, then others.

    For an estimator that chooses its algorithm, they are settings of the one that it chooses for the split.
    Left out are hyperparameters without an effect beside the others, and settings that do not go together.

    Parameters
    ----------
    n_tried : how many settings; None: 20, or all of a grid
    given : hyperparameters that are not searched, beside those that the estimator was given

    Raises
    ------
    InputError
        If nothing is left to try, or as :func:`settings_of`.
    """
    given, estimator = estimator.changed().union(given), estimator.named(split)
    space = {
        name: list(dict.fromkeys([getattr(estimator, name), *values]))
        for name, parameter in estimator.hyperparameters.items()
        if name not in given and (values := parameter.space(split.n_rows)) and estimator.has_effect(name)
    }
    if not space:
        raise InputError(
            f"all that is worth a search of {estimator.name} is set",
            where="params",
            hint="name values that are to be tried, or set less",
        )
    if method != "grid":
        n_tried = n_tried or min(_OWN, math.prod(map(len, space.values())))
    drawn = settings_of(space, method, n_tried, seed)
    own = {name: values[0] for name, values in space.items()}
    tried = [own, *(one for one in drawn if one != own and _is_legal(estimator, one))][:n_tried]
    return [Candidate(number, one, clone(estimator).set_params(**one)) for number, one in enumerate(tried)]


def _is_legal(estimator: Any, settings: Mapping[str, Any]) -> bool:
    try:
        clone(estimator).set_params(**settings).check_parameters()
    except InputError:
        return False
    return True


def settings_of(
    parameters: Mapping[str, Sequence[Any] | Range], method: str, n_drawn: int | None, seed: int
) -> list[dict[str, Any]]:
    """The settings that are tried, in order: all combinations, or some that are drawn, none of them twice.

    "grid" tries all combinations, "random" some; "halving" all of them, unless a number to be drawn is given
    or there are ranges without a number of points.

    Raises
    ------
    InputError
        If there is nothing to try, the method cannot try it, or there are fewer combinations than are asked
        for; ``where`` is the parameter or "candidates".
    """
    if not parameters:
        raise InputError("nothing to try", where="params", hint="give lists of values or ranges")
    open_ranges = [
        name for name, values in parameters.items() if isinstance(values, Range) and values.points is None
    ]
    if method == "grid" and open_ranges:
        raise InputError(
            "is a range, and a grid has values",
            where=open_ranges[0],
            hint="give a list, add points = 5 to the range, or take method random or halving",
        )
    if method == "grid" and n_drawn is not None:
        raise InputError(
            "has no effect with method grid", where="candidates", hint="leave it out, or take method random"
        )
    if method == "grid" or (method == "halving" and n_drawn is None and not open_ranges):
        grid = {name: _points(values) for name, values in parameters.items()}
        return [_in_order(found, parameters) for found in ParameterGrid(grid)]
    return _drawn(parameters, DRAWN if n_drawn is None else n_drawn, seed, given=n_drawn is not None)


def _points(values: Sequence[Any] | Range) -> list[Any]:
    return values.grid() if isinstance(values, Range) else list(values)


def _drawn(
    parameters: Mapping[str, Sequence[Any] | Range], n_drawn: int, seed: int, *, given: bool
) -> list[dict[str, Any]]:
    space = {
        name: list(values) if not isinstance(values, Range) else values for name, values in parameters.items()
    }
    if all(isinstance(values, list) for values in space.values()):
        size = len(ParameterGrid(space))
        if n_drawn > size and given:
            raise InputError(
                f"{n_drawn} are asked for, and there are {size} combinations",
                where="candidates",
                hint=f"give at most {size}, or take method grid",
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
