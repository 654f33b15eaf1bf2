"""Hyperparameters that do not belong to one solver, and those of automatically chosen machines."""

from __future__ import annotations

from numpy.random import RandomState

from distkern.core.choices import Choices
from distkern.core.parameters import AUTO, FLAG, NOTHING, Bytes, Instance, Number, Parameter, Whole, Words

RANDOM_STATE = Parameter(
    None,
    (Whole(0, 2**32 - 1), Instance(RandomState, "a RandomState"), NOTHING),
    "seed of every random choice",
)
CLASS_WEIGHT = Parameter(
    None,
    (Words("balanced"), Instance(dict, "{label: weight}"), NOTHING),
    "weight w of each class: its losses count w times, and the class with the largest w p is predicted. "
    "Probabilities p do not depend on it",
)

THRESHOLD = Parameter(
    None,
    (Number(0, 1, open=(True, True)), Words("balanced"), NOTHING),
    "the second class is predicted from this probability upwards; balanced: its weighted share of the "
    "training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 / (w_0 + w_1). The "
    "figures of stages ignore it",
)

MEMORY_LIMIT = Parameter(
    None,
    (Bytes(), NOTHING),
    "memory of a training process, as '512MiB' or in bytes. An algorithm that needs more is not chosen. "
    "Jobs use their own memory_limit",
)

SCALE = Parameter(
    AUTO,
    (Words(AUTO, "none", "standard", "minmax", "maxabs", "normal", "ranks"),),
    "scaling of each column, fitted on the training rows before all other passes and saved in the model; "
    "auto: standard if the ranges of most columns differ more than 30-fold, else minmax if numbers exceed "
    "100, no range reaches 0.01 or a column is farther from 0 than it is wide (sparse rows: maxabs), else "
    "none; data sets scaled by shard, and kernels of nonnegative numbers, are not scaled; normal: to normal "
    "quantiles; ranks: to ranks, both by quantiles of 2,000 rows",
)

METRIC = Parameter(
    None,
    (Words(AUTO, "diagonal", "interactions", "full"), NOTHING),
    "metric of distances between rows, learned from gradients over 2,000 rows before the first pass; "
    "diagonal: a weight for each column; interactions: weights that start from the columns whose narrow "
    "pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean; auto: chosen on "
    "held-out rows, together with scale if that is auto. scale is then standard, normal, ranks or none",
    {"features": ("random", "nystroem", "kernel")},
    tried=Choices("diagonal", ()),
)

DTYPE = Parameter(
    AUTO,
    (Words(AUTO, "float32", "float64"),),
    "precision in which rows are used; auto: float32 for float32 rows, as data sets store them, and from "
    "4,000 rows on, else float64, also if columns that are not centred lie too far from 0 for float32. "
    "partial_fit uses the precision of the first batch",
)

#: parameter of classifiers whose loss is not a likelihood
PROBABILITY = Parameter(
    True, (FLAG,), "whether class probabilities are fitted, on rows held out of some cells"
)
#: the algorithms that may be chosen automatically
CHOOSABLE = ("cells", "newton", "svrg", "dsg")
#: parameters of automatically chosen machines, besides class_weight and random_state
CHOICE = {
    "algorithm": Parameter(
        AUTO,
        (Words(AUTO, *CHOOSABLE),),
        "the algorithm to fit with default settings; auto: the best one on held-out rows of a sample",
    ),
    "search": Parameter(
        "full",
        (Words("full", "quick"), NOTHING),
        "how to choose settings on held-out rows; quick: among fewer candidates; none: by the shape of the "
        "data alone",
    ),
    "memory_limit": MEMORY_LIMIT,
    "settings": Parameter(
        None,
        (Instance(dict, "{name: value}"), NOTHING),
        "hyperparameters of the chosen algorithm that replace automatic ones; --set also takes their names",
    ),
}
