"""Losses, found by name in the files of this folder."""

import math
from collections.abc import Callable
from typing import Any

from distkern.core.registry import Family
from distkern.maths.losses.base import (
    AbstractCoordinateLoss,
    AbstractDualLoss,
    AbstractElementwiseLoss,
    AbstractLoss,
    Conjugate,
    margin_loss,
)

__all__ = [
    "COORDINATE_LOSSES",
    "CURVED_LOSSES",
    "DUAL_LOSSES",
    "LOSSES",
    "MARGIN_LOSSES",
    "SUPERVISED",
    "AbstractCoordinateLoss",
    "AbstractDualLoss",
    "AbstractElementwiseLoss",
    "AbstractLoss",
    "Conjugate",
    "find_loss",
    "margin_loss",
    "takes",
]


def takes(*target_kinds: str) -> Callable[[type[Any]], bool]:
    """Return a filter of losses for the given kinds of targets, for :meth:`Family.where`."""
    return lambda kind: kind.target_kind in target_kinds


LOSSES = Family("distkern.maths.losses", AbstractLoss)  # type: ignore[type-abstract]
#: the loss of a name
find_loss = LOSSES.find
#: losses of targets to predict
SUPERVISED = takes("binary", "classes", "real")
#: losses of the margin y f, y = -1 or +1, for compiled loops
MARGIN_LOSSES = LOSSES.where(takes("binary")).where(lambda kind: issubclass(kind, AbstractElementwiseLoss))
#: losses whose slope does not jump, for Newton's method
CURVED_LOSSES = LOSSES.where(lambda kind: math.isfinite(kind().curvature))
#: losses with a known conjugate, for the machines in cells
DUAL_LOSSES = LOSSES.where(lambda kind: issubclass(kind, AbstractDualLoss))
#: losses whose dual is minimised in single coordinates, for SDCA
COORDINATE_LOSSES = LOSSES.where(lambda kind: issubclass(kind, AbstractCoordinateLoss))
