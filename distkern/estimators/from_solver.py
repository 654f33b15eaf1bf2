"""The hyperparameters that an estimator has from its solver, and the precision of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from distkern.common.parameters import AUTO, Parameter
from distkern.common.sparse import Rows
from distkern.estimators.fitted import FittedAttributes, fitted
from distkern.solvers.base import AbstractSolver
from distkern.solvers.hyperparameters import DTYPE, RANDOM_STATE, SCALE, hyperparameters_of


class FromSolver(FittedAttributes):
    """What a class statement says of an estimator by its solver.

    ``class SVRGClassifier(AbstractExplicitClassifier, solver=SVRG)`` has the solver's name and
    hyperparameters, and those of its kind of targets (:attr:`beside`); every estimator has ``dtype``.
    """

    #: what ``--algorithm`` and models call it
    name: ClassVar[str]
    solver_type: ClassVar[type[Any]]
    #: hyperparameters that the solver does not declare, or declares otherwise; None leaves one out
    beside: ClassVar[Mapping[str, Parameter | None]] = {"scale": SCALE, "random_state": RANDOM_STATE}

    dtype_: np.dtype[Any] | None = fitted(
        "of the rows that it was fitted to, which those that are given to ``predict`` are brought to; None "
        "for a stored model that does not say, whose rows are predicted in their own precision",
        default=None,
    )

    def __init_subclass__(cls, *, solver: type[AbstractSolver[Any]] | None = None, **given: Any) -> None:
        if solver is not None:
            cls.solver_type = solver
            cls.name = vars(cls).get("name", cls.name_with(solver))
            cls.hyperparameters = hyperparameters_of(solver, **{**cls.loss_of(solver), **cls.beside})
        if "hyperparameters" in vars(cls):
            cls.hyperparameters = {**cls.hyperparameters, "dtype": DTYPE}
        super().__init_subclass__(**given)

    @classmethod
    def name_with(cls, solver: type[AbstractSolver[Any]]) -> str:
        """Its name, unless the class gives itself another one."""
        return solver.name

    @classmethod
    def loss_of(cls, solver: type[AbstractSolver[Any]]) -> dict[str, Parameter]:
        """The parameter ``loss``, of a kind of targets where the solver takes several."""
        return {}

    def stored_params(self) -> dict[str, Any]:
        params = super().stored_params()
        # data sets have a precision of their own, so files speak of it only where it was asked for
        return {name: value for name, value in params.items() if name != "dtype" or value != AUTO}

    def precision_of_batch(self, rows: Rows) -> np.dtype[Any]:
        """That of the batches before; of the first one what ``dtype`` says, or its own."""
        if self.dtype_ is None:
            wanted = self.value("dtype")
            self.dtype_ = rows.dtype if wanted == AUTO else np.dtype(wanted)
        return self.dtype_
