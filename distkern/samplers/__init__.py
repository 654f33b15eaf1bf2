"""Samplers: how the random draws of a block of features are made; one file each, found by name."""

from __future__ import annotations

from distkern.samplers.base import AbstractSampler, Draws

__all__ = ["AbstractSampler", "Draws", "find_sampler", "sampler_names"]


def find_sampler(name: str) -> AbstractSampler:
    """The sampler called ``name``; :class:`~distkern.common.errors.InputError` if there is none."""
    from distkern.common.registry import find

    return find("distkern.samplers", AbstractSampler, name)()  # type: ignore[type-abstract]


def sampler_names() -> list[str]:
    """Names of all samplers."""
    from distkern.common.registry import members

    return list(members("distkern.samplers", AbstractSampler))  # type: ignore[type-abstract]
