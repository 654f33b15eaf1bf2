"""What the search chose, in words."""

from __future__ import annotations

import math
from dataclasses import replace

from distkern.kernels import find_kernel
from distkern.kernels.bandwidth import width_from_gamma
from distkern.kernels.base import AbstractScaledKernel
from distkern.maps.metric import METRICS
from distkern.search.ladder import KERNELS
from distkern.search.machines import Kernel
from distkern.solvers._cells.state import CellsState

_FORMULAS = dict(zip(KERNELS, ("exp(-g|x-y|)", "exp(-g|x-y|^2)", "exp(-g|x-y|_1)"), strict=True))
_ENDS = {-1: "smallest", 1: "largest"}
#: how much farther than the edge of its range is worth a try
_FARTHER = 3.0


def notes_of(state: CellsState, kernel: Kernel, *, is_real: bool) -> tuple[str, ...]:
    """Lines of at most 80 characters: what was chosen, if anything was searched, and what was solved."""
    solved = (_solved(state),) if state.stage == 2 else ()
    if math.isnan(state.search_score):
        return solved
    mapping, kind = state.places.map, find_kernel(kernel.name)
    assert issubclass(kind, AbstractScaledKernel)
    width = width_from_gamma(kind, state.gamma, len(mapping.factors)) / mapping.width
    transform = {"none": "unscaled"}.get(mapping.transform.kind, mapping.transform.kind)
    metric = f"{METRICS[state.metric]} metric" if state.metric else "no metric"
    formula = _FORMULAS.get(replace(kernel, width=1.0), kernel.name)
    notes = [f"chosen: {transform}, {metric}, {formula}, width {width:.3g} medians, C {state.cost:.3g}"]
    score = f"{100 * state.search_score:.3g} %" if is_real else f"{state.search_score:.3g}"
    name, unit = ("squared error", " of the variance") if is_real else ("log loss", "")
    notes.append(f"held-out {name} {score}{unit}")
    # a rule divides sqrt(2) times the median distance
    edges = {
        "width": (state.width_edge, f"gamma=median/{math.sqrt(2.0) / _beyond(width, state.width_edge):.3g}"),
        "C": (state.cost_edge, f"C={_beyond(state.cost, state.cost_edge):.3g}"),
    }
    ends = [f"{_ENDS[side]} {name}" for name, (side, _) in edges.items() if side]
    if ends:
        farther = ", ".join(text for side, text in edges.values() if side)
        notes.append(f"{', '.join(ends)} tried {'is' if len(ends) == 1 else 'are'} best: also try {farther}")
    return (*notes, *solved)


def _solved(state: CellsState) -> str:
    if state.n_cells == 1:
        return f"1 cell, with {state.model_size:,} support vectors"
    mean = state.model_size / max(state.n_cells, 1)
    return f"{state.n_cells:,} cells, with {mean:,.0f} support vectors on average"


def _beyond(value: float, side: int) -> float:
    return value * _FARTHER**side
