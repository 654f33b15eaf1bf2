"""The hyperparameters of an algorithm, collected from the declarations of its parts.

A solver declares its own parameters as fields, and the parameters of its parts in ``choices``. If a word
selects a member of a family (a loss, a kernel), the members' parameters are added, with None for the member's
own default. Estimator constructors and docstrings, ``get_params``, validation, job files and ``--set`` are
all derived from this.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from distkern.core.choices import CERTAIN, Choices
from distkern.core.parameters import AUTO, NOT_NEGATIVE, NOTHING, Parameter, Words, declared
from distkern.core.registry import Family
from distkern.maths.features import GIVEN_FEATURES, AbstractFeatures, find_features
from distkern.maths.features.base import GAMMA, a_kernel
from distkern.maths.features.landmarks import LANDMARKS, N_LANDMARKS
from distkern.maths.kernels import KERNELS, LANDMARK_KERNELS
from distkern.maths.losses import LOSSES, SUPERVISED, takes
from distkern.maths.losses.base import AbstractLoss

#: kind of targets -> the estimators of losses with such targets
_TASKS = {
    "binary": "classifiers",
    "classes": "classifiers",
    "real": "regressors",
    "none": "novelty detectors",
    "samples": "density ratios",
}


def a_loss(default: str, losses: Family[AbstractLoss]) -> Parameter:
    """Declare ``loss``, one of the given losses."""
    return Parameter(default, (Words(of=losses, purpose=_purpose_of_loss),), "the loss")


def _purpose_of_loss(name: str) -> str:
    from distkern.solvers.base import SOLVERS

    parameters = ((solver, hyperparameters_of(kind).get("loss")) for solver, kind in SOLVERS.items())
    takers = [solver for solver, one in parameters if one is not None and name in one.words]
    task = _TASKS[LOSSES[name].target_kind]
    return f"for {task} ({', '.join(takers)})" if takers else f"for {task}"


def loss_for(loss: Parameter, target_kinds: tuple[str, ...], default: str) -> Parameter:
    """Restrict a solver's ``loss`` parameter to some kinds of targets."""
    known = LOSSES.where(lambda kind: any(one.accepts(kind.name) for one in loss.kinds))
    return a_loss(default, known.where(takes(*target_kinds)))


#: the loss of solvers that take any with targets
ANY_LOSS = a_loss("logistic", LOSSES.where(SUPERVISED))
#: lam of the solvers over landmarks
SEARCHED_LAM = Choices(1024.0, (0.1, 0.4, 1.6, 6.4), 1)
#: nu beside a mean loss; smaller values make no difference in single precision
SEARCHED_NU = Choices(1e-6, (1.0, 0.1, 0.01, 0.001), -1, 1e-9)
#: nu for solvers with few noisy steps, which gain nothing from smaller values
SEARCHED_NU_OF_STEPS = Choices(1e-4, (10.0, 1.0, 0.1, 0.01), -1, 1e-9)
#: gamma; trials with few functions and rows prefer wide kernels, so another value must be clearly better
SEARCHED_GAMMA = Choices("scale", ("scale/0.5", "scale/2", "scale/4"), certain=CERTAIN)
#: gamma searched on demand only: the best one for the few functions of a trial may mislead
GAMMA_ON_DEMAND = replace(SEARCHED_GAMMA, by_default=False)

#: parameters that select a member of a family
_FAMILIES: dict[str, Family[Any]] = {"loss": LOSSES, "kernel": KERNELS}


def hyperparameters_of(*parts: type, **own: Parameter | None) -> dict[str, Parameter]:
    """Collect the parameters of ``parts``, ``own`` ones, and those of the members they select from.

    A part declares the parameters of its own parts (loss, kernel, features) in ``choices``. An own parameter
    of None removes one.
    """
    found: dict[str, Parameter] = {}
    for part in parts:
        found |= {**getattr(part, "choices", {}), **declared(part)}
    found = {name: one for name, one in (found | own).items() if one is not None}
    for part in parts:
        for name, choices in getattr(part, "searched", {}).items():
            found[name] = replace(
                found[name],
                default=AUTO if choices.by_default else found[name].default,
                kinds=(*found[name].kinds, Words(AUTO)),
                help=f"{found[name].help}; auto: chosen on held-out rows, or {choices.default}",
                searched=choices,
            )
    taken = {name for part in parts for name in declared(part)}
    for family in _FAMILIES:
        if family in found:
            before = {*found}
            found = _with_members(found, family, taken)
            taken |= {*found} - before
    return found


def _with_members(known: dict[str, Parameter], family: str, taken: set[str]) -> dict[str, Parameter]:
    """Add the parameters of a family's members to ``known``.

    Raises
    ------
    RuntimeError
        If a member has a parameter whose name the solver or another family has ``taken``.
    """
    owners: dict[str, dict[str, Parameter]] = {}
    words = [word for word in known[family].words if word != AUTO]
    # a solver that selects the member itself accepts the shared parameters too
    chosen = (AUTO,) if len(words) < len(known[family].words) else ()
    for word in words:
        for name, parameter in declared(_FAMILIES[family][word]).items():
            owners.setdefault(name, {})[word] = parameter
    found = dict(known)
    for name, members in owners.items():
        if name in taken:
            raise RuntimeError(
                f"{family} {next(iter(members))!r} has a parameter {name!r}, as has the solver or another of "
                "its parts: give it another name"
            )
        only = {family: tuple(members)} if len(members) < len(words) or chosen else {}
        if name in known:
            shared = {family: (*members, *chosen)} if len(members) < len(words) else {}
            found[name] = replace(known[name], used_with={**known[name].used_with, **shared})
            continue
        kinds = tuple(dict.fromkeys(kind for one in members.values() for kind in (*one.kinds, NOTHING)))
        texts = dict.fromkeys(
            parameter.help + ("" if parameter.default is None else f"; none: {parameter.default}")
            for parameter in members.values()
        )
        found[name] = Parameter(None, kinds, "; or ".join(texts), only)
    return found


#: the choices of the solvers over landmarks, beside the loss
CORESET = {
    "kernel": a_kernel(LANDMARK_KERNELS),
    "gamma": GAMMA,
    "n_landmarks": replace(N_LANDMARKS, help="at most this many landmarks; none: 512, or by the diameter"),
    "diameter": Parameter(
        None,
        (NOT_NEGATIVE, NOTHING),
        "diameter of the balls that cover the rows; an alternative to n_landmarks",
        {"landmarks": ("coverage",)},
    ),
    "landmarks": LANDMARKS,
}


def feature_parameters(
    default: str, known: Family[AbstractFeatures] = GIVEN_FEATURES
) -> dict[str, Parameter]:
    """Declare ``features`` and the parameters of the solver's ``known`` kinds of features."""
    kinds = [default, *(name for name in known if name != default)]
    parts: dict[str, Parameter] = {}
    takers: dict[str, list[str]] = {}
    for kind in kinds:
        member = find_features(kind)
        for name, parameter in {**member.choices, **declared(member)}.items():
            parts.setdefault(name, parameter)
            takers.setdefault(name, []).append(kind)
    texts = "; ".join(f"{kind}: {find_features(kind).meaning}" for kind in kinds)
    return {"features": Parameter(default, (Words(*kinds),), texts)} | {
        name: replace(parameter, used_with={**parameter.used_with, "features": tuple(takers[name])})
        for name, parameter in parts.items()
    }
