"""Rounds: the state outlives passes, stages, the driver and its executor, and no bit of it changes."""

import doctest
import multiprocessing
import pickle
import signal
import weakref
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from distkern.core.errors import CorruptDataError
from distkern.core.types import groups_of
from distkern.data.store.arrays import array_names, load_arrays, save_arrays
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.dask.actor import ResidentActor, StaleActorError
from distkern.engine.drive import Interrupted
from distkern.passes import Cost, Derived, Extent, Machine, Message, Reduce, each, machine, reduce, rounds
from distkern.passes.machine import MIB
from distkern.passes.rounds import Exchanging
from toy import (
    InterruptAt,
    RoundsSolver,
    RoundsState,
    ToySource,
    add,
    open_toy,
    run_toy,
    same_sums,
    scaled_sum,
    toy_problem,
    toy_rounds,
)

IDENTITY = {"data set": "toy"}


@pytest.fixture
def source():
    return ToySource()


def run(source, *, solver=None, **how):
    return run_toy(source, solver or RoundsSolver(), **how)


def by_hand(source, solver):
    """The toy's mathematics without engine or residents."""
    features = [source.group(g)().columns(np.arange(2)) for g in range(len(source.groups))]
    values = [np.full(block.shape[1], 1.0) for block in features]
    blocks = [source.reader(block)().features for block in range(source.n_blocks)]

    def total(factor):
        parts = [np.float32(0.1) * rows.sum(axis=0) * np.float32(factor) for rows in blocks]
        result = parts[0]
        for part in parts[1:]:
            result = result + part
        return float(result[0])

    shift = total(1.0) * 1e-3
    for stage in range(1, solver.stages + 1):
        if stage in solver.pause:
            continue
        for _ in range(2):
            for number in range(solver.n_rounds):
                sums = []
                for group, block in enumerate(features):
                    values[group] *= 1.0 - 0.1 * 0.7
                    values[group] += shift * np.cos(block[number % 2])
                    sums.append(values[group].sum())
                for value in sums:
                    shift = abs(0.7 * shift + 0.01 * float(value))
            shift += 1e-3 * total(shift)
    return shift, np.array(sums)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_the_mathematics_is_that_of_the_solver_alone(source, scheduler):
    outcome = run(source, scheduler=scheduler)
    shift, sums = by_hand(source, RoundsSolver())
    assert outcome.state.shift == shift
    np.testing.assert_array_equal(outcome.state.sums, sums)


def die(folder, killed):
    run(ToySource(), folder=CheckpointFolder(folder, IDENTITY), solver=RoundsSolver(deadly=killed))


