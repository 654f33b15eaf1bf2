"""The driver: the only loop. It runs the passes that a solver yields, writes checkpoints and emits events."""

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
from distkern.core.choices import summaries
from distkern.core.errors import DivergenceError, InputError
from distkern.core.types import AbstractSource
from distkern.engine.checkpoint import CheckpointFolder, KeptPasses, RunWorkplace
from distkern.engine.ending import DIVERGED, INTERRUPTED, Ending, Stopping, check_stages, ending, explosion
from distkern.engine.events import EventLog
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
    """The run was interrupted; the message says which checkpoint is left and how to continue."""


@dataclass
class Counters:
    """Rows and bytes read by a run, and its seconds, across resumptions."""

    rows_read: int = 0
    bytes_read: int = 0
    seconds: float = 0.0
    train_rows_read: int = 0
    measuring_seconds: float = 0.0


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run.

    Attributes
    ----------
    state : the final state
    history : figures of each stage
    ending : how the run ended
    taken : fields of the model that tasks have stored
    """

    state: Any
    history: list[dict[str, Any]]
    ending: Ending
    taken: Mapping[str, Any] = field(default_factory=dict)


class _Watch:
    """Emits the events of one pass: start, progress, end."""

    def __init__(
        self, events: EventLog, stage: int, count: _Count, step: Pass, plan: PassPlan, tasks: int
    ) -> None:
        self._events, self._stage, self._count = events, stage, count
        self._step, self._plan, self._tasks = step, plan, tasks
        self._start = time.perf_counter()
        # a cluster reports finished tasks from its own thread, some after the result has arrived
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
            if self._over:
                return
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
    executor : runs the passes
    events : log of the run's events
    checkpoints : folder for the state after each stage, or None
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
        take: Callable[[Any, RunWorkplace], Mapping[str, Any]] | None = None,
        stopping: Stopping | None = None,
    ) -> RunOutcome:
        """Run stages until the solver has finished; with ``resume``, from the newest checkpoint if any.

        ``take`` receives the final state and the stored results of tasks, which may be temporary, and returns
        fields of the model. ``stopping`` may end the run earlier and keep an earlier state.

        Raises
        ------
        Interrupted
            On Ctrl-C; the last checkpoint is complete.
        DivergenceError
            If the objective becomes NaN or infinite, or far exceeds that of the zero model; the message has a
            hint and names the checkpoint that is left.
        """
        self._counters = Counters()
        self._history: list[dict[str, Any]] = []
        self._stage, self._before = 0, -time.perf_counter()
        kept_as = self.sources["train"].kept_as
        self._run_name = kept_as or uuid.uuid4().hex
        self._residents = None
        self._derived: dict[str, Any] = {}
        self._reported: set[str] = set()
        self._error_name = "mean squared error" if problem.real_targets else problem.error_name
        self._stopping = stopping or Stopping()
        self._stopping.check(solver)
        self._early: str | None = None
        self._best: Any = None
        processes.return_large_arrays()
        try:
            with blas.single_threaded(), RunWorkplace(self.checkpoints) as workplace:
                test = self.sources["test"].block_rows if problem.has_test else ()
                problem = replace(problem, workplace=workplace, test_block_rows=test)
                self._kept_passes = KeptPasses(workplace) if workplace.stays else None
                outcome = self._run(solver, problem, resume)
                return outcome if take is None else replace(outcome, taken=take(outcome.state, workplace))
        except KeyboardInterrupt as interrupt:
            self._report_stop(INTERRUPTED)
            raise Interrupted(self._farewell()) from interrupt
        except DivergenceError as error:
            self._report_stop(DIVERGED)
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
        self._report_start(solver, problem, restored.stage if restored else None)
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
        self._report(problem, measures)
        end = ending(solver, problem, measures, self._history, self._early)
        for warning in end.warnings:
            self.events.emit("message", text=f"warning: {warning}")
        if self._best is not None and self._best.stage < state.stage:
            state = self._best
            self.events.emit("message", text=f"keeping the model of stage {state.stage}, the best one")
        self.events.emit("run_finished", result=end.reason, seconds=self._counters.seconds)
        return RunOutcome(state, self._history, end)

    def measure(self, step: Reduce[Result]) -> Result:
        """Run one pass outside of stages."""
        result: Result = self._alone(step)
        return result

    def each(self, step: Each) -> list[Any]:
        """Return the records of an Each outside of stages."""
        records: list[Any] = self._alone(step)
        return records

    def stream(self, step: Stream[Result]) -> Iterator[Result]:
        """Yield the prepared pieces of a Stream outside of stages; the caller limits BLAS threads."""
        with closing(self._alone(step)) as pieces:
            yield from pieces

    def _alone(self, step: Pass) -> Any:
        # training rows are read again by the run that follows
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
            self._report_notes([f"{step.name}: the result from before the interruption is reused"])
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
        """Add a finished pass to the counters; solvers count the rows that rounds use."""
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
        self._report(problem, measures)
        if self.checkpoints is not None:
            start = time.perf_counter()
            assert self._residents is not None, "a stage belongs to a run"
            residents = self._residents.groups
            content = self._stage, state, self._history, asdict(counters)
            try:
                path = self.checkpoints.save(*content, residents())
            except InputError:
                # the disk may be full of kept results, which this checkpoint makes obsolete
                if self._kept_passes is None:
                    raise
                self._kept_passes.clear()
                path = self.checkpoints.save(*content, residents())
            self._residents.checkpointed(self.checkpoints.residents(self._stage))
            if self._kept_passes is not None:
                self._kept_passes.clear()
            self.events.emit(
                "checkpoint_saved", stage=self._stage, path=str(path), seconds=time.perf_counter() - start
            )

    def _report(self, problem: Problem, measures: Measures) -> None:
        tried = summaries(problem.candidates) if problem.candidates else ()
        self._report_notes([*problem.notes, *tried, *measures.notes])

    def _report_notes(self, notes: list[str]) -> None:
        """Emit the notes that are new."""
        for note in notes:
            if note not in self._reported:
                self.events.emit("message", text=note)
        self._reported.update(notes)

    def _report_start(self, solver: AbstractSolver[Any], problem: Problem, resumed_from: int | None) -> None:
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
            return f"interrupted in stage {self._stage}; there is no checkpoint yet"
        return (
            f"interrupted in stage {self._stage}; a checkpoint of stage {saved[-1]} is in "
            f"{self.checkpoints.path}: run the same command with --resume to continue"
        )

    def _kept(self) -> str:
        """Return the end of a message that names the checkpoint of a diverged run."""
        saved = self.checkpoints.stages() if self.checkpoints is not None else []
        return f"; the checkpoint of stage {saved[-1]} is kept" if saved else ""

    def _report_stop(self, reason: str) -> None:
        # a listener may have caused the end
        with suppress(Exception, KeyboardInterrupt):
            self.events.emit(
                "run_stopped", result=reason, stage=self._stage, seconds=self._before + time.perf_counter()
            )
