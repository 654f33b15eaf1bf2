"""The driver: the only loop. It runs the passes a solver yields and owns checkpoints, events and stopping."""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from distkern.core import blas, processes
from distkern.core.errors import DivergenceError, InputError
from distkern.core.types import AbstractSource
from distkern.engine.checkpoint import CheckpointFolder, RunWorkplace
from distkern.engine.ending import DIVERGED, INTERRUPTED, Ending, Stopping, check_stages, ending, explosion
from distkern.engine.events import EventLog
from distkern.engine.kept_passes import KeptPasses
from distkern.passes import Each, Extent, Pass, PassPlan, Reduce, Site, Stream
from distkern.passes.base import completed
from distkern.passes.execution import AbstractExecutor, forget
from distkern.passes.rounds import RunResidents
from distkern.solvers.base import AbstractSolver, Measures, Problem

State = TypeVar("State")
Result = TypeVar("Result")
#: called with a finished pass and its seconds
_Count: TypeAlias = Callable[[Pass, PassPlan, float], None]


class Interrupted(KeyboardInterrupt):
    """The run was interrupted; the message says what is left and how to go on."""


@dataclass
class Counters:
    """Rows and bytes that a run has read and seconds that it took, kept across resumption."""

    rows_read: int = 0
    bytes_read: int = 0
    seconds: float = 0.0
    train_rows_read: int = 0
    measuring_seconds: float = 0.0

    def as_dict(self) -> dict[str, float]:
        return dict(vars(self))


@dataclass(frozen=True)
class RunOutcome:
    """The last state of a run, a line of figures for each of its stages, and why it ended."""

    state: Any
    history: list[dict[str, Any]]
    ending: Ending


class _Watch:
    """Tells of one pass: its start, its progress, its end."""

    def __init__(
        self, events: EventLog, stage: int, count: _Count, step: Pass, plan: PassPlan, tasks: int
    ) -> None:
        self._events, self._stage, self._count = events, stage, count
        self._step, self._plan, self._tasks = step, plan, tasks
        self._start = time.perf_counter()
        # a cluster reports finished tasks from a thread of its own, some of them after the result is there
        self._lock, self._over = threading.Lock(), False
        events.emit(
            "pass_started",
            name=plan.name,
            stage=stage,
            tasks=tasks,
            rows=plan.rows,
            bytes=plan.bytes_read,
            unit=step.unit or ("rows" if plan.rows else "tasks"),
        )

    def progress(self, tasks_done: int) -> None:
        share = min(1.0, tasks_done / self._tasks) if self._tasks else 1.0
        with self._lock:
            if not self._over:
                self._tell(tasks_done, share)

    def _tell(self, tasks_done: int, share: float) -> None:
        self._events.emit(
            "pass_progress",
            name=self._plan.name,
            stage=self._stage,
            tasks_done=min(tasks_done, self._tasks),
            tasks=self._tasks,
            rows_done=int(share * self._plan.rows),
            rows=self._plan.rows,
            bytes_done=int(share * self._plan.bytes_read),
        )

    def finish(self, split_seconds: dict[str, float]) -> None:
        with self._lock:
            self._over = True
        seconds = time.perf_counter() - self._start
        self._count(self._step, self._plan, seconds)
        self._events.emit(
            "pass_finished",
            name=self._plan.name,
            stage=self._stage,
            seconds=seconds,
            rows=self._plan.rows,
            bytes=self._plan.bytes_read,
            mode=self._plan.mode,
            split_seconds=split_seconds,
        )


