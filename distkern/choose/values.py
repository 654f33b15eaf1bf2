"""Hyperparameters that a solver leaves open, chosen by trials on a sample before its first stage."""

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

#: most and least training rows of a trial, and the divisor of all rows that limits them too
_MOST_ROWS, _LEAST_ROWS, _SHARE = 4000, 250, 4
#: most stages of a trial; a larger number may rely on early stopping
_MOST_STAGES = 10
#: budget of all trials of a requested search, in full runs
_REQUESTED_WORTH = 8
_MIB = 2**20
#: most bytes of the sample, and of a trial
_MOST_BYTES, _MOST_TRIAL_BYTES = 32 * _MIB, 64 * _MIB
#: divisors of the number of functions, tried in turn; least and most functions of a trial
_FUNCTION_SHARES, _LEAST_FUNCTIONS, _MOST_FUNCTIONS = (1, 2, 4), 32, 512
#: bytes of compiled loops that stay in a worker
_COMPILED_BYTES = 60 * _MIB
#: largest loss of a row, so that diverging trials can be compared
_MOST_LOST = 1e6


@dataclass(frozen=True)
class TrialSizes:
    """The sizes of a search's trials.

    Attributes
    ----------
    solver : solver of the trials, with fewer functions than the solver of the run
    n_train : training rows of a trial; the same number is held out
    first : name of the hyperparameter that is searched first
    """

    solver: AbstractSearchable[Any]
    n_train: int
    first: str

    def problem(self, problem: Problem) -> Problem:
        """Return the problem of a trial."""
        return replace(
            problem,
            block_rows=(self.n_train,),
            has_test=False,
            test_block_rows=(),
            workplace=None,
            notes=(),
            candidates=(),
        )

    def work(self, problem: Problem) -> float:
        """Return the operations of a trial."""
        return work_of(self._outline(problem), self.problem(problem))

    def _outline(self, problem: Problem) -> list[Outline]:
        return outline_of_most(self.solver, self.first, self.problem(problem), problem)

    def cost(self, problem: Problem) -> Cost:
        """Return the cost of a trial, as a task of an Each."""
        outlines = self._outline(problem)
        costs = [outline.step.cost for outline in outlines]
        compiled = any(cost.compiled or cost.driver_compiled for cost in costs)
        predictions = 64 * self.n_train * problem.n_outputs
        return Cost(
            workspace_bytes=max(cost.workspace_bytes + cost.driver_bytes for cost in costs)
            + sum(outline.step.held_bytes(self.n_train) for outline in outlines)
            + predictions
            + _MIB,
            result_bytes=8 * self.n_train + 4096,
            process_bytes=max(cost.process_bytes for cost in costs)
            + sample_bytes(problem, self.n_train)
            + SOLVING_BYTES * (not compiled),
            # read, reordered and sent
            driver_bytes=3 * sample_bytes(problem, self.n_train),
            compiled=compiled,
        )


def after(outlines: Sequence[Outline], trial: Cost) -> list[Outline]:
    """Return the passes after the trials, in processes that keep the code loaded by the trials."""
    kept_bytes, passes = _COMPILED_BYTES if trial.compiled else SOLVING_BYTES, []
    for outline in outlines:
        cost = outline.step.cost
        cost = replace(cost, process_bytes=cost.process_bytes + (0 if cost.compiled else kept_bytes))
        passes.append(replace(outline, step=outline.step.changed(cost=cost)))
    return passes


