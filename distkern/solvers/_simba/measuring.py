"""The passes in which SIMBA measures."""

from __future__ import annotations

from dataclasses import dataclass

from distkern.features import Footprint
from distkern.passes import Cost, Reduce
from distkern.solvers._simba.measure import (
    BINS,
    LaneModel,
    Margins,
    Mistakes,
    Norms,
    measure_margins,
    measure_mistakes,
    measure_norms,
)
from distkern.solvers._simba.messages import HoldOut
from distkern.solvers.base import Problem


@dataclass(frozen=True)
class Measuring:
    """Passes over the rows of a problem, at models of some candidates of nu; without a model, outlines."""

    problem: Problem
    footprint: Footprint
    n_candidates: int
    hold_out: HoldOut

    def norms(self, model: LaneModel | None) -> Reduce[Norms]:
        """What is known of the rows before the first round."""
        cost = self._cost(1, 64 + 8 * self.problem.n_outputs)
        return Reduce("norms", measure_norms, Norms.join, model, cost=cost)

    def margins(self, model: LaneModel | None) -> Reduce[Margins]:
        """Histograms of margins."""
        lanes = self.n_candidates * self.problem.n_outputs
        cost = self._cost(lanes, lanes * BINS * 16)
        return Reduce(
            "margins",
            measure_margins,
            Margins.add,
            model,
            cost=cost,
            measures_only=not self.hold_out.fraction,
        )

    def errors(self, model: LaneModel | None, split: str) -> Reduce[Mistakes]:
        """Mistakes of all candidates on the training rows, or of one on held-out ones."""
        train = split == "train"
        lanes = self.problem.n_outputs * (self.n_candidates if train else 1)
        return Reduce(
            "errors" if train else "held out",
            measure_mistakes,
            Mistakes.add,
            model,
            split=split,
            cost=self._cost(lanes, 16 * self.n_candidates),
            measures_only=not (train and self.hold_out.fraction),
        )

    def _cost(self, lanes: int, result_bytes: int) -> Cost:
        footprint = self.footprint
        operand = footprint.size * lanes * (16 + self.problem.dtype.itemsize)
        # f in both precisions, margins and their bins, of a strip
        strip = 2**16 * 48 + 256 * lanes * 48
        return Cost(
            workspace_bytes=footprint.tile_bytes + operand + strip + result_bytes,
            result_bytes=result_bytes,
            flops_per_row=footprint.flops_per_row + 2.0 * self.problem.row_numbers * lanes,
            entries_per_row=footprint.entries_per_row,
            process_bytes=footprint.process_bytes,
            compiled=True,
        )
