"""NORMA with the kernel itself, whose expansion every process keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.common.rng import Purpose, stream
from distkern.common.sparse import Rows
from distkern.common.types import groups_of
from distkern.features.support import Support, support_cost
from distkern.passes import Message, Rounds
from distkern.solvers._norma.expansion import PIECE_ROWS, Change, Expansion, Operand, Turn, open_expansion
from distkern.solvers._sdca.resident import either
from distkern.solvers.base import Problem, Steps
from distkern.solvers.measuring import Model
from distkern.solvers.norma import NORMA, NORMAState
from distkern.solvers.targets import scaled_risk

#: first index of the stream that orders groups
_ORDER = 8


@dataclass(frozen=True)
class KernelNORMA(NORMA):
    """Stochastic gradient descent in the kernel's space, on f = sum_i c_i k(x_i, .).

    A step changes the coefficients of the rows of its batch, but for those whose slope is 0. With more than
    ``max_support`` rows those leave the expansion that have not changed for longest, whose coefficients have
    shrunk most (the paper's truncation), after at most 256 rows or a batch. The expansion is known to all
    processes; the groups of rows have their turns in random order, and within a group its blocks and rows.
    """

    def first_size(self, problem: Problem, landmarks: Rows, gamma: float) -> int:
        return 0

    def stage(self, problem: Problem, state: NORMAState) -> Steps[NORMAState]:
        features = self.features
        assert isinstance(features, Support)
        risk = scaled_risk(self.risk, state.center, state.target_scale)
        groups = groups_of(problem.block_rows)
        starts = np.concatenate([[0], np.cumsum(problem.block_rows)]).tolist()
        operand = Operand(
            features.kernel.with_gamma(state.gamma),
            risk,
            self.nu,
            self.rule(problem),
            self.batch_size,
            problem.seed,
            tuple(tuple(problem.block_rows[block] for block in group) for group in groups),
            tuple(tuple(starts[block] for block in group) for group in groups),
            problem.dtype,
            features.max_support,
        )
        yield self._rows(problem, state.stage, operand)
        expansion = Expansion(state.landmarks, state.coefficients, state.places)
        step, change = state.step, None
        whole: Expansion | None = expansion
        order = stream(problem.seed, Purpose.VISIT_ORDER, _ORDER, state.stage)
        for group in order.permutation(len(groups)).tolist():
            change = yield Message(Turn(group, state.stage, step, whole, change))
            assert isinstance(change, Change)
            expansion, step, whole = expansion.grown(change, features.max_support), change.step, None
        basis = self.basis(problem, expansion.rows, state.gamma)
        norm = 0.5 * self.nu * float(basis.squared_norms(expansion.coefficients, exact=False).sum())
        figures = yield from self.measured(problem, Model(basis, expansion.coefficients, risk), norm)
        return state.following(
            problem,
            figures,
            problem.n_rows,
            landmarks=expansion.rows,
            coefficients=np.ascontiguousarray(expansion.coefficients),
            places=np.ascontiguousarray(expansion.places),
            step=step,
        )

    def _rows(self, problem: Problem, stage: int, operand: Any) -> Any:
        footprint = self.footprint(problem, self.expected_size(problem))
        outputs, size = self.risk.n_outputs, footprint.size
        groups = len(groups_of(problem.block_rows))
        piece = max(PIECE_ROWS, self.batch_size)
        return Rounds(
            "functional steps",
            open_expansion,
            either,
            operand,
            n_rounds=groups,
            state_bytes_per_row=0.0,
            # beside the support rows, what they are compared with
            cost=support_cost(problem, footprint, outputs, piece, groups).holding(
                task={"rows that are compared": (2, size, problem.row_bytes)}
            ),
        )