@pytest.mark.slow
def test_the_driver_killed_in_an_exchange_and_resumed_gives_the_same_bits(source, tmp_path):
    # the state is in the driver's process, so the resident takes it along when it kills its process
    process = multiprocessing.get_context("spawn").Process(
        target=die, args=(tmp_path / "checkpoints", tmp_path / "killed")
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    folder = CheckpointFolder(tmp_path / "checkpoints", IDENTITY)
    assert folder.stages() == [0, 1]
    same_sums(run(source, folder=folder, resume=True), run(source))


@pytest.mark.parametrize("kind", ["pass_started", "pass_progress", "pass_finished", "checkpoint_saved"])
@pytest.mark.parametrize("stage", [1, 2, 4])
def test_interrupted_anywhere_and_resumed_gives_the_same_bits(source, tmp_path, kind, stage):
    whole = run(source)
    folder = CheckpointFolder(tmp_path / "checkpoints", IDENTITY)
    with pytest.raises(Interrupted):
        run(source, folder=folder, listeners=[InterruptAt(kind, stage, "toy rounds")])
    # threads hold the groups in other hands than before
    resumed = run(source, folder=folder, resume=True, scheduler="threads")
    same_sums(resumed, whole)


def test_a_state_that_a_resumed_run_does_not_come_to_is_kept(source, tmp_path):
    solver = RoundsSolver(pause=(2, 3), stages=4)
    whole = run(source, solver=solver)
    folder = CheckpointFolder(tmp_path, IDENTITY)
    with pytest.raises(Interrupted):
        run(source, solver=solver, folder=folder, listeners=[InterruptAt("checkpoint_saved", 1)])
    # this run writes checkpoints 2 and 3 without ever opening the state; the next needs it
    again = {"solver": solver, "folder": folder, "resume": True}
    with pytest.raises(Interrupted):
        run(source, **again, listeners=[InterruptAt("checkpoint_saved", 3)])
    same_sums(run(source, **again), whole)


def test_a_damaged_state_falls_back_to_the_checkpoint_before(source, tmp_path):
    folder = CheckpointFolder(tmp_path, IDENTITY)
    whole = run(source, folder=folder)
    newest = tmp_path / "stage-00004"
    chunk = newest / "c" / "0"
    chunk.write_bytes(bytes([chunk.read_bytes()[0] ^ 1]) + chunk.read_bytes()[1:])
    with pytest.raises(CorruptDataError):
        folder.residents(4)["toy rounds"][3]
    resumed = run(source, folder=folder, resume=True)
    same_sums(resumed, whole)
    assert [line["stage"] for line in resumed.history] == [0, 1, 2, 3, 4]


def test_it_tells_of_rounds_and_counts_no_rows(source):
    heard = []
    outcome = run(source, listeners=[heard.append])
    finished = [e for e in heard if e.kind == "pass_finished" and e["name"] == "toy rounds"]
    assert len(finished) == 6
    for event in finished:
        assert event["mode"] == "rounds in the driver"
        assert set(event["split_seconds"]) == {"driver", "wait"}
        assert sum(event["split_seconds"].values()) <= event["seconds"]
    progress = [e for e in heard if e.kind == "pass_progress" and e["name"] == "toy rounds"]
    assert 6 <= len(progress) < 30
    assert progress[-1]["tasks_done"] == progress[-1]["tasks"] == 5
    assert outcome.history[-1]["rows_read"] == 25 * 7


def test_feature_accesses_are_the_solvers_or_those_of_its_passes(source):
    assert run(source).history[-1]["feature_accesses"] == 25 * 7 * 2
    line = run(source, solver=RoundsSolver(accesses=(123, 45))).history[-1]
    assert (line["feature_accesses"], line["feature_accesses_nonzero"]) == (123, 45)


def test_progress_is_told_ten_times_a_second_at_most():
    class Instant:
        def exchange(self, message):
            return message

    told, finished = [], []
    watch = SimpleNamespace(progress=told.append, finish=finished.append)
    exchange = Exchanging(Instant(), watch)
    for number in range(20_000):
        assert exchange.exchange(number) == number
    exchange.end()
    seconds = sum(finished[0].values())
    assert len(told) <= 2 + 10 * seconds
    assert told[-1] == 20_000


def test_what_is_derived_is_made_once_in_a_run_and_again_when_it_is_resumed(source, tmp_path):
    made = []

    @dataclass(frozen=True)
    class Deriving(RoundsSolver):
        stop_after: int = 9

        def _total(self, state):
            made.append(state.stage)
            return (yield Reduce("sum", scaled_sum, add, 1.0))

        def stage(self, problem, state):
            if state.stage == self.stop_after:
                raise KeyboardInterrupt
            total = yield Derived("total", lambda: self._total(state))
            return RoundsState(state.shift + float(total[0]), total, state.stage + 1)

    def folder():
        return CheckpointFolder(tmp_path / "c", IDENTITY)

    whole = run(source, solver=Deriving())
    assert made == [0]
    run(source, solver=Deriving())
    assert made == [0, 0]
    with pytest.raises(Interrupted):
        run(source, folder=folder(), solver=Deriving(stop_after=2))
    same_sums(run(source, folder=folder(), resume=True, solver=Deriving()), whole)
    assert made == [0, 0, 0, 2]


def test_a_message_without_rounds_is_refused(source):
    @dataclass(frozen=True)
    class Late(RoundsSolver):
        def stage(self, problem, state):
            yield toy_rounds()
            yield Message((0, state.shift, None))
            yield Reduce("sum", scaled_sum, add, 1.0)
            yield Message((1, state.shift, None))

    with pytest.raises(RuntimeError, match="rounds are over: yield another Rounds before a Message"):
        run(source, solver=Late())


def test_checkpoints_take_one_group_at_a_time(tmp_path):
    alive = []

    def groups():
        for group in range(20):
            values = np.full(1000, float(group))
            alive[:] = [reference for reference in alive if reference() is not None]
            assert len(alive) <= 1
            alive.append(weakref.ref(values))
            yield group, {"values": values}
            del values

    folder = CheckpointFolder(tmp_path, IDENTITY)
    state = RoundsState(0.5, np.ones(2), 7)
    folder.save(7, state, [], {}, {"many": groups()})
    saved = folder.residents(7)["many"]
    assert sorted(saved) == list(range(20))
    np.testing.assert_array_equal(saved[13]["values"], np.full(1000, 13.0))
    restored = folder.load(RoundsState)
    assert restored.state.shift == 0.5
    assert list(restored.residents) == ["many"]


def test_arrays_are_saved_from_pairs_and_loaded_by_name(tmp_path):
    save_arrays(tmp_path / "a", ((name, np.arange(n)) for n, name in enumerate(["x", "y", "z"])))
    assert array_names(tmp_path / "a") == ["x", "y", "z"]
    assert list(load_arrays(tmp_path / "a", ["z"])) == ["z"]
    np.testing.assert_array_equal(load_arrays(tmp_path / "a")["z"], [0, 1])


def test_an_actor_refuses_what_is_not_meant_for_it(source):
    actor = ResidentActor("here")
    message = pickle.dumps((0, 0.5, None))
    with pytest.raises(StaleActorError, match="gone"):
        actor.exchange("here", 0, message)
    opening = pickle.dumps((open_toy, {0: source.group(0)}, 0.7))
    actor.open("here", opening, 0)
    with pytest.raises(StaleActorError, match="epoch"):
        actor.exchange("there", 0, message)
    first = actor.exchange("here", 0, message)
    assert actor.exchange("here", 0, message) == first, "asked twice, it acts once"
    with pytest.raises(StaleActorError, match="message 3 instead of 1"):
        actor.exchange("here", 3, message)
    second = actor.exchange("here", 1, message)
    again = ResidentActor("here")
    again.open("here", opening, 0)
    again.replay("here", 0, [message])
    assert again.exchange("here", 1, message) == second
    restored = ResidentActor("here")
    restored.restore("here", 0, actor.saved("here", 2, 0))
    restored.open("here", opening, 2)
    assert restored.exchange("here", 2, message) == actor.exchange("here", 2, message)


ROWS = (100_000,) * 16


def test_only_short_answers_are_made_in_the_event_loop():
    extent, far = Extent((1000,) * 16, 400), Machine("distributed", 2, same_host=False)
    assert toy_rounds(operations=50).plan(extent, far).at_once
    assert not toy_rounds(operations=5e5).plan(extent, far).at_once


@pytest.mark.parametrize(
    ("operations", "machine", "mode"),
    [
        (50, Machine("synchronous", 1), "rounds in the driver"),
        (50, Machine("distributed", 2), "rounds in the driver"),
        (100, Machine("distributed", 2, same_host=False), "rounds on 2 workers"),
        # 1.6 million rows: 4e8 operations in the driver, 2e8 + 1.5e8 on two workers
        (250, Machine("distributed", 2), "rounds on 2 workers"),
        (250, Machine("distributed", 8, n_processes=1), "rounds in the driver"),
        (250, Machine("distributed", 8, n_processes=4), "rounds on 4 workers"),
        # 25.6 MB of state, a quarter of the limit is less
        (50, Machine("distributed", 2, 64 * MIB), "rounds on 2 workers"),
        (250, Machine("distributed", 50), "rounds on 8 workers"),
        (250, Machine("processes", 2), "rounds in the driver"),
        (250, Machine("threads", 2), "rounds in 2 threads of the driver"),
        (5, Machine("threads", 2), "rounds in the driver"),
    ],
)
def test_the_state_lives_where_it_is_faster_and_fits(operations, machine, mode):
    step = toy_rounds(operations=operations)
    plan = step.plan(Extent(ROWS, 400), machine)
    assert plan.mode == mode
    assert plan.bytes_read == 0
    assert plan.tasks == len(plan.partitions)


def test_rows_that_only_workers_can_read_or_only_the_driver_has():
    step, machine = toy_rounds(operations=0.05), Machine("distributed", 2)
    assert step.plan(Extent(ROWS, 400, readable_by_driver=False), machine).on_workers
    far = Machine("distributed", 2, same_host=False)
    assert not toy_rounds().plan(Extent(ROWS, 400, in_memory=True), far).on_workers


def test_an_outline_with_rounds_is_planned(source):
    machine = Machine("distributed", 2)
    outline = RoundsSolver().outline(toy_problem(source))
    reduce_plan, rounds_plan = (one.step.plan(Extent.of(source), machine) for one in outline)
    assert reduce_plan.bytes_read > rounds_plan.bytes_read == 0
    assert rounds_plan == toy_rounds().plan(Extent.of(source), machine)


@pytest.mark.parametrize("n_partitions", range(1, 12))
@pytest.mark.parametrize("block_rows", [ROWS, (5, 7, 3, 6, 4), (1,), (10**7, 1, 1, 1), (3,) * 1000])
def test_residents_are_contiguous_and_cover_the_groups_once(n_partitions, block_rows):
    machine = Machine("distributed", n_partitions, same_host=False)
    plan = toy_rounds().plan(Extent(block_rows, 8), machine)
    n_groups = len(groups_of(block_rows))
    assert [group for partition in plan.partitions for group in partition] == list(range(n_groups))
    assert len(plan.partitions) == min(n_partitions, n_groups)
    assert all(plan.partitions)


def test_memory_has_every_named_term():
    cost = Cost(workspace_bytes=10**6, process_bytes=10**7)
    step = toy_rounds(state_bytes_per_row=16.0, cost=cost)
    dearer = toy_rounds(
        state_bytes_per_row=24.0,
        cost=cost.holding(task={"more": (10**6,)}, process={"more": (2, 10**7)}, result={"answer": (10**4,)}),
    )
    extent, workers = Extent(ROWS, 400), Machine("distributed", 2, same_host=False)
    here, there = (s.plan(extent, workers) for s in (step, dearer))
    # half of the rows, and a group's once more
    assert there.worker_bytes - here.worker_bytes == 8 * (800_000 + 200_000) + 10**6 + 2 * 10**7 + 2 * 10**4
    here, there = (s.plan(extent, Machine("synchronous", 1)) for s in (step, dearer))
    assert there.driver_bytes - here.driver_bytes == 8 * (1_600_000 + 200_000) + 10**6 + 2 * 10**7 + 2 * 10**4
    assert here.worker_bytes == 0


def test_examples_of_the_planner():
    results = [doctest.testmod(module) for module in (machine, each, reduce, rounds)]
    assert sum(result.attempted for result in results) >= 8
    assert all(result.failed == 0 for result in results)
