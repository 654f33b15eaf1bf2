"""Kinds of columns of tables: one file each, found by the registry."""

from distkern.columns.base import AbstractColumn, kind_name
from distkern.common.registry import Family

__all__ = ["COLUMNS", "AbstractColumn"]

COLUMNS = Family("distkern.columns", AbstractColumn, kind_name)  # type: ignore[type-abstract]
