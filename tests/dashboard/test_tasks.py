"""Which worker did which task, from the keys of the engine's graphs."""

import pytest

from distkern.dashboard.state import CELLS, MOST_WORKERS, Tasks, engine_key
from distkern.engine.dask.graph import call_graph, reduce_graph, token_of
from distkern.passes import Extent, Machine, Reduce
from distkern.passes.execution import Call
from toy import ToySource, add, scaled_sum

TOKEN = "distkern-held-out-0123456789ab-map"


@pytest.mark.parametrize(
    "key",
    [
        "distkern-x-map",
        ("distkern-x-operand", 1),
        (TOKEN,),
        (TOKEN, "1"),
        ("mean-map", 1),
        7,
        (None, 1),
        ("distkern-x-fold-1", 0),
    ],
)
def test_keys_of_others_are_passed_over(key):
    tasks = Tasks()
    tasks.finished(key, "a")
    assert engine_key(key) is None
    assert tasks.by_worker == {}


def test_the_engine_s_own_keys_are_known():
    source, step = ToySource((9,) * 40), Reduce("held out", scaled_sum, add, operand=1.0)
    plan = step.plan(Extent.of(source), Machine("distributed", 2))
    graph, leaves, _ = reduce_graph(step.name, step.calls(plan, source), add)
    tasks = Tasks()
    for key in graph:
        tasks.finished(key, "a")
    assert tasks.by_worker == {"a": len(leaves)}
    assert tasks.name == "held-out"
    assert sorted(tasks.done) == list(range(plan.tasks))


def test_tasks_of_each_are_those_of_one_pass_whatever_their_order():
    token, tasks = f"{token_of('exact machines')}-map", Tasks()
    for batch in ((3, 1), (0,)):
        calls = ((number, Call(len, (), ToySource(), ())) for number in batch)
        for key in call_graph(calls, token)[1]:
            tasks.finished(key, "a")
    assert tasks.name == "exact-machines"
    assert [share for share, _ in tasks.cells(4)] == [1.0, 1.0, 0.0, 1.0]


def test_cells_along_the_data():
    tasks = Tasks()
    for number, worker in ((0, "a"), (1, "b"), (3, "a")):
        tasks.finished((TOKEN, number), worker)
    assert tasks.name == "held-out"
    assert tasks.cells(4) == [(1.0, "a"), (1.0, "b"), (0.0, ""), (1.0, "a")]
    assert tasks.now_by_worker == {"a": 2, "b": 1}


@pytest.mark.parametrize("count", [CELLS - 1, CELLS, CELLS + 1, 7 * CELLS + 3])
def test_many_tasks_share_cells_and_a_finished_pass_is_full(count):
    tasks = Tasks()
    for number in range(count):
        tasks.finished((TOKEN, number), "a")
    cells = tasks.cells(count)
    assert len(cells) == min(CELLS, count)
    assert all(share == pytest.approx(1.0) for share, _ in cells)


def test_a_new_pass_starts_anew_but_batches_of_calls_do_not():
    tasks = Tasks()
    tasks.finished((TOKEN, 0), "a")
    tasks.finished(("distkern-call-00", 0), "a")
    assert tasks.now_by_worker == {"a": 1}
    tasks.finished(("distkern-call-11", 0), "b")
    assert tasks.now_by_worker == {"a": 1, "b": 1}
    assert tasks.by_worker == {"a": 2, "b": 1}
    assert tasks.done == {}


def test_workers_that_come_and_go_are_bounded():
    tasks = Tasks()
    for number in range(MOST_WORKERS + 50):
        tasks.finished((TOKEN, number), f"worker-{number}")
    assert len(tasks.by_worker) == MOST_WORKERS
