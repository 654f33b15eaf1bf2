"""Samplers of the random draws of features, found by name in the files of this folder."""

from __future__ import annotations

from distkern.core.registry import Family
from distkern.maths.samplers.base import AbstractSampler, Draws

__all__ = ["SAMPLERS", "AbstractSampler", "Draws", "find_sampler"]

SAMPLERS = Family("distkern.maths.samplers", AbstractSampler)  # type: ignore[type-abstract]


def find_sampler(name: str) -> AbstractSampler:
    """Return the sampler of a name; raise :class:`~distkern.core.errors.InputError` if there is none."""
    return SAMPLERS.find(name)()
