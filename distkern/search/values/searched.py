"""A solver some of whose hyperparameters are chosen on held-out rows of a sample, before its first stage."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.choices import Choices, value_of, with_values
from distkern.common.held_out import keys_of, parted
from distkern.common.stores import Store
from distkern.common.types import Block
from distkern.passes import Each, Outline, Reduce
from distkern.search.choice import Tried, best, is_better
from distkern.search.values.sizes import Sizes, after, outline_of_most, sizes_of
from distkern.search.values.trials import Trials, try_values
from distkern.solvers.base import AbstractSolver, Measures, Problem, Steps, Trouble
from distkern.solvers.sample import sample_of, sampling
from distkern.solvers.searchable import AbstractSearchable, State

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Searched(AbstractSolver[State]):
    """A solver some of whose hyperparameters are chosen by trials.

    A trial runs the solver itself, or its stand-in, with few functions on up to 4,000 rows of a sample; as
    many rows are held out. The values of the first name are compared with the present one, then, with the
    winner set, those of the next name. A value must be better than the present one by one or two standard
    errors of the difference. Weights of losses and regularisers are rescaled to the number of rows.

    Parameters
    ----------
    solver : with the values that are kept unless others are better
    names : hyperparameters to be chosen, in this order
    sizes : of the trials
    is_real : targets are real numbers, compared by losses and not by log losses
    """

    solver: AbstractSearchable[State]
    names: tuple[str, ...]
    sizes: Sizes
    is_real: bool

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.solver.name

    @property
    def starts_at_zero(self) -> bool:  # type: ignore[override]
        return self.solver.starts_at_zero

    @property
    def explosion(self) -> float:  # type: ignore[override]
        return self.solver.explosion

    @property
    def stages(self) -> int | None:
        """Number of stages of the solver, at most; None where the solver has no such setting."""
        return getattr(self.solver, "stages", None)

    def settled(self, state: State) -> Searched[State]:
        return replace(self, solver=with_values(self.solver, self.found(state)))

    def found(self, state: State) -> dict[str, Any]:
        n_rows, _, _, *places = state.searched.tolist()
        return {
            name: self._values(name, int(n_rows))[int(place)]
            for name, place in zip(self.names, places, strict=True)
        }

    def init(self, problem: Problem) -> Steps[State]:
        rows: Block = yield self._sampling(problem)
        half = min(self.sizes.n_learned, rows.n_rows // 2)
        codes = None if problem.real_targets else rows.targets
        sides = parted(keys_of(rows), codes, problem.seed, half, half)
        learned, held_out = (rows.take(side) for side in sides)
        trial = replace(self.sizes, n_learned=learned.n_rows).problem(problem)
        operand = Trials(self.sizes.solver, trial, learned, held_out)
        share = learned.n_rows / problem.n_rows
        chosen = {name: self._choices(name).default for name in self.names}
        places = dict.fromkeys(self.names, 0)
        kept: list[Tried[int]] = []
        assert problem.workplace is not None
        # all rows are of one group, or equal, so none can be held out
        for number, name in enumerate(self.names if held_out.n_rows else ()):
            others = [{**chosen, name: value} for value in self._values(name, problem.n_rows)[1:]]
            tried = others if kept else [chosen, *others]
            items = [self._on_sample(values, share) for values in tried]
            store = problem.workplace.arrays(f"search/{number + 1}")
            yield self._searching(problem, number, items, store, operand)
            losses = [store.load(place)["losses"] for place in range(len(items))]
            if not kept:
                kept.append(Tried(0, losses.pop(0)))
            found = best(Tried(place, lost) for place, lost in enumerate(losses, 1))
            if is_better(found, kept[-1], self._choices(name).certain):
                kept.append(found)
                chosen, places[name] = others[found.setting - 1], found.setting
        state = yield from with_values(self.solver, chosen).init(problem)
        scores = (kept[-1].score, kept[0].score) if kept else (math.nan, math.nan)
        return replace(
            state, searched=np.array([problem.n_rows, *scores, *places.values()], dtype=np.float64)
        )

    def stage(self, problem: Problem, state: State) -> Steps[State]:
        return self.settled(state).solver.stage(problem, state)

    def finished(self, state: State) -> bool:
        return self.settled(state).solver.finished(state)

    def measures(self, state: State) -> Measures:
        measures = self.settled(state).solver.measures(state)
        _, score, plain, *_ = state.searched.tolist()
        if math.isnan(score):
            return measures
        return replace(
            measures,
            extra=measures.extra | {"search_score": score, "search_plain": plain},
            notes=(*self._notes(state), *measures.notes),
        )

    def step_hint(self) -> str:
        return self.solver.step_hint()

    def hint(self, trouble: Trouble) -> str:
        return self.solver.hint(trouble)

    def state_type(self) -> type[State]:
        return self.solver.state_type()

    def outline(self, problem: Problem) -> list[Outline]:
        passes = [Outline(self._sampling(problem), 1)]
        for number, name in enumerate(self.names):
            items: list[dict[str, Any]] = [{}] * (
                len(self._choices(name).tried(problem.n_rows)) + (number == 0)
            )
            passes.append(Outline(self._searching(problem, number, items, None, None), 1))
        run = outline_of_most(self.solver, self.names[0], problem, problem)
        return passes + after(run, self.sizes.cost(problem))

    def _choices(self, name: str) -> Choices:
        return self.solver.searched[name]

    def _values(self, name: str, n_rows: int) -> list[Any]:
        """All values that are tried, the present one first."""
        return [self._choices(name).default, *self._choices(name).tried(n_rows)]

    def _on_sample(self, values: Mapping[str, Any], share: float) -> dict[str, Any]:
        """The settings rescaled to a share of the rows."""
        known = {name: value_of(self.solver, name) for name in self.solver.searched} | dict(values)
        return {
            name: self._choices(name).on_sample(value, share)
            for name, value in known.items()
            if value is not None
        }

    def _sampling(self, problem: Problem) -> Reduce[Block]:
        wanted = 2 * self.sizes.n_learned
        sample = sample_of(problem, wanted, every_block=self.solver.rows_in_any_order)
        return sampling("sample", problem, sample)

    def _searching(
        self,
        problem: Problem,
        number: int,
        items: Sequence[Mapping[str, Any]],
        store: Store | None,
        operand: Trials | None,
    ) -> Each:
        cost = self.sizes.cost(problem)
        return Each(f"search {number + 1}", try_values, items, store, operand=operand, cost=cost)

    def _notes(self, state: State) -> tuple[str, str]:
        """What was chosen, of which range, and what it gained: lines of at most 80 characters."""
        n_rows, score, plain, *_ = state.searched.tolist()
        said = []
        for name, value in self.found(state).items():
            values = self._values(name, int(n_rows))
            # words are declared in the order of what they mean, but for the first
            ends = (values[1], values[-1]) if isinstance(value, str) else (min(values), max(values))
            said.append(f"{name}={_described(value)} of {_described(ends[0])}..{_described(ends[1])}")
        gained = (
            f"loss {score:.4g} ({plain:.4g} unsearched)"
            if self.is_real
            else f"log loss {score:.3g} ({plain:.3g} unsearched)"
        )
        return f"chosen: {', '.join(said)}", f"held-out {gained}"


def searched(solver: AbstractSolver[Any], names: Collection[str], problem: Problem) -> AbstractSolver[Any]:
    """A solver that chooses what is open; the solver itself where nothing is, or rows are too few."""
    if not isinstance(solver, AbstractSearchable):
        return solver
    known = tuple(name for name in solver.searched if name in names)
    sizes = sizes_of(solver, known, problem) if known else None
    return solver if sizes is None else Searched(solver, known, sizes, problem.real_targets)


def _described(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
