"""The hyperparameters of an algorithm, put together from what its parts declare.

A solver declares its own parameters as fields, and in ``choices`` the parameters of its parts.
Where a word chooses a member of a family (a loss, a kernel), the parameters that the members declare are
added, with None for the member's own default. The constructors of the estimators, their docstrings' tables,
``get_params``, the check of values and of names, job files and ``--set`` all come from there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.random import RandomState

from distkern.core.choices import CERTAIN, Choices
from distkern.core.parameters import (
    AUTO,
    FLAG,
    NOT_NEGATIVE,
    NOTHING,
    Bytes,
    Instance,
    Number,
    Parameter,
    Whole,
    Words,
    declared,
)
from distkern.core.registry import Family
from distkern.maths.features import GIVEN_FEATURES, AbstractFeatures, find_features
from distkern.maths.features.kernel_choice import GAMMA, a_kernel
from distkern.maths.features.landmarks import LANDMARKS, N_LANDMARKS
from distkern.maths.kernels import KERNELS, LANDMARK_KERNELS
from distkern.maths.losses import LOSSES, takes
from distkern.maths.losses.base import AbstractLoss

RANDOM_STATE = Parameter(
    None,
    (Whole(0, 2**32 - 1), Instance(RandomState, "a RandomState"), NOTHING),
    "seed of every random choice",
)
CLASS_WEIGHT = Parameter(
    None,
    (Words("balanced"), Instance(dict, "{label: weight}"), NOTHING),
    "weight w of each class: its losses count as w times as much, and predict names the class of the largest "
    "w p; probabilities p are those of the rows as they are",
)

THRESHOLD = Parameter(
    None,
    (Number(0, 1, open=(True, True)), Words("balanced"), NOTHING),
    "probability of the second of two classes from which on it is predicted; balanced: its share of the "
    "training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2, or with "
    "class_weight w_0 / (w_0 + w_1). Figures of stages are without it",
)

MEMORY_LIMIT = Parameter(
    None,
    (Bytes(), NOTHING),
    "memory of a process that trains, as '512MiB' or in bytes: what does not fit is not chosen; of a job its "
    "memory_limit",
)

SCALE = Parameter(
    AUTO,
    (Words(AUTO, "none", "standard", "minmax", "maxabs", "normal", "ranks"),),
    "of each column, fitted on the training rows in a pass before all others and kept in the model; auto: "
    "standard where the ranges of most columns differ more than 30-fold, else minmax where numbers exceed "
    "100, no range 0.01 or a column is farther from 0 than it is wide (of sparse rows maxabs for all), else "
    "none, as of data sets that were scaled when they were sharded, and kernels of numbers of at least 0; "
    "normal: to the normal distribution's quantiles; ranks: to its ranks, both by quantiles of 2,000 rows",
)

METRIC = Parameter(
    None,
    (Words(AUTO, "diagonal", "interactions", "full"), NOTHING),
    "in which distances of rows are measured, learned from gradients over 2,000 rows before the first pass; "
    "diagonal: a weight of each column; interactions: one that starts from the columns whose narrow pairs "
    "explain what a broad machine leaves; full: a matrix; none: Euclidean; auto: chosen by rows of these "
    "that are held out, with scale where that is auto too. scale is then standard, normal, ranks or none",
    {"features": ("random", "nystroem", "kernel")},
    tried=Choices("diagonal", ()),
)

DTYPE = Parameter(
    AUTO,
    (Words(AUTO, "float32", "float64"),),
    "precision in which rows of arrays and frames are trained and predicted, to which they are cast once "
    "scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns that are not "
    "centred lie so far from 0 that it would not tell their numbers apart, else float64; of partial_fit that "
    "of the first batch. Data sets have the precision that they are stored in",
)

#: parameter of classifiers whose loss is no likelihood
PROBABILITY = Parameter(
    True, (FLAG,), "whether probabilities of classes are fitted, on rows that are held out of some cells"
)
#: the algorithms that may be chosen for the data
CHOOSABLE = ("cells", "newton", "svrg", "dsg")
#: parameters of the machine that is chosen for the data, beside a class_weight and a random_state
CHOICE = {
    "algorithm": Parameter(
        AUTO,
        (Words(AUTO, *CHOOSABLE),),
        "the machine that is fitted, as the estimator of that name with nothing else set; auto: the one that "
        "rows which are held out of a sample choose",
    ),
    "search": Parameter(
        "full",
        (Words("full", "quick"), NOTHING),
        "how what the data's shape leaves open is chosen, on rows that are held out; none: it is not",
    ),
    "memory_limit": MEMORY_LIMIT,
    "settings": Parameter(
        None,
        (Instance(dict, "{name: value}"), NOTHING),
        "hyperparameters of the algorithm that is chosen, in place of what was chosen for them; --set of any "
        "of them is one",
    ),
}


def a_loss(default: str, losses: Family[AbstractLoss]) -> Parameter:
    """The parameter ``loss``, one of the given ones."""
    return Parameter(default, (Words(of=losses),), "the loss")


def loss_for(loss: Parameter, target_kinds: tuple[str, ...], default: str) -> Parameter:
    """A solver's parameter ``loss``, of the losses for some kinds of targets alone."""
    known = LOSSES.where(lambda kind: any(one.accepts(kind.name) for one in loss.kinds))
    return a_loss(default, known.where(takes(*target_kinds)))


