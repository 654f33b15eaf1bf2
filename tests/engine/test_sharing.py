"""Runs side by side read blocks once for all of them, and find what they find alone."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from distkern.engine import sharing
from distkern.engine.budget import Machine
from distkern.engine.drive import Driver, Outcome
from distkern.engine.executors import AbstractExecutor, open_executor
from distkern.engine.plan import Extent, plan_stream
from distkern.engine.sharing import SharedPasses, together
from distkern.engine.streaming import StreamClock, run_stream
from distkern.passes import Reduce, Stream, Visit
from distkern.solvers.base import Problem
from toy import ToyReader, ToySolver, ToySource, add, failing, prepare, scaled_sum, sum_scaled_by_first


@dataclass(frozen=True)
class Scaled(ToySolver):
    """The toy with a factor of its own, which changes what its passes make of the rows."""

    factor: float = 1.0

    def _own(self, steps: Any) -> Any:
        answer = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as stop:
                return stop.value
            answer = yield replace(step, operand=self.factor * step.operand)

    def init(self, problem):
        return (yield from self._own(super().init(problem)))

    def stage(self, problem, state):
        return (yield from self._own(super().stage(problem, state)))


@dataclass(frozen=True)
class Failing(Scaled):
    """Fails in the second stage."""

    def stage(self, problem, state):
        if state.stage == 1:
            yield Reduce("bad", failing, add)
        return (yield from super().stage(problem, state))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often each block was read in this process."""
    counts: Counter[int] = Counter()
    lock, original = threading.Lock(), ToyReader.__call__

    def counted(reader: ToyReader) -> Any:
        with lock:
            counts[reader.index] += 1
        return original(reader)

    monkeypatch.setattr(ToyReader, "__call__", counted)
    return counts


