"""The planner is pure: every plan covers the data once, in order, whatever the machine."""

import ast
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import distkern.engine.plan
import distkern.passes
from distkern.engine.plan import bytes_alone, fitted, needed_bytes, plan_run
from distkern.passes import (
    EXPONENTIAL,
    Cost,
    Each,
    Extent,
    Machine,
    Outline,
    Reduce,
    Rounds,
    Stream,
    Visit,
    whole_visits,
)
from distkern.passes.machine import CACHE_BYTES, COMPILED_BYTES, COMPILING_BYTES, LIBRARY_BYTES, LOADED_BYTES
from toy import add, prepare, scaled_sum


def once(*steps):
    return [Outline(step) for step in steps]


MACHINES = [
    Machine("synchronous", 1),
    Machine("threads", 4, driver_threads=4),
    Machine("distributed", 2, driver_threads=2),
    Machine("distributed", 50, same_host=False, driver_threads=4),
]


@given(
    st.lists(st.integers(1, 200_000), min_size=1, max_size=300),
    st.integers(8, 20_000),
    st.sampled_from(MACHINES),
)
def test_groups_cover_the_blocks_once_in_order(block_rows, row_bytes, machine):
    plan = Reduce("sum", scaled_sum, add).plan(Extent(tuple(block_rows), row_bytes), machine)
    assert [block for group in plan.groups for block in group] == list(range(len(block_rows)))
    assert plan.bytes_read == sum(block_rows) * row_bytes
    assert plan.tasks == len(plan.groups) >= min(len(block_rows), 16)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=50))
def test_groups_depend_on_the_data_alone(block_rows):
    extent = Extent(tuple(block_rows), 256)
    groups = {Reduce("sum", scaled_sum, add).plan(extent, machine).groups for machine in MACHINES}
    assert len(groups) == 1


def test_memory_has_every_named_term():
    step = Reduce("sum", scaled_sum, add, cost=Cost(workspace_bytes=10**6, result_bytes=10**5))
    extent = Extent((1000,), 1000)
    small = step.plan(extent, Machine("distributed", 2))
    bigger = Reduce("sum", scaled_sum, add, cost=Cost(workspace_bytes=3 * 10**6, result_bytes=10**5)).plan(
        Extent((5000,), 1000), Machine("distributed", 2)
    )
    assert bigger.worker_bytes - small.worker_bytes == 2 * 10**6 + 2 * 4000 * 1000


def test_results_that_are_joined_are_no_more_than_all_of_them():
    cost = Cost(result_bytes=10**8, total_result_bytes=3 * 10**8)
    extent = Extent((1000,) * 16, 10**5)
    joined, summed = (
        Reduce("rows", scaled_sum, add, cost=each).plan(extent, MACHINES[2]).worker_bytes
        for each in (cost, Cost(result_bytes=10**8))
    )
    assert summed - joined == 5 * 10**8


@pytest.mark.parametrize(
    ("n_blocks", "n_workers", "results"),
    # those that are sent, as many copies and one more; of 16 that are added up on the way eight that wait,
    # the two sums that are left, and what the next one is made of
    [(1, 1, 3), (8, 1, 17), (8, 2, 9), (16, 1, 12), (16, 2, 11)],
)
def test_results_that_are_sent_are_copied(n_blocks, n_workers, results):
    machine = Machine("distributed", n_workers)
    small, large = (
        Reduce("sum", scaled_sum, add, cost=Cost(result_bytes=size))
        .plan(Extent((1000,) * n_blocks, 10**5), machine)
        .worker_bytes
        for size in (0, 10**7)
    )
    assert large - small == results * 10**7


def test_each_takes_what_its_tasks_and_their_records_take():
    def planned(machine, *, blocks=((0,), (1, 2)), **cost):
        step = Each("cells", scaled_sum, range(2), None, blocks, record_bytes=100, cost=Cost(**cost))
        return step.plan(Extent((1000, 2000, 3000), 1000), machine)

    near, far, threads = MACHINES[2], MACHINES[3], MACHINES[1]
    plan = planned(near)
    assert (plan.order, plan.rows, plan.bytes_read) == ((1, 0), 6000, 6_000_000)
    for cost in ({"workspace_bytes": 10**7}, {"result_bytes": 10**7}, {"process_bytes": 10**7}):
        assert planned(near, **cost).worker_bytes - plan.worker_bytes == 10**7
    assert planned(near, result_bytes=10**7).driver_bytes == plan.driver_bytes
    # what such workers may not be able to store, the driver does
    more = planned(far, result_bytes=10**7).driver_bytes - planned(far).driver_bytes
    assert more == 2 * 10**7
    more = planned(threads, workspace_bytes=10**7).driver_bytes - planned(threads).driver_bytes
    assert more == 4 * 10**7