def sizes_of(solver: AbstractSearchable[Any], names: Sequence[str], problem: Problem) -> TrialSizes | None:
    """Return trial sizes within the budget, or None if even the smallest ones exceed it.

    The budget of all trials is the solver's ``worth``, in full runs, or 8 if a name is searched only on
    request.
    """
    whole, solver = with_values(solver, solver.in_trials), solver.stand_in()
    n_trials = 1 + sum(len(solver.searched[name].tried(problem.n_rows)) for name in names)
    n_train = min(problem.n_rows // _SHARE, _MOST_ROWS, _MOST_BYTES // (2 * problem.row_bytes))
    if n_train < _LEAST_ROWS:
        # the solver may refuse values for so few rows
        return None
    is_requested = any(not whole.searched[name].by_default for name in names)
    budget = work_of(outline_of_most(whole, names[0], problem, problem), problem)
    budget *= _REQUESTED_WORTH if is_requested else whole.worth
    while n_train >= _LEAST_ROWS:
        for share in _FUNCTION_SHARES:
            sizes = TrialSizes(with_values(solver, _fewer_functions(solver, share)), n_train, names[0])
            cost = sizes.cost(problem)
            if n_trials * sizes.work(problem) <= budget and cost.workspace_bytes <= _MOST_TRIAL_BYTES:
                return sizes
        n_train //= 2
    return None


def outline_of_most(
    solver: AbstractSearchable[Any], name: str, problem: Problem, whole: Problem
) -> list[Outline]:
    """Outline a run on the rows of ``problem`` with the value of ``name`` that takes most work.

    Parameters
    ----------
    whole : the problem with all rows
    """
    choices, share = solver.searched[name], problem.n_rows / whole.n_rows
    values = (choices.default, *choices.tried(whole.n_rows))
    outlines = (
        with_values(solver, {name: choices.on_sample(value, share)}).outline(problem) for value in values
    )
    return max(outlines, key=lambda outline: work_of(outline, problem))


def work_of(outlines: Sequence[Outline], problem: Problem) -> float:
    """Return the operations of all passes, rounds and batches over training rows."""
    return sum(
        outline.times * outline.step.work(problem.block_rows)
        for outline in outlines
        if outline.step.split == "train"
    )


def sample_bytes(problem: Problem, n_rows: int) -> int:
    """Return the bytes of ``n_rows`` training rows and the same number of held-out rows."""
    return 2 * n_rows * (problem.row_bytes + problem.beside_bytes)


def _fewer_functions(solver: AbstractSearchable[Any], share: int) -> dict[str, Any]:
    """Return values of the parameters that set the numbers of functions and stages of a trial."""
    landmarks, features = value_of(solver, "n_landmarks"), value_of(solver, "n_features")
    values: dict[str, Any] = {"n_landmarks": _fewer(landmarks or DEFAULT_LANDMARKS, share), "diameter": None}
    values["stages"] = min(value_of(solver, "stages"), _MOST_STAGES)
    if features is not None:
        values["n_features"] = _fewer(features, share)
    return values


def _fewer(size: int, share: int) -> int:
    # features may come in pairs, so keep the number even
    return min(size, _MOST_FUNCTIONS, max(_LEAST_FUNCTIONS, size // (2 * share) * 2))


@dataclass(frozen=True)
class TrialOperand:
    """The operand of :func:`try_values`.

    Attributes
    ----------
    solver : with fewer functions than the solver of the run
    problem : of the training rows
    train, held_out : rows
    """

    solver: AbstractSearchable[Any]
    problem: Problem
    train: Block
    held_out: Block


def try_values(
    values: Mapping[str, Any], _: Iterator[Block], operand: TrialOperand
) -> tuple[dict[str, float], dict[str, Array]]:
    """Run a trial with some values.

    Returns
    -------
    an empty record, and the array "losses" (n_held_out,), or (n_groups,), see :func:`losses_of`
    """
    with np.errstate(all="ignore"):
        solver = with_values(operand.solver, values)
        state = run_alone(solver, operand.problem, operand.train)
        losses = losses_of(solver.model(operand.problem, state), operand.held_out)
        losses = by_group(losses, operand.held_out.group_keys)
    release()
    return {}, {"losses": losses}


def losses_of(model: Model, rows: Block) -> Array:
    """Return the score of each row, (n_rows,): its log loss, or the model's loss for real targets.

    Losses that are likelihoods score -s_i log p(y_i | f_i) with the model's own probabilities, so that
    overconfidence counts. Other losses predict by the sign, so they are compared by the sign, without an
    offset (:func:`~distkern.core.scores.log_losses`). All classes then have equal total weight: otherwise a
    machine that never predicts a rare class would score nearly as well as a useful one.
    """
    risk, loss = model.risk, model.risk.loss
    parts, weights = [], []
    for strip in model.strips(rows):
        predictions, shares = model.predictions(strip.features), risk.weights(strip)
        if risk.is_real:
            parts.append(risk.values(predictions, risk.targets(strip), shares))
            continue
        decisions = risk.shifted(predictions.astype(np.float64))
        parts.append(loss.probabilities(decisions) if loss.has_probabilities else decisions)
        weights.append(np.ones(strip.n_rows) if shares is None else shares)
    values = np.concatenate(parts)
    if risk.is_real:
        losses = values
    else:
        assert rows.targets is not None
        factors = np.concatenate(weights)
        if not loss.has_probabilities:
            codes = np.asarray(rows.targets).astype(np.intp)
            totals = np.bincount(codes, factors)
            # rows of classes with total weight 0 keep weight 0
            factors = factors / np.where(totals > 0, totals, 1.0)[codes]
            return log_losses(values, codes, factors, by_sign=True)
        losses = row_log_losses(values, rows.targets) * (factors / factors.mean())
    return np.nan_to_num(losses, nan=_MOST_LOST, posinf=_MOST_LOST).clip(max=_MOST_LOST)


def run_alone(solver: AbstractSolver[Any], problem: Problem, rows: Block) -> Any:
    """Run a solver without batches on the only block of a problem, and return its last state."""
    derived: dict[str, Any] = {}
    residents: dict[str, AbstractResident] = {}

    def run(steps: Steps[Any]) -> Any:
        return completed(steps, lambda step: step.alone(rows, residents), derived)

    state = run(solver.init(problem))
    while not solver.finished(state):
        state = run(solver.stage(problem, state))
    return state


@dataclass(frozen=True)
class Searched(AbstractSolver[State]):
    """A solver that chooses some of its hyperparameters by trials.

    A trial runs the solver, or its stand-in, with few functions on up to 4,000 rows of a sample; the same
    number is held out. The hyperparameters are chosen one after the other: the best value is adopted for the
    next ones if it beats the current value by one or two standard errors of the difference. Weights of losses
    and regularisers are rescaled to the number of rows.

    Parameters
    ----------
    solver : with the initial values
    names : hyperparameters to choose, in this order
    sizes : sizes of the trials
    is_real : whether targets are real numbers, which are compared by the loss instead of the log loss
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
        """Tolerance of the solver, or None if it has none."""
        return getattr(self.solver, "tol", None)

    @property
    def stages(self) -> int | None:
        """Most stages of the solver, or None if it has no such setting."""
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
        half = min(self.sizes.n_train, rows.n_rows // 2)
        codes = None if problem.real_targets else rows.targets
        sides = parted(keys_of(rows), codes, problem.seed, half, half)
        train, held_out = (rows.take(side) for side in sides)
        trial = replace(self.sizes, n_train=train.n_rows).problem(problem)
        operand = TrialOperand(self.sizes.solver, trial, train, held_out)
        share = train.n_rows / problem.n_rows
        chosen = {name: self._choices(name).default for name in self.names}
        places = dict.fromkeys(self.names, 0)
        winners: list[TriedSetting[int]] = []
        assert problem.workplace is not None
        # if all rows are equal or in one group, none can be held out
        for number, name in enumerate(self.names if held_out.n_rows else ()):
            others = [{**chosen, name: value} for value in self._values(name, problem.n_rows)[1:]]
            tried = others if winners else [chosen, *others]
            items = [self._on_sample(values, share) for values in tried]
            store = problem.workplace.arrays(f"search/{number + 1}")
            yield self._searching(problem, number, items, store, operand)
            losses = [store.load(place)["losses"] for place in range(len(items))]
            if not winners:
                winners.append(TriedSetting(0, losses.pop(0)))
            found = best(TriedSetting(place, own) for place, own in enumerate(losses, 1))
            if is_better(found, winners[-1], self._choices(name).certain):
                winners.append(found)
                chosen, places[name] = others[found.setting - 1], found.setting
        state = yield from with_values(self.solver, chosen).init(problem)
        scores = (winners[-1].score, winners[0].score) if winners else (math.nan, math.nan)
        return replace(
            state, searched=np.array([problem.n_rows, *scores, *places.values()], dtype=np.float64)
        )

    def stage(self, problem: Problem, state: State) -> Steps[State]:
        return self.settled(state).solver.stage(problem, state)

    def finished(self, state: State) -> bool:
        return self.settled(state).solver.finished(state)

    def measures(self, state: State) -> Measures:
        measures = self.settled(state).solver.measures(state)
        _, score, initial_score, *_ = state.searched.tolist()
        if math.isnan(score):
            return measures
        return replace(
            measures,
            extra=measures.extra | {"search_score": score, "search_plain": initial_score},
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
        """Return all values to compare, the initial one first."""
        return [self._choices(name).default, *self._choices(name).tried(n_rows)]

    def _on_sample(self, values: Mapping[str, Any], share: float) -> dict[str, Any]:
        """Rescale values to a share of the rows."""
        known = {name: value_of(self.solver, name) for name in self.solver.searched} | dict(values)
        return {
            name: self._choices(name).on_sample(value, share)
            for name, value in known.items()
            if value is not None
        }

    def _sampling(self, problem: Problem) -> Reduce[Block]:
        n_rows = 2 * self.sizes.n_train
        sample = sample_of(problem, n_rows, every_block=self.solver.rows_in_any_order)
        return sampling("sample", problem, sample)

    def _searching(
        self,
        problem: Problem,
        number: int,
        items: Sequence[Mapping[str, Any]],
        store: Store | None,
        operand: TrialOperand | None,
    ) -> Each:
        cost = self.sizes.cost(problem)
        return Each(f"search {number + 1}", try_values, items, store, operand=operand, cost=cost)

    def _notes(self, state: State) -> tuple[str, str]:
        """Return the chosen values with their ranges, and the gain in loss, in lines of 80 characters."""
        n_rows, score, initial_score, *_ = state.searched.tolist()
        ranges = []
        for name, value in self.found(state).items():
            values = self._values(name, int(n_rows))
            # words are declared in a meaningful order, except for the first
            ends = (values[1], values[-1]) if isinstance(value, str) else (min(values), max(values))
            ranges.append(f"{name}={_described(value)} of {_described(ends[0])}..{_described(ends[1])}")
        gain = (
            f"loss {score:.4g} ({initial_score:.4g} with the defaults)"
            if self.is_real
            else f"log loss {score:.3g} ({initial_score:.3g} with the defaults)"
        )
        return f"chosen: {', '.join(ranges)}", f"held-out {gain}"


def searched(solver: AbstractSolver[Any], names: Collection[str], problem: Problem) -> AbstractSolver[Any]:
    """Let a solver choose these hyperparameters; return it unchanged if there are none or too few rows."""
    if not isinstance(solver, AbstractSearchable):
        return solver
    known = tuple(name for name in solver.searched if name in names)
    sizes = sizes_of(solver, known, problem) if known else None
    return solver if sizes is None else Searched(solver, known, sizes, problem.real_targets)


def _described(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
