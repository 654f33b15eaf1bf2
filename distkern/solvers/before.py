"""What an update begins from: a fitted model, and what its solver has kept of the run that made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from distkern.common.errors import InputError
from distkern.common.sparse import Rows
from distkern.common.types import Array


class OldRows(Enum):
    """What an update does with the rows that the model has learned from before."""

    #: they are read again, as what is minimised is the mean loss over all rows
    NEEDED = "needed"
    #: they are read again if they are given; else what was kept stands for them
    USED = "used"
    #: what was kept stands for them
    LEFT = "left out"


@dataclass(frozen=True)
class Before:
    """The model that an update of a solver over explicit features begins from.

    Attributes
    ----------
    landmarks, gamma, coefficients, center, target_scale : as in the states of these solvers
    own : what the solver has kept of its last state, by name, see ``kept`` of
        :class:`~distkern.solvers.base.AbstractSolver`
    n_rows : rows that it has learned from and that are not read again
    mean_weight : mean weight of these rows, divided by that of all
    """

    landmarks: Rows
    gamma: float
    coefficients: Array
    center: Array
    target_scale: float
    own: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 0
    mean_weight: float = 1.0

    def missing_gradient(self, n_rows: int, gradient: Array) -> Array:
        """What is added to the mean gradient of new rows for that of all rows, (r, k), at the model.

        The gradient of the rows of before is kept, so that this is exact at the model; elsewhere it says that
        their curvature is that of the new ones: the surrogate loss of Jordan, Lee and Yang (2019).

        Parameters
        ----------
        n_rows : of the new rows
        gradient : (r, k), theirs at the model
        """
        share = self.n_rows / (self.n_rows + n_rows)
        kept: Array = self.own["gradient"]
        return share * (self.mean_weight * kept - gradient)

    def whole_gradient(self, n_rows: int, gradient: Array) -> dict[str, Array]:
        """The fields ``gradient``, of all rows, and ``missing`` of it; none where all rows are read."""
        if not self.n_rows:
            return {}
        missing = self.missing_gradient(n_rows, gradient)
        return {"gradient": gradient + missing, "missing": missing}


def cannot_go_on(name: str, why: str) -> InputError:
    """The refusal to update a model, for a reason, a clause."""
    return InputError(
        f"{name} cannot go on from a model: {why}",
        where="update",
        hint="shard the old and the new files as one data set, and train on that",
    )


#: new rows for each function from which on their curvature stands for that of all rows
ROWS_PER_FUNCTION = 8


def asks_with_gradient(n_new: int, size: int) -> OldRows:
    """What solvers with a kept gradient do with the rows of before."""
    return OldRows.USED if n_new >= ROWS_PER_FUNCTION * size else OldRows.NEEDED
