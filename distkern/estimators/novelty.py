"""One-class machines by doubly stochastic gradients as a scikit-learn outlier detector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from distkern.common.errors import InputError
from distkern.common.parameters import AUTO, NOTHING, Words, declared
from distkern.estimators.declared import fitted
from distkern.estimators.dsg import AbstractDSG
from distkern.features.random import SAMPLER
from distkern.losses.unlabelled import Novelty
from distkern.runs.prediction import side_of
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.dsg_novelty import MOST_EXACT_ROWS, DSGNovelty, NoveltyState, held_out_of
from distkern.solvers.hyperparameters import RANDOM_STATE, SCALE

if TYPE_CHECKING:
    from distkern.runs.data import TrainingData

_SOLVER = declared(DSGNovelty)
#: features of an exact polish, and bytes of the rows that the driver takes for one without being asked
_MOST_FEATURES, _MOST_BYTES = 8192, 64 * 2**20
#: what the rows decide, and what is taken of many of them
_OF_MANY_ROWS = {"polish": None, "n_features": _SOLVER["n_features"].default, "sampler": "quasi_monte_carlo"}
_CHOICES = {
    "polish": replace(
        _SOLVER["polish"],
        default=AUTO,
        kinds=(Words(AUTO), *_SOLVER["polish"].kinds),
        help=f"{_SOLVER['polish'].help}; auto: exact of so many rows that take at most 64 MiB, unless "
        "steps_per_stage asks for steps",
    ),
    "n_features": replace(
        _SOLVER["n_features"],
        default=None,
        kinds=(*_SOLVER["n_features"].kinds, NOTHING),
        help=f"{_SOLVER['n_features'].help}; none: {_MOST_FEATURES} with an exact polish, else "
        f"{_SOLVER['n_features'].default}",
    ),
    "sampler": replace(
        SAMPLER,
        default=AUTO,
        kinds=(Words(AUTO), *SAMPLER.kinds),
        help=f"{SAMPLER.help}; auto: quasi_monte_carlo, or monte_carlo of kernels that it is not for",
    ),
}


class DSGNoveltyDetector(OutlierMixin, AbstractDSG, solver=DSGNovelty):  # type: ignore[misc]
    """Novelty detector by doubly stochastic functional gradients (Dai et al. 2014, Section 4).

    Minimises mean_i s_i max(0, tau - f(x_i)) - nu tau + nu/2 |f|^2 over f and its threshold tau, as
    scikit-learn's ``OneClassSVM`` does (its dual coefficients are n nu times ours). After an exact polish
    tau is the nu-quantile of rows that were held out, each fifth once. Steps learn from four fifths of the
    rows, or from all but about 16,384 of many rows, and tau is the nu-quantile of the others. So about a
    share ``nu`` of fresh rows lies below tau, and fewer of the training rows. With m held-out rows the
    standard deviation of that share is (nu (1 - nu) / m)^1/2. Labels are not used, and data sets may have
    any or none (``distkern shard --task none``).

    The model of up to 2,048 rows is exact in the span of 8,192 random features (``polish``). Its scores have
    a rank correlation of .99 or more with those of the kernel's own machine (measured for nu from .01 to .5).
    Steps make that of more rows, over 2,048 features, and at a small ``nu`` these are most of its error: f is
    then a sum over about n nu rows far from the others, with errors of kernel values of n_features^-1/2, and
    more steps do not make it smaller. More ``n_features`` do: for 4,000 rows with nu = .01 the rank
    correlation is .80 with 2,048 of them and .98 with 8,192, at ten times the time.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = DSGNoveltyDetector(nu=0.05, n_features=256, block_size=64, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.1], [5.0, 5.0]]).tolist(), float(np.mean(model.predict(X) == -1)) <= 0.05
    ([1, -1], True)
    """

    task = "none"
    least_visits = 32
    beside: ClassVar = {**_CHOICES, "scale": SCALE, "random_state": RANDOM_STATE}
    offset_: float = fitted("tau: ``decision_function`` is ``score_samples`` less it")

    def _loss(self) -> Novelty:
        return Novelty(self.value("nu"))

    def n_outputs(self, n_classes: int = 2) -> int:
        return 1

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        self.mean_weight_ = data.mean_weight()
        problem = data.problem(1, has_test, self._seed(), error_name="outliers")
        self._choose(problem)
        solver = self._solver(None, self.mean_weight_)
        assert isinstance(solver, DSGNovelty)
        solver.check_rows(problem.n_rows)
        if self.found_.get("polish") == "exact":
            features = f"{solver.block_size * solver.most_blocks:,} random features"
            note = f"few rows: the exact minimiser over {features}, without default steps (polish=exact)"
            problem = replace(problem, notes=(*problem.notes, note))
        if solver.polish is None:
            solver = replace(solver, risk=held_out_of(solver.risk, problem.n_rows, problem.seed))
        return solver, problem

    def _choose(self, problem: Problem) -> None:
        """Let the rows decide what is left open."""
        chosen = {name: _OF_MANY_ROWS[name] for name in _OF_MANY_ROWS if self._is_open(name)}
        few = problem.n_rows <= min(MOST_EXACT_ROWS, _MOST_BYTES // problem.row_bytes)
        if "polish" in chosen and few and self.value("steps_per_stage") is None:
            chosen["polish"] = "exact"
        self.found_ = {**self.found_, **chosen}
        if "n_features" in chosen and self.value("polish") == "exact":
            self.found_ = {**self.found_, "n_features": _MOST_FEATURES}
        try:
            self._solver(None, 1.0).basis(problem, 1.0)
        except InputError as error:
            if "sampler" not in chosen or error.where != "sampler":
                raise
            self.found_ = {**self.found_, "sampler": "monte_carlo"}

    def _is_open(self, name: str) -> bool:
        """Whether the rows decide a hyperparameter."""
        return name in _OF_MANY_ROWS and self.given(name) == self.hyperparameters[name].default

    def value(self, name: str) -> Any:
        return self.found_.get(name, _OF_MANY_ROWS[name]) if self._is_open(name) else super().value(name)

    def _keep_data(self, data: TrainingData) -> None:
        """There is nothing to keep of labels that are not looked at."""

    def _keep_coefficients(self, coefficients: NDArray[np.float64], state: Any) -> None:
        assert isinstance(state, NoveltyState)
        super()._keep_coefficients(coefficients, state)
        self.constants_, self.offset_ = np.array([-state.threshold]), state.threshold

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        super()._restore(arrays, facts, where)
        self.offset_ = -float(self.constants_[0])

    def objective_value(self, losses: float, n_rows: int) -> float:
        """Mean of max(0, tau - f) - nu tau + nu/2 |f|^2."""
        return super().objective_value(losses, n_rows) - float(self.value("nu")) * self.offset_

    # -- prediction

    def answer(self, output: str) -> partial[NDArray[Any]]:
        return partial(side_of, self.constants_, output)

    def decision_function(self, X: Any) -> Any:
        """f(x) - tau, (n_rows,): negative for outliers; lazy for Dask arrays and splits."""
        return self._map(X, "decision", np.float64, None)

    def score_samples(self, X: Any) -> Any:
        """f(x), (n_rows,): the lower, the more abnormal; lazy as ``decision_function``."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Any:
        """-1 for outliers and +1 for other rows, (n_rows,); lazy as ``decision_function``."""
        return self._map(X, "label", np.int64, None)
