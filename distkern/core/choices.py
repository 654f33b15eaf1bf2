"""Which values of a hyperparameter are tried, how they are set, and what was compared before a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

Part = TypeVar("Part")

#: standard errors of a difference that are not chance
CERTAIN = 2.0
#: values that are no farther apart than this factor are not told apart
_SAME = 2.0


@dataclass(frozen=True)
class Choices:
    """The values that are tried for a hyperparameter.

    Attributes
    ----------
    default : its value where nothing is tried, which others have to be better than
    values : the others, times n ** power for n rows; or words
    power : how it grows with the rows, if what a row weighs is to stay: 1 of what weighs the mean loss, -1 of
        what weighs the regulariser against it
    least : the smallest value that is told from 0 in the precision of the features
    certain : standard errors of the difference by which a value has to be better than :attr:`default`
    by_default : it is chosen unless it is given, and not only where "auto" is
    """

    default: float | str
    values: tuple[float | str, ...]
    power: int = 0
    least: float = 0.0
    certain: float = 1.0
    by_default: bool = True

    def tried(self, n_rows: int) -> list[float | str]:
        """The values for so many rows but :attr:`default` and those about as large."""
        return [value for value in self.at(n_rows) if not self._is_known(value)]

    def at(self, n_rows: int) -> list[float | str]:
        """All :attr:`values` as they are for so many rows."""
        scaled = [
            max(float(f"{value * float(n_rows) ** self.power:.3g}"), self.least)
            if self.power and not isinstance(value, str)
            else value
            for value in self.values
        ]
        return list(dict.fromkeys(scaled))

    def _is_known(self, value: float | str) -> bool:
        if isinstance(value, str) or isinstance(self.default, str):
            return value == self.default
        return max(value, self.default) <= _SAME * min(value, self.default)

    def on_sample(self, value: Any, share: float) -> Any:
        """A value, given or chosen, as it is on a share of the rows."""
        return value if isinstance(value, str) else value * share**self.power


def with_values(part: Part, values: Mapping[str, Any]) -> Part:
    """A dataclass with other values of fields, its own ones or those of dataclasses in them, by name."""
    changes: dict[str, Any] = {}
    for field in fields(part):  # type: ignore[arg-type]
        value = getattr(part, field.name)
        if field.name in values:
            changes[field.name] = values[field.name]
        elif is_dataclass(value) and not isinstance(value, type):
            changed = with_values(value, values)
            if changed is not value:
                changes[field.name] = changed
    return replace(part, **changes) if changes else part  # type: ignore[type-var]


def value_of(part: Any, name: str) -> Any:
    """The value of the field of that name of a dataclass or of one in it; None where there is none."""
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    if name in values:
        return values[name]
    found = (value_of(value, name) for value in values.values() if is_dataclass(value))
    return next((value for value in found if value is not None), None)


@dataclass(frozen=True)
class Compared:
    """A candidate of a choice; its fields are an entry of "candidates" in a line of ``metrics.jsonl``.

    Attributes
    ----------
    name : what it is, in words
    loss : mean loss on held-out rows
    n_rows, n_functions : rows that its trial learned from, and functions of its machine, where they are known
    chosen : whether it is the one that is trained
    """

    name: str
    loss: float
    n_rows: int | None = None
    n_functions: int | None = None
    chosen: bool = False

    @property
    def cost(self) -> str:
        """Rows and functions of its trial, in words; empty where they are not known."""
        return "" if self.n_rows is None else f"{self.n_rows:,} rows x {self.n_functions:,} functions"

    @property
    def told(self) -> str:
        """A line about it."""
        cost = f" ({self.cost})" if self.cost else ""
        return f"tried: {self.name}{cost}: {self.loss:.4g}"