@dataclass
class Driver:
    """Runs a solver on data.

    Parameters
    ----------
    sources : split name -> source
    executor : where the passes run
    events : their listeners are notified
    checkpoints : where the state is kept after each stage; None keeps none
    """

    sources: Mapping[str, AbstractSource]
    executor: AbstractExecutor
    events: EventLog = field(default_factory=EventLog)
    checkpoints: CheckpointFolder | None = None
    _residents: RunResidents | None = field(default=None, init=False)
    _kept_passes: KeptPasses | None = field(default=None, init=False)

    def run(
        self,
        solver: AbstractSolver[Any],
        problem: Problem,
        *,
        resume: bool = False,
        take: Callable[[Any, RunWorkplace], None] | None = None,
        stopping: Stopping | None = None,
    ) -> RunOutcome:
        """Stages until the solver has finished; with ``resume``, from the newest checkpoint if there is one.

        ``take`` is given the last state and what tasks stored, which may be gone when the run is over;
        ``stopping`` may end the run before, and keep another state than the last.

        Raises
        ------
        Interrupted
            On Ctrl-C; the last checkpoint is whole.
        DivergenceError
            If the objective stops being a number, or comes far above that of the model 0; the message gives
            the hint and says which checkpoint is left.
        """
        self._counters = Counters()
        self._history: list[dict[str, Any]] = []
        self._stage, self._before = 0, -time.perf_counter()
        kept_as = self.sources["train"].kept_as
        self._run_name = kept_as or uuid.uuid4().hex
        self._residents = None
        self._derived: dict[str, Any] = {}
        self._told: set[str] = set()
        self._error_name = "mean squared error" if problem.real_targets else problem.error_name
        self._stopping = stopping or Stopping()
        self._early: str | None = None
        self._best: Any = None
        processes.return_large_arrays()
        try:
            with blas.single_threaded(), RunWorkplace(self.checkpoints) as workplace:
                test = self.sources["test"].block_rows if problem.has_test else ()
                problem = replace(problem, workplace=workplace, test_block_rows=test)
                self._kept_passes = KeptPasses(workplace) if workplace.stays else None
                outcome = self._run(solver, problem, resume)
                if take is not None:
                    take(outcome.state, workplace)
                return outcome
        except KeyboardInterrupt as interrupt:
            self._tell_stop(INTERRUPTED)
            raise Interrupted(self._farewell()) from interrupt
        except DivergenceError as error:
            self._tell_stop(DIVERGED)
            raise DivergenceError(f"{error}{self._kept()}") from error
        finally:
            if self._residents is not None:
                self._residents.close()
            self._derived.clear()
            self._kept_passes = None
            if not kept_as:
                forget()
                self.executor.forget_blocks()

    def _run(self, solver: AbstractSolver[Any], problem: Problem, resume: bool) -> RunOutcome:
        started = time.perf_counter()
        restored = self.checkpoints.load(solver.state_type()) if resume and self.checkpoints else None
        self._tell_start(solver, problem, restored.stage if restored else None)
        if restored is not None:
            state, self._history = restored.state, restored.history
            self._counters = Counters(**restored.counters)  # type: ignore[arg-type]
            self._stage = restored.stage
        self._residents = RunResidents(
            restored.residents if restored else {},
            lambda address: self.events.emit("worker_lost", address=address),
        )
        self._before = self._counters.seconds - started
        if restored is None:
            state = completed(solver.init(problem), self._execute, self._derived)
        solver = solver.settled(state)
        if restored is None:
            self._finish_stage(solver, problem, state)
        while self._early is None and not solver.finished(state):
            self._stage += 1
            state = completed(solver.stage(problem, state), self._execute, self._derived)
            self._finish_stage(solver, problem, state)
        measures = solver.measures(state)
        self._tell(problem, measures)
        end = ending(solver, problem, measures, self._history, self._early)
        for warning in end.warnings:
            self.events.emit("message", text=f"warning: {warning}")
        if self._best is not None and self._best.stage < state.stage:
            state = self._best
            self.events.emit("message", text=f"the model of stage {state.stage} is kept, the best of all")
        self.events.emit("run_finished", result=end.reason, seconds=self._counters.seconds)
        return RunOutcome(state, self._history, end)

    def measure(self, step: Reduce[Result]) -> Result:
        """Run one pass that belongs to no stage."""
        result: Result = self._alone(step)
        return result

    def each(self, step: Each) -> list[Any]:
        """The records of an Each that belongs to no stage."""
        records: list[Any] = self._alone(step)
        return records

    def stream(self, step: Stream[Result]) -> Iterator[Result]:
        """The prepared pieces of a Stream that belongs to no stage, in order; who takes them limits BLAS."""
        with closing(self._alone(step)) as pieces:
            yield from pieces

    def _alone(self, step: Pass) -> Any:
        # rows to learn from are read again by the run that follows
        kept_as = self.sources[step.split].kept_as if step.split == "train" else ""
        self._counters, self._stage, self._run_name = Counters(), 0, kept_as
        with blas.single_threaded():
            return self._execute(step)

    def _execute(self, step: Pass) -> Any:
        source = self.sources[step.split]
        extent = Extent.of(source, self._run_name)
        site = Site(source, extent, self.executor, self._residents, self._watch)
        kept = self._kept_passes
        if kept is None or not isinstance(step, Reduce):
            return step.run(site)
        key = kept.key(step, extent)
        found = kept.get(key)
        if found is not None:
            # an earlier try has read the rows
            self._tell_notes([f"{step.name}: made before the run was interrupted, and not again"])
            result, seconds = found
            self._count(step, step.plan(extent, self.executor.machine), seconds)
            self._before += seconds
            return result
        start = time.perf_counter()
        result = step.run(site)
        kept.put(key, result, time.perf_counter() - start)
        return result

    def _watch(self, step: Pass, plan: PassPlan, tasks: int) -> _Watch:
        return _Watch(self.events, self._stage, self._count, step, plan, tasks)

    def _count(self, step: Pass, plan: PassPlan, seconds: float) -> None:
        """Add a finished pass to the counters; what rounds look at of the data is the solver's to count."""
        if not step.reads_rows:
            return
        if step.measures_only:
            self._counters.measuring_seconds += seconds
        self._counters.rows_read += plan.rows
        self._counters.bytes_read += plan.bytes_read
        if step.split == "train":
            self._counters.train_rows_read += plan.rows

    def _finish_stage(self, solver: AbstractSolver[Any], problem: Problem, state: Any) -> None:
        self._counters.seconds = self._before + time.perf_counter()
        measures = solver.measures(state)
        stop = explosion(solver, measures, self._history, self._stage)
        if stop is not None:
            raise DivergenceError(stop)
        counters, train = self._counters, self.sources["train"]
        accesses, nonzero = measures.accesses or (
            counters.train_rows_read * train.n_features,
            round(counters.train_rows_read * train.row_accesses),
        )
        processes.trim()
        driver_peak = processes.peak_resident_bytes()
        worker_peak = max(self.executor.worker_peaks().values(), default=0)
        line: dict[str, Any] = {
            "stage": self._stage,
            "passes": round(counters.train_rows_read / train.n_rows, 3),
            "seconds": round(counters.seconds, 4),
            "training_seconds": round(counters.seconds - counters.measuring_seconds, 4),
            "objective": measures.objective,
            "train_error": measures.train_error,
            "test_error": measures.test_error,
            "model_size": measures.model_size,
            "feature_accesses": accesses,
            "feature_accesses_nonzero": nonzero,
            "rows_read": counters.rows_read,
            "bytes_read": counters.bytes_read,
            "peak_rss_bytes": max(driver_peak, worker_peak),
            "driver_peak_rss_bytes": driver_peak,
            "worker_peak_rss_bytes": worker_peak,
            **{name: value for name, value in measures.extra.items() if math.isfinite(value)},
        }
        if self._error_name != "error":
            line["error"] = self._error_name
        notes = (*problem.notes, *measures.notes)
        if notes:
            line["notes"] = list(notes)
        if problem.candidates:
            line["candidates"] = [asdict(one) for one in problem.candidates]
        self._history.append(line)
        early = self._stopping.reason(self._history)
        if self._stopping.is_best(self._history):
            self._best = state
        if early is not None and not solver.finished(state):
            check_stages(solver, "callbacks")
            self._early = early
        if self._early is not None or solver.finished(state):
            line.update(ending(solver, problem, measures, self._history, self._early).as_dict())
        self.events.emit("stage_finished", metrics=line)
        self._tell(problem, measures)
        if self.checkpoints is not None:
            start = time.perf_counter()
            assert self._residents is not None, "a stage belongs to a run"
            residents = self._residents.groups
            own = self._stage, state, self._history, counters.as_dict()
            try:
                path = self.checkpoints.save(*own, residents())
            except InputError:
                # a full disk, it may be, of the results that this checkpoint makes needless
                if self._kept_passes is None:
                    raise
                self._kept_passes.clear()
                path = self.checkpoints.save(*own, residents())
            self._residents.checkpointed(self.checkpoints.residents(self._stage))
            if self._kept_passes is not None:
                self._kept_passes.clear()
            self.events.emit(
                "checkpoint_saved", stage=self._stage, path=str(path), seconds=time.perf_counter() - start
            )

    def _tell(self, problem: Problem, measures: Measures) -> None:
        self._tell_notes([*problem.notes, *(one.summary for one in problem.candidates), *measures.notes])

    def _tell_notes(self, notes: list[str]) -> None:
        """Report the notes that are new."""
        for note in notes:
            if note not in self._told:
                self.events.emit("message", text=note)
        self._told.update(notes)

    def _tell_start(self, solver: AbstractSolver[Any], problem: Problem, resumed_from: int | None) -> None:
        machine = self.executor.machine
        self.events.emit(
            "run_started",
            algorithm=solver.name,
            n_rows=problem.n_rows,
            n_features=problem.n_features,
            stages=getattr(solver, "stages", None),
            workers=machine.n_workers,
            in_process=machine.in_process,
            dashboard=self.executor.dashboard,
            resumed_from=resumed_from,
            tol=getattr(solver, "tol", None),
        )

    def _farewell(self) -> str:
        saved = self.checkpoints.stages() if self.checkpoints is not None else []
        if self.checkpoints is None or not saved:
            return f"interrupted in stage {self._stage}; no checkpoint had been written yet"
        return (
            f"interrupted in stage {self._stage}; a checkpoint of stage {saved[-1]} is in "
            f"{self.checkpoints.path}: run the same command with --resume to go on"
        )

    def _kept(self) -> str:
        """The checkpoint that a diverged run leaves, as the end of a message."""
        saved = self.checkpoints.stages() if self.checkpoints is not None else []
        return f"; the checkpoint of stage {saved[-1]} is kept" if saved else ""

    def _tell_stop(self, reason: str) -> None:
        # whoever listens may be what the run ends by
        with suppress(Exception, KeyboardInterrupt):
            self.events.emit(
                "run_stopped", result=reason, stage=self._stage, seconds=self._before + time.perf_counter()
            )