def test_a_block_that_is_kept_is_not_counted_again():
    step, machine = Reduce("sum", scaled_sum, add), Machine("distributed", 2)
    extents = [Extent((1000,) * 4, 10**4, cacheable=cacheable, run="run") for cacheable in (False, True)]
    apart, kept = (step.plan(extent, machine).worker_bytes for extent in extents)
    assert kept - apart == 4 * 10**7 - 10**7


def test_blocks_are_kept_by_the_driver_where_it_reads_them():
    extents = {"train": Extent((1000,) * 4, 10**4, cacheable=True, run="run")}
    passes = (
        Reduce("sum", scaled_sum, add),
        Each("each", scaled_sum, range(4), None, [(block,) for block in range(4)]),
    )
    stream = Stream("rows", whole_visits((1000,) * 4), scaled_sum)
    for step in passes:
        for machine in (Machine("distributed", 2), Machine("synchronous", 1)):
            frugal = replace(machine, most_kept=0)
            alone, beside = (
                [plan_run(steps, extents, each)[0].driver_bytes for each in (machine, frugal)]
                for steps in (once(step), once(step, stream))
            )
            if machine.in_process:
                # the block in use is one of them
                assert alone[0] - alone[1] == beside[0] - beside[1] == 4 * 10**7 - 10**7
            else:
                assert alone[0] == alone[1]
                assert beside[0] - beside[1] == 4 * 10**7


def test_each_task_of_a_worker_takes_a_workspace():
    step = Reduce("sum", scaled_sum, add, cost=Cost(workspace_bytes=10**8))
    one, three = (
        step.plan(Extent((1000,), 100), Machine("distributed", 6, n_processes=processes)).worker_bytes
        for processes in (6, 2)
    )
    assert three - one == 2 * (10**8 + 2 * 10**5)


def test_compiled_loops_count_where_they_run_and_in_passes_that_may_follow():
    plain = Reduce("sum", scaled_sum, add)
    there, here = (replace(plain, cost=Cost(compiled=True)), replace(plain, cost=Cost(driver_compiled=True)))
    extents = {"train": Extent((1000,), 100)}

    def planned(step, machine):
        outlines = [Outline(plain, is_before=True), *once(plain, step, plain)]
        none = plan_run(once(plain), extents, machine)[0]
        plans = plan_run(outlines, extents, machine)
        return [
            [getattr(plan, name) - getattr(none, name) for plan in plans]
            for name in ("worker_bytes", "driver_bytes")
        ]

    machine = Machine("distributed", 2)
    assert planned(there, machine) == [[0, LOADED_BYTES, COMPILED_BYTES, LOADED_BYTES], [0] * 4]
    assert planned(here, machine) == [[0] * 4, [0, *[COMPILING_BYTES] * 3]]
    assert planned(there, Machine("threads", 2))[1] == [0, *[COMPILING_BYTES] * 3]


@pytest.mark.parametrize("machine", [Machine("synchronous", 1), Machine("distributed", 2)])
def test_libraries_count_in_every_pass_of_a_driver_that_has_loaded_them(machine):
    plain = Reduce("sum", scaled_sum, add)
    library, extents = replace(plain, cost=Cost(driver_library=True)), {"train": Extent((1000,), 100)}
    outlines = [Outline(plain, is_before=True), *once(plain, library, plain)]
    known, not_known = (
        [step.driver_bytes for step in plan_run(outlines, extents, replace(machine, has_library=known))]
        for known in (True, False)
    )
    assert [one - other for one, other in zip(known, not_known, strict=True)] == [LIBRARY_BYTES, 0, 0, 0]


def test_what_is_chosen_by_memory_does_not_depend_on_what_this_process_has_loaded(monkeypatch):
    step, extent = Reduce("sum", scaled_sum, add), Extent((1000,), 100)
    found = set()
    for module in (ModuleType("pandas"), None):
        monkeypatch.setitem(sys.modules, "pandas", module)
        assert Machine("synchronous", 1).has_library == (module is not None)
        found.add(bytes_alone(once(step), extent, "synchronous", 2**30))
    assert len(found) == 1


