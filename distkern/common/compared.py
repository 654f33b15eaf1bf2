"""What was compared before a run, as its history keeps it and as it is told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Compared:
    """A candidate of a choice; its fields are an entry of "candidates" in a line of ``metrics.jsonl``.

    Attributes
    ----------
    name : what it is, in words
    loss : mean loss of rows that it has not learned from
    n_rows, n_functions : rows that its trial learned from, and functions of its machine, where they are known
    """

    name: str
    loss: float
    n_rows: int | None = None
    n_functions: int | None = None

    @property
    def cost(self) -> str:
        """What its trial took, in words; empty where that is not known."""
        return "" if self.n_rows is None else f"{self.n_rows:,} rows x {self.n_functions:,} functions"

    @property
    def told(self) -> str:
        """A line about it."""
        cost = f" ({self.cost})" if self.cost else ""
        return f"tried: {self.name}{cost}: {self.loss:.4g}"
