"""Models over random features found by doubly stochastic gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import CorruptDataError, InputError
from distkern.data.scaling import Preparation
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.landmarks.base import RowLayout
from distkern.maths.losses.base import AbstractLoss
from distkern.maths.losses.real import Square
from distkern.maths.losses.unlabelled import DensityRatio, Novelty
from distkern.model.fields import fitted
from distkern.model.prediction import deviations_of_rows, side_of
from distkern.model.settings import AbstractSettings, Settings
from distkern.model.value import FittedModel
from distkern.solvers._dsg.settings import DSGState, StepRule
from distkern.solvers.base import Problem, cannot_go_on
from distkern.solvers.dsg import ContinuedDSG
from distkern.solvers.dsg_novelty import MOST_EXACT_ROWS, held_out_of
from distkern.solvers.risk import Risk

DEVIATION = "deviation"
#: features of an exact polish; largest rows in bytes for which it is the default
MOST_FEATURES, _MOST_BYTES = 8192, 64 * 2**20


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomModel(FittedModel):
    """A model over blocks of random features.

    Attributes
    ----------
    state : last state of a run in this process, with which batches continue
    """

    gamma: float = fitted("gamma of the kernel", fact="gamma", write=float)
    n_blocks: int = fitted("number of blocks of random features in use", fact="n_blocks", write=int)
    state: DSGState | None = None
    #: fewest steps of a run (32: as many as the default features of a classifier need), and fewest changes of
    #: each block of features
    least_steps: ClassVar[int] = 32
    least_visits: ClassVar[int] = 1

    @classmethod
    def solver_of(cls, settings: Settings, risk: Risk) -> Any:
        assert settings.solver is not None
        steps, values = None, settings.values_of(settings.solver)
        if settings.given["step_size"] is not None:
            steps = StepRule(settings.value("step_size"), settings.value("step_decay"))
        values["block_size"] = min(values["block_size"], values["n_features"])
        n_blocks = -(-values["n_features"] // values["block_size"])
        # slopes of quantile losses are small compared with the curvature of 1 assumed at their kink
        least = cls.least_steps * (4 if risk.loss.predicts_quantiles else 1)
        return settings.solver(
            risk,
            settings.kernel_choice(),
            sampler=settings.value("sampler"),
            steps=steps,
            least_steps=max(least, cls.least_visits * n_blocks),
            **values,
        )

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        own = cls.unit_parts(solver.model_coefficients(state), state, is_real=solver.risk.is_real)
        return own | {"gamma": state.gamma, "n_blocks": state.n_blocks, "state": state}

    def _solver(self) -> Any:
        return self.solver_of(self.settings.cleaned, self.risk_of(self.settings, max(self.n_outputs, 2)))

    def basis(self, dtype: DTypeLike = np.float32) -> RandomFeatureBasis:
        """Return the random features in use, computing in ``dtype``."""
        layout = RowLayout((), self.width, np.dtype(dtype), self.seed)
        found: RandomFeatureBasis = self._solver().basis(layout, self.gamma, self.n_blocks)
        return found

    def squared_norm(self) -> float:
        # features are normalised block by block: all blocks together are sqrt(most_blocks) times as long
        own = self.coefficients
        return float(self._solver().most_blocks * float(np.einsum("ij,ij->", own, own)))

    def stored_state(self) -> DSGState:
        """Return the last state of the run, restored from the saved part; its figures are unknown."""
        # the only constant is the offset of the classes
        center, scale = (self.constants, 1.0) if self.task == "classification" else self.unit
        own = dict(self.further.loaded().solver_state)
        state = DSGState(
            gamma=self.gamma,
            landmarks=np.empty((0, self.width)),
            cursor=np.zeros(0, np.int64),
            n_steps=int(own["step"]),
            center=center,
            target_scale=scale,
            variances=np.full(2, np.nan),
            **own,
        )
        if state.is_polished:
            # the average covers the steps before the polish
            average = state.scale * state.coefficients if len(state.average) else state.average
            state = replace(state, average=average, polish_gap=math.nan)
        return state

    def continued(self, solver: Any, problem: Problem, update_run: Any) -> tuple[Any, Problem]:
        if solver.updates.refusal:
            return super().continued(solver, problem, update_run)
        if self.settings.value("polish") is not None:
            why = "it was polished to the minimum over its rows, which further steps would leave"
            raise cannot_go_on(self.name, why)
        before = self.stored_state()
        n_more = max(1, round(before.step * problem.n_rows / update_run.n_earlier))
        continued = ContinuedDSG(**vars(solver), before=before, n_more=n_more)
        return continued, replace(problem, seed=self.seed)

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"features_digest": self.basis(np.float64).digest()}

    def check(self, facts: Mapping[str, Any], where: str) -> None:
        basis = self.basis(np.float64)
        if self.coefficients.shape[0] != basis.size:
            raise CorruptDataError(
                f"{self.coefficients.shape[0]} coefficients for {basis.size} features",
                where=where,
                hint="train again",
            )
        basis.check_digest(facts["features_digest"], written_with=facts["numpy-version"], where=where)
        super().check(facts, where)


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianProcessModel(RandomModel):
    """The posterior of a Gaussian process over random features."""

    noise: float = fitted("standard deviation of the noise, in the units of the targets")
    nu: float = fitted("(noise_ / target_scale_)^2 / n, where n is the sum of the rows' weights")
    log_marginal_likelihood: float = fitted(
        "log marginal likelihood of the training targets, in units of target_scale_; NaN, as noise_ is, if "
        "the fit ended before its last stage"
    )
    spread: NDArray[np.float64] = fitted(
        "(n_features, n_features) matrix D: the standard deviation of f(x) is |z(x)' D|", array="spread"
    )

    @classmethod
    def loss_of(cls, settings: AbstractSettings) -> AbstractLoss:
        return Square()

    @classmethod
    def posed(
        cls, settings: Settings, solver: Any, problem: Problem, mean_weight: float
    ) -> tuple[Settings, Any, Problem]:
        return settings, solver.for_rows(problem.n_rows * mean_weight), problem

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        return super().of_state(settings, solver, state) | {
            "nu": solver.nu if math.isnan(state.nu) else state.nu,
            "noise": state.noise * state.target_scale,
            "log_marginal_likelihood": state.evidence,
            "spread": state.target_scale * state.spread,
        }

    @property
    def penalty_weight(self) -> float:
        return self.nu

    def arrays(self) -> dict[str, NDArray[Any]]:
        numbers = np.array([self.noise, self.nu, self.log_marginal_likelihood])
        return super().arrays() | {"process": numbers}

    @classmethod
    def read(
        cls, known: dict[str, Any], arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str
    ) -> GaussianProcessModel:
        noise, nu, evidence = arrays["process"].tolist()
        own = {"noise": noise, "nu": nu, "log_marginal_likelihood": evidence}
        return super().read({**known, **own}, arrays, facts, where)

    def check(self, facts: Mapping[str, Any], where: str) -> None:
        super().check(facts, where)
        if self.spread.size and self.spread.shape != (len(self.coefficients),) * 2:
            raise ValueError(
                f"deviations of {len(self.spread)} features, and coefficients of {len(self.coefficients)}"
            )

    def predictor(
        self, preparation: Preparation | None, output: str, dtype: np.dtype[Any] | None = None
    ) -> partial[NDArray[Any]]:
        if output != DEVIATION:
            return super().predictor(preparation, output, dtype)
        bases = self.bases(preparation, dtype)
        return partial(deviations_of_rows, bases, self.spread, self.width, preparation)


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyModel(RandomModel):
    """A one-class machine: f and its threshold tau."""

    offset: float = fitted("threshold tau: ``decision_function`` is ``score_samples`` minus tau")
    least_visits = 32

    @classmethod
    def loss_of(cls, settings: AbstractSettings) -> AbstractLoss:
        return Novelty(settings.value("nu"))

    @classmethod
    def posed(
        cls, settings: Settings, solver: Any, problem: Problem, mean_weight: float
    ) -> tuple[Settings, Any, Problem]:
        settings = cls._decided(settings, solver.risk, problem)
        solver = cls.solver_of(settings, solver.risk)
        solver.check_rows(problem.n_rows)
        if settings.found.get("polish") == "exact":
            features = f"{solver.block_size * solver.most_blocks:,} random features"
            note = f"few rows: the exact minimiser over {features}, without default steps (polish=exact)"
            problem = replace(problem, notes=(*problem.notes, note))
        if solver.polish is None:
            solver = replace(solver, risk=held_out_of(solver.risk, problem.n_rows, problem.seed))
        return settings, solver, problem

    @classmethod
    def _decided(cls, settings: Settings, risk: Risk, problem: Problem) -> Settings:
        """Return the settings with values for the hyperparameters that depend on the rows."""
        decided = dict(settings.left_open)
        few = problem.n_rows <= min(MOST_EXACT_ROWS, _MOST_BYTES // problem.row_bytes)
        if "polish" in decided and few and settings.value("steps_per_stage") is None:
            decided["polish"] = "exact"
        settings = settings.finding(decided)
        if "n_features" in decided and settings.value("polish") == "exact":
            settings = settings.finding({"n_features": MOST_FEATURES})
        try:
            cls.solver_of(settings, risk).basis(problem, 1.0)
        except InputError as error:
            if "sampler" not in decided or error.where != "sampler":
                raise
            settings = settings.finding({"sampler": "monte_carlo"})
        return settings

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        own = {"constants": np.array([-state.threshold]), "offset": state.threshold}
        return super().of_state(settings, solver, state) | own

    def penalty(self) -> float:
        """Return nu/2 |f|^2 - nu tau."""
        return super().penalty() - float(self.settings.value("nu")) * self.offset

    @classmethod
    def read(
        cls, known: dict[str, Any], arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str
    ) -> NoveltyModel:
        offset = -float(arrays["intercept"][0])
        return super().read({**known, "offset": offset}, arrays, facts, where)

    def answer(self, output: str) -> partial[NDArray[Any]]:
        return partial(side_of, self.constants, output)


@dataclass(frozen=True, eq=False, kw_only=True)
class RatioModel(RandomModel):
    """The log of the density ratio p/q of two samples."""

    kl_divergence: float = fitted(
        "E_p f - E_q exp(f) + 1 on about 16,384 training rows, which is too large for few rows; "
        ":meth:`kl_divergence` computes it for other rows",
        fact="kl_divergence",
        read=float,
    )
    least_visits = 4

    @classmethod
    def loss_of(cls, settings: AbstractSettings) -> AbstractLoss:
        return DensityRatio(settings.value("cap"))

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        own = super().of_state(settings, solver, state)
        squares = np.einsum("ij,ij->", own["coefficients"], own["coefficients"])
        norm = 0.5 * float(settings.value("nu")) * (solver.most_blocks * float(squares))
        return own | {"kl_divergence": 1.0 - (float(state.objective) - norm)}
