"""What holds of updates, whichever algorithm made the model."""

from collections import Counter

import dask.array as da
import numpy as np
import pytest

import distkern as dk
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.engine.drive import Driver, Interrupted
from distkern.engine.executors import open_executor
from distkern.model.parts import SavedForUpdate
from distkern.passes import Extent, Machine
from distkern.passes.machine import MIB
from distkern.runs import evaluation, run
from distkern.runs.algorithms import algorithms
from distkern.runs.run import plan_on
from distkern.runs.updating import needs_old
from distkern.solvers.base import UpdateRule
from runs import begun, evaluate_split, train
from small import each, slow_but, small, taken

ALGORITHMS = algorithms()
OWN = {name: kind.solver_type() for name, kind in ALGORITHMS.items() if not name.startswith("auto")}
#: Newton's depends on its settings
RULES = {name: solver.updates for name, solver in OWN.items() if isinstance(solver.updates, UpdateRule)}
UPDATED = [name for name in OWN if name not in RULES or not RULES[name].refusal]
#: algorithms whose updates read the old rows again, whatever the settings
READ_AGAIN = [name for name in UPDATED if name in RULES and RULES[name].reads_old]
#: algorithms that begin anew, whatever is given
REFUSED = [name for name in OWN if name not in UPDATED]
#: more stages and rows than of the small settings, so that a run comes near its minimum
SETTINGS = {"stages": 6, "lam": 64.0, "nu": 1e-3, "step_size": None, "gamma": 2.0}
N_OLD, N_NEW = 400, 200


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A function that gives data sets of old rows, new ones, and both, of one distribution."""
    folder, made = tmp_path_factory.mktemp("rows"), {}

    def of(task):
        if task not in made:
            generator = np.random.default_rng(0)
            X = generator.random((N_OLD + N_NEW, 3)).astype(np.float32)
            f = X[:, 0] + np.sin(4 * X[:, 1]) + 0.3 * generator.normal(size=len(X))
            y = f if task == "regression" else (f > np.median(f)).astype(int)
            parts = {"old": slice(0, N_OLD), "new": slice(N_OLD, None), "all": slice(None)}
            how = {"task": task, "scale": "none", "rows_per_shard": 100}
            made[task] = {
                name: write_dataset([(X[part], y[part])], folder / task / name, [(X, y)], **how)
                for name, part in parts.items()
            }
        return made[task]

    return of


def fitted(name, rows):
    kind = ALGORITHMS[name]
    given = {key: value for key, value in SETTINGS.items() if key in taken(kind, {})}
    data = rows(kind.task)
    return kind(**small(kind, **given)).fit(data["old"].train), data


def updated(model, splits, scheduler="synchronous", **how):
    found, _ = begun(model, splits)
    return train(found, splits[-1], scheduler=scheduler, **how)


def objective(model, data):
    """The objective over all rows, in a unit that does not depend on the model's."""
    with open_executor("synchronous") as executor:
        found = evaluate_split(model, data["all"].train, executor).figures["objective"]
    return found * getattr(model, "target_scale_", 1.0) ** 2


@pytest.mark.parametrize("name", slow_but(UPDATED, "cells", "newton"))
def test_an_update_comes_near_a_fit_to_all_rows(name, rows, tmp_path):
    """Killed after its first stage and gone on with, it gives the same bits."""
    model, data = fitted(name, rows)
    splits = [data["old"].train, data["new"].train]
    after = updated(model, splits)
    whole = ALGORITHMS[name](**model.get_params()).fit(data["all"].train)
    before, now, best = (objective(one, data) for one in (model, after, whole))
    assert now <= max(1.05 * best, before) + 1e-6
    if name in (*READ_AGAIN, "newton") and "cells" not in name:
        # the run starts at the model, and says what it is over all rows
        start = after.history_[0]["objective"] * getattr(model, "target_scale_", 1.0) ** 2
        assert start == pytest.approx(before, rel=1e-5)
    assert after.updates_[-1]["rows"] == N_NEW
    assert model.updates_ == ()
    assert after.model_.further.n_rows == N_OLD + N_NEW

    def interrupt(event):
        if event.kind == "checkpoint_saved" and event["stage"] == (1 if after.n_iter_ > 1 else 0):
            raise KeyboardInterrupt

    model.save(tmp_path / "m")
    with pytest.raises(Interrupted):
        updated(dk.load_model(tmp_path / "m"), splits, out=tmp_path / "n", listeners=[interrupt])
    again = updated(dk.load_model(tmp_path / "m"), splits, out=tmp_path / "n", resume=True)
    # what is stored has the numbers of a model in another form than what was fitted
    np.testing.assert_allclose(
        again.coefficients_, after.coefficients_, rtol=1e-4, atol=1e-6 * np.abs(after.coefficients_).max()
    )
    np.testing.assert_array_equal(dk.load_model(tmp_path / "n").coefficients_, again.coefficients_)
    uninterrupted = updated(dk.load_model(tmp_path / "m"), splits, scheduler="threads")
    np.testing.assert_array_equal(uninterrupted.coefficients_, again.coefficients_)


