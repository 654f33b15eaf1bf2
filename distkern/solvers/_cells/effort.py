"""How much work the passes of machines in cells are, about, for the seconds of a plan alone.

How often a coordinate of the dual is visited depends on the data, on C and on the width, by a factor of ten:
the constant is what machines of covertype's shape take in a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from distkern.maps.metric import METRIC_ROWS, gradients_of
from distkern.passes import Cost, Each
from distkern.solvers._cells.ranking import CELL_KINDS, CELL_ROUNDS
from distkern.solvers._cells.search import Size
from distkern.solvers._cells.space import Space
from distkern.solvers._cells.trials import MANY_OUTPUTS

#: sweeps over the coordinates, whose kernel rows are added: a number of them takes as long as an exponential
_SWEEPS = 20.0
#: of a cube of the rows: a factorisation; and by how much what is in double precision takes longer
_CUBE, _DOUBLE = 1 / 3, 2.0
#: exponentials and the like of a pair of rows: in a kernel; their distance in double precision, of a metric
_KERNEL_ENTRIES, _DISTANCE_ENTRIES = 2.0, 10.0
#: maps that are tried on whole cells first, as a rule
_FINALISTS = 7
#: of the most rows of a cell: those that it has on average
_FILLED = 0.75


@dataclass(frozen=True)
class Effort:
    """Floating-point operations of products, and exponentials or the like."""

    flops: float = 0.0
    entries: float = 0.0

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.flops + other.flops, self.entries + other.entries)

    def __mul__(self, times: float) -> Effort:
        return Effort(self.flops * times, self.entries * times)

    def of(self, step: Each) -> Each:
        """A pass each of whose tasks is this much work."""
        cost: Cost = replace(step.cost, flops_per_task=self.flops, entries_per_task=self.entries)
        return replace(step, cost=cost)


def kernel(pairs: float, n_features: int) -> Effort:
    """Kernel values of so many pairs of rows."""
    return Effort(2.0 * pairs * n_features, _KERNEL_ENTRIES * pairs)


def machine(n_rows: float, n_features: int, n_outputs: int, n_costs: int, *, quadratic: bool) -> Effort:
    """The machines of some rows, of several costs and one matrix."""
    pairs = n_rows**2
    one = Effort(_DOUBLE * _CUBE * n_rows**3) if quadratic else Effort(entries=_SWEEPS * pairs * n_outputs)
    return kernel(pairs, n_features) + one * n_costs


def metric(n_rows: int, n_features: int, n_outputs: int, rounds: float, *, is_full: bool = True) -> Effort:
    """A metric of so many rounds: distances in double precision, of half of the pairs and once more."""
    n_gradients = gradients_of(n_rows, n_features, n_outputs)
    pairs, pulls = n_rows**2 / 2, float(n_gradients * n_rows)
    flops = _CUBE * n_rows**3 + 2.0 * n_features * (_DOUBLE * (pairs + pulls) + n_outputs * pulls)
    if is_full:
        flops += 4.0 * _DOUBLE * n_outputs * n_gradients * n_features**2
    entries = _DISTANCE_ENTRIES * (pairs + pulls) + pairs + (2.0 + 2.0 * n_outputs) * pulls
    return Effort(flops, entries) * rounds


def cells(
    n_rows: int, copies: float, most: int, n_features: int, n_outputs: int, *, quadratic: bool
) -> Effort:
    """All machines of cells of ``most`` rows at most, each row in so many, and their values at the rows."""
    filled = min(n_rows, _FILLED * most)
    n_cells = copies * n_rows / filled
    one = machine(filled, n_features, n_outputs, 1, quadratic=quadratic)
    return one * n_cells + kernel(filled * n_rows, n_features)


def rungs(
    space: Space, sizes: Sequence[Size], n_features: int, n_outputs: int, *, quadratic: bool
) -> list[Effort]:
    """A trial of each rung, on average."""
    learned = [choice for choice in space.maps if choice.metric != "none"]
    rounds = sum(choice.rounds for choice in learned) / max(len(space.maps), 1)
    n_widths, n_costs = (min(len(values), 3) for values in (space.widths, space.costs))
    found = []
    for first, size in zip((True, False), sizes, strict=True):
        kernels = len(space.kernels) if first else 1.0 + (len(space.kernels) - 1) / (size.n_kept + 2)
        # many outputs are solved by factorisations in the first rung
        factorised = quadratic or (first and n_outputs >= MANY_OUTPUTS)
        point = machine(size.n_learned, n_features, n_outputs, n_costs, quadratic=factorised)
        held_out = kernel(size.n_learned * size.n_held_out, n_features)
        map_ = metric(min(size.n_metric, METRIC_ROWS), n_features, n_outputs, rounds)
        found.append(map_ + (point + held_out) * (kernels * n_widths))
    return found


def on_cells(
    space: Space, n_rows: int, n_cells: float, n_features: int, n_outputs: int, *, quadratic: bool
) -> list[Effort]:
    """All maps that are tried on some cells of so many rows, of each round; of one more what was chosen."""
    filled = _FILLED * n_rows
    found = []
    for n_kinds, (widths, costs) in zip(
        (_FINALISTS, CELL_KINDS + 1, 1), (*CELL_ROUNDS, ((1.0,), (1.0,))), strict=True
    ):
        n_points = len(widths) if len(space.widths) > 1 else 1
        n_costs = len(costs) if len(space.costs) > 1 else 1
        point = machine(0.8 * filled, n_features, n_outputs, n_costs, quadratic=quadratic)
        held_out = kernel(0.8 * 0.2 * filled**2, n_features)
        found.append((point + held_out) * (n_kinds * n_points * n_cells))
    return found
