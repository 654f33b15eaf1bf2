"""Cells: an exact kernel machine in each cell of the rows (Beaglehole et al. 2025).

The paper (xRFM) is on the left, our code on the right; our machines are not only ridge regressions:

    draw a sample of the rows                        choosing.sampling
    learn a metric from gradients on it              SearchSpace.choose, after a search before the run
        (average gradient outer product)                 for open settings (ladder.choose_exact)
    cut the rows into leaves by half spaces along    CellLayout.tree over the sample (Tree.fit: across the
        the metric's first direction, at the median      largest variance of the mapped rows)
    send every row to its leaf                       Cells._move: count, group leaves to buckets, sort rows
    for every leaf:                                  Cells._solve: a task for each bucket, whose own tree
                                                         cuts it into cells (solve_bucket)
        train a machine on its rows                  machine.solve_cell, dual.solve_dual; on neighbours
                                                         within the overlap too
    predict with the machine of a row's leaf         CellBasis.values_at

Neither rows nor machines pass through the driver: tasks write them to their final place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.choose.folds import TriedMachine
from distkern.core.choices import Choices
from distkern.core.common_parameters import PROBABILITY
from distkern.core.errors import InputError
from distkern.core.parameters import AUTO, NOT_NEGATIVE, NOTHING, Number, Parameter, Whole, Words, parameter
from distkern.maths.features.base import GAMMA, KernelChoice
from distkern.maths.kernels import LANDMARK_KERNELS, AbstractTileKernel, find_kernel, require
from distkern.maths.kernels.euclidean import HalfInteger
from distkern.maths.losses import DUAL_LOSSES
from distkern.maths.losses.base import AbstractDualLoss
from distkern.maths.maps.metric import METRICS
from distkern.maths.maps.transform import TRANSFORMS
from distkern.maths.maps.trend import LinearTrend, TrendSums
from distkern.solvers._cells.buckets import CellBasis, Solving
from distkern.solvers._cells.calibrating import (
    held_out_outlines,
    held_out_score,
    hold_rows_out,
    rarest_class,
    sigmoids_of,
)
from distkern.solvers._cells.choosing import (
    CellSample,
    CellsState,
    Chosen,
    SearchSpace,
    Settled,
    notes_of,
    sampling,
    trending,
)
from distkern.solvers._cells.dual import MOST_GAP
from distkern.solvers._cells.layout import CellLayout, auto_cell_rows, auto_overlap
from distkern.solvers._cells.machine import MOST_COST, CellSettings
from distkern.solvers._cells.tree import Moving, Places, grouped, places_to_arrays
from distkern.solvers._cells.updating import CellsUpdate, PreviousCells
from distkern.solvers.base import AbstractSolver, Measures, Outline, Problem, Steps, Trouble, UpdateRule
from distkern.solvers.hyperparameters import a_loss
from distkern.solvers.measuring import Sums
from distkern.solvers.risk import Risk
from distkern.solvers.targets import figures_of_targets, scaled_risk, target_outline, target_scale

#: first index of the streams of the tree over the sample
FIRST_TREE = 3
#: smallest tolerance, above the rounding of kernels in single precision
_LEAST_TOLERANCE = 1e-4
#: largest C for which rounding in single precision, times C, is small beside |w|^2
_MOST_SINGLE_COST = 1e3
#: share of the rows that rounding may send to other cells if blocks differ from those of the training
_MISPLACED = 1e-4


@dataclass(frozen=True)
class Cells(AbstractSolver[CellsState]):
    """One machine per cell, which minimises 1/2 |w|^2 + C sum_i s_i l(f(x_i), y_i) over the cell's rows.

    s_i is the weight of a row times that of its class. The reported objective is the sum over the cells,
    divided by C and the sum of all s_i.

    Half spaces cut the rows into cells, each across the direction of largest variance of its part. Half
    spaces from a sample first cut all rows into buckets. The rows are sorted by bucket once, and one task
    cuts and solves each bucket.

    Probabilities are sigmoids of the decision values (Platt 1999), fitted to rows held out of 8 to 32 cells,
    which are solved once more without them.

    An update keeps the previous map, kernel, C, unit of targets, class weights, sigmoids and cells. Cells
    that get new rows, including neighbours, are solved again on their old and new rows and cut if they have
    too many; all others keep their machines. If ``overlap`` is ``auto`` and smaller for all rows than for the
    old ones, margins at borders shrink in proportion.
    """

    risk: Risk
    kernel: KernelChoice | None
    gamma: float | str
    C: float | str = parameter(
        "auto",
        Number(0, MOST_COST, open=(True, False)),
        Words("auto"),
        help="weight of the losses against 1/2 |w|^2: larger values fit closer; auto: searched, or 10",
        tried=Choices(10.0, (0.1, 1.0, 100.0, 1000.0)),
    )
    scale: str = parameter(
        "auto",
        Words("auto", *TRANSFORMS),
        help="how each column is scaled: standard: to mean 0 and variance 1; ranks: to its ranks; normal: to "
        "normal quantiles; none: not at all; auto: searched, or none",
    )
    metric: str | None = parameter(
        "auto",
        Words("auto", "diagonal", "interactions", "full"),
        NOTHING,
        help="metric of the distances, learned from gradients; interactions: a diagonal that starts from "
        "pairs of columns that explain the residuals of a wide kernel; none: Euclidean; auto: searched, or "
        "Euclidean",
    )
    trend: str | None = parameter(
        "auto",
        Words("auto", "linear"),
        NOTHING,
        help="linear: machines learn what a linear function of the columns leaves of the targets; none: they "
        "learn the targets; auto: searched, or none",
    )
    search: str | None = parameter(
        "full",
        Words("full", "quick"),
        NOTHING,
        help="how scale, metric, kernel, gamma, C and trend are searched if they are auto, on rows held out "
        "of a sample and of neighbourhoods of rows; none: no search",
    )
    max_cell_rows: int | str = parameter(
        "auto",
        Whole(2),
        Words("auto"),
        help="most rows of a cell: time grows with them, memory with their square; auto: 1000 to 12000, "
        "fewer for many rows",
    )
    overlap: float | str = parameter(
        "auto",
        Number(0, 0.5),
        Words("auto"),
        help="share of the rows of two neighbouring cells that both learn from, near their border; a smaller "
        "share where more cells meet; auto: 0.3 for few cells (about 8), else 0.1",
    )
    tol: float = parameter(
        0.05,
        NOT_NEGATIVE,
        help="largest remaining gradient of the dual, in units of predictions (margins, or standard "
        "deviations of the targets), at least 1e-4; smaller if the duality gap exceeds 3 % of the objective; "
        "the square loss is solved directly",
    )
    is_calibrated: bool = False
    #: whether to measure the score on held-out rows even without sigmoids
    reports_score: bool = False
    #: the model to update, whose rows come before the new ones
    before: PreviousCells | None = None
    #: the result of the search before the run; None without a search
    search_result: TriedMachine | None = None

    name = "cells"
    updates = UpdateRule()
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("squared_hinge", DUAL_LOSSES),
        "kernel": Parameter(
            "auto",
            (Words("auto", of=LANDMARK_KERNELS),),
            "the kernel; auto: searched, or exp(-gamma |x - y|)",
        ),
        "gamma": replace(
            GAMMA,
            default="auto",
            kinds=(*GAMMA.kinds, Words("auto")),
            help="parameter of the kernel over mapped rows: a number, or a rule that computes it from them; "
            "auto: searched, or 'median'",
        ),
        "smoothness": Parameter(
            0.5,
            (HalfInteger(0.5, 9.5),),
            "smoothness of the Matern kernel; 0.5 gives exp(-gamma |x - y|)",
            {"kernel": ("matern",)},
        ),
        "probability": PROBABILITY,
    }
    cost_of_pass = "O(n m d) for the kernels of cells of m rows, O(n m) for each sweep over them"
    memory = "6 m^2 (square loss: 8 m^2, others with C > 1000: 12 m^2) + 64 MiB of rows in a worker"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.search is not None and not str(self.gamma).startswith(("auto", "median")):
            raise InputError(
                f"{self.gamma!r} cannot be given for rows mapped as the search chooses",
                where="gamma",
                hint="set search to none, or give 'median' or 'median/2' for a fixed width",
            )

    def init(self, problem: Problem) -> Steps[CellsState]:
        if self.before is not None:
            return self.before.state
        layout = self._layout(problem)
        scale = yield from target_scale(problem, self.risk)
        risk = scaled_risk(self.risk, scale.center, scale.scale)
        sample: CellSample = yield sampling(layout, risk)
        test_error, absolute = None, np.full(2, math.nan)
        errors = [sample.sums.mean_errors]
        if problem.has_test:
            measured: Sums = yield layout.held_out(risk)
            errors.append(measured.mean_errors)
            test_error = float(errors[1][0])
        for place, found in enumerate(errors):
            absolute[place] = found[1] if len(found) > 1 else math.nan
        trend: LinearTrend | None = None
        if self.space.has_trend:
            sums: TrendSums = yield trending(layout)
            trend = LinearTrend.fit(sums)
        chosen: Chosen = yield from self.space.choose(layout, risk, sample, trend)
        tree = layout.tree(chosen.map.apply(np.asarray(sample.rows.features)), FIRST_TREE)
        places = Places(chosen.map, tree, np.zeros(tree.n_leaves, dtype=np.int32), trend)
        arrays: dict[str, Any] = places_to_arrays(places)
        return CellsState(
            0,
            sample.sums.losses / sample.sums.n_rows,
            float(errors[0][0]),
            test_error,
            absolute,
            scale.center,
            scale.scale,
            scale.variances,
            [kernel.name for kernel in self.space.kernels].index(chosen.kernel.name),
            chosen.gamma,
            chosen.cost,
            rows_of_bucket=np.zeros(1, dtype=np.int64),
            machines=np.zeros((0, 32), dtype=np.uint8),
            search_score=chosen.score,
            metric=METRICS.index(chosen.metric),
            **arrays,
        )

    def stage(self, problem: Problem, state: CellsState) -> Steps[CellsState]:
        layout = self._layout(problem)
        if state.stage > 0:
            return (yield from self._solve(problem, layout, state))
        if self.before is None:
            return (yield from self._move(layout, state))
        places, pieces = yield from self._update(layout, state, self.before).route()
        rows = np.array([piece.rows for piece in pieces], dtype=np.int64)
        arrays: dict[str, Any] = places_to_arrays(places)
        return replace(state, stage=1, rows_of_bucket=rows, **arrays)

    def _move(self, layout: CellLayout, state: CellsState) -> Steps[CellsState]:
        """Sort the rows by bucket."""
        counts: NDArray[np.int64] = yield layout.counting(state.places)
        buckets = grouped(counts, layout.bucket_rows)
        moved = replace(state, stage=1, bucket_of_leaf=buckets)
        rows = np.bincount(buckets, counts).astype(np.int64)
        yield layout.moving(Moving(moved.places), layout.slices("moved"))
        return replace(moved, rows_of_bucket=rows)

    def _solve(self, problem: Problem, layout: CellLayout, state: CellsState) -> Steps[CellsState]:
        """Solve the machines of all buckets, and measure them."""
        assert problem.workplace is not None
        store, risk = problem.workplace.arrays("machines"), self._risk(state)
        settings = self.settings(risk, state.settled)
        sizes = len(layout.parts), risk, layout.cell_rows, layout.overlap, problem.seed
        operand = Solving(layout.slices("moved"), *sizes, settings, rarest_class(problem))
        items = tuple(enumerate(state.rows_of_bucket.tolist()))
        if self.before is None:
            records = yield layout.solving(items, store, operand)
        else:
            records = yield self._update(layout, state, self.before).solving(store)
        digests = [bytes.fromhex(store.fingerprint(number)) for number in range(len(items))]
        machines = np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(items), -1)
        solved = replace(self._solved(problem, state, records), stage=2, machines=machines)
        if self._holds_out:
            counts = [record["rarest"] for record in records] if self.is_calibrated else None
            held, rare = yield from hold_rows_out(layout, operand, items, counts)
            sigmoids = sigmoids_of([*held, *rare]) if self.is_calibrated else None
            score = held_out_score(held, solved.n_cells, sigmoids, solved.center, solved.target_scale)
            lines = solved.sigmoids if sigmoids is None else sigmoids.lines
            solved = replace(solved, sigmoids=lines, held_out=score)
        if problem.has_test:
            arrays = solved.places, settings, store, machines, solved.bucket_bytes
            basis = CellBasis(*arrays, risk.n_outputs, problem.dtype, state.target_scale)
            measured: Sums = yield from layout.measuring(basis, risk)
            absolute = solved.absolute_errors.copy()
            absolute[1] = measured.mean_errors[1] if risk.is_real else math.nan
            solved = replace(solved, test_error=float(measured.mean_errors[0]), absolute_errors=absolute)
        return solved

    def _solved(
        self, problem: Problem, state: CellsState, records: Sequence[Mapping[str, Any]]
    ) -> CellsState:
        """Return the figures of all machines from the records of their buckets."""

        def total(name: str) -> float:
            return math.fsum(record[name] for record in records)

        n_solved = sum(record["rows"] for record in records)
        if self.before is not None and abs(n_solved - problem.n_rows) > _MISPLACED * problem.n_rows:
            raise InputError(
                f"the cells of the updated model have {n_solved:,} rows, but {problem.n_rows:,} old and new "
                "rows are given",
                where="the old rows",
                hint="give the rows that the model was trained on, or train it again on all rows",
            )
        if self.before is None and n_solved != problem.n_rows:
            raise RuntimeError(f"{n_solved} of {problem.n_rows} rows lie in a cell")
        errors = np.sum([record["errors"] for record in records], axis=0)
        sums = Sums(total("losses"), errors, total("weight"), n_solved)
        # the sum of all s_i
        weight = self._risk(state).mean_weight * n_solved
        regulariser = total("norm") / (2 * state.cost * weight)
        objective, errors = regulariser + sums.losses / n_solved, sums.mean_errors
        # machines also learn from neighbours, so their gaps are scaled to the rows in the cells
        primal = total("primal")
        return replace(
            state,
            objective=objective,
            train_error=float(errors[0]),
            absolute_errors=np.array([errors[1] if len(errors) > 1 else math.nan, math.nan]),
            regulariser=regulariser,
            bucket_bytes=max(record["bytes"] for record in records),
            model_size=sum(record["support"] for record in records),
            n_cells=sum(record["cells"] for record in records),
            n_unsolved=sum(record["unsolved"] for record in records),
            gap=(total("gap") / primal if primal else 0.0) * objective,
        )

    @property
    def _holds_out(self) -> bool:
        """Whether some cells are solved once more, without some of their rows."""
        return (self.is_calibrated or self.reports_score) and self.before is None

    def _risk(self, state: CellsState) -> Risk:
        return scaled_risk(self.risk, state.center, state.target_scale)

    def _update(self, layout: CellLayout, state: CellsState, before: PreviousCells) -> CellsUpdate:
        risk = self._risk(state)
        old = self._overlap(self._old_rows(layout.problem), layout.problem.n_features)
        # the share of rows near a border is about proportional to the margin
        before = replace(before, margins=layout.overlap / old if old else 1.0)
        return CellsUpdate(layout, before, risk, self.settings(risk, state.settled))

    def found(self, state: CellsState) -> dict[str, Any]:
        mapping = state.places.map
        chosen = {
            "kernel": self.space.kernels[state.kernel].name,
            "gamma": state.gamma,
            "C": state.cost,
            "scale": mapping.transform.kind,
            "metric": METRICS[state.metric] if state.metric else None,
        }
        if self.risk.is_real:
            chosen["trend"] = "linear" if len(state.trend) else None
        given = {name: getattr(self, name) for name in chosen} | {"kernel": self.kernel or AUTO}
        return {name: value for name, value in chosen.items() if given[name] == AUTO}

    @property
    def space(self) -> SearchSpace:
        """The given values, and the result of the search."""
        return SearchSpace(
            self.kernel,
            self.gamma,
            self.C,
            self.scale,
            self.metric,
            self.trend,
            self.search,
            self.search_result,
        )

    def _layout(self, problem: Problem) -> CellLayout:
        # an update keeps the previous bound on cells
        n_rows = self._old_rows(problem)
        rows = min(self.rows_of_cell(n_rows, problem.n_features), n_rows)
        overlap = self._overlap(problem.n_rows, problem.n_features)
        is_double = self.risk.loss.is_quadratic or self._is_costly
        return CellLayout(problem, rows, overlap, is_double, self.space.map_choice)

    def _old_rows(self, problem: Problem) -> int:
        """Return the rows of the previous model, or all."""
        return sum(problem.block_rows[: None if self.before is None else self.before.n_blocks])

    def rows_of_cell(self, n_rows: int, n_features: int) -> int:
        """Return the rows of a cell for ``n_rows`` training rows."""
        if not isinstance(self.max_cell_rows, str):
            return self.max_cell_rows
        return auto_cell_rows(n_rows, n_features, quadratic=self.risk.loss.is_quadratic)

    def _overlap(self, n_rows: int, n_features: int) -> float:
        """Return the share of neighbours for ``n_rows`` training rows."""
        if not isinstance(self.overlap, str):
            return self.overlap
        return auto_overlap(n_rows, self.rows_of_cell(n_rows, n_features))

    def settings(self, risk: Risk, settled: Settled) -> CellSettings:
        """Return the settings that all cells share."""
        spec = self.space.kernels[settled.kernel]
        choice = KernelChoice(find_kernel(spec.name), settled.gamma, dict(spec.parameters))
        kernel = require(choice.with_gamma(settled.gamma), AbstractTileKernel)  # type: ignore[type-abstract]
        tolerance = max(self.tol, _LEAST_TOLERANCE)
        assert isinstance(risk.loss, AbstractDualLoss)
        return CellSettings(kernel, risk.loss, settled.cost, tolerance, double=self._is_costly)

    @property
    def _is_costly(self) -> bool:
        """Whether a given C needs double precision; memory is planned before C is searched."""
        return not isinstance(self.C, str) and self.C * self.risk.mean_weight > _MOST_SINGLE_COST

    def finished(self, state: CellsState) -> bool:
        return state.stage == 2

    def measures(self, state: CellsState) -> Measures:
        extra = figures_of_targets(state) if self.risk.is_real else {}
        if state.stage:
            extra["buckets"] = float(len(state.rows_of_bucket))
        if state.stage == 2:
            extra |= {"cells": float(state.n_cells), "unsolved": float(state.n_unsolved)}
            if not self.risk.loss.is_quadratic:
                extra["gap"] = state.gap
        extra |= {"gamma": state.gamma, "C": state.cost}
        if not math.isnan(state.search_score):
            extra["search_score"] = state.search_score
        return Measures(
            state.objective,
            state.train_error,
            state.test_error,
            state.model_size,
            extra,
            converged=state.stage == 2 and not state.n_unsolved and not self._has_gap(state),
            shortfall=self._shortfall(state),
            notes=notes_of(state, self.space.kernels[state.kernel], is_real=self.risk.is_real),
        )

    def _has_gap(self, state: CellsState) -> bool:
        return state.gap > MOST_GAP * state.objective

    def _shortfall(self, state: CellsState) -> str:
        reasons = []
        if state.n_unsolved:
            reasons.append(f"machines in {state.n_unsolved} of {state.n_cells} cells miss the tolerance")
        if self._has_gap(state):
            share = 100 * state.gap / state.objective
            reasons.append(
                f"the duality gap, a bound on the distance to the minimum, is {share:.2g} % of the objective"
            )
        if not reasons:
            return ""
        hint = "a smaller C, or a larger gamma"
        if self.tol > _LEAST_TOLERANCE and not state.n_unsolved:
            hint = f"a smaller C than {state.cost:g}, or a smaller tol than {self.tol:g}"
        return f"{', and '.join(reasons)}: set {hint}"

    def step_hint(self) -> str:
        return f"C={(10.0 if isinstance(self.C, str) else self.C) / 10:g}"

    def hint(self, trouble: Trouble) -> str:
        if trouble is Trouble.IDLE:
            return "give --set class_weight=balanced, scale the features, or choose another gamma or C"
        return f"set a smaller C ({self.step_hint()})"

    def state_type(self) -> type[CellsState]:
        return CellsState

    @property
    def starts_at_zero(self) -> bool:  # type: ignore[override]
        return self.before is None

    def outline(self, problem: Problem) -> list[Outline]:
        layout = self._layout(problem)
        if self.before is None:
            passes = [
                *target_outline(problem),
                Outline(sampling(layout), is_before=True),
                *([Outline(trending(layout), is_before=True)] if self.space.has_trend else []),
                *self.space.outline(layout),
                Outline(layout.counting(), is_before=True),
                Outline(layout.moving(), is_before=True),
                Outline(layout.solving([(number, 0) for number in range(layout.n_buckets)])),
            ]
        else:
            passes = self._update(layout, self.before.state, self.before).outline()
        if self._holds_out:
            passes += held_out_outlines(layout, has_rarest=self.is_calibrated)
        if problem.has_test:
            passes += [Outline(step, 1) for step in layout.routing()]
            passes.append(Outline(layout.held_out(), 2 if self.before is None else 1))
        return passes