#: lam of the solvers over landmarks
SEARCHED_LAM = Choices(1024.0, (0.1, 0.4, 1.6, 6.4), 1)
#: nu beside a mean loss; smaller values are equal in single precision
SEARCHED_NU = Choices(1e-6, (1.0, 0.1, 0.01, 0.001), -1, 1e-9)
#: nu for solvers of few noisy steps, which do not reach what smaller values would add
SEARCHED_NU_OF_STEPS = Choices(1e-4, (10.0, 1.0, 0.1, 0.01), -1, 1e-9)
#: gamma; trials of few functions and rows prefer wide kernels, so another value must be surely better
SEARCHED_GAMMA = Choices("scale", ("scale/0.5", "scale/2", "scale/4"), certain=CERTAIN)

#: parameters that choose a member of a family
_FAMILIES: dict[str, Family[Any]] = {"loss": LOSSES, "kernel": KERNELS}


def hyperparameters_of(*parts: type, **own: Parameter | None) -> dict[str, Parameter]:
    """The parameters of ``parts``, ``own`` ones, and the parameters of the members that they choose among.

    A part declares in ``choices`` the parameters of its own parts (loss, kernel, features). An own parameter
    that is None leaves one out.
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
    """The parameters ``known``, and the parameters of a family's members.

    Raises
    ------
    RuntimeError
        If a member has a parameter whose name is ``taken`` by the solver or by another family.
    """
    owners: dict[str, dict[str, Parameter]] = {}
    words = [word for word in known[family].words if word != AUTO]
    # a solver that chooses the member itself takes the shared parameters too
    chosen = (AUTO,) if len(words) < len(known[family].words) else ()
    for word in words:
        for name, parameter in declared(_FAMILIES[family][word]).items():
            owners.setdefault(name, {})[word] = parameter
    found = dict(known)
    for name, members in owners.items():
        if name in taken:
            raise RuntimeError(
                f"{family} {next(iter(members))!r} has a parameter {name!r}, as the solver or another part "
                "of it has: give it another name"
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
        "of the balls that cover the rows, instead of n_landmarks",
        {"landmarks": ("coverage",)},
    ),
    "landmarks": LANDMARKS,
}


def feature_parameters(
    default: str, known: Family[AbstractFeatures] = GIVEN_FEATURES
) -> dict[str, Parameter]:
    """The parameter ``features``, and the parameters of all kinds of features that are known to a solver."""
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
