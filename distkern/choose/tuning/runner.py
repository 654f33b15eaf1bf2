"""Trials of a search, run one or several at a time on executors that share the workers."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distkern.choose.tuning.record import Task, Trial, TuningCandidate, in_words
from distkern.core import interrupts
from distkern.core.errors import DivergenceError, MemoryBudgetError
from distkern.core.held_out import STIRRED_BYTES, Sides
from distkern.data.dataset import Split
from distkern.data.part import SplitPart, count_sides, held_out_parts, join_counts, n_classes_of, sides_of
from distkern.engine.drive import Driver, Interrupted
from distkern.engine.events import Event, EventLog, Listener
from distkern.engine.executors import AbstractExecutor
from distkern.passes import Cost, Extent, Machine, Reduce
from distkern.passes.execution import forget
from distkern.runs.evaluation import evaluate_split, evaluation_passes
from distkern.runs.fitting import RunPlace, run
from distkern.runs.learned import split_to_learn
from distkern.runs.limits import check_limit, opened_executor, stop_if_asked, whose_limit
from distkern.runs.run import plan_on

if TYPE_CHECKING:
    from distkern.choose.tuning.search import Search

#: seconds between two calls of :meth:`Watcher.poll`
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Where:
    """Where a search runs, as in :func:`distkern.engine.executors.open_executor`, with ``jobs`` trials at
    once.
    """

    scheduler: str | None = None
    workers: int | None = None
    memory_limit: int | None = None
    dashboard: bool = False
    jobs: int = 1


class Watcher:
    """Observes a search from the threads that run the trials; the base class does nothing."""

    def began(self, candidate: TuningCandidate, task: Task) -> None:
        """Called when a trial begins."""

    def finished(self, candidate: TuningCandidate, trial: Trial, n_done: int, n_all: int) -> None:
        """Called when a trial has finished."""

    def resumed(self, n_found: int) -> None:
        """Called with the number of trials that an earlier search made."""

    def listeners(self, candidate: TuningCandidate, task: Task) -> Sequence[Listener]:
        """Return listeners for the fit of a trial."""
        return ()

    def poll(self) -> None:
        """Called regularly by the searching thread while others work; may raise."""


class TrialRunner:
    """Runs trials, one or several at a time, on executors that are opened when they are needed."""

    def __init__(self, search: Search, where: Where, watcher: Watcher) -> None:
        self._search, self._where, self._watcher = search, where, watcher
        self._stack = ExitStack()
        self._executor: AbstractExecutor
        self._executors: list[AbstractExecutor] = []
        self._sides: tuple[Sides, NDArray[np.int64]] | None = None
        self._parts: list[tuple[SplitPart, SplitPart]] = []
        self._stopping = threading.Event()
        self._done = 0
        self._lock = threading.Lock()

    def __enter__(self) -> TrialRunner:
        self._done = self._search.folder.n_kept()
        if self._done:
            self._watcher.resumed(self._done)
        return self

    def __exit__(self, *exception: object) -> None:
        # later runs have no use for the blocks that processes keep
        forget()
        if self._executors:
            self._executors[0].forget_blocks()
        self._stack.close()

    def make(self, tasks: Sequence[Task]) -> dict[Task, Trial]:
        """Return the trials of tasks of one rung; finished ones are not repeated."""
        open_tasks = [task for task in tasks if self._search.folder.trial(task) is None]
        if open_tasks:
            if not self._executors:
                self._open()
            try:
                self._parts = self._made_parts(open_tasks[0].rung)
                if self._where.jobs == 1:
                    self._work(deque(open_tasks), self._executors[0])
                else:
                    self._work_together(open_tasks)
            except KeyboardInterrupt as interrupt:
                raise Interrupted(self._farewell()) from interrupt
        made = {task: self._search.folder.trial(task) for task in tasks}
        return {task: trial for task, trial in made.items() if trial is not None}

    def _made_parts(self, rung: int) -> list[tuple[SplitPart, SplitPart]]:
        """Return training and held-out rows of each fold, found once in a single pass."""
        search = self._search
        if self._sides is None:
            sides = sides_of(search.split, search.validation, search.seed)
            listeners = (stop_if_asked, lambda event: self._watcher.poll())
            self._sides = sides, counted_sides(search.split, sides, self._executor, listeners)
        return held_out_parts(search.split, search.validation, *self._sides, search.rungs[rung].share)

    def _farewell(self) -> str:
        folder = self._search.folder
        if folder.place is None:
            return "interrupted"
        kept = f"{folder.n_kept()} of {self._search.n_trials} trials are kept"
        return f"interrupted; {kept}: run the same command again to go on"

    def _open(self) -> None:
        where = self._where
        executor = self._stack.enter_context(
            opened_executor(where.scheduler, where.workers, where.memory_limit, self._check, where.dashboard)
        )
        self._executor = executor
        if where.jobs == 1:
            self._executors = [executor]
            return
        for _ in range(where.jobs):
            self._executors.append(self._stack.enter_context(executor.shared_by(where.jobs)))

    def _check(self, machine: Machine) -> Machine:
        """Refuse requested candidates that would not fit on all rows, before any is tried."""
        jobs, limit = self._where.jobs, machine.memory_limit
        shared = replace(machine, memory_limit=None if limit is None else limit // jobs)
        for candidate in self._search.candidates[: 1 if self._search.own_space else None]:
            self._planned(shared, candidate, self._search.split)
        return machine

    def _planned(self, machine: Machine, candidate: TuningCandidate, rows: Split) -> Machine:
        plan = plan_on(machine, candidate.estimator.recipe(), rows, None, self._where.memory_limit)
        if plan.fits:
            return plan.machine
        together = f" (1/{self._where.jobs} of it for each trial)" if self._where.jobs > 1 else ""
        raise MemoryBudgetError(
            f"does not fit with {in_words(candidate.settings)}{together}",
            where=whose_limit(machine, self._where.memory_limit),
            hint=plan.advice,
        )

    def _work_together(self, tasks: Sequence[Task]) -> None:
        """Run trials in several threads that each drive their own run."""
        waiting = deque(tasks)
        self._stopping.clear()
        with ThreadPoolExecutor(len(self._executors), "distkern-trial") as pool:
            working = [pool.submit(self._work, waiting, executor) for executor in self._executors]
            try:
                while wait(working, _POLL_SECONDS).not_done:
                    interrupts.check()
                    self._watcher.poll()
                    if any(one.done() and one.exception() is not None for one in working):
                        break
            finally:
                self._stopping.set()
                wait(working)
        errors = [error for one in working if (error := one.exception()) is not None]
        # the error that stopped the others comes first
        errors.sort(key=lambda error: isinstance(error, KeyboardInterrupt))
        if errors:
            raise errors[0]

    def _work(self, waiting: deque[Task], executor: AbstractExecutor) -> None:
        while waiting and not self._stopping.is_set():
            try:
                task = waiting.popleft()
            except IndexError:
                return
            trial, stays = self._trial(task, executor)
            self._search.folder.keep(trial, stays=stays)
            self._report(trial)

    def _report(self, trial: Trial) -> None:
        with self._lock:
            self._done += 1
            self._watcher.finished(
                self._search.candidates[trial.candidate], trial, self._done, self._search.n_trials
            )

    def _trial(self, task: Task, executor: AbstractExecutor) -> tuple[Trial, bool]:
        """Return a trial, and whether the result would be the same with other memory."""
        search = self._search
        candidate = search.candidates[task.candidate]
        learned, held_out = self._parts[task.fold]
        self._watcher.began(candidate, task)
        listeners = (*self._watcher.listeners(candidate, task), self._stop_listener(), stop_if_asked)
        recipe, checkpoints = candidate.estimator.recipe(), search.folder.checkpoints(task)
        machine, started = executor.machine, time.perf_counter()
        trial_of = partial(Trial, task.candidate, task.rung, task.fold, learned.n_rows, held_out.n_rows)
        try:
            if search.own_space:
                self._planned(machine, candidate, search.split)
            executor.machine = self._planned(machine, candidate, learned)
            place = RunPlace(executor, listeners, checkpoints, resume=True)
            model = run(recipe, split_to_learn(recipe, learned), place)
            steps = partial(evaluation_passes, model, held_out, compared=search.metric.name)
            reduced = _without_kept(machine, learned)
            executor.machine = check_limit(steps, Extent.of(held_out), self._where.memory_limit)(reduced)
            measured = evaluate_split(model, held_out, executor, listeners, search.metric.name)
        except (DivergenceError, MemoryBudgetError) as error:
            if isinstance(error, MemoryBudgetError) and not (search.own_space and candidate.number):
                raise
            failed = trial_of(time.perf_counter() - started, failed=str(error))
            return failed, not isinstance(error, MemoryBudgetError)
        finally:
            executor.machine = machine
        figures, last = measured.figures, model.history[-1]
        value = search.metric.value(figures)
        trial = trial_of(
            round(float(last["seconds"] + figures["seconds"]), 4),
            value=value if math.isfinite(value) else None,
            losses=measured.losses,
            work=last["feature_accesses"] / learned.n_features * max(last["model_size"], 1),
            figures={name: figure for name, figure in figures.items() if name != "seconds"},
            n_stages=int(model.n_iter),
            ended=str(model.ended),
            found=dict(model.found),
            failed=None if math.isfinite(value) else search.metric.undefined(value),
        )
        return trial, True

    def _stop_listener(self) -> Listener:
        """Return a listener that stops a fit in its own thread; other threads report progress too."""
        thread = threading.get_ident()

        def stop(event: Event) -> None:
            if self._stopping.is_set() and threading.get_ident() == thread:
                raise KeyboardInterrupt

        return stop


def _without_kept(machine: Machine, learned: SplitPart) -> Machine:
    """Return the machine without the memory in which processes keep blocks for later candidates."""
    kept = Extent.of(learned, learned.kept_as).kept_bytes(machine)
    limit = machine.memory_limit
    return machine if limit is None else replace(machine, memory_limit=max(1, limit - kept))


def counted_sides(
    split: Split, sides: Sides, executor: AbstractExecutor, listeners: tuple[Listener, ...] = ()
) -> NDArray[np.int64]:
    """Count the rows of each block by side and class, (n_blocks, n_sides, n_classes), in one pass."""
    n_classes = n_classes_of(split)
    # a task joins the results of its blocks
    cost = Cost(STIRRED_BYTES).holding(
        task={"rows": (max(split.block_rows), 64)},
        joined={"counts": (split.n_blocks, sides.n_sides, n_classes, 8)},
    )
    step = Reduce("count", count_sides, join_counts, (sides, n_classes), cost=cost)
    counts: NDArray[np.int64] = Driver({"train": split}, executor, EventLog(listeners)).measure(step)
    return counts
