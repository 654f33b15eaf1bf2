"""What messages about columns suggest, in the words of the command line or of frames."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Remedies:
    """Remedies with ``{}`` for the name of the column.

    Attributes
    ----------
    as_category : declare the column categorical
    as_columns : encode it by one feature per category
    leave_out : leave it out
    as_dates : give the notation of its dates
    as_missing : declare a text as missing, with ``{}`` for the text; "" if that cannot be said
    """

    as_category: str = "give --categorical {}=onehot (or target, or drop)"
    as_columns: str = "give --categorical {}=onehot (or drop)"
    leave_out: str = "give --drop {}"
    as_dates: str = "give --day-first or --month-first"
    as_missing: str = "--na {} if it stands for a missing value"


OPTIONS = Remedies()
FRAMES = Remedies(
    as_category="make the column one of categories: X[{!r}].astype('category')",
    as_columns="make columns of them: pandas.get_dummies(X, columns=[{!r}])",
    leave_out="leave it out: X.drop(columns={!r})",
    as_dates="make dates of the column: X[{0!r}] = pandas.to_datetime(X[{0!r}], dayfirst=...)",
    as_missing="",
)
