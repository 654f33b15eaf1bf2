"""How much columns matter to a model: what it keeps of what :mod:`distkern.runs.importance` has measured."""

from __future__ import annotations

from dataclasses import dataclass

from distkern.monitor.text import magnitude

NOT_MEASURED = "how much columns matter is not measured"


@dataclass(frozen=True)
class Importance:
    """How much larger the loss is on rows in which the values of a column are permuted."""

    column: str
    loss: float


@dataclass(frozen=True)
class Importances:
    """What permuting each column costs, the largest first.

    Attributes
    ----------
    loss : what is lost, in words
    n_rows, split : how many rows of which split it was measured on
    left_out : columns that were not permuted
    reason : why nothing was measured, where there are no columns
    copies : columns that nearly are the target
    """

    columns: tuple[Importance, ...]
    loss: str
    n_rows: int
    split: str
    left_out: int = 0
    reason: str = ""
    copies: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """What the numbers are, or why there are none."""
        if self.reason:
            return f"{NOT_MEASURED}: {self.reason}"
        rows = f"{self.n_rows:,} {'held-out test' if self.split == 'test' else 'training'} rows"
        others = f"; {self.left_out:,} other columns were not permuted" if self.left_out else ""
        copies = f"; {self.warning}" if self.copies else ""
        return f"what permuting a column costs, in {self.loss}, on {rows}{others}{copies}"

    @property
    def warning(self) -> str:
        """What to do about columns that nearly are the target, if there are any."""
        if not self.copies:
            return ""
        names = ", ".join(map(repr, self.copies))
        alone = "alone nearly tells" if len(self.copies) == 1 else "each nearly tell"
        them = "it is" if len(self.copies) == 1 else "they are"
        return f"{names} {alone} the target: leave out what is not known before it, if {them} such"

    @property
    def texts(self) -> list[tuple[str, float, str]]:
        """Columns, what they cost, and that as text."""
        return [(each.column, each.loss, magnitude(each.loss, 3, 1e4)) for each in self.columns]
