"""Sizes of the trials of a search, chosen so that all together cost no more than the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from distkern.common.choices import value_of, with_values
from distkern.features.landmarks import DEFAULT_LANDMARKS
from distkern.passes import Cost, Outline
from distkern.solvers.base import Problem
from distkern.solvers.searchable import AbstractSearchable

#: most and least rows that a trial learns from; at most one in ``_SHARE`` of all
_MOST_ROWS, _LEAST_ROWS, _SHARE = 4000, 250, 4
#: most stages of a trial; a larger number may be meant to be stopped early
_MOST_STAGES = 10
#: budget of all trials together, in units of one full run: by default, and for a search that was asked for
_WORTH, _WORTH_ASKED = 1, 8
#: most bytes of the sample
_MOST_BYTES = 32 * 2**20
#: divisors of the number of functions, the first with enough rows being taken; least and most functions
_FUNCTIONS, _LEAST_FUNCTIONS, _MOST_FUNCTIONS = (1, 2, 4), 32, 512
_MIB = 2**20
#: memory of a worker that loads solvers and linear algebra (24 to 31 MiB measured), and of compiled loops
_LOADED_BYTES, _STAYING_BYTES = 33 * _MIB, 60 * _MIB
#: most bytes of a trial
_MOST_TRIAL_BYTES = 64 * _MIB


@dataclass(frozen=True)
class Sizes:
    """The sizes of a search's trials.

    Attributes
    ----------
    solver : of the trials, with fewer functions than the run's
    n_learned : rows that each learns from; as many are held out
    first : the name of what is tried first
    """

    solver: AbstractSearchable[Any]
    n_learned: int
    first: str

    def problem(self, problem: Problem) -> Problem:
        """The problem of a trial."""
        return replace(
            problem,
            block_rows=(self.n_learned,),
            has_test=False,
            test_block_rows=(),
            workplace=None,
            notes=(),
            candidates=(),
        )

    def work(self, problem: Problem) -> float:
        """Operations of a trial."""
        return work_of(self._outline(problem), self.problem(problem))

    def _outline(self, problem: Problem) -> list[Outline]:
        return outline_of_most(self.solver, self.first, self.problem(problem), problem)

    def cost(self, problem: Problem) -> Cost:
        """Cost of a trial, as a task of an Each."""
        outlines = self._outline(problem)
        costs = [outline.step.cost for outline in outlines]
        compiled = any(cost.compiled or cost.driver_compiled for cost in costs)
        predictions = 64 * self.n_learned * problem.n_outputs
        return Cost(
            workspace_bytes=max(cost.workspace_bytes + cost.driver_bytes for cost in costs)
            + sum(outline.step.held_bytes(self.n_learned) for outline in outlines)
            + predictions
            + _MIB,
            result_bytes=8 * self.n_learned + 4096,
            process_bytes=max(cost.process_bytes for cost in costs)
            + sample_bytes(problem, self.n_learned)
            + _LOADED_BYTES * (not compiled),
            # as it was read, in another order and sent
            driver_bytes=3 * sample_bytes(problem, self.n_learned),
            compiled=compiled,
        )


def after(outlines: Sequence[Outline], trial: Cost) -> list[Outline]:
    """The passes after the trials, in processes where what the trials loaded stays."""
    loaded, found = _STAYING_BYTES if trial.compiled else _LOADED_BYTES, []
    for outline in outlines:
        cost = outline.step.cost
        stays = replace(cost, process_bytes=cost.process_bytes + (0 if cost.compiled else loaded))
        found.append(replace(outline, step=outline.step.changed(cost=stays)))
    return found


def sizes_of(solver: AbstractSearchable[Any], names: Sequence[str], problem: Problem) -> Sizes | None:
    """Trial sizes whose total cost is at most one run, or eight if a name is searched only on request.

    None if there are none so small.
    """
    whole, solver = with_values(solver, solver.in_trials), solver.stand_in()
    n_trials = 1 + sum(len(solver.searched[name].tried(problem.n_rows)) for name in names)
    most = min(problem.n_rows // _SHARE, _MOST_ROWS, _MOST_BYTES // (2 * problem.row_bytes))
    if most < _LEAST_ROWS:
        # values for so few rows may be none that the solver takes
        return None
    asked = any(not whole.searched[name].by_default for name in names)
    allowed = work_of(outline_of_most(whole, names[0], problem, problem), problem)
    allowed *= _WORTH_ASKED if asked else _WORTH
    while most >= _LEAST_ROWS:
        for share in _FUNCTIONS:
            sizes = Sizes(with_values(solver, _fewer_functions(solver, share)), most, names[0])
            cost = sizes.cost(problem)
            if n_trials * sizes.work(problem) <= allowed and cost.workspace_bytes <= _MOST_TRIAL_BYTES:
                return sizes
        most //= 2
    return None


def outline_of_most(
    solver: AbstractSearchable[Any], name: str, problem: Problem, whole: Problem
) -> list[Outline]:
    """Outline of a run on the rows of ``problem``, with the value of ``name`` that takes most work."""
    choices, share = solver.searched[name], problem.n_rows / whole.n_rows
    values = (choices.default, *choices.tried(whole.n_rows))
    outlines = (
        with_values(solver, {name: choices.on_sample(value, share)}).outline(problem) for value in values
    )
    return max(outlines, key=lambda outline: work_of(outline, problem))


def work_of(outlines: Sequence[Outline], problem: Problem) -> float:
    """Operations of all passes, rounds and batches over training rows."""
    return sum(
        outline.times * outline.step.work(problem.block_rows)
        for outline in outlines
        if outline.step.split == "train"
    )


def sample_bytes(problem: Problem, n_rows: int) -> int:
    """Bytes of ``n_rows`` rows that are learned from, and of as many that are held out."""
    return 2 * n_rows * (problem.row_bytes + problem.beside_bytes)


def _fewer_functions(solver: AbstractSearchable[Any], share: int) -> dict[str, Any]:
    """Values of the parameters that set the numbers of functions and stages of a trial."""
    landmarks, features = value_of(solver, "n_landmarks"), value_of(solver, "n_features")
    found: dict[str, Any] = {"n_landmarks": _fewer(landmarks or DEFAULT_LANDMARKS, share), "diameter": None}
    found["stages"] = min(value_of(solver, "stages"), _MOST_STAGES)
    if features is not None:
        found["n_features"] = _fewer(features, share)
    return found


def _fewer(size: int, share: int) -> int:
    # features may come in pairs
    return min(size, _MOST_FUNCTIONS, max(_LEAST_FUNCTIONS, size // (2 * share) * 2))
