"""Updates solve cells with new rows again and keep all others."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from cell_problems import Classifier, Regressor, rows
from distkern.core.errors import InputError
from distkern.core.types import AbstractSource, Block
from distkern.engine.drive import Driver
from distkern.engine.executors import open_executor
from distkern.maths.features.base import KernelChoice
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.runs.data import from_arrays
from distkern.runs.fitting import model_of
from distkern.solvers._cells import dual
from distkern.solvers._cells.buckets import Machines, Solving, solve_rows
from distkern.solvers._cells.machine import CellSettings, solve_cell
from distkern.solvers._cells.tree import Overlap, Tree, cropped, grafted, parts_of


@dataclass(frozen=True)
class Given:
    """Reads a block in memory."""

    block: Block

    def __call__(self):
        return self.block


class Joined(AbstractSource):
    """Blocks of old rows, then of new ones."""

    in_memory = True
    fingerprint = ""

    def __init__(self, *parts):
        self.parts = parts
        self.block_rows = tuple(len(X) for X, _ in parts)
        self.n_features, self.dtype = parts[0][0].shape[1], parts[0][0].dtype

    def reader(self, index):
        X, y = self.parts[index]
        return Given(Block(X, y if y.dtype.kind == "f" else y.astype(np.int32), index=index))


def updated(model, old, new, scheduler="synchronous"):
    """Return the updated model, its solver, problem and ending."""
    source = Joined(old, *new)
    task = "regression" if model.task == "regression" else "classification"
    every = from_arrays(*(np.concatenate(side) for side in zip(old, *new, strict=True)), None, task)
    after = type(model)(**model.get_params())
    recipe = after.recipe()
    posed = recipe.pose(every, has_test=False)
    solver, problem = replace(posed.solver, before=model.model_.before(1)), posed.problem
    problem = replace(problem, block_rows=source.block_rows)
    posed = replace(posed, solver=solver, problem=problem)
    with open_executor(scheduler, workers=2 if scheduler != "synchronous" else None) as executor:
        outcome = Driver({"train": source}, executor).run(solver, problem, take=recipe.kind.stored_fields)
    columns = replace(model.model_.columns, dtype=source.dtype)
    after._model = model_of(recipe, posed, outcome, columns, every.classes, None, model.model_.further)
    return after, solver, problem, outcome.ending


def cells_of(model):
    """Return the machines of each bucket's cells as bytes."""
    found = []
    for bucket in range(len(model.machines_)):
        machines = Machines.of(model.parts_.load(bucket))
        cells = [machines.cell(cell)[0] for cell in range(machines.tree.n_leaves)]
        found.append([(one.rows.tobytes(), one.coefficients.tobytes()) for one in cells])
    return found


@pytest.fixture(scope="module")
def old():
    return rows(3000)


@pytest.fixture(scope="module")
def model(old):
    return Classifier(max_cell_rows=150, random_state=0).fit(*old)


@pytest.fixture(scope="module")
def local():
    """New rows in a corner, in two blocks."""
    X, y = rows(4000, seed=1)
    corner = (X[:, 0] > 1.2) & (X[:, 1] > 0.5)
    X, y = X[corner], y[corner]
    assert 50 < len(X) < 200
    return [(X[:30], y[:30]), (X[30:], y[30:])]


def test_cells_without_new_rows_keep_their_machines_to_the_bit(model, old, local):
    after, _, _, ending = updated(model, old, local)
    assert ending.reason == "converged"
    assert not ending.warnings
    before, now = cells_of(model), cells_of(after)
    assert after.places_.tree is not None
    kept = [one for bucket in before for one in bucket]
    stayed = sum(one in kept for bucket in now for one in bucket)
    assert 0.6 * len(kept) < stayed < len(kept)
    # whole buckets keep their numbers and their bits
    same = (model.machines_ == after.machines_[: len(model.machines_)]).all(axis=1)
    assert 0 < same.sum() < len(same)
    for bucket in np.flatnonzero(same):
        assert before[bucket] == now[bucket]


def test_figures_are_those_of_all_rows(model, old, local):
    after, *_ = updated(model, old, local)
    X, y = (np.concatenate(side) for side in zip(old, *local, strict=True))
    line = after.history_[-1]
    assert line["train_error"] == pytest.approx(1 - after.score(X, y))
    losses = np.square(np.maximum(0, 1 - (2.0 * y - 1) * after.decision_function(X)))
    assert line["objective"] == pytest.approx(after.regulariser_ + losses.mean(), rel=1e-4)
    assert line["cells"] == after.n_cells_ == sum(map(len, cells_of(after)))
    assert after.n_support_ == sum(len(after.parts_.load(n)["places"]) for n in range(len(after.machines_)))


