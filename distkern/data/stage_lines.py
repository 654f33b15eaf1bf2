"""The lines of ``metrics.jsonl`` and of a model's history: the figures of a stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distkern.core.choices import ComparedList
from distkern.data.store.description import described

#: figures of every line of metrics, at least 0
_ALWAYS = ("stage", "passes", "seconds")
_WORDS, _LISTS = {"error", "ended"}, {"notes", "warnings"}
#: bound on figures beyond which sums and rounding fail
_LARGEST_FIGURE = 1e300


def check_line(line: Mapping[str, Any]) -> None:
    """Check the metrics of a stage of unknown origin.

    Raises
    ------
    ValueError
        Naming the first key that is missing or has a value of the wrong type.
    """
    for name in _ALWAYS:
        if not _is_number(line.get(name)) or not line[name] >= 0:
            raise ValueError(f"{name}: not a number of at least 0")
    for name, value in line.items():
        if name == "candidates":
            try:
                described(ComparedList, {name: value})
            except ValueError as error:
                raise ValueError(f"candidates: {error}") from None
        elif name in _WORDS or name in _LISTS:
            texts = [value] if name in _WORDS else value
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise ValueError(f"{name}: not a text")
        elif value is not None and not _is_number(value):
            raise ValueError(f"{name}: not a number")


def _is_number(value: Any) -> bool:
    # NaN counts: model.json has it for unknown figures
    return type(value) in (int, float) and not abs(value) > _LARGEST_FIGURE
