"""Samplers: how the random draws of a block of features are made; one file each, found by name."""

from __future__ import annotations

from distkern.common.registry import Family
from distkern.samplers.base import AbstractSampler, Draws

__all__ = ["SAMPLERS", "AbstractSampler", "Draws", "find_sampler"]

SAMPLERS = Family("distkern.samplers", AbstractSampler)  # type: ignore[type-abstract]


def find_sampler(name: str) -> AbstractSampler:
    """The sampler called ``name``; :class:`~distkern.common.errors.InputError` if there is none."""
    return SAMPLERS.find(name)()
