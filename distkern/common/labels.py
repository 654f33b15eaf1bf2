"""Labels of classes as values that are equal whatever array, frame or file holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.common.names import written

LabelKind: TypeAlias = Literal["boolean", "number", "date", "text"]

_KINDS: dict[str, LabelKind] = {"b": "boolean", "M": "date", "O": "text", "U": "text", "S": "text"}


def kind_of(labels: NDArray[Any]) -> LabelKind:
    """The kind of an array of labels."""
    return _KINDS.get(labels.dtype.kind, "number")


def plain_labels(labels: Any) -> list[Any]:
    """Labels (n,) as bool, int, float or str, and dates as texts: ``2024-01-31``, ``2024-01-31T12:30:00``."""
    values = np.asarray(labels)
    return [date_text(value) for value in values] if values.dtype.kind == "M" else list(values.tolist())


def date_text(value: np.datetime64) -> str:
    """A date in one form, whatever its unit."""
    unit = np.datetime_data(value.dtype)[0]
    day, _, time = str(value.astype("M8[s]") if unit in ("h", "m") else value).partition("T")
    if not time:
        return str(value.astype("M8[D]"))
    time = time.rstrip("0").rstrip(".") if "." in time else time
    return day if time == "00:00:00" else f"{day}T{time}"


def label_texts(labels: Any) -> list[str]:
    """Labels (n,) as texts for readers: ``1`` for 1.0."""
    return [written(label) for label in plain_labels(labels)]


def code_of(labels: Sequence[Any], given: Any) -> int | None:
    """Return the place among plain labels of a label, or of its text, as JSON has it; else None."""
    (label,) = plain_labels(np.asarray(given).reshape(1))
    if label in labels:
        return labels.index(label)
    for code, one in enumerate(labels):
        if label in (str(one), written(one)) or (isinstance(one, bool) and label == str(one).lower()):
            return code
    return None
