"""Stochastic dual coordinate ascent over features (dsg.txt, Table 2; Shalev-Shwartz and Zhang 2013)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.choices import Choices
from distkern.common.errors import InputError
from distkern.common.parameters import NOT_NEGATIVE, POSITIVE, Parameter, Whole, parameter
from distkern.common.rng import Purpose, stream
from distkern.common.sparse import Rows
from distkern.common.types import groups_of
from distkern.features import Footprint
from distkern.losses import SUPERVISED, AbstractCoordinateLoss, coordinate_loss_names
from distkern.passes import Cost, Derived, Message, Reduce, Rounds
from distkern.solvers._sdca.resident import Operand, Turn, Turned, either, open_duals
from distkern.solvers.base import Measures, Outline, Problem, Steps, Trouble
from distkern.solvers.explicit import AbstractExplicit, ExplicitState, held_out_pass, pass_cost, zero_pass
from distkern.solvers.hyperparameters import SEARCHED_GAMMA, a_loss, feature_parameters
from distkern.solvers.measuring import Figures, Model, Sums, measure, measured
from distkern.solvers.targets import figures_of_targets, scaled_risk, target_outline, target_scale

#: first index of the stream that orders groups
_ORDER = 5
_PIECE_BYTES = 4 * 2**20


@dataclass(frozen=True, kw_only=True)
class SDCAState(ExplicitState):
    """w after a stage; the dual variables stay with the rows.

    Attributes
    ----------
    coefficients : (r, k), w = sum_i a_i z(x_i) / (nu n)
    support : (r, 2) group and place in it of the rows at which kernels are; without rows for other features
    dual : D(a)
    """

    support: NDArray[np.int64]
    dual: float

    @property
    def gap(self) -> float:
        """P(w) - D(a), at least as large as what the objective lacks to its minimum."""
        return self.objective - self.dual


@dataclass(frozen=True)
class SDCA(AbstractExplicit[SDCAState]):
    """Dual coordinate ascent over random, Nystroem or linear features, one row at a time.

    Minimises P(w) = nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k), by maximising

        D(a) = -mean_i (s_i l)*(-a_i) - nu/2 |w(a)|^2,    w(a) = sum_i a_i z(x_i) / (nu n),

    for every output by itself. A step sets a_i to its exact maximum, in closed form (for the logistic loss by
    Newton's method in one variable), and adds what it changes to w. a stays with its rows, k numbers each. A
    stage takes the groups of rows one after the other in random order, and within a group its blocks and
    their rows: the process that has a group is sent w, makes the steps of its rows, and sends w on. So every
    row has one step a stage (the paper's SDCA-Perm, but for the order of the groups), and processes take
    turns, as the steps are sequential. The duality gap P(w) - D(a), measured after each stage, bounds what P
    lacks to its minimum; it ends the run. With the kernel itself as features see
    :class:`~distkern.solvers._sdca.kernel.KernelSDCA`.

    Raises
    ------
    InputError
        If a number is out of range, or the dual of the loss has no exact steps in single coordinates.
    """

    nu: float = parameter(1e-5, POSITIVE, help="weight of |w|^2 / 2 against the mean loss")
    stages: int = parameter(20, Whole(), help="at most this many passes over the rows")
    tol: float = parameter(
        1e-3, NOT_NEGATIVE, help="stop once the duality gap is less than this share of the objective"
    )

    name = "sdca"
    cost_of_pass = "n r (d + 3 k), by one process after the other; n r (d + k) for the duality gap"
    memory = "k numbers a row where the row is; r k numbers"
    searched: ClassVar[Mapping[str, Choices]] = {
        # with less the gap is still wide after the stages that there are
        "nu": Choices(1e-5, (1.0, 0.3, 0.1, 0.03, 0.01), -1, 1e-9),
        "gamma": replace(SEARCHED_GAMMA, by_default=False),
    }
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("logistic", partial(coordinate_loss_names, *SUPERVISED)),
        **feature_parameters("random", found=True),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.risk.loss, AbstractCoordinateLoss):
            raise InputError(
                f"the dual of {self.risk.loss.name!r} has no exact steps in single coordinates",
                where="loss",
                mend=f"use one of: {', '.join(coordinate_loss_names(self.risk.loss.target_kind))}",
            )

    def state_type(self) -> type[SDCAState]:
        return SDCAState

    def step_hint(self) -> str:
        return "here by a larger nu"

    def mend(self, trouble: Trouble) -> str:
        if trouble is Trouble.DIVERGED:
            return f"set a larger nu than {self.nu:g}"
        if trouble is Trouble.UNFINISHED:
            return f"set more stages than {self.stages}, or a larger nu than {self.nu:g}, which needs fewer"
        return super().mend(trouble)

    def init(self, problem: Problem) -> Steps[SDCAState]:
        landmarks, gamma = yield from self.features.begin(problem)
        targets = yield from target_scale(problem, self.risk)
        risk = scaled_risk(self.risk, targets.center, targets.scale)
        figures = yield from measured(
            problem, zero_pass(problem, risk), zero_pass(problem, risk, "test"), 0.0
        )
        state = SDCAState(
            landmarks=landmarks,
            gamma=gamma,
            coefficients=np.zeros((self.first_size(problem, landmarks, gamma), risk.n_outputs)),
            support=np.zeros((0, 2), np.int64),
            dual=0.0,
            center=targets.center,
            target_scale=targets.scale,
            variances=targets.variances,
            absolute_errors=figures.absolute_errors,
        )
        return state.with_figures(figures)

    def stage(self, problem: Problem, state: SDCAState) -> Steps[SDCAState]:
        basis: AbstractBasis = yield Derived("features", partial(self.basis_of, problem, state))
        risk = scaled_risk(self.risk, state.center, state.target_scale)
        footprint = self.footprint(problem, basis.size)
        groups = groups_of(problem.block_rows)
        block_rows = tuple(tuple(problem.block_rows[block] for block in group) for group in groups)
        strength, rows = self.nu * problem.n_rows, self._piece_rows(problem, footprint)
        yield self._rounds(problem, footprint, Operand(basis, risk, strength, problem.seed, block_rows, rows))
        w, costs = np.ascontiguousarray(state.coefficients.T), 0.0
        order = stream(problem.seed, Purpose.VISIT_ORDER, _ORDER, state.stage)
        for group in order.permutation(len(groups)).tolist():
            turned: Turned = yield Message(Turn(group, state.stage, w))
            w, costs = turned.w, costs + turned.costs
        norm = 0.5 * self.nu * float(np.einsum("ij,ij->", w, w))
        model = Model(basis, np.ascontiguousarray(w.T), risk)
        figures = yield from measured(
            problem, measuring_pass(problem, model, footprint), held_out_pass(problem, model, footprint), norm
        )
        return self.following(
            problem, state, figures, coefficients=model.coefficients, dual=-costs / problem.n_rows - norm
        )

    def first_size(self, problem: Problem, landmarks: Rows, gamma: float) -> int:
        """Coefficients before the first stage."""
        return self.basis(problem, landmarks, gamma).size

    def following(self, problem: Problem, state: SDCAState, figures: Figures, **changes: Any) -> SDCAState:
        """The state after the next stage."""
        return state.with_figures(
            figures,
            stage=state.stage + 1,
            accesses=state.accesses + problem.n_rows * problem.n_features,
            accesses_nonzero=state.accesses_nonzero + problem.n_rows * problem.row_accesses,
            absolute_errors=figures.absolute_errors,
            **changes,
        )

    def finished(self, state: SDCAState) -> bool:
        return state.stage >= self.stages or (state.stage > 0 and self._converged(state))

    def _converged(self, state: SDCAState) -> bool:
        return state.gap <= self.tol * abs(state.objective)

    def measures(self, state: SDCAState) -> Measures:
        extra = {"gap": state.gap, **figures_of_targets(state)}
        accesses = (state.accesses, state.accesses_nonzero)
        size = len(state.coefficients)
        return state.measures(size, extra, accesses=accesses, converged=self._converged(state))

    def outline(self, problem: Problem) -> list[Outline]:
        footprint = self.footprint(problem, self.expected_size(problem))
        passes = [
            *self.features.outline(problem),
            *target_outline(problem),
            Outline(zero_pass(problem, None), 1),
            Outline(self._rounds(problem, footprint, None), self.stages),
            Outline(measuring_pass(problem, None, footprint), self.stages),
        ]
        if problem.has_test:
            passes.append(Outline(zero_pass(problem, None, "test"), 1))
            passes.append(Outline(held_out_pass(problem, None, footprint), self.stages))
        return passes

    def _numbers(self, problem: Problem, footprint: Footprint) -> int:
        """Of a row's features."""
        return self.choice(problem).prepared_numbers(problem, footprint.size)

    def _piece_rows(self, problem: Problem, footprint: Footprint) -> int:
        numbers = self._numbers(problem, footprint)
        return int(np.clip(_PIECE_BYTES // (numbers * problem.dtype.itemsize), 1, 1024))

    def _rounds(self, problem: Problem, footprint: Footprint, operand: Any) -> Rounds:
        outputs, size, itemsize = self.risk.n_outputs, footprint.size, problem.dtype.itemsize
        groups, numbers = len(groups_of(problem.block_rows)), self._numbers(problem, footprint)
        rows = min(self._piece_rows(problem, footprint), problem.most_rows)
        # measured for random features, and of the loop: two products and a square a row
        seconds = footprint.flops_per_row * 2e-11 + footprint.entries_per_row * 1e-9
        seconds += numbers * (0.3e-9 + 0.6e-9 * outputs) + 1e-7 * outputs
        return Rounds(
            "dual steps",
            open_duals,
            either,
            operand,
            n_rounds=groups,
            state_bytes_per_row=8.0 * outputs,
            # in each round one group has its turn
            seconds_per_row=seconds / groups,
            answer_bytes=8 * size * outputs + 256,
            cost=Cost(
                workspace_bytes=footprint.operand_bytes
                + footprint.tile_bytes
                + rows * (numbers + problem.row_numbers + 4 * outputs) * (itemsize + 8)
                + 32 * size * outputs
                + 16 * problem.most_rows,
                # w before, now, and on its way
                driver_bytes=40 * size * outputs,
                process_bytes=footprint.process_bytes,
                compiled=True,
            ),
        )


def measuring_pass(problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
    """The losses and errors of all rows."""
    return Reduce("measure", measure, Sums.add, model, cost=pass_cost(problem, footprint, 1))
