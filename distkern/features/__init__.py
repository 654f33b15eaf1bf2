"""Kinds of explicit features z(x): one file each, found by name."""

from __future__ import annotations

from distkern.features.base import AbstractFeatures, Footprint

__all__ = ["AbstractFeatures", "Footprint", "feature_names", "find_features"]


def find_features(name: str) -> type[AbstractFeatures]:
    """The kind called ``name``; :class:`~distkern.common.errors.InputError` if there is none."""
    from distkern.common.registry import find

    return find("distkern.features", AbstractFeatures, name)  # type: ignore[type-abstract]


def feature_names(*, with_columns: bool = False, found: bool = False) -> list[str]:
    """Names of all kinds, or of those that have single columns; if ``found`` those, too, whose rows a solver
    finds."""
    from distkern.common.registry import members

    known = members("distkern.features", AbstractFeatures)  # type: ignore[type-abstract]
    known = {name: kind for name, kind in known.items() if found or not kind.finds_rows}
    return [name for name, kind in known.items() if kind.has_columns or not with_columns]
