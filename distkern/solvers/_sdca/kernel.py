"""SDCA with the kernel itself: the model is a combination of kernels at training rows (k-SDCA)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distkern.common.rng import Purpose, stream
from distkern.common.sparse import Rows, stacked
from distkern.common.types import groups_of
from distkern.features import Footprint
from distkern.features.support import Support, support_cost
from distkern.passes import Message, Rounds
from distkern.solvers._sdca.resident import either
from distkern.solvers._sdca.support import (
    PIECE_ROWS,
    KernelOperand,
    KernelTurn,
    KernelTurned,
    Share,
    open_machine,
)
from distkern.solvers.base import Problem, Steps
from distkern.solvers.explicit import figures_at
from distkern.solvers.measuring import Model
from distkern.solvers.sdca import SDCA, SDCAState
from distkern.solvers.targets import scaled_risk

#: first index of the stream that orders groups
_ORDER = 6


@dataclass(frozen=True)
class KernelSDCA(SDCA):
    """Dual coordinate ascent on f = sum_i a_i k(x_i, .) / (nu n) with the norm |f|^2 of the kernel's space.

    A stage is one pass, and of less than 5,462 rows up to 32, so that the gap closes in as many stages. None
    is accelerated: u would keep all rows in the model that ever were in it.
    Rows with a_i other than 0, the support, are known to all processes, at most ``max_support`` of them. In
    its turn a group takes 256 rows at a time: f at them from the support as it is by then, then their steps
    on the matrix of their own kernels. No other kernel values exist.
    """

    least_passes = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.features, Support)

    def first_size(self, problem: Problem, landmarks: Rows, gamma: float) -> int:
        return 0

    def stage(self, problem: Problem, state: SDCAState) -> Steps[SDCAState]:
        features = self.features
        assert isinstance(features, Support)
        risk = scaled_risk(self.risk, state.center, state.target_scale)
        groups = groups_of(problem.block_rows)
        strength = self.nu * problem.n_rows
        operand = KernelOperand(
            features.kernel.with_gamma(state.gamma),
            risk,
            strength,
            problem.seed,
            tuple(tuple(problem.block_rows[block] for block in group) for group in groups),
            problem.dtype,
            features.max_support,
        )
        yield self._rounds(problem, self.footprint(problem, self.expected_size(problem)), operand)
        shares, costs, passes = _shares_of(state, strength), 0.0, self._passes(problem)
        changed, anew = dict(shares), True
        for epoch in range(passes * state.stage, passes * (state.stage + 1)):
            order, costs = stream(problem.seed, Purpose.VISIT_ORDER, _ORDER, epoch), 0.0
            for group in order.permutation(len(groups)).tolist():
                turned: KernelTurned = yield Message(KernelTurn(group, epoch, changed, anew))
                shares[group], costs = turned.share, costs + turned.costs
                changed, anew = {group: turned.share}, False
        support = np.array(
            [(group, place) for group in sorted(shares) for place in shares[group].places], dtype=np.int64
        ).reshape(-1, 2)
        there = [shares[group] for group in sorted(shares) if len(shares[group].places)]
        landmarks = stacked([share.rows for share in there])
        coefficients = np.concatenate([share.duals for share in there]) / strength
        basis = self.basis(problem, landmarks, state.gamma)
        norm = 0.5 * self.nu * float(basis.squared_norms(coefficients, exact=False).sum())
        model = Model(basis, coefficients, risk)
        footprint = self.footprint(problem, basis.size)
        figures = yield from figures_at(problem, model, footprint, norm)
        return self.following(
            problem,
            state,
            figures,
            -costs / problem.n_rows - norm,
            passes,
            coefficients=coefficients,
            landmarks=landmarks,
            support=support,
        )

    def _rounds(self, problem: Problem, footprint: Footprint, operand: Any) -> Rounds:
        outputs = self.risk.n_outputs
        n_rounds = self._passes(problem) * len(groups_of(problem.block_rows))
        return Rounds(
            "dual steps",
            open_machine,
            either,
            operand,
            n_rounds=n_rounds,
            state_bytes_per_row=0.0,
            cost=replace(support_cost(problem, footprint, outputs, PIECE_ROWS, n_rounds), compiled=True),
        )


def _shares_of(state: SDCAState, strength: float) -> dict[int, Share]:
    """The support of a state by groups."""
    shares = {}
    for group in np.unique(state.support[:, 0]).tolist():
        (own,) = np.nonzero(state.support[:, 0] == group)
        shares[group] = Share(
            np.ascontiguousarray(state.support[own, 1]),
            state.landmarks[own],
            state.coefficients[own] * strength,
        )
    return shares
