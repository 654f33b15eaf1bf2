"""Samplers: how the random draws of a block of features are made; one file each, found by name."""

from __future__ import annotations

from distkern.core.registry import Family
from distkern.maths.samplers.base import AbstractSampler, Draws

__all__ = ["SAMPLERS", "AbstractSampler", "Draws", "find_sampler"]

SAMPLERS = Family("distkern.maths.samplers", AbstractSampler)  # type: ignore[type-abstract]


def find_sampler(name: str) -> AbstractSampler:
    """The sampler called ``name``; :class:`~distkern.core.errors.InputError` if there is none."""
    return SAMPLERS.find(name)()
