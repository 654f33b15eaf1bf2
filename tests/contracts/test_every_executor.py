"""What holds of every executor: same bits, ordered results, resident states, errors, dead workers."""

import gc
import os
import shutil
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest

from cluster_processes import wait_for
from distkern.core import blas
from distkern.data.store.parts import ArrayParts
from distkern.engine.dask.arrays import DaskArraySource
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog
from distkern.engine.executors import EXECUTORS, open_executor
from distkern.estimators.pegasos import PegasosClassifier
from distkern.passes import Cost, Each, Extent, Reduce, Stream, Visit, whole_visits
from distkern.passes.execution import Call
from distkern.runs.scoring import predict_to
from small import slow_but
from toy import (
    BatchesSolver,
    Pids,
    RoundsSolver,
    ToyResident,
    ToySolver,
    ToySource,
    add,
    bad_item,
    blas_threads,
    executor_of,
    failing,
    first_column,
    norm_of_blocks,
    process_of,
    scaled_sum,
    sum_scaled_by_first,
    take,
    toy_problem,
    toy_rounds,
)

NAMES = EXECUTORS
#: what holds of processes that start anew holds mostly of those of "local" too
EVERY = slow_but(NAMES, *(name for name in NAMES if name != "processes"))
pytestmark = pytest.mark.usefixtures("several_blas_threads")


@pytest.fixture(scope="module", params=EVERY)
def executor(request):
    yield from executor_of(request)


@contextmanager
def fresh(name):
    with open_executor(name, workers=2) as opened:
        yield opened


def reduce_with(executor, step, source):
    done = []
    plan = step.plan(Extent.of(source), executor.machine)
    result = executor.reduced(step.name, step.calls(plan, source), step.combine, done.append)
    return result, done, plan


def expected(source, factor=1.0):
    """The fold of the documented order: groups left to right, then runs of 8 partial results."""
    step = Reduce("sum", scaled_sum, add, factor)
    with open_executor("synchronous") as one:
        groups = step.plan(Extent.of(source), one.machine).groups
    level = []
    for group in groups:
        total = None
        for block in group:
            value = scaled_sum(source.reader(block)(), factor)
            total = value if total is None else total + value
        level.append(total)
    while len(level) > 1:
        runs = [level[start : start + 8] for start in range(0, len(level), 8)]
        level = []
        for run in runs:
            total = run[0]
            for value in run[1:]:
                total = total + value
            level.append(total)
    return level[0]


