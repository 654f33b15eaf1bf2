"""Doubly stochastic gradients: random rows and features (Dai et al. 2014; Li and Poczos 2016).

f = sum_j alpha_j phi_wj, whose features are rebuilt from their seeds. Algorithm 1 of Dai et al. is on the
left, our code on the right, with a batch of rows for x_i and a block of features for w_i:

    for i = 1 .. t:                                        DSG.stage: some of the steps, each a Growth.step
        draw (x_i, y_i)                                    DSGSettings.batches
        draw w_i with seed i                               Growth._next_block
        f(x_i) <- sum_(j < i) alpha_j phi_wj(x_i)          Growth._ask: answered by who holds the rows
        alpha_i <- -gamma_i l'(f(x_i), y_i) phi_wi(x_i)    Growth._update
        alpha_j <- (1 - gamma_i nu) alpha_j, j < i         DSGState.scale

Algorithm 3 of Li and Poczos (UDSG) alternates G steps in new features with U steps in uniformly drawn old
ones (``udsg_pattern``). Algorithm 4 (CDSG), with its misprints corrected, continues from f(x_i) as follows:

    eta_k <- the largest step that (9) allows in an        Growth._choose, by reusable_steps
        old feature
    if eta_k > gamma_i:
        alpha_j <- (1 - eta_k nu) alpha_j for all j        DSGState.scale
        alpha_k <- alpha_k - eta_k l' phi_wk(x_i)          Growth._update
        beta_j <- (1 - eta_k nu) beta_j for all j          DSGState.betas
        beta_k <- beta_k - eta_k l'
    else: a new feature as above, with beta_i <- -gamma_i l' and beta_j <- (1 - gamma_i nu) beta_j

Once there are ``n_features``, all steps use old blocks; at the end ``polish`` solves for the coefficients.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.choices import Choices
from distkern.core.errors import InputError
from distkern.core.parameters import NOTHING, POSITIVE, Parameter, declared
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.features import AbstractFeatures
from distkern.maths.features.base import GAMMA, KernelChoice, a_kernel
from distkern.maths.features.landmarks import Nystroem
from distkern.maths.features.random import SAMPLER, Random, footprint_of_random
from distkern.maths.kernels import FEATURE_KERNELS, AbstractTileKernel
from distkern.maths.landmarks.base import RowLayout
from distkern.passes import EXPONENTIAL, Cost, Rounds, batches
from distkern.solvers._dsg.growth import Growth
from distkern.solvers._dsg.polish import TOLERANCE, check_polish, exact_polish, polish_outline
from distkern.solvers._dsg.rounds import (
    MEASURED_ROWS,
    WATCHED_ROWS,
    DSGOperand,
    Follower,
    answer_bytes,
    figures_of,
    measuring_pass,
    sums_bytes,
)
from distkern.solvers._dsg.settings import DSGSettings, DSGState, StepRule
from distkern.solvers.base import Measures, Outline, Problem, Steps, Trouble, UpdateRule
from distkern.solvers.hyperparameters import ANY_LOSS, GAMMA_ON_DEMAND, SEARCHED_NU
from distkern.solvers.measuring import AbstractSearchable, Model, pass_cost
from distkern.solvers.newton import Newton
from distkern.solvers.quantiles import quantiles_of_scores, quantiles_outline, residuals
from distkern.solvers.risk import Risk
from distkern.solvers.svrg import SVRG
from distkern.solvers.targets import (
    TargetScale,
    offsets_of_scores,
    offsets_pass,
    scaled_risk,
    target_outline,
    target_scale,
)


@dataclass(frozen=True)
class DSG(DSGSettings, AbstractSearchable[DSGState]):
    """Functional gradient descent in which each step draws a batch of rows and a block of random features.

    Minimises mean_i s_i l(f(x_i), y_i) + nu/2 |f|^2. Step t with gamma = gamma_t and G = s l'(f(X), y) over
    the batch does f <- (1 - gamma nu) f - gamma z_j (Z_j^T G / B), in a new block j until there are
    ``n_features`` features and then in a randomly drawn one (Dai et al. 2014, Algorithm 1, in batches and
    blocks). ``precondition`` makes a Newton step in the block instead,

        A_j <- A_j - gamma (c (Z_j^T S Z_j / B + damping I) + nu J I)^-1 (Z_j^T G / B + nu J A_j),

    with c the loss's curvature, or 1 if it has none, and J the total number of blocks (B >= 4 block_size).
    The authors' published code has no regulariser here; preconditioning only the data's part of the step
    would minimise another objective.

    ``objective`` is the mean loss + nu/2 J sum_j |A_j|^2, for all J blocks of ``n_features``: nu/2 |f|^2 in
    the space of their features. It and the errors are measured on about 4,096 sampled rows, after the last
    stage on 16,384 training rows and all held-out rows.

    Real targets are centred and scaled first, see :func:`~distkern.solvers.targets.target_scale`. f, nu and
    the objective have no unit; errors are mean squared errors in the units of the targets.

    Quantile losses add unregularised constants to f: at the end, the quantiles of all residuals, so that a
    share q of the training rows is at or below the quantile q, see
    :func:`~distkern.solvers.quantiles.quantiles_of_scores`. So do losses with probabilities: f starts at the
    log-odds of the classes and is shifted at the end, see
    :func:`~distkern.solvers.targets.offsets_of_scores`.

    Parameters
    ----------
    risk : loss, outputs, weights
    kernel : the kernel, with gamma or a rule for it
    sampler : sampler of its random features
    steps : gamma_t; None: 0.5 / (1 + t / 50) with a preconditioner, for any loss; without one
        min(20, 5 / c) / (1 + t / 50), c the largest slope of l', or 20 / (1 + t / 50) if l' jumps
    least_steps : least steps of a run, unless ``steps_per_stage`` is given
    and others, described in their declarations. "cdsg" uses an old block if (9) of Li and Poczos 2016 allows
    it, see :func:`~distkern.solvers._dsg.settings.reusable_steps`, with V = mean |l'|^2 ``feature_variance``
    / B.
    """

    name = "dsg"
    cost_of_pass = "a step B (r d + r k), r the features so far"
    memory = "r k numbers; features are made from seeds"
    #: relative distance to the minimum at which an exact polish has converged
    polish_tolerance: ClassVar[float] = TOLERANCE
    updates: ClassVar[UpdateRule] = UpdateRule(
        False, ("coefficients", "average", "betas", "scale", "n_blocks", "step", "polish_gap", "first_loss")
    )
    searched: ClassVar[Mapping[str, Choices]] = {
        "nu": replace(SEARCHED_NU, by_default=False),
        "gamma": GAMMA_ON_DEMAND,
    }
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": ANY_LOSS,
        "kernel": a_kernel(FEATURE_KERNELS),
        "gamma": GAMMA,
        "sampler": SAMPLER,
        "step_size": Parameter(
            None,
            (POSITIVE, NOTHING),
            "gamma_t = step_size / (1 + step_decay t); none: .5, or 5 / l'' without precondition",
        ),
        "step_decay": declared(StepRule)["step_decay"],
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.udsg_pattern[0] < 1:
            raise InputError("has no steps in new blocks", where="udsg_pattern", hint="use at least one")
        self.step_rule.check(self.nu)
        self._check_polish()

    def _check_polish(self) -> None:
        check_polish(self.polish, self.risk, self.block_size * self.most_blocks)

    def state_type(self) -> type[DSGState]:
        return DSGState

    def step_hint(self) -> str:
        return self.step_rule.hint()

    def hint(self, trouble: Trouble) -> str:
        if trouble is Trouble.DIVERGED:
            return f"{super().hint(trouble)}, or a smaller nu than {self.nu:g}"
        if trouble is Trouble.UNFINISHED:
            return f"set more n_features than {self.n_features}, or steps_per_stage for more steps"
        return super().hint(trouble)

    def n_steps(self, problem: Problem) -> int:
        """Gradient steps of a run."""
        if self.steps_per_stage is None:
            new, old = self.udsg_pattern if self.variant == "udsg" else (1, 0)
            cycles, rest = divmod(self.most_blocks, new)
            return max(cycles * (new + old) + rest, self.least_steps)
        rows = self.steps_per_stage
        rows = rows * problem.n_rows if isinstance(rows, float) else rows
        return self.stages * max(1, round(rows / min(self.batch_size, problem.n_rows)))

    def stand_in(self) -> AbstractSearchable[Any]:
        return near_machine(self.risk, self.kernel, self.nu)

    def model(self, problem: Problem, state: DSGState) -> Model:
        basis = self.basis(problem, state.gamma)
        return Model(basis, self.model_coefficients(state).astype(basis.dtype), self.risk_at(state))

    def basis(self, layout: RowLayout, gamma: float, n_blocks: int | None = None) -> RandomFeatureBasis:
        """The features of a run, or the first ``n_blocks`` blocks of them."""
        blocks = self.most_blocks if n_blocks is None else n_blocks
        return RandomFeatureBasis(
            self.kernel.with_gamma(gamma),
            layout.n_features,
            self.block_size * blocks,
            layout.seed,
            sampler=self.sampler,
            dtype=layout.dtype,
            block_size=self.block_size,
            normalize="block",
            sparse_rows=layout.is_sparse,
        )

    def model_coefficients(self, state: DSGState) -> NDArray[np.float64]:
        """A of the model, (n_blocks * block_size, n_outputs): the average if there is one, else the last."""
        used = state.n_blocks * self.block_size
        averaged = self.average and not state.is_polished and state.step > 0
        return state.average[:used] if averaged else state.scale * state.coefficients[:used]

    def init(self, problem: Problem) -> Steps[DSGState]:
        targets = yield from target_scale(problem, self.risk)
        gamma = yield from self.choose_gamma(problem, targets)
        outputs, size = self.risk.n_outputs, self.block_size * self.most_blocks
        state = self.state_type()(
            gamma=gamma,
            landmarks=np.empty((0, problem.n_features), problem.dtype),
            coefficients=np.zeros((size, outputs)),
            average=np.zeros((size if self.average else 0, outputs)),
            betas=np.zeros((self.most_blocks, outputs)),
            cursor=self.batches(problem).first(),
            scale=1.0,
            n_blocks=0,
            step=0,
            n_steps=self.n_steps(problem),
            **targets.fields,
        )
        return (yield from self._measured(problem, state))

    def choose_gamma(self, problem: Problem, targets: TargetScale) -> Steps[float]:
        """Choose gamma of the kernel, in passes."""
        return (yield from self.kernel.choose_gamma(problem))

    def gamma_outline(self, problem: Problem) -> list[Outline]:
        """The passes of :meth:`choose_gamma`."""
        return self.kernel.outline(problem)

    def risk_at(self, state: DSGState) -> Risk:
        """The risk for scaled targets at a state."""
        return scaled_risk(self.risk, state.center, state.target_scale)

    def growth(self, problem: Problem, basis: RandomFeatureBasis, state: DSGState) -> Growth:
        """The steps of a stage."""
        return Growth(self, problem, basis, state)

    def _completed(self, problem: Problem, state: DSGState) -> Steps[DSGState]:
        """The state, with the constants of quantiles or classes if it is the last one of a run."""
        loss = self.risk.loss
        if not (state.step and self.finished(state)):
            return state
        model, cost = self.model(problem, state), self.scoring_cost(problem)
        if loss.has_probabilities:
            shifts = yield from offsets_of_scores(problem, model, cost)
        elif loss.predicts_quantiles and problem.real_targets and loss.levels is not None:
            shifts = yield from quantiles_of_scores(
                problem, model, residuals, loss.levels, cost, sampled=False
            )
        else:
            return state
        return replace(state, center=state.center + state.target_scale * shifts)

    def scoring_cost(self, problem: Problem) -> Cost:
        """Cost of a pass that predicts all or some rows of a block."""
        cost = pass_cost(problem, footprint_of_random(problem, self.basis(problem, 1.0)), 1)
        row = problem.row_bytes + 64 * self.risk.n_outputs
        return cost.holding(task={"drawn rows and their scores": (problem.most_rows, row)})

    def strength_at(self, state: DSGState) -> float:
        """The weight of sum_j |A_j|^2 / 2 in the objective of a state."""
        return self.strength

    def stage(self, problem: Problem, state: DSGState) -> Steps[DSGState]:
        if state.step < state.n_steps:
            basis = self.basis(problem, state.gamma)
            yield self._steps(problem, DSGOperand(basis, self.risk_at(state)))
            growth = self.growth(problem, basis, state)
            for _ in range(min(-(-state.n_steps // self.stages), state.n_steps - state.step)):
                yield from growth.step()
            after, rows = growth.now, growth.rows_read
        else:
            polished, n_passes, gap = yield from self._polished(problem, state)
            rows = n_passes * problem.n_rows
            coefficients = np.zeros_like(state.coefficients)
            coefficients[: len(polished)] = polished
            after = replace(
                state,
                coefficients=coefficients,
                scale=1.0,
                n_blocks=len(polished) // self.block_size,
                polish_gap=gap,
            )
        after = replace(after, stage=state.stage + 1, **state.seen(problem, rows))
        return (yield from self._measured(problem, after))

    def _polished(self, problem: Problem, state: DSGState) -> Steps[tuple[NDArray[np.float64], int, float]]:
        """Return minimising coefficients, the number of passes, and the relative gap to the minimum."""
        start, risk = self.model_coefficients(state), self.risk_at(state)
        in_use = self.basis(problem, state.gamma, state.n_blocks)
        return (yield from exact_polish(problem, risk, in_use, start, self.strength))

    def _polish_outline(self, problem: Problem) -> list[Outline]:
        """The passes of polishing."""
        return polish_outline(problem, self.risk, self.basis(problem, 1.0))

    def finished(self, state: DSGState) -> bool:
        return state.step >= state.n_steps and (self.polish is None or state.is_polished)

    def measures(self, state: DSGState) -> Measures:
        extra = {"steps": float(state.step), "scale": state.scale}
        if state.step:
            extra |= {"batch_loss": state.batch_loss, "batch_error": state.batch_error}
        shortfall = ""
        if state.polish_gap > self.polish_tolerance:
            shortfall = (
                f"polish='exact' stopped about {state.polish_gap:.1g} of the objective above the minimum: "
                f"set a larger nu than {self.nu:g}"
            )
        converged = state.polish_gap <= self.polish_tolerance
        return state.summary(extra, converged=converged, shortfall=shortfall)

    def outline(self, problem: Problem) -> list[Outline]:
        grown = self._n_stages(problem)
        passes = self._first_outline(problem)
        if grown:
            passes.append(Outline(self._steps(problem, None), grown))
        n_measured = 1 + grown + (self.polish is not None)
        basis = self.basis(problem, 1.0)
        for split in ("train", "test") if problem.has_test else ("train",):
            watched, last = (min(1.0, rows / problem.n_rows) for rows in (WATCHED_ROWS, MEASURED_ROWS))
            share = watched + (last - watched) / n_measured
            passes.append(Outline(measuring_pass(problem, None, basis, split, share), n_measured))
        passes += self._completing_outline(problem)
        return passes if self.polish is None else [*passes, *self._polish_outline(problem)]

    def _first_outline(self, problem: Problem) -> list[Outline]:
        """The passes before the first state is measured."""
        return [*target_outline(problem), *self.gamma_outline(problem)]

    def _completing_outline(self, problem: Problem) -> list[Outline]:
        """The passes of :meth:`_completed`."""
        if self.risk.loss.has_probabilities:
            return [Outline(offsets_pass(problem, None, self.scoring_cost(problem)))]
        if self.risk.loss.predicts_quantiles and problem.real_targets:
            return quantiles_outline(problem, self.scoring_cost(problem), self.risk.n_outputs, 1)
        return []

    def _n_stages(self, problem: Problem) -> int:
        """Number of stages of gradient steps."""
        n_steps = self.n_steps(problem)
        return -(-n_steps // max(-(-n_steps // self.stages), 1))

    def _measured(self, problem: Problem, state: DSGState) -> Steps[DSGState]:
        state = yield from self._completed(problem, state)
        model = self.model(problem, state)
        strength, finished = self.strength_at(state), self.finished(state)
        figures = yield from figures_of(problem, model, strength, finished=finished)
        return state.with_figures(figures)

    def _steps(self, problem: Problem, operand: DSGOperand | None) -> Rounds:
        itemsize, outputs = problem.dtype.itemsize, self.risk.n_outputs
        size, batch = self.block_size * self.most_blocks, min(self.batch_size, problem.n_rows)
        order, basis = self.batches(problem), self.basis(problem, 1.0)
        part = answer_bytes(basis, outputs, self.precondition)
        operations = batch * size * (problem.row_numbers + EXPONENTIAL)
        return batches(
            "steps",
            Follower,
            # concatenate parts, so that the solver sums them in a fixed order
            operator.add,
            order,
            operand,
            n_batches=-(-self.n_steps(problem) // self.stages),
            batch_bytes=batch * (problem.row_numbers * itemsize + 24 * outputs),
            cost=Cost(
                process_bytes=basis.process_bytes, operations=operations, driver_library=basis.loads_library
            ).holding(
                task={
                    "coefficients": (size, outputs, itemsize),
                    "a tile and its sums": (sums_bytes(basis, problem.row_numbers, self.precondition),),
                },
                result={"sums of parts": (len(order.strips), part)},
            ),
        )


def near_machine(risk: Risk, kernel: KernelChoice, nu: float) -> AbstractSearchable[Any]:
    """Return a solver of nu/2 |f|^2 + the mean loss that approximates the kernel machine with few functions.

    Some hundred Nystroem features are closer to the kernel than thousands of random ones, with which wide
    kernels look best only because they are easily approximated. A kernel without tiles gets random features.
    Newton's method makes one stage; a loss whose slope jumps takes three stages of SVRG.
    """
    tiles = issubclass(kernel.kind, AbstractTileKernel)
    features: AbstractFeatures = Nystroem(kernel) if tiles else Random(kernel)
    if math.isfinite(risk.loss.curvature):
        return Newton(risk, features.spanning(), nu=nu, hessian="matrix", stages=1)
    return SVRG(risk, features, nu=nu, stages=3)


@dataclass(frozen=True)
class UnpolishedDSG(DSG):
    """DSG with a fixed loss, without polishing and without trials."""

    updates = UpdateRule(refusal="its quantiles need all rows")

    polish: str | None = None

    searched: ClassVar[Mapping[str, Choices]] = {}
    choices: ClassVar[Mapping[str, Parameter]] = {
        key: one for key, one in DSG.choices.items() if key != "loss"
    }


@dataclass(frozen=True)
class ContinuedDSG(DSG):
    """The steps of ``partial_fit`` and of updates: over more rows, from an earlier state.

    The step number and the step size continue. Once there are ``n_features``, steps use drawn blocks.

    Parameters
    ----------
    before : the state, None for the first batch
    n_more : steps; None for one per batch of rows
    others : as in :class:`DSG`, without ``polish``
    """

    before: DSGState | None = None
    n_more: int | None = None

    starts_at_zero, counts_on = False, True

    def n_steps(self, problem: Problem) -> int:
        rows = min(self.batch_size, problem.n_rows)
        return -(-problem.n_rows // rows) if self.n_more is None else self.n_more

    def init(self, problem: Problem) -> Steps[DSGState]:
        if self.before is None:
            state = yield from super().init(problem)
        else:
            state = replace(self.before, cursor=self.batches(problem).first(), stage=0)
        state = replace(state, n_steps=state.step + self.n_steps(problem))
        if math.isnan(state.objective):
            # the state comes from a saved model
            state = yield from self._measured(problem, state)
        return state

    def _completed(self, problem: Problem, state: DSGState) -> Steps[DSGState]:
        # quantiles of residuals and shares of classes need all rows, not a batch
        yield from ()
        return state

    def _first_outline(self, problem: Problem) -> list[Outline]:
        return super()._first_outline(problem) if self.before is None else []

    def _completing_outline(self, problem: Problem) -> list[Outline]:
        return []

    def finished(self, state: DSGState) -> bool:
        return state.step >= state.n_steps
