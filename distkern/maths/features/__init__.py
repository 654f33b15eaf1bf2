"""Kinds of explicit features z(x): one file each, found by name."""

from __future__ import annotations

from distkern.core.registry import Family
from distkern.maths.features.base import AbstractFeatures, Footprint

__all__ = ["COLUMN_FEATURES", "FEATURES", "GIVEN_FEATURES", "AbstractFeatures", "Footprint", "find_features"]

FEATURES = Family("distkern.maths.features", AbstractFeatures)  # type: ignore[type-abstract]
#: the kind of a name
find_features = FEATURES.find
#: kinds whose rows are known before a solver starts
GIVEN_FEATURES = FEATURES.where(lambda kind: not kind.finds_rows)
#: kinds with single columns
COLUMN_FEATURES = FEATURES.where(lambda kind: kind.has_columns)
