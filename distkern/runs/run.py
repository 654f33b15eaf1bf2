"""Training, planning and evaluation for the command line."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from distkern.core.errors import CorruptDataError, FencedError, StoreError
from distkern.core.text import in_bytes
from distkern.core.types import AbstractSource
from distkern.data.dataset import Split
from distkern.data.store.places import Location, explain_errors, place_of
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.drive import Interrupted
from distkern.engine.events import Event, Listener
from distkern.engine.executors import AbstractExecutor
from distkern.engine.plan import fitted, needed_bytes, plan_run
from distkern.model.value import FittedModel
from distkern.passes import Extent, Machine, PassPlan
from distkern.runs.data import TrainingData
from distkern.runs.evaluation import (
    Evaluation,
    evaluate_split,
    evaluation_passes,
    future_evaluation,
    measuring_passes,
)
from distkern.runs.fitting import RunPlace, run
from distkern.runs.folder import (
    check_folder,
    check_resumption,
    checkpointed_history,
    clear,
    farewell,
    go_back,
    tidy,
)
from distkern.runs.importance import ExplanationEffort, sampling
from distkern.runs.learned import GivenTraining, split_to_learn
from distkern.runs.limits import (
    Choosing,
    Shortage,
    check_limit,
    how_raised,
    machine_of,
    needed_by,
    opened_executor,
    settled_within,
    shortage_of,
    stop_if_asked,
    whose_limit,
    worst_of,
)
from distkern.runs.persistence import read_model, save_model
from distkern.runs.recipe import Posed, Recipe
from distkern.runs.updating import UpdateRecipe
from distkern.show import metrics
from distkern.solvers.base import AbstractSolver, Outline, Problem

#: an option whose number is searched, and its default
_NUMBER = re.compile(r"--set (n_landmarks|n_features|max_cell_rows|max_support)=\.\.\.")
_DEFAULT_SIZE = 512


@dataclass(frozen=True)
class PlannedPass(PassPlan):
    """A pass of a run and how often it is made."""

    times: float


def _times(part: PassPlan, times: float) -> PlannedPass:
    return PlannedPass(**{field.name: getattr(part, field.name) for field in fields(PassPlan)}, times=times)


@dataclass(frozen=True)
class Plan:
    """What a run needs, before it starts.

    Attributes
    ----------
    passes : in order
    worker_bytes, driver_bytes : predicted peaks of resident memory of a worker and of the driver
    memory_limit : limit of a worker (of the driver, if tasks run in its process), or None
    shortage : why the run does not fit, and what makes it fit; None if it fits
    machine : machine on which the run fits; it may do less at a time than the given one
    recipe : recipe with everything that was chosen for the rows; :func:`train` with it searches nothing again
    savings : what the machine saves for that, in words
    """

    passes: tuple[PlannedPass, ...]
    worker_bytes: int
    driver_bytes: int
    memory_limit: int | None
    shortage: Shortage | None
    machine: Machine
    recipe: Recipe
    savings: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return self.shortage is None

    @property
    def advice(self) -> str:
        """How to make the run fit; empty if it fits."""
        return "" if self.shortage is None else str(self.shortage)


def plan(
    recipe: Recipe,
    source: Split,
    *,
    test: Split | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    memory_limit: int | None = None,
    dashboard: bool = False,
    evaluated: bool = False,
    importances: bool = False,
    listeners: Sequence[Listener] = (),
) -> Plan:
    """Return passes, bytes and peaks of memory of a training run; nothing is started.

    A ``tcp://`` or ``tls://`` scheduler is asked for its number of workers and their limit. With
    ``evaluated`` the finished model is evaluated on the test rows. With ``importances`` the peaks cover
    measuring them afterwards, unless they will be left out. ``listeners`` hear how the algorithm is chosen.
    """
    recipe.check()
    machine = machine_of(scheduler, workers, memory_limit, dashboard)
    more = {"evaluated": evaluated, "importances": importances}
    data = recipe.data_of(source)
    recipe, choosing = settled_within(
        recipe, data, source, lambda: machine, listeners, has_test=test is not None
    )
    return plan_on(machine, recipe, source, test, memory_limit, choosing=choosing, **more)


def plan_on(
    machine: Machine,
    recipe: Recipe,
    source: Split,
    test: Split | None,
    given: int | None,
    *,
    choosing: Choosing | None = None,
    evaluated: bool = False,
    importances: bool = False,
) -> Plan:
    """Plan a run on a known machine; ``given`` is the requested part of its limit.

    ``choosing`` is what choosing the recipe needed, if that was done before.
    """
    more = {"evaluated": evaluated, "importances": importances}
    return _planned(machine, recipe, recipe.data_of(source), source, test, given, choosing, **more)


@contextmanager
def within_limit(
    recipe: Recipe, data: TrainingData, place: RunPlace, limit: int, tests: AbstractSource | None = None
) -> Iterator[Recipe]:
    """Choose for the rows and fit the machine of a run into a memory limit until the end of the context.

    Yields the recipe with its choices. The rows of arrays count as memory of this process. ``tests`` are
    evaluated after every stage.

    Raises
    ------
    MemoryBudgetError
        If the run needs more on any machine.
    """
    executor = place.executor
    machine = executor.machine
    least = min(limit, machine.memory_limit or limit)
    # as choices count it, which must not depend on what this process has imported
    limited = replace(machine, memory_limit=least, has_library=True)
    recipe, choosing = settled_within(
        recipe,
        data,
        data.source,
        lambda: limited,
        place.listeners,
        has_test=tests is not None,
        here=Machine("synchronous", 1, has_library=True),
    )
    planned = _planned(limited, recipe, data, data.source, tests, limit, choosing)
    if planned.shortage is not None:
        raise planned.shortage.refusal(whose_limit(limited, limit))
    executor.machine = planned.machine
    try:
        yield recipe
    finally:
        executor.machine = machine


def _planned(
    machine: Machine,
    recipe: Recipe,
    data: TrainingData,
    source: AbstractSource,
    test: AbstractSource | None,
    given: int | None,
    choosing: Choosing | None,
    *,
    evaluated: bool = False,
    importances: bool = False,
) -> Plan:
    choosing = Choosing.of(recipe, data) if choosing is None else choosing
    without, machine = machine, choosing.before(machine)
    recipe = recipe.settled(data, has_test=test is not None)
    posed = recipe.pose(data, has_test=test is not None)
    solver, problem = recipe.searched(posed), posed.problem
    extents = {"train": Extent.of(recipe.as_read(data, source), "planned")}
    if test is not None:
        extents["test"] = Extent.of(recipe.as_read(data, test), "planned")
        problem = replace(problem, test_block_rows=test.block_rows)
    before, after, own = recipe.measuring(solver, problem, machine)
    extents |= own
    outlines = [*before, *recipe.preparing(data, problem), *solver.outline(problem)]
    last = future_evaluation(solver, problem, test, "test") if evaluated and isinstance(test, Split) else []
    parts, used = fitted(outlines, extents, machine, [*after, *last])
    saved, machine = savings(machine, used), used
    measured = None
    if importances and recipe.task != "none":
        ran = outlines, extents, machine, after
        measured = _importance_plan(solver, problem, source, test, *ran)
    outlines += [*after, *last]
    passes = [_times(part, outline.times) for outline, part in zip(outlines, parts, strict=True)]
    limited = needed_bytes(passes, machine)
    shortage = None
    if machine.memory_limit is not None and limited > machine.memory_limit:
        raised = how_raised(limited, machine, given)

        def needed(other: Recipe) -> int:
            return needed_by(machine, other, data, source, has_test=test is not None)

        shortage = shortage_of(
            worst_of(passes, machine).name,
            limited,
            machine.memory_limit,
            extents["train"],
            raised,
            _with_number(recipe, posed, machine, needed),
        )
        names = recipe.settings.searched
        untried = replace(recipe, settings=replace(recipe.settings, searched=()))
        if names and needed(untried) <= machine.memory_limit:
            others = f"{shortage.others}, or give {' and '.join(names)}, so that nothing is tried"
            shortage = replace(shortage, others=others)
        instead = choosing.instead(without, data, source, has_test=test is not None)
        shortage = replace(shortage, others=instead + shortage.others)
    if choosing.n_bytes:
        passes.insert(0, _times(choosing.plan(machine), 1))
    if measured is not None:
        passes.append(_times(measured, 1))
    return Plan(
        tuple(passes),
        0 if machine.in_process else max(step.worker_bytes for step in passes),
        max(step.driver_bytes for step in passes),
        machine.memory_limit,
        shortage,
        machine,
        recipe,
        saved,
    )


def _importance_plan(
    solver: AbstractSolver[Any],
    problem: Problem,
    train: AbstractSource,
    test: AbstractSource | None,
    outlines: Sequence[Outline],
    extents: Mapping[str, Extent],
    machine: Machine,
    after: Sequence[Outline],
) -> PassPlan | None:
    """Return the plan of measuring importances after a run, on test rows if any; None if it is left out."""
    split, name = (train, "train") if test is None else (test, "test")
    how = ExplanationEffort(problem.seed)
    measuring = measuring_passes(solver, problem, (how.n_drawn(split),))
    if not measuring:
        return None
    step = sampling(split, name, how, measuring[-1].cost, problem.n_outputs)
    plan = plan_run(outlines, extents, machine, [*after, Outline(step)])[-1]
    fits = machine.memory_limit is None or needed_bytes([plan], machine) <= machine.memory_limit
    return plan if fits else None


def _with_number(recipe: Recipe, posed: Posed, machine: Machine, needed: Callable[[Recipe], int]) -> str:
    """Return advice that makes the run fit as a clause, with the largest number if it is an option with one.

    If no number does, it is what a process needs with any.
    """
    hint = recipe.memory_hint(posed.solver)
    named = _NUMBER.search(hint)
    if named is None or named[1] not in recipe.settings.given:
        return f", or {hint}"

    def bytes_of(size: int) -> int:
        return needed(recipe.with_value(named[1], size))

    assert machine.memory_limit is not None, "the run does not fit"
    given = recipe.settings.given[named[1]]
    # random features can come in pairs
    sizes = range(2, given if isinstance(given, int) else _DEFAULT_SIZE, 2)
    found = bisect_left(sizes, machine.memory_limit + 1, key=bytes_of)
    if not found:
        return f"; a process needs at least {in_bytes(bytes_of(2))} with any {named[1]}"
    return ", or " + _NUMBER.sub(rf"--set \1={sizes[found - 1]}", hint)


def savings(machine: Machine, used: Machine) -> tuple[str, ...]:
    """Return what the ``used`` machine saves compared with the given one, in words."""
    kept, sent = in_bytes(used.cache_bytes), in_bytes(used.window_bytes)
    done = {
        f"{kept} of blocks are kept instead of {in_bytes(machine.cache_bytes)}": used.cache_bytes
        < machine.cache_bytes,
        f"{used.loads_ahead} blocks are loaded ahead instead of {machine.loads_ahead}": used.loads_ahead
        < machine.loads_ahead,
        f"{sent} of rows are sent at once instead of {in_bytes(machine.window_bytes)}": used.window_bytes
        < machine.window_bytes,
        f"{used.n_workers} tasks run at a time instead of {machine.n_workers}": used.n_workers
        < machine.n_workers,
    }
    return tuple(text for text, is_less in done.items() if is_less)


def train(
    recipe: Recipe,
    source: Split,
    *,
    test: Split | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    memory_limit: int | None = None,
    out: Location | None = None,
    resume: bool = False,
    listeners: Sequence[Listener] = (),
    dashboard: bool = False,
    opened: Callable[[AbstractExecutor], Sequence[Listener]] | None = None,
    trained: Callable[[FittedModel, AbstractExecutor], FittedModel] | None = None,
    finished: Callable[[FittedModel, AbstractExecutor], object] | None = None,
) -> FittedModel:
    """Train the model of a recipe on a split (also an update), with a checkpoint after every stage, and write
    it.

    Parameters
    ----------
    test : split to measure after every stage
    scheduler, workers, memory_limit, dashboard : see :func:`distkern.engine.executors.open_executor`
    out : folder or URL of the model; None keeps it in memory
    resume : continue from the newest checkpoint in ``out``, which must have the same data and job; for a
        finished model, only the leftovers of a killed run are removed
    opened : called with the executor before training; returns further listeners
    trained : called with the model before it is written, and the executor; returns the model with
        measurements to store
    finished : called with the written model and the executor, to evaluate it on test rows

    Raises
    ------
    InputError
        If ``out`` holds a model or an unfinished run that this one would overwrite, or the plan does not fit.
    """
    recipe.check()
    folder = None if out is None else place_of(out)
    if folder is not None:
        check_folder(folder, resume)
        if (folder / "model.json").exists():
            check_resumption(recipe, source, folder, test=test)
            clear(folder)
            model = read_model(folder)
            path = folder / "metrics.jsonl"
            metrics.rewrite(path, metrics.of_finished(path, model.history))
            return model
    # a plan and the run that follows choose once
    recipe = recipe.seeded()
    data, started = recipe.data_of(source), partial(machine_of, scheduler, workers, memory_limit, dashboard)
    recipe, choosing = settled_within(recipe, data, source, started, listeners, has_test=test is not None)
    planned: list[Plan] = []

    def check(machine: Machine) -> Machine:
        more = {"evaluated": finished is not None, "importances": trained is not None}
        planned.append(plan_on(machine, recipe, source, test, memory_limit, choosing=choosing, **more))
        if (shortage := planned[-1].shortage) is not None:
            raise shortage.refusal(whose_limit(machine, memory_limit))
        return planned[-1].machine

    heard: list[Listener] = [*listeners, stop_if_asked]
    if folder is not None:
        if resume and not CheckpointFolder(folder / "checkpoints", {}).stages():
            nothing = Event("message", {"text": f"no checkpoint in {folder}: starting from the beginning"})
            for listener in listeners:
                listener(nothing)
        with explain_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        metrics.rewrite(folder / "metrics.jsonl", checkpointed_history(folder) if resume else [])
        heard.append(metrics.MetricsFile(folder / "metrics.jsonl"))
    checkpoints = None if folder is None else folder / "checkpoints"
    try:
        with opened_executor(scheduler, workers, memory_limit, check, dashboard) as executor:
            heard.extend(opened(executor) if opened is not None else ())
            place = RunPlace(executor, heard, checkpoints, resume)
            given = split_to_learn(recipe, source, test)
            try:
                model = _made(recipe, given, place)
            except CorruptDataError as error:
                go_back(folder, error, listeners)
                model = _made(recipe, given, replace(place, resume=True))
            if trained is not None:
                model = trained(model, executor)
            if folder is not None:
                save_model(model, folder)
                clear(folder)
            if finished is not None:
                finished(model, executor)
    except BaseException as error:
        if folder is not None:
            if not isinstance(error, StoreError | FencedError):
                tidy(folder)
            if isinstance(error, KeyboardInterrupt) and not error.args:
                raise Interrupted(farewell(folder)) from error
        raise
    return model


def _made(recipe: Recipe, given: GivenTraining, place: RunPlace) -> FittedModel:
    return recipe.update(given.test, place) if isinstance(recipe, UpdateRecipe) else run(recipe, given, place)


def evaluate(model: FittedModel, source: Split, **how: Any) -> dict[str, Any]:
    """Return figures of a model on a split, see :func:`distkern.runs.evaluation.evaluate_split`."""
    return evaluations(model, [source], **how)[0].figures


def evaluations(
    model: FittedModel,
    sources: Sequence[Split],
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    memory_limit: int | None = None,
    listeners: Sequence[Listener] = (),
) -> list[Evaluation]:
    """Evaluate a model on each split, see :func:`distkern.runs.evaluation.evaluate_split`."""

    def check(machine: Machine) -> Machine:
        for source in sources:
            passes = partial(evaluation_passes, model, source)
            machine = check_limit(passes, Extent.of(source), memory_limit)(machine)
        return machine

    with opened_executor(scheduler, workers, memory_limit, check) as executor:
        return [evaluate_split(model, source, executor, (*listeners, stop_if_asked)) for source in sources]