def test_a_touched_cell_has_the_machine_of_its_old_and_new_rows(model, old, local):
    after, solver, problem, _ = updated(model, old, local)
    X, y = (np.concatenate(side) for side in zip(old, *local, strict=True))
    solved = [cell for bucket in cells_of(after) for cell in bucket]
    layout = solver._layout(problem)
    settings = solver._update(layout, solver.before.state, solver.before).settings
    sizes = layout.cell_rows, layout.overlap, problem.seed
    solving = Solving(None, 1, solver.risk, *sizes, settings)
    coordinates = model.places_.rows(X)
    order, buckets, lies = model.places_.sorted_rows(coordinates)
    n_checked = 0
    for bucket in range(len(model.machines_)):
        machines = Machines.of(model.parts_.load(bucket))
        mine, inside = order[buckets == bucket], lies[buckets == bucket]
        for cell, part, own in machines.tree.members(coordinates[mine]):
            is_new = (mine[part] >= 3000).any()
            if not is_new or len(part) > 150:
                continue
            chosen = mine[part]
            block = Block(coordinates[chosen], y[chosen].astype(np.int32), np.ones(len(chosen)))
            how = own & inside[part], solving, (bucket, cell)
            machine, _ = solve_rows(block, *how, machines.cell(cell)[0])
            assert (machine.rows.tobytes(), machine.coefficients.tobytes()) in solved
            afresh, _ = solve_rows(block, *how)
            apart = afresh.predict(settings, block.features)
            apart -= machine.predict(settings, block.features)
            assert np.abs(apart).max() < 3 * settings.tolerance
            n_checked += 1
    assert n_checked


def learned_from(model, X):
    """Return the average number of cells that learn from a row."""
    coordinates = model.places_.rows(X)
    order, buckets, _ = model.places_.sorted_rows(coordinates)
    n_rows = 0
    for bucket in range(len(model.machines_)):
        tree = Machines.of(model.parts_.load(bucket)).tree
        n_rows += sum(len(part) for _, part, _ in tree.members(coordinates[order[buckets == bucket]]))
    return n_rows / len(X)


def test_borders_have_fewer_neighbours_once_there_are_many_cells(old):
    few = Classifier(max_cell_rows=400, random_state=0).fit(*old)
    more = rows(3000, seed=3)
    after, *_ = updated(few, old, [more])
    X, y = (np.concatenate(side) for side in zip(old, more, strict=True))
    anew = Classifier(max_cell_rows=400, random_state=0).fit(X, y)
    # 3,000 rows make few cells of 400, with an overlap of 0.3; 6,000 rows make more
    assert learned_from(few, old[0]) > 1.7
    assert learned_from(after, X) < 1.25 * learned_from(anew, X)
    n_nodes = len(few.places_.tree.margins)
    np.testing.assert_allclose(after.places_.tree.margins[:n_nodes], few.places_.tree.margins / 3, rtol=1e-6)
    assert after.score(*rows(3000, seed=4)) > few.score(*rows(3000, seed=4))
    # a given overlap stays
    given = Classifier(max_cell_rows=400, overlap=0.3, random_state=0).fit(*old)
    wide, *_ = updated(given, old, [more])
    np.testing.assert_array_equal(wide.places_.tree.margins[:n_nodes], given.places_.tree.margins)


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_an_update_has_the_same_bits_on_every_executor(model, old, local, scheduler):
    here, there = (updated(model, old, local, where)[0] for where in ("synchronous", scheduler))
    np.testing.assert_array_equal(here.machines_, there.machines_)
    np.testing.assert_array_equal(here.places_.tree.children, there.places_.tree.children)


@pytest.mark.slow
def test_a_crowd_of_new_rows_is_cut_into_cells_and_buckets(model, old):
    X, y = rows(5000, seed=2)
    crowd = [(0.05 * X + np.array([0.3, -0.9, 0.2], dtype=np.float32), y)]
    after, solver, problem, _ = updated(model, old, crowd)
    most = solver._layout(problem).bucket_rows
    assert len(after.machines_) > len(model.machines_) + 5000 // most
    coordinates = after.places_.rows(np.concatenate([old[0], crowd[0][0]]))
    _, buckets, lies = after.places_.sorted_rows(coordinates)
    assert lies.sum() == 8000
    # buckets were this large before if a cell was added to another
    assert np.bincount(buckets).max() <= 1.2 * most
    for bucket in range(len(after.machines_)):
        figures = Machines.of(after.parts_.load(bucket)).figures
        assert figures[:, 0].max() <= 150
    assert after.score(*crowd[0]) > model.score(*crowd[0])
    assert abs(after.score(*old) - model.score(*old)) < 0.01