@pytest.fixture(params=["synchronous", "threads"])
def executor(request: pytest.FixtureRequest) -> Iterator[AbstractExecutor]:
    with open_executor(request.param, workers=2) as opened:
        opened.machine = replace(opened.machine, most_kept=0)
        yield opened


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs wait for each other however long it takes."""
    monkeypatch.setattr(sharing, "_SECONDS_PER_BYTE", 1.0)
    monkeypatch.setattr(SharedPasses, "_took", lambda *_: None)


def run(solver: ToySolver, executor: AbstractExecutor) -> Outcome:
    source = ToySource()
    problem = Problem(source.block_rows, 2, source.dtype, 3, n_outputs=1, has_test=False)
    return Driver({"train": source}, executor).run(solver, problem)


def run_together(solvers: list[ToySolver], executor: AbstractExecutor) -> tuple[list[Any], SharedPasses]:
    shared = SharedPasses(executor)
    shared.expect(len(solvers))

    def one(solver: ToySolver) -> Any:
        own = executor.shared_by(len(solvers))
        own.machine = replace(own.machine, most_kept=0)
        own.sharing = shared
        with own, shared.member():
            try:
                return run(solver, own)
            except ValueError as error:
                return error

    with ThreadPoolExecutor(len(solvers)) as pool:
        return list(pool.map(one, solvers)), shared


@pytest.mark.usefixtures("patient")
def test_blocks_are_read_once_and_bits_are_those_of_runs_alone(
    executor: AbstractExecutor, read: Counter[int]
) -> None:
    solvers: list[ToySolver] = [Scaled(factor=factor) for factor in (1.0, 0.3, -2.0)]
    alone = [run(solver, executor) for solver in solvers]
    for_one = {block: number // 3 for block, number in read.items()}
    read.clear()
    shared, passes = run_together(solvers, executor)
    assert read == for_one
    # in each of four stages a stream and a reduce, a reduce before, and each for two more runs
    assert passes.n_shared == 2 * 9
    for ours, theirs in zip(shared, alone, strict=True):
        np.testing.assert_array_equal(ours.state.total, theirs.state.total)
        np.testing.assert_array_equal(ours.state.order, theirs.state.order)
    assert len({float(one.state.order[0]) for one in alone}) == 3


@pytest.mark.usefixtures("patient")
def test_a_run_that_ends_earlier_is_not_waited_for(executor: AbstractExecutor, read: Counter[int]) -> None:
    solvers: list[ToySolver] = [Scaled(stages=1), Scaled(stages=3, factor=0.3)]
    alone = [run(solver, executor) for solver in solvers]
    longest = {block: number - 3 for block, number in read.items()}
    read.clear()
    shared, _ = run_together(solvers, executor)
    assert read == longest
    for ours, theirs in zip(shared, alone, strict=True):
        np.testing.assert_array_equal(ours.state.order, theirs.state.order)


@pytest.mark.usefixtures("patient")
def test_an_error_is_that_of_the_run_that_made_it(executor: AbstractExecutor) -> None:
    good = Scaled(factor=0.3)
    [error, outcome], _ = run_together([Failing(), good], executor)
    assert isinstance(error, ValueError)
    assert "is bad" in str(error)
    np.testing.assert_array_equal(outcome.state.order, run(good, executor).state.order)


def test_other_rows_are_not_shared(executor: AbstractExecutor) -> None:
    """Nor does a run wait for one that never comes longer than it takes to read."""
    shared = SharedPasses(executor)
    executor.sharing = shared
    shared.expect(2)
    with shared.member(), shared.member():
        ours = run(Scaled(factor=0.3), executor)
    executor.sharing = None
    assert shared.n_shared == 0
    np.testing.assert_array_equal(ours.state.order, run(Scaled(factor=0.3), executor).state.order)


@pytest.mark.parametrize("name", ["processes", "local"])
def test_reduces_are_shared_by_workers(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    request.getfixturevalue("patient")
    solvers: list[ToySolver] = [Scaled(factor=1.0, stages=2), Scaled(factor=0.3, stages=2)]
    with open_executor("synchronous") as here:
        alone = [run(solver, here) for solver in solvers]
    executor = request.getfixturevalue("local_workers") if name == "local" else open_executor(name, workers=2)
    shared, passes = run_together(solvers, executor)
    if name != "local":
        executor.close()
    assert passes.n_shared == 5
    for ours, theirs in zip(shared, alone, strict=True):
        np.testing.assert_array_equal(ours.state.total, theirs.state.total)
        np.testing.assert_array_equal(ours.state.order, theirs.state.order)


def test_a_reduce_for_several_is_each_of_them() -> None:
    source = ToySource()
    steps = [Reduce("sum", scaled_sum, add, 0.7), Reduce("first", sum_scaled_by_first, add, (3.0, 1.0))]
    blocks = [source.reader(index)() for index in range(source.n_blocks)]
    one = together(steps)
    partials = [one.map(block, one.operand) for block in blocks]
    for place, step in enumerate(steps):
        alone = [step.map(block, step.operand) for block in blocks]
        np.testing.assert_array_equal(
            one.combine(partials[0], partials[1])[place], step.combine(alone[0], alone[1])
        )


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("loads", ["driver", "threads", "workers"])
def test_a_slow_run_holds_a_fast_one_back_and_leaves_when_it_wants(loads: str, read: Counter[int]) -> None:
    source = ToySource((4,) * 12)
    visits = tuple(Visit(block, 4, 1, (block,)) for block in range(12))
    step = Stream("chain", visits, prepare, 1.0, piece_rows=4)
    machine = Machine("threads" if loads == "threads" else "synchronous", 1, same_host=loads != "workers")
    plan = plan_stream(step, Extent.of(source), machine)
    assert (plan.load, plan.threads > 0) == (
        "workers" if loads == "workers" else "driver",
        loads == "threads",
    )
    with open_executor("synchronous") as executor:
        executor.sharing = SharedPasses(executor)
        executor.sharing.expect(2)

        def consume(most: int) -> list[np.ndarray]:
            assert executor.sharing is not None
            with executor.sharing.member():
                taken, run = [], run_stream(step, plan, source, executor, StreamClock(), lambda _: None)
                for piece in run:
                    taken.append(piece)
                    if len(taken) == most:
                        break
                run.close()
                return taken

        with ThreadPoolExecutor(2) as pool:
            whole, part = pool.map(consume, (12, 3))
    expected = [1.0 * source.reader(visit.block)().take(visit.rows(4)).features[:, 0] for visit in visits]
    np.testing.assert_array_equal(whole, expected)
    np.testing.assert_array_equal(part, expected[:3])
    assert set(read.values()) == {2}


@pytest.mark.usefixtures("patient")
def test_what_cannot_be_read_is_missing_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    source = ToySource((4,) * 6)
    original = ToyReader.__call__

    def broken(reader: ToyReader) -> Any:
        if reader.index == 3:
            raise OSError("block 3 is gone")
        return original(reader)

    monkeypatch.setattr(ToyReader, "__call__", broken)
    visits = tuple(Visit(block, 4) for block in range(6))
    step = Stream("chain", visits, prepare, 1.0, piece_rows=4)
    with open_executor("synchronous") as executor:
        plan = plan_stream(step, Extent.of(source), executor.machine)
        executor.sharing = SharedPasses(executor)
        executor.sharing.expect(2)

        def consume(_: int) -> str:
            assert executor.sharing is not None
            with executor.sharing.member():
                try:
                    list(run_stream(step, plan, source, executor, StreamClock(), lambda _: None))
                except OSError as error:
                    return str(error)
            return "all of it"

        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(consume, range(2))) == ["block 3 is gone"] * 2
