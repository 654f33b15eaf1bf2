"""Kinds of columns of tables: one file each, found by the registry."""

from distkern.core.registry import Family
from distkern.data.columns.base import AbstractColumn, kind_name

__all__ = ["COLUMNS", "AbstractColumn"]

COLUMNS = Family("distkern.data.columns", AbstractColumn, kind_name)  # type: ignore[type-abstract]
