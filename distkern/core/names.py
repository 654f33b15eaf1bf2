"""Column names, matched and ordered, and class labels in one form for all file formats."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError

_MOST_NAMED = 5
#: columns listed in a hint
_MOST_SHOWN = 10
#: similarity of a misspelt column: customer is not outcome (0.67)
_ALIKE = 0.7


def order_by_name(
    names: Sequence[str], wanted: Sequence[str], *, where: str, owner: str, may_have_others: bool = False
) -> NDArray[np.intp] | None:
    """Return the position among ``names`` of each wanted column; None if they are in that order already.

    Raises :class:`InputError`, naming the missing and the unknown columns.

    Parameters
    ----------
    names, wanted : distinct names
    where : source of ``names``, for the error
    owner : owner of ``wanted``, for the error
    may_have_others : ignore names that are not wanted
    """
    if len(names) == len(wanted) and all(map(str.__eq__, names, wanted)):
        return None
    position = {name: at for at, name in enumerate(names)}
    known = set(wanted)
    missing = [name for name in wanted if name not in position]
    unknown = [name for name in names if name not in known]
    if missing or (unknown and not may_have_others) or len(position) < len(names):
        error = _mismatch(missing, unknown, where, owner)
        if unknown and len(missing) == len(wanted):
            hint = "this is another table: give one with those columns, or rename all columns"
            raise InputError(error.what, where=where, hint=hint)
        raise error
    return np.array([position[name] for name in wanted], dtype=np.intp)


def _mismatch(missing: list[str], unknown: list[str], where: str, owner: str) -> InputError:
    parts = [f"{listed_columns(missing)} {'is' if len(missing) == 1 else 'are'} missing"] if missing else []
    parts += [f"{listed_columns(unknown)} {'is' if len(unknown) == 1 else 'are'} unknown"] if unknown else []
    what = f"the columns differ from those of {owner}: {' and '.join(parts) or 'a name occurs twice'}"
    hint = "leave out unknown columns" if unknown else "add the missing columns"
    if unknown and where == "X":
        # records are rows too, of which a frame was made
        kept = "{name: row[name] for name in model.feature_names_in_}"
        hint += f": X[[*model.feature_names_in_]] of a frame, {kept} of a record"
    if missing and unknown:
        alike = ((one, _alike(one, missing)) for one in unknown)
        pair = next(((one, close[0]) for one, close in alike if close), None)
        hint = f"rename {pair[0]!r} to {pair[1]!r}" if pair else "rename the columns"
    return InputError(what, where=where, hint=hint)


def listed_columns(names: list[str]) -> str:
    """Return the first names as a subject: ``columns 'a', 'b' and 3 more``."""
    shown = ", ".join(map(repr, names[:_MOST_NAMED]))
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return f"column{'s' * (len(names) > 1)} {shown}{more}"


def near_column(name: str, names: Sequence[str]) -> str:
    """Return a hint for a column that is not among ``names``, as :func:`near_name` does."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and all(part in names for part in parts):
        return f"{' and '.join(map(repr, parts))} are columns of their own: repeat the option for each"
    return near_name(name, names, "columns")


def near_name(name: str, names: Sequence[str], kind: str) -> str:
    """Return a hint for a name that is not among those of a kind: a similar one, or the most similar of them.

    >>> near_name("incme", ["age", "income"], "columns")
    "did you mean 'income'?"
    """
    longer = [one for one in names if len(name) >= 3 and name.casefold() in one.casefold()]
    close = _alike(name, names) or longer
    if close:
        return f"did you mean {close[0]!r}?"
    if len(names) <= _MOST_SHOWN:
        return f"the {kind} are {', '.join(map(repr, names))}"
    matcher = difflib.SequenceMatcher(b=name.casefold())

    def similarity(one: str) -> float:
        matcher.set_seq1(one.casefold())
        return matcher.ratio()

    shown = sorted(names, key=similarity, reverse=True)[:_MOST_SHOWN]
    return f"of the {len(names):,} {kind}, the most similar are {', '.join(map(repr, shown))}"


def _alike(name: str, names: Sequence[str]) -> list[str]:
    """Return the names that differ from a name in case only, or else the one of a similar spelling."""
    in_case = [one for one in names if one.casefold() == name.casefold()]
    return in_case or difflib.get_close_matches(name, names, n=1, cutoff=_ALIKE)


def written(value: Any) -> str:
    """Return a category as text, integral numbers without fraction: columns of integers with missing values
    hold floats.
    """
    if isinstance(value, float | np.floating | Decimal) and np.isfinite(float(value)) and value % 1 == 0:
        value = int(value)
    return str(value)


LabelKind: TypeAlias = Literal["boolean", "number", "date", "text"]

_KINDS: dict[str, LabelKind] = {"b": "boolean", "M": "date", "O": "text", "U": "text", "S": "text"}


def kind_of(labels: NDArray[Any]) -> LabelKind:
    """Return the kind of an array of labels."""
    return _KINDS.get(labels.dtype.kind, "number")


def plain_labels(labels: Any) -> list[Any]:
    """Return labels (n,) as bool, int, float or str; dates as ``2024-01-31`` or ``2024-01-31T12:30:00``."""
    values = np.asarray(labels)
    return [date_text(value) for value in values] if values.dtype.kind == "M" else list(values.tolist())


def date_text(value: np.datetime64) -> str:
    """Return a date as text, the same for every unit."""
    unit = np.datetime_data(value.dtype)[0]
    day, _, time = str(value.astype("M8[s]") if unit in ("h", "m") else value).partition("T")
    if not time:
        return str(value.astype("M8[D]"))
    time = time.rstrip("0").rstrip(".") if "." in time else time
    return day if time == "00:00:00" else f"{day}T{time}"


def label_texts(labels: Any) -> list[str]:
    """Return labels (n,) as texts for display: ``1`` for 1.0."""
    return [written(label) for label in plain_labels(labels)]


def code_of(labels: Sequence[Any], given: Any) -> int | None:
    """Return the position of a label, or of its text as JSON has it, among plain labels; None if absent."""
    (label,) = plain_labels(np.asarray(given).reshape(1))
    if label in labels:
        return labels.index(label)
    for code, one in enumerate(labels):
        if label in (str(one), written(one)) or (isinstance(one, bool) and label == str(one).lower()):
            return code
    return None