@pytest.mark.parametrize("n_blocks", [1, 5, 40])
def test_reduce_has_the_bits_of_the_documented_order(executor, n_blocks):
    source = ToySource((3, 1, 4, 1, 5) * (n_blocks // 5) or (3,))
    result, done, plan = reduce_with(executor, Reduce("sum", scaled_sum, add, 1.0), source)
    np.testing.assert_array_equal(result.value, expected(source))
    # a cluster's client tells of tasks in a thread of its own, on a busy machine after the result
    wait_for(lambda: plan.tasks in done)
    assert max(done) == plan.tasks
    assert result.read_seconds >= 0
    assert result.work_seconds > 0


def test_operands_of_passes_that_are_over_are_let_go(executor):
    operands = []
    for _ in range(6):
        step = Reduce("sum", sum_scaled_by_first, add, np.full(50_000, 2.0))
        operands.append(weakref.ref(step.operand))
        reduce_with(executor, step, ToySource())
    del step
    gc.collect()
    # that of the last pass may wait in a message for the next
    assert [operand() for operand in operands[:-1]] == [None] * 5


def test_reduce_reads_only_the_blocks_asked_for(executor):
    source = ToySource()
    result, _, plan = reduce_with(executor, Reduce("sum", scaled_sum, add, 10.0, blocks=(1, 3)), source)
    rows = np.r_[5:12, 15:21]
    assert result.value[0] == pytest.approx(rows.sum(), rel=1e-6)
    assert plan.rows == 13


def test_errors_of_a_task_come_through(executor):
    with pytest.raises(ValueError, match="block 0 is bad"):
        reduce_with(executor, Reduce("bad", failing, add), ToySource((4,)))


def test_ordered_keeps_the_order(executor):
    source = ToySource((9,) * 12)
    visits = [Visit(block, 9, 0, (block,)) for block in (3, 1, 4, 1, 5, 9, 2, 6, 11, 0)]
    calls = (Call(take, (visit,), source, (visit.block,)) for visit in visits)
    results = [timed.value.index for timed in executor.ordered(calls, in_flight=3)]
    assert results == [visit.block for visit in visits]


@pytest.mark.parametrize("operations", [0.0, 1e12], ids=["by the driver", "by whoever is more"])
def test_a_stream_of_the_rows_as_they_lie(executor, operations):
    source = ToySource()
    cost = Cost(result_bytes=4, operations=operations)
    step = Stream("rows", whole_visits(source.block_rows), first_column, piece_rows=4, cost=cost)
    parts = list(Driver({"train": source}, executor).stream(step))
    assert [len(part) for part in parts] == [4, 1, 4, 3, 3, 4, 2, 4]
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(25))


GROUPS = ((0,), (3, 1), (), (2, 4))


def parted(store, **changes):
    made = {"operand": 1.0, "items": ("a", "b", "c", "d"), "blocks": GROUPS, **changes}
    return Each("parts", norm_of_blocks, made.pop("items"), store, **made)


def each_with(executor, step, source, events=()):
    return Driver({"train": source}, executor, EventLog(events)).each(step)


def stored(store):
    return [store.load(number)["total"].tobytes() for number in range(len(GROUPS))]


def alone(tmp_path):
    """What one process makes of it, in a folder of its own."""
    store = ArrayParts(tmp_path / "alone", "toy")
    with open_executor("synchronous") as one:
        return each_with(one, parted(store), ToySource()), stored(store)


def test_each_result_is_stored_by_its_task_and_its_record_comes_back_in_order(executor, tmp_path):
    store, events = ArrayParts(tmp_path / "parts", "toy"), []
    records = each_with(executor, parted(store), ToySource(), [events.append])
    assert records == [
        {"item": item, "blocks": list(blocks)} for item, blocks in zip("abcd", GROUPS, strict=True)
    ]
    assert (records, stored(store)) == alone(tmp_path)
    told = [event["tasks_done"] for event in events if event.kind == "pass_progress"]
    assert sorted(told) == [0, 1, 2, 3, 4]
    assert [event["rows"] for event in events if event.kind == "pass_finished"] == [25]


def test_each_stores_on_the_workers(executor, tmp_path):
    (record,) = each_with(executor, Each("where", process_of, (0,), Pids()), ToySource())
    assert (record == os.getpid()) == executor.machine.in_process


def test_what_a_worker_cannot_store_the_driver_stores(executor):
    (record,) = each_with(executor, Each("where", process_of, (0,), Pids(here=False)), ToySource())
    assert record == os.getpid()


def test_each_runs_only_what_is_not_stored_whole(executor, tmp_path):
    expected = alone(tmp_path)
    store = ArrayParts(tmp_path / "parts", "toy")
    whole = each_with(executor, parted(store), ToySource())
    # as a killed run leaves them: one part is not there, of one only the arrays, one is of another job
    (tmp_path / "parts" / "0.json").unlink()
    shutil.rmtree(tmp_path / "parts" / "0")
    (tmp_path / "parts" / "1.json").unlink()
    ArrayParts(tmp_path / "parts", "another").put(3, ({"item": "?", "blocks": []}, {"total": np.ones(2)}))
    before = (tmp_path / "parts" / "2.json").stat().st_mtime_ns
    again = ArrayParts(tmp_path / "parts", "toy")
    assert sorted(again.records()) == [2]
    assert (each_with(executor, parted(again), ToySource()), stored(again)) == expected
    assert (tmp_path / "parts" / "2.json").stat().st_mtime_ns == before
    assert whole == expected[0]


def test_each_task_may_be_one_of_many(executor, tmp_path):
    store = Pids()
    # more than are under way at a time
    assert len(each_with(executor, Each("many", process_of, range(80), store), ToySource())) == 80


def test_nobody_is_warned_of_the_size_of_an_operand(executor):
    """Dask warns of graphs of 10 MB; operands are in graphs on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        each_with(executor, Each("large", process_of, (0,), Pids(), operand=np.ones(1_500_000)), ToySource())


def test_errors_of_a_task_of_each_come_through(executor, tmp_path):
    with pytest.raises(ValueError, match=r"item [12] is bad"):
        each_with(executor, Each("bad", bad_item, (1, 2), Pids()), ToySource())


def test_a_record_that_is_too_large_is_refused(executor):
    with pytest.raises(ValueError, match=r"the record of task 0 takes \d+ bytes instead of 2"):
        each_with(executor, Each("large", process_of, (0,), Pids(), record_bytes=2), ToySource())


def test_each_reads_the_blocks_of_lazy_graphs(executor, tmp_path):
    X = da.from_array(np.arange(24.0).reshape(12, 2), chunks=(4, 2)).map_blocks(lambda part: part + 1)
    store = ArrayParts(tmp_path / "parts", "toy")
    step = parted(store, items=(0, 1), blocks=((0, 2), (1,)))
    records = each_with(executor, step, DaskArraySource(X))
    assert [record["blocks"] for record in records] == [[0, 2], [1]]
    rows = np.arange(24.0).reshape(12, 2) + 1
    np.testing.assert_allclose(
        store.load(0)["total"], 0.1 * rows[[0, 1, 2, 3, 8, 9, 10, 11]].sum(0), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("source", "solver", "state"),
    [
        (ToySource(), ToySolver(), ("order", "total")),
        (ToySource(), RoundsSolver(stages=2), ("sums", "shift")),
        (ToySource((1000,) * 9), BatchesSolver(stages=2), ("sums", "shift")),
    ],
    ids=["a run", "rounds", "batches"],
)
def test_the_same_bits_everywhere(executor, source, solver, state):
    problem = toy_problem(source, seed=7)
    outcome = Driver({"train": source}, executor).run(solver, problem)
    with open_executor("synchronous") as one:
        alone = Driver({"train": source}, one).run(solver, problem)
    for name in state:
        np.testing.assert_array_equal(getattr(outcome.state, name), getattr(alone.state, name))


def test_runs_that_share_an_executor_have_the_same_bits(executor):
    source = ToySource()
    problem = toy_problem(source, seed=7)
    given = executor.machine
    limited = replace(given, memory_limit=2**30)
    executor.machine = limited
    shared = [executor.shared_by(3) for _ in range(3)]
    executor.machine = given
    assert {one.machine.memory_limit for one in shared} == {2**30 // 3}
    assert all(1 <= one.machine.n_workers <= given.n_workers for one in shared)
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(Driver({"train": source}, one).run, ToySolver(), problem) for one in shared]
        totals = [run.result().state.total for run in runs]
    for one in shared:
        one.close()
    alone = Driver({"train": source}, executor).run(ToySolver(), problem)
    for total in totals:
        np.testing.assert_array_equal(total, alone.state.total)


@pytest.fixture
def residents(executor):
    opened = open_with(executor, ToySource(), {})
    yield opened
    opened.close()


def open_with(executor, source, saved):
    step = toy_rounds()
    plan = step.plan(Extent.of(source), executor.machine)
    return executor.residents(step, plan, source, saved, print)


MESSAGES = [(number, 0.3 + 0.1 * number, None) for number in range(6)]


def test_residents_answer_as_one_resident_with_all_groups(executor, residents):
    source = ToySource()
    alone = ToyResident({group: source.group(group) for group in range(len(source.groups))}, 0.7, {})
    for message in MESSAGES:
        np.testing.assert_array_equal(residents.exchange(message), alone.answer(message))
    for group in range(len(source.groups)):
        np.testing.assert_array_equal(residents.saved(group)["values"], alone.saved(group)["values"])


def test_residents_go_on_from_what_was_saved(executor, residents):
    source = ToySource()
    for message in MESSAGES[:3]:
        residents.exchange(message)
    saved = {
        group: {"values": residents.saved(group)["values"].copy()} for group in range(len(source.groups))
    }
    restored = open_with(executor, source, saved)
    # what the others do meanwhile is not seen
    restored.checkpointed(saved)
    for message in MESSAGES[3:]:
        np.testing.assert_array_equal(restored.exchange(message), residents.exchange(message))
    restored.close()


def test_errors_of_a_resident_come_through(executor, residents):
    with pytest.raises(ValueError, match="round 3 is bad"):
        residents.exchange((3, -1.0, None))


def test_the_names_of_the_contract_are_there():
    assert {"synchronous", "threads", "processes", "local"} <= set(NAMES)


@pytest.mark.parametrize("name", EVERY)
def test_a_killed_worker_changes_nothing(name, tmp_path):
    source = ToySource(killer=tmp_path / "killed")
    with fresh(name) as executor:
        if executor.machine.in_process:
            pytest.skip("it has no workers but this process")
        result, _, _ = reduce_with(executor, Reduce("sum", scaled_sum, add, 1.0), source)
        assert (tmp_path / "killed").exists()
        np.testing.assert_array_equal(result.value, expected(ToySource()))
        (tmp_path / "killed").unlink()
        store = ArrayParts(tmp_path / "parts", "toy")
        assert (each_with(executor, parted(store), source), stored(store)) == alone(tmp_path)
        assert (tmp_path / "killed").exists()


def test_one_blas_thread_in_tasks(executor):
    source = ToySource((2,) * 4)
    with blas.single_threaded():
        result, _, _ = reduce_with(executor, Reduce("threads", blas_threads, max), source)
    assert result.value == 1


def test_worker_peaks_are_those_of_the_workers(executor):
    peaks = executor.worker_peaks()
    assert len(peaks) == (0 if executor.machine.in_process else 2)
    assert all(peak > 20 * 2**20 for peak in peaks.values())


@pytest.mark.parametrize("name", [one for one in EVERY if one.values != ("synchronous",)])
def test_predictions_are_the_same_files(name, few_rows, tmp_path, request):
    data = few_rows()
    model = PegasosClassifier(stages=1, steps_per_stage=100, random_state=0).fit(data.train)
    where = {"scheduler": name, "workers": 2}
    if name == "local":
        # those that are there
        where = {"scheduler": request.getfixturevalue("local_workers")._client.scheduler.address}
    made = [tmp_path / "one.csv", tmp_path / "many.csv"]
    for out, given in zip(made, ({"scheduler": "synchronous"}, where), strict=True):
        assert predict_to(model.model_, data.train, out, output="decision", **given) == 240
    assert made[0].read_bytes() == made[1].read_bytes()