def test_the_state_of_rounds_counts_in_the_other_passes_until_the_run_has_ended():
    rounds = Rounds("rounds", dict, max, state_bytes_per_row=100.0, cost=Cost(workspace_bytes=10**7))
    step, extents = Reduce("sum", scaled_sum, add), {"train": Extent((1000,) * 16, 100)}
    for machine, held in ((Machine("synchronous", 1), 1_600_000), (Machine("distributed", 2), 800_000)):
        machine = replace(machine, same_host=False)
        alone, beside = (plan_run(steps, extents, machine)[0] for steps in (once(step), once(step, rounds)))
        grown = beside.driver_bytes - alone.driver_bytes, beside.worker_bytes - alone.worker_bytes
        assert grown == ((held + 10**7, 0) if machine.in_process else (0, held + 10**7))
        assert plan_run(once(rounds), extents, machine, after=once(step))[1] == alone


def stream(features, landmarks):
    cost = Cost(result_bytes=4 * landmarks, operations=landmarks * (2.0 * features + EXPONENTIAL))
    return Stream("inner loop", (Visit(0, 1000, 0, (0,)),), prepare, piece_rows=100, cost=cost)


@pytest.mark.parametrize(
    ("features", "landmarks", "machine", "mode"),
    [
        # on one host the driver reads for itself and its threads prepare
        (54, 1000, Machine("distributed", 2, driver_threads=2), "driver reads and prepares"),
        # few features, many landmarks: raw rows are far smaller than kernel rows
        (54, 1000, Machine("distributed", 8, same_host=False, driver_threads=1), "workers send raw rows"),
        # many features against few landmarks: kernel rows are smaller, and dear to make
        (
            2000,
            100,
            Machine("distributed", 8, same_host=False, driver_threads=1),
            "workers send prepared rows",
        ),
        (54, 1000, Machine("threads", 2, driver_threads=2), "driver reads and prepares"),
    ],
)
def test_the_cheaper_side_prepares(features, landmarks, machine, mode):
    plan = stream(features, landmarks).plan(Extent((1000,), 4 * features), machine)
    assert plan.mode == mode


def test_a_lazy_graph_is_read_by_the_executor():
    plan = stream(54, 100).plan(Extent((1000,), 216, readable_by_driver=False), MACHINES[2])
    assert plan.load == "workers"


def test_passes_and_their_planner_import_neither_dask_nor_zarr():
    passes = Path(distkern.passes.__file__).parent.glob("*.py")
    for path in (Path(distkern.engine.plan.__file__), *passes):
        tree = ast.parse(path.read_text())
        imported = {
            name.split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for name in (
                [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            )
        }
        assert imported - sys.stdlib_module_names <= {"distkern", "numpy", "zict"}, path


def test_runs_shrink_what_changes_no_bits_before_they_are_refused():
    def planned(limit, kind="distributed"):
        machine = Machine(kind, 4, limit, driver_threads=4)
        plans, used = fitted(steps, {"train": extent}, machine)
        return plans, used, used != machine

    step = Reduce("sum", scaled_sum, add, cost=Cost(workspace_bytes=3 * 10**7))
    visits = tuple(Visit(block, 1000, 0, (block,)) for block in range(50))
    steps = once(step, Stream("loop", visits, prepare, cost=Cost(workspace_bytes=10**7, result_bytes=4000)))
    extent = Extent((1000,) * 50, 10_000, cacheable=True, run="run")
    for kind in ("distributed", "threads"):
        plans, used, saved = planned(None, kind)
        assert used.cache_bytes == CACHE_BYTES
        assert not saved
        most = needed_bytes(plans, used)
        groups = [plan.groups for plan in plans if hasattr(plan, "groups")]
        least = needed_bytes(*planned(1, kind)[:2])
        assert least < most - 4 * 10**8
        for limit in (most, (most + least) // 2, least):
            plans, used, saved = planned(limit, kind)
            assert needed_bytes(plans, used) <= limit
            assert [plan.groups for plan in plans if hasattr(plan, "groups")] == groups
            assert saved or limit > least
        assert used.cache_bytes == 0
        plans, used, _ = planned(least - 1, kind)
        assert needed_bytes(plans, used) > least - 1
