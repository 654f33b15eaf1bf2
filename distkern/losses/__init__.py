"""Losses: one file each, found by name."""

from distkern.losses.base import AbstractLoss

__all__ = ["AbstractLoss", "find_loss", "loss_names"]


def find_loss(name: str) -> type[AbstractLoss]:
    """The loss called ``name``; :class:`~distkern.core.errors.InputError` if there is none."""
    from distkern.core.registry import find

    return find("distkern.losses", AbstractLoss, name)  # type: ignore[type-abstract]


def loss_names() -> list[str]:
    """Names of all losses."""
    from distkern.core.registry import members

    return list(members("distkern.losses", AbstractLoss))  # type: ignore[type-abstract]