def test_regressors_keep_the_unit_of_their_targets(old):
    X = old[0]
    t = np.sin(2 * X[:, 0]) + X[:, 1]
    model = Regressor(max_cell_rows=300, random_state=0).fit(X, t)
    Z = rows(400, seed=3)[0]
    new = [(Z, np.sin(2 * Z[:, 0]) + Z[:, 1] + 5)]
    after, *_ = updated(model, (X, t), new)
    assert after.target_scale_ == model.target_scale_
    assert after.score(*new[0]) > model.score(*new[0])


def test_other_rows_than_those_that_it_learned_from_are_refused(model, old, local):
    with pytest.raises(InputError, match=r"cells .* 3,... rows, but 3,... .* are given"):
        updated(model, (old[0][:2900], old[1][:2900]), local)


# trees


def test_a_grafted_tree_has_the_leaves_of_both():
    X = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    tree = Tree.fit(X, 100, 0, overlap=Overlap(0.1, 100))
    leaves = tree.leaves(X)
    other = Tree.fit(X[leaves == 2], 20, 0)
    found, of = grafted(tree, {2: other})
    assert found.n_leaves == tree.n_leaves + other.n_leaves - 1 == len(of)
    first, second = np.array(of).T
    now = found.leaves(X)
    np.testing.assert_array_equal(first[now], leaves)
    np.testing.assert_array_equal(second[now][leaves == 2], other.leaves(X[leaves == 2]))
    # a single leaf is replaced by the whole graft; without grafts nothing changes
    whole, _ = grafted(cropped(tree, -1)[0], {0: tree})
    for name in ("directions", "thresholds", "margins", "children"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(tree, name))
        np.testing.assert_array_equal(getattr(grafted(tree, {})[0], name), getattr(tree, name))


def test_parts_of_a_tree_together_are_the_tree():
    X = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    tree = Tree.fit(X, 40, 0)
    leaves = tree.leaves(X)
    counts = np.bincount(leaves, minlength=tree.n_leaves)
    nodes = parts_of(tree, counts, 130)
    upper, _ = cropped(tree, tree.root, nodes)
    parts = upper.leaves(X)
    assert 130 >= np.bincount(parts).max() > 40
    for part, node in enumerate(nodes):
        own, ends = cropped(tree, node)
        np.testing.assert_array_equal(
            -1 - np.array(ends)[own.leaves(X[parts == part])], leaves[parts == part]
        )


# one machine


@pytest.mark.parametrize("name", ["squared_hinge", "hinge", "epsilon_insensitive", "square"])
def test_a_machine_goes_on_from_one_of_fewer_rows(name, monkeypatch):
    descend, updates = dual.descend, []

    def counting(dtype):
        return lambda *given: updates.append(descend(dtype)(*given)) or updates[-1]

    monkeypatch.setattr(dual, "descend", counting)
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 3)).astype(np.float32)
    # equal rows with equal and with different targets, old and new
    X[[5, 6, 280, 281]] = X[[0, 1, 2, 3]]
    loss = find_loss(name)()
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    targets = (f if loss.target_kind == "real" else np.where(f > 0, 1.0, -1.0))[:, None]
    targets[[5, 280], 0] = -targets[[0, 2], 0]
    kernel = KernelChoice(find_kernel("rbf"), 0.5, {}).with_gamma(0.5)
    settings = CellSettings(kernel, loss, 5.0, tolerance=1e-3)
    before = solve_cell(settings, X[:270], targets[:270], None, 0)
    updates.clear()
    cold = solve_cell(settings, X, targets, None, 0)
    n_cold = sum(n_updates for *_, n_updates in updates)
    updates.clear()
    warm = solve_cell(settings, X, targets, None, 0, before)
    np.testing.assert_allclose(warm.predict(settings, X), cold.predict(settings, X), atol=0.02)
    assert warm.converged
    assert warm.primal == pytest.approx(cold.primal, rel=1e-2)
    if name == "square":
        np.testing.assert_array_equal(warm.coefficients, cold.coefficients)
    else:
        # with bounds, contradicting rows determine the start
        assert sum(n_updates for *_, n_updates in updates) < n_cold or name == "hinge"
