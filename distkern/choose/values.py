"""Hyperparameters that a solver leaves open: chosen by trials on a sample, before its first stage."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distkern.choose.choice import TriedSetting, best, is_better
from distkern.core.choices import Choices, value_of, with_values
from distkern.core.held_out import keys_of, parted
from distkern.core.scores import by_group, log_losses, row_log_losses
from distkern.core.stores import Store
from distkern.core.tiles import release
from distkern.core.types import Array, Block
from distkern.maths.features.landmarks import DEFAULT_LANDMARKS
from distkern.passes import AbstractResident, Cost, Each, Outline, Reduce
from distkern.passes.base import completed
from distkern.passes.machine import SOLVING_BYTES
from distkern.solvers.base import AbstractSolver, Measures, Problem, Steps, Trouble
from distkern.solvers.measuring import AbstractSearchable, Model, State
from distkern.solvers.sample import sample_of, sampling

#: most and least rows that a trial learns from; at most one in ``_SHARE`` of all
_MOST_ROWS, _LEAST_ROWS, _SHARE = 4000, 250, 4
#: most stages of a trial; a larger number may be meant to be stopped early
_MOST_STAGES = 10
#: budget of all trials together for a search that was asked for, in units of one full run
_WORTH_ASKED = 8
#: most bytes of the sample
_MOST_BYTES = 32 * 2**20
#: divisors of the number of functions, the first with enough rows being taken; least and most functions
_FUNCTIONS, _LEAST_FUNCTIONS, _MOST_FUNCTIONS = (1, 2, 4), 32, 512
_MIB = 2**20
#: memory of a worker in which compiled loops stay
_STAYING_BYTES = 60 * _MIB
#: most bytes of a trial
_MOST_TRIAL_BYTES = 64 * _MIB


@dataclass(frozen=True)
class TrialSizes:
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
            + SOLVING_BYTES * (not compiled),
            # as it was read, in another order and sent
            driver_bytes=3 * sample_bytes(problem, self.n_learned),
            compiled=compiled,
        )


def after(outlines: Sequence[Outline], trial: Cost) -> list[Outline]:
    """The passes after the trials, in processes where what the trials loaded stays."""
    loaded, found = _STAYING_BYTES if trial.compiled else SOLVING_BYTES, []
    for outline in outlines:
        cost = outline.step.cost
        stays = replace(cost, process_bytes=cost.process_bytes + (0 if cost.compiled else loaded))
        found.append(replace(outline, step=outline.step.changed(cost=stays)))
    return found


def sizes_of(solver: AbstractSearchable[Any], names: Sequence[str], problem: Problem) -> TrialSizes | None:
    """Trial sizes whose total cost is at most the solver's ``worth``, in runs, or eight if a name is searched
    only on request.

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
    allowed *= _WORTH_ASKED if asked else whole.worth
    while most >= _LEAST_ROWS:
        for share in _FUNCTIONS:
            sizes = TrialSizes(with_values(solver, _fewer_functions(solver, share)), most, names[0])
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


#: most that a row can lose, so that trials that diverge can be compared
_MOST_LOST = 1e6


@dataclass(frozen=True)
class Trials:
    """The operand of :func:`try_values`.

    Attributes
    ----------
    solver : with fewer functions than the run's
    problem : of the rows that are learned from
    """

    solver: AbstractSearchable[Any]
    problem: Problem
    learned: Block
    held_out: Block


def try_values(
    values: Mapping[str, Any], _: Iterator[Block], operand: Trials
) -> tuple[dict[str, float], dict[str, Array]]:
    """A run with some values.

    Returns
    -------
    a record without anything in it, and an array: "losses" (n_held_out,) or of groups, see :func:`losses_of`
    """
    with np.errstate(all="ignore"):
        solver = with_values(operand.solver, values)
        state = run_alone(solver, operand.problem, operand.learned)
        losses = losses_of(solver.model(operand.problem, state), operand.held_out)
        losses = by_group(losses, operand.held_out.group_keys)
    release()
    return {}, {"losses": losses}


def losses_of(model: Model, rows: Block) -> Array:
    """Score of each row, (n_rows,): its log loss, or, for real targets, the loss of the model.

    Losses that are likelihoods score -s_i log p(y_i | f_i) of the model's own probabilities, so that
    overconfidence counts. Others predict by the sign and are compared by it, without an offset, with the same
    total weight for every class, see :func:`~distkern.core.scores.log_losses`: where a class is rare, a
    machine that predicts the other one for all rows would score nearly as well as a useful one.
    """
    risk, loss = model.risk, model.risk.loss
    found, weights = [], []
    for strip in model.strips(rows):
        predictions, shares = model.predictions(strip.features), risk.weights(strip)
        if risk.is_real:
            found.append(risk.values(predictions, risk.targets(strip), shares))
            continue
        exact = risk.shifted(predictions.astype(np.float64))
        found.append(loss.probabilities(exact) if loss.has_probabilities else exact)
        weights.append(np.ones(strip.n_rows) if shares is None else shares)
    losses = np.concatenate(found)
    if not risk.is_real:
        assert rows.targets is not None
        factors = np.concatenate(weights)
        if not loss.has_probabilities:
            codes = np.asarray(rows.targets).astype(np.intp)
            of_classes = np.bincount(codes, factors)
            # rows of classes that weigh nothing stay at 0
            factors = factors / np.where(of_classes > 0, of_classes, 1.0)[codes]
            return log_losses(losses, codes, factors, by_sign=True)
        losses = row_log_losses(losses, rows.targets) * (factors / factors.mean())
    return np.nan_to_num(losses, nan=_MOST_LOST, posinf=_MOST_LOST).clip(max=_MOST_LOST)


def run_alone(solver: AbstractSolver[Any], problem: Problem, rows: Block) -> Any:
    """The last state of a run over the only block of a problem, by a solver without batches."""
    derived: dict[str, Any] = {}
    residents: dict[str, AbstractResident] = {}

    def complete(steps: Steps[Any]) -> Any:
        return completed(steps, lambda step: step.alone(rows, residents), derived)

    state = complete(solver.init(problem))
    while not solver.finished(state):
        state = complete(solver.stage(problem, state))
    return state


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
    sizes: TrialSizes
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
    def tol(self) -> float | None:
        """Tolerance of the solver; None where it has none."""
        return getattr(self.solver, "tol", None)

    @property
    def stages(self) -> int | None:
        """Number of stages of the solver, at most; None where the solver has no such setting."""
        return getattr(self.solver, "stages", None)

    def further(self, state: State) -> dict[str, Any]:
        return self.solver.further(state)

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
        kept: list[TriedSetting[int]] = []
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
                kept.append(TriedSetting(0, losses.pop(0)))
            found = best(TriedSetting(place, lost) for place, lost in enumerate(losses, 1))
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
        """The chosen values with their ranges, and the gain in loss: lines of at most 80 characters."""
        n_rows, score, plain, *_ = state.searched.tolist()
        said = []
        for name, value in self.found(state).items():
            values = self._values(name, int(n_rows))
            # words are declared in the order of what they mean, but for the first
            ends = (values[1], values[-1]) if isinstance(value, str) else (min(values), max(values))
            said.append(f"{name}={_described(value)} of {_described(ends[0])}..{_described(ends[1])}")
        gained = (
            f"loss {score:.4g} ({plain:.4g} with the defaults)"
            if self.is_real
            else f"log loss {score:.3g} ({plain:.3g} with the defaults)"
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
