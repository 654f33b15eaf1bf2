"""Candidate values of a hyperparameter, replacing fields of nested dataclasses, and compared candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

Part = TypeVar("Part")

#: standard errors beyond which a difference is not chance
CERTAIN = 2.0
#: values within this factor of each other count as the same
_SAME = 2.0


@dataclass(frozen=True)
class Choices:
    """Candidate values of a hyperparameter.

    Attributes
    ----------
    default : value to beat, used without a search
    values : other candidates; numbers are times n ** power for n rows
    power : growth with the number of rows that keeps a row's influence: 1 for weights of the mean loss, -1
        for weights of the regulariser against it
    least : smallest value that the precision of the features distinguishes from 0
    certain : standard errors of the difference by which a candidate must beat :attr:`default`
    by_default : search unless a value is given, instead of only for "auto"
    """

    default: float | str
    values: tuple[float | str, ...]
    power: int = 0
    least: float = 0.0
    certain: float = 1.0
    by_default: bool = True

    def tried(self, n_rows: int) -> list[float | str]:
        """Return the candidates for ``n_rows`` rows, without :attr:`default` and values about as large."""
        return [value for value in self.at(n_rows) if not self._is_known(value)]

    def at(self, n_rows: int) -> list[float | str]:
        """Return :attr:`values` for ``n_rows`` rows."""
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
        """Return a value, given or chosen, rescaled to a share of the rows."""
        return value if isinstance(value, str) else value * share**self.power


def with_values(part: Part, values: Mapping[str, Any]) -> Part:
    """Replace fields of a dataclass, or of dataclasses nested in it, by name."""
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
    """Return the field ``name`` of a dataclass or of one nested in it; None if there is none."""
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
    name : description of the candidate
    loss : mean loss on held-out rows
    n_rows, n_functions : training rows and functions of its trial, if known
    chosen : this candidate is trained
    near : the loss is that of rows near some rows, where exact machines are compared, and not of rows of the
        whole sample
    """

    name: str
    loss: float
    n_rows: int | None = None
    n_functions: int | None = None
    chosen: bool = False
    near: bool = False

    @property
    def cost(self) -> str:
        """Return rows and functions of its trial as text; empty if unknown."""
        return "" if self.n_rows is None else f"{self.n_rows:,} rows x {self.n_functions:,} functions"

    @property
    def summary(self) -> str:
        """Return a line for the user."""
        cost = f" ({self.cost})" if self.cost else ""
        return f"tried: {self.name}{cost}: {self.loss:.4g}{' near some rows' * self.near}"


def summaries(compared: Sequence[Compared]) -> list[str]:
    """Return a line for each candidate, and one on which of them compare."""
    lines = [one.summary for one in compared]
    if len({one.n_rows for one in compared if one.n_rows is not None}) > 1:
        lines.append("trials on fewer rows hold out other rows, so only the last ones compare")
    return lines


def reason(compared: Sequence[Compared], unit: str) -> str:
    """Return why the chosen candidate was chosen, as a clause; ``unit`` names the loss.

    >>> small, large = Compared("linear", 0.41, 900, 40, chosen=True), Compared("rbf", 0.40, 900, 384)
    >>> reason([small, large], "log loss")
    'no other has a lower log loss by more than chance on the same held-out rows'
    """
    chosen = next(one for one in compared if one.chosen)
    if chosen.loss <= min(one.loss for one in compared if one.near == chosen.near):
        return f"its {unit} on held-out rows is the lowest"
    return f"no other has a lower {unit} by more than chance on the same held-out rows"


@dataclass(frozen=True)
class ComparedList:
    """The candidates of a stage's line, for checking one of unknown origin."""

    candidates: tuple[Compared, ...]
