"""Losses, found by their names in the files of this folder."""

import math

from distkern.common.errors import InputError
from distkern.common.registry import find, members
from distkern.losses.base import AbstractElementwiseLoss, AbstractLoss
from distkern.losses.conjugate import AbstractCoordinateLoss, AbstractDualLoss, Conjugate

__all__ = [
    "SUPERVISED",
    "AbstractCoordinateLoss",
    "AbstractDualLoss",
    "AbstractElementwiseLoss",
    "AbstractLoss",
    "Conjugate",
    "coordinate_loss_names",
    "curved_loss_names",
    "dual_loss_names",
    "find_loss",
    "loss_names",
    "margin_loss",
    "margin_loss_names",
]


def find_loss(name: str) -> type[AbstractLoss]:
    """The loss called ``name``; :class:`~distkern.common.errors.InputError` if there is none."""
    return find("distkern.losses", AbstractLoss, name)  # type: ignore[type-abstract]


#: kinds of targets that are to be predicted
SUPERVISED = ("binary", "classes", "real")


def loss_names(*target_kinds: str) -> list[str]:
    """Names of all losses, or of those for targets of the given kinds."""
    known = members("distkern.losses", AbstractLoss)  # type: ignore[type-abstract]
    return [name for name, kind in known.items() if not target_kinds or kind.target_kind in target_kinds]


def curved_loss_names(*target_kinds: str) -> list[str]:
    """Like :func:`loss_names`, of losses whose slope does not jump: those that Newton's method can take."""
    return [name for name in loss_names(*target_kinds) if math.isfinite(find_loss(name)().curvature)]


def margin_loss_names() -> list[str]:
    """Names of the losses of the margin y f, y = -1 or +1: those the solvers' compiled loops can take."""
    return [name for name in loss_names("binary") if issubclass(find_loss(name), AbstractElementwiseLoss)]


def dual_loss_names(*target_kinds: str) -> list[str]:
    """Like :func:`loss_names`, of losses whose conjugate is known: those of the machines in cells."""
    return [name for name in loss_names(*target_kinds) if issubclass(find_loss(name), AbstractDualLoss)]


def coordinate_loss_names(*target_kinds: str) -> list[str]:
    """Like :func:`loss_names`, of losses whose dual is minimised in single coordinates: those of SDCA."""
    return [name for name in loss_names(*target_kinds) if issubclass(find_loss(name), AbstractCoordinateLoss)]


def margin_loss(loss: AbstractLoss) -> AbstractElementwiseLoss:
    """The loss itself, once it is known to be a loss of the margin.

    Raises
    ------
    InputError
        If it is not.
    """
    if isinstance(loss, AbstractElementwiseLoss) and loss.target_kind == "binary":
        return loss
    raise InputError(
        f"{loss.name!r} is not a loss of the margin y f",
        where="loss",
        hint=f"use one of: {', '.join(margin_loss_names())}",
    )
