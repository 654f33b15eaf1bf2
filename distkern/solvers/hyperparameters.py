"""The hyperparameters of an algorithm, put together from what its parts declare.

A solver declares its own parameters as fields, and in ``choices`` those of what it is put together from.
Where a word chooses a member of a family (a loss, a kernel), the parameters that the members declare are
added, with None for the member's own default. The constructors of the estimators, their docstrings' tables,
``get_params``, the check of values and of names, job files and ``--set`` all come from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from numpy.random import RandomState

from distkern.core.errors import InputError
from distkern.core.parameters import (
    NOT_NEGATIVE,
    NOTHING,
    POSITIVE,
    AbstractKind,
    Instance,
    Parameter,
    Whole,
    Words,
    declared,
)
from distkern.kernels import find_kernel, kernel_names, landmark_kernel_names
from distkern.kernels.bandwidth import RULES, parse_rule
from distkern.kernels.base import AbstractKernel
from distkern.landmarks import landmark_rule_names
from distkern.losses import find_loss
from distkern.losses.base import AbstractLoss
from distkern.samplers import sampler_names


@dataclass(frozen=True)
class WidthRule(AbstractKind):
    """The rules for gamma, each with or without a divisor of the width."""

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, str):
            return False
        try:
            parse_rule(value)
        except InputError:
            return False
        return True

    @property
    def spoken(self) -> str:
        return ", ".join(repr(rule) for rule in RULES) + " or one with a divisor of the width ('median/4')"

    @property
    def words(self) -> tuple[str, ...]:
        return RULES


RANDOM_STATE = Parameter(
    None,
    (Whole(0, 2**32 - 1), Instance(RandomState, "a RandomState"), NOTHING),
    "seed of every random choice",
)
CLASS_WEIGHT = Parameter(
    None, (Words("balanced"), Instance(dict, "{label: weight}"), NOTHING), "weight of each class"
)
GAMMA = Parameter(
    "scale", (POSITIVE, WidthRule()), "of the kernel: a number, or a rule that reads it off the rows"
)
SAMPLER = Parameter("monte_carlo", (Words(of=sampler_names),), "how random features are drawn")
LANDMARKS = Parameter("uniform", (Words(of=landmark_rule_names),), "the rule that chooses landmarks")
N_LANDMARKS = Parameter(None, (Whole(), NOTHING), "at most this many landmarks; none: 512")
#: landmarks where neither their number nor a diameter is given
DEFAULT_LANDMARKS = 512


def a_loss(default: str, names: Callable[[], Iterable[str]]) -> Parameter:
    """The parameter ``loss``, one of the given names."""
    return Parameter(default, (Words(of=names),), "the loss")


def a_kernel(names: Callable[[], Iterable[str]]) -> Parameter:
    """The parameter ``kernel``, one of the given names."""
    return Parameter("rbf", (Words(of=names),), "the kernel")


#: parameters that choose a member of a family, and how it is found
_FAMILIES: dict[str, Callable[[str], type[AbstractLoss] | type[AbstractKernel]]] = {
    "loss": find_loss,
    "kernel": find_kernel,
}


def hyperparameters_of(*parts: type, **own: Parameter) -> dict[str, Parameter]:
    """The parameters that ``parts`` declare, ``own`` ones, and those of the members they choose among.

    ``choices`` of a part are of what it is put together from: a loss, a kernel, features.
    """
    found: dict[str, Parameter] = {}
    for part in parts:
        found |= {**getattr(part, "choices", {}), **declared(part)}
    found |= own
    for family, find in _FAMILIES.items():
        if family in found:
            found = _with_members(found, family, find)
    return found


def _with_members(
    known: dict[str, Parameter], family: str, find: Callable[[str], type[Any]]
) -> dict[str, Parameter]:
    owners: dict[str, dict[str, Parameter]] = {}
    for word in known[family].words:
        for name, parameter in declared(find(word)).items():
            owners.setdefault(name, {})[word] = parameter
    found = dict(known)
    for name, members in owners.items():
        only = {family: tuple(members)} if len(members) < len(known[family].words) else {}
        if name in known:
            found[name] = replace(known[name], used_with={**known[name].used_with, **only})
            continue
        kinds = tuple(dict.fromkeys(kind for parameter in members.values() for kind in parameter.kinds))
        texts = dict.fromkeys(
            parameter.help + ("" if parameter.default is None else f"; none: {parameter.default}")
            for parameter in members.values()
        )
        found[name] = Parameter(None, (*kinds, NOTHING), "; or ".join(texts), only)
    return found


def used_with_features(parameters: Mapping[str, Parameter], *kinds: str) -> dict[str, Parameter]:
    """The same parameters, which have an effect with these kinds of ``features`` only."""
    return {
        name: replace(parameter, used_with={**parameter.used_with, "features": kinds})
        for name, parameter in parameters.items()
    }


#: the choices of the solvers over landmarks, beside the loss
CORESET = {
    "kernel": a_kernel(landmark_kernel_names),
    "gamma": GAMMA,
    "lam": Parameter(
        1024.0,
        (POSITIVE,),
        "weight of the losses against 1/2 |w|^2 (the papers' lambda): larger fits closer",
    ),
    "n_landmarks": replace(N_LANDMARKS, help="at most this many landmarks; none: 512, or by the diameter"),
    "diameter": Parameter(
        None,
        (NOT_NEGATIVE, NOTHING),
        "of the balls that cover the rows, instead of n_landmarks",
        {"landmarks": ("coverage",)},
    ),
    "landmarks": replace(LANDMARKS, default="coverage"),
}

#: the parameters that say which features; each kind of features takes some of them
_OF_KERNELS = {"kernel": a_kernel(kernel_names), "gamma": GAMMA}
_OF_RANDOM = {
    "n_features": Parameter(2048, (Whole(),), "random features; even where they come in pairs"),
    "sampler": SAMPLER,
}
_OF_LANDMARKS = {"n_landmarks": N_LANDMARKS, "landmarks": LANDMARKS}
_MEANING = {
    "linear": "the rows themselves, dense or sparse",
    "random": "random features of the kernel",
    "nystroem": "Nystroem features of the kernel at landmarks",
    "landmarks": "the kernel at landmarks, regularised as plain numbers",
}


def feature_parameters(*kinds: str) -> dict[str, Parameter]:
    """The parameters of the given kinds of features, the first of which is the default."""
    texts = "; ".join(f"{kind}: {_MEANING[kind]}" for kind in kinds)
    found = {"features": Parameter(kinds[0], (Words(*kinds),), texts)}
    of_landmarks = [kind for kind in kinds if kind in ("nystroem", "landmarks")]
    found |= used_with_features(_OF_KERNELS, *(kind for kind in kinds if kind != "linear"))
    found |= used_with_features(_OF_RANDOM, "random")
    return found | (used_with_features(_OF_LANDMARKS, *of_landmarks) if of_landmarks else {})