@pytest.mark.parametrize("name", each(UPDATED))
def test_the_plan_lists_every_pass_of_an_update(name, rows, monkeypatch):
    """Also those that evaluate the model on the new rows, before and after it has learned from them."""
    model, data = fitted(name, rows)
    recipe, _ = begun(model, [data["old"].train, data["new"].train])
    test, machine, made = data["new"].test, Machine("distributed", 2), []
    planned = plan_on(machine, recipe, data["new"].train, test, None, evaluated=True)
    execute = Driver._execute

    def record(driver, step):
        extent = Extent.of(driver.sources[step.split], driver._run_name)
        made.append(step.plan(extent, machine))
        return execute(driver, step)

    def evaluated(updated, executor):
        evaluation.evaluate_split(updated, test, executor)

    monkeypatch.setattr(Driver, "_execute", record)
    where = {"test": test, "scheduler": "synchronous"}
    run.train(recipe, data["new"].train, finished=evaluated, **where)
    counts, most = Counter(one.name for one in made), Counter()
    for one in planned.passes:
        most[one.name] += one.times
    sure = {name for name, times in most.items() if times >= 1}
    assert sure <= counts.keys() <= most.keys()
    # the new rows before and after, and the test rows; passes of a solver may be fewer than planned
    assert counts["drift"] == 1
    assert counts["evaluate"] == most["evaluate"] == 3
    # models count more than a run of these few dense rows: SciPy's sparse products, a full tile of cells
    more = 29 if getattr(model, "features", "") == "random" else 16 if name.startswith("cells") else 1
    for one in made:
        of_name = [each for each in planned.passes if each.name == one.name]
        for memory in ("worker_bytes", "driver_bytes"):
            most_planned = max(getattr(each, memory) for each in of_name)
            assert getattr(one, memory) <= most_planned + more * MIB, (one.name, memory)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["newton_regressor", "csvrg"])
def test_the_same_bits_in_processes(name, rows):
    model, data = fitted(name, rows)
    splits = [data[part].train for part in ("old", "new")]
    found = [
        updated(model, splits, scheduler=one, workers=2).coefficients_ for one in ("synchronous", "processes")
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", slow_but(READ_AGAIN, "csvrg"))
def test_old_rows_that_are_read_again_are_asked_for(name, rows):
    model, data = fitted(name, rows)
    with pytest.raises(InputError, match=r"training rows are missing; add them: --data OLD\.zarr NEW\.zarr"):
        begun(model, [data["new"].train])


@pytest.mark.parametrize("name", [name for name in UPDATED if not name.startswith("dsg")])
def test_batches_are_a_fit_and_updates_where_these_need_no_rows_of_before(name, rows):
    kind = ALGORITHMS[name]
    data = rows(kind.task)
    X, y = data["old"].train[:], data["old"].train.labels
    one, other = (kind(**small(kind)) for _ in range(2))
    if not hasattr(one, "partial_fit"):
        assert name not in RULES or RULES[name].reads_old
        return
    batches = [slice(0, 200), slice(200, 300), slice(300, 400)]
    for part in batches:
        one.partial_fit(X[part], y[part])
    other.fit(X[batches[0]], y[batches[0]]).update(X[batches[1]], y[batches[1]])
    np.testing.assert_array_equal(one.coefficients_, other.update(X[batches[2]], y[batches[2]]).coefficients_)
    assert one.model_.further.n_rows == N_OLD


def test_thousands_of_batches_leave_a_model_as_large_as_a_few(rows):
    data = rows("classification")
    X, y = data["old"].train[:20], data["old"].train.labels[:20]
    model = ALGORITHMS["pegasos"](lam=0.1, random_state=0).fit(X, y)
    for _ in range(110):
        model.partial_fit(X, y)
    assert [one["number"] for one in model.updates_] == [*range(11, 111)]
    assert model.model_.further.sources == ("",)
    assert model.model_.further.n_rows == 111 * 20


def test_a_dask_array_is_no_batch(rows):
    data = rows("classification")
    X, y = data["old"].train[:], data["old"].train.labels
    model = ALGORITHMS["pegasos"](lam=0.1, random_state=0)
    for _ in range(2):
        with pytest.raises(InputError, match="Dask array, whose rows are not in memory; give rows in memory"):
            model.partial_fit(da.from_array(X), y)
        model.partial_fit(X, y)


def test_the_algorithms_that_the_guide_says_can_be_updated_are():
    said = {"newton", "cells", "svrg", "csvrg", "rbcd", "pegasos", "avm", "norma", "sbmd", "dsg"}
    assert said <= set(UPDATED)


@pytest.mark.parametrize("name", REFUSED)
def test_what_begins_anew_says_so_and_what_to_do(name, rows):
    model = ALGORITHMS[name](**small(ALGORITHMS[name]))
    data = rows(ALGORITHMS[name].task)["old"].train
    model.fit(data[:], data.labels)
    with pytest.raises(InputError, match=r"cannot go on from a model: .*; shard the old and the new files"):
        needs_old(model.model_, SavedForUpdate())
