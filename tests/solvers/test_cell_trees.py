"""How rows are cut into cells: half spaces, borders, neighbours and buckets."""

from types import SimpleNamespace

import numpy as np
import pytest

from cell_problems import Classifier, rows
from distkern.core.errors import CorruptDataError
from distkern.core.types import Block
from distkern.maths.features.base import KernelChoice
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.solvers._cells import buckets
from distkern.solvers._cells.choosing import ShuffledSample
from distkern.solvers._cells.layout import CellLayout
from distkern.solvers._cells.machine import CellSettings
from distkern.solvers._cells.tree import Overlap, Places, Tree, grouped, tree_from_arrays, tree_to_arrays
from distkern.solvers.base import Problem
from distkern.solvers.risk import Risk
from small import slow_but


@pytest.mark.parametrize("kind", ["normal", "sorted", "skewed", "on a line", "mostly equal", "two values"])
def test_half_spaces_cut_rows_into_equal_parts(kind):
    X = rows(1000)[0]
    X = {
        "normal": X,
        "sorted": np.sort(X, axis=0),
        "skewed": np.exp(4 * X),
        "on a line": np.outer(X[:, 0], [1.0, 2.0, 3.0]).astype(np.float32),
        "mostly equal": np.where(np.arange(1000)[:, None] % 10, X[:1], X),
        "two values": np.sign(X[:, :1]) * [[1, 1, 1]],
    }[kind].astype(np.float32)
    tree = Tree.fit(X, 100, 0)
    leaves = tree.leaves(X)
    counts = np.bincount(leaves, minlength=tree.n_leaves)
    assert counts.min() > 0
    for leaf in np.flatnonzero(counts > 100):
        assert len(np.unique(X[leaves == leaf], axis=0)) == 1, "rows that differ were not cut"
    if kind in ("normal", "sorted", "skewed", "on a line"):
        assert tree.n_leaves == 10
        assert counts.min() >= 99
    # the leaf of a row does not depend on other rows
    np.testing.assert_array_equal(leaves[[7]], tree.leaves(X[[7]]))
    np.testing.assert_array_equal(
        leaves, np.concatenate([tree.leaves(part) for part in np.array_split(X, 7)])
    )


@pytest.mark.parametrize("kind", ["normal", "skewed", "mostly equal", "three values", "wide"])
def test_rows_near_a_border_belong_to_both_sides(kind):
    X = rows(3000)[0]
    X = {
        "normal": X,
        "skewed": np.exp(4 * X),
        "mostly equal": np.where(np.arange(3000)[:, None] % 10, X[:1], X),
        "three values": np.repeat(X[:3], 1000, axis=0),
        "wide": rows(3000, 40)[0],
    }[kind].astype(np.float32)
    tree = Tree.fit(X, 300, 0, overlap=Overlap(0.2, 300))
    found = list(tree.members(X))
    assert [leaf for leaf, _, _ in found] == list(range(tree.n_leaves))
    lies = np.concatenate([part[own] for _, part, own in found])
    np.testing.assert_array_equal(np.sort(lies), np.arange(3000))
    leaves = tree.leaves(X)
    for leaf, part, own in found:
        np.testing.assert_array_equal(part[own], np.flatnonzero(leaves == leaf))
        assert len(part) <= 300 or len(np.unique(X[part], axis=0)) == 1
    # nor do its memberships
    some = np.arange(0, 3000, 7)
    for (_, part, own), (_, whole, owned) in zip(tree.members(X[some]), found, strict=True):
        np.testing.assert_array_equal(some[part], np.intersect1d(some, whole))
        np.testing.assert_array_equal(some[part[own]], np.intersect1d(some, whole[owned]))
    if kind == "normal":
        first = np.abs(X @ tree.directions[0] - tree.thresholds[0]) < tree.margins[0]
        # ten cells are five pairs
        assert 0.95 < first.sum() / (0.2 * 3000 * 5**-0.125) <= 1
        assert sum(len(part) for _, part, _ in found) > 1.5 * 3000


def test_rows_are_in_as_many_cells_as_the_layout_says_and_their_number_stays_bounded():
    X = rows(40_000, 8)[0]
    problem = SimpleNamespace(n_rows=40_000, sparse_numbers=None)
    layout = CellLayout(problem, 200, 0.1, False)
    found = list(Tree.fit(X, 200, 0, overlap=Overlap(0.1, 200)).members(X))
    assert sum(len(part) for _, part, _ in found) / 40_000 == pytest.approx(layout.copies(200), rel=0.1)
    # the share of neighbours at the first border vanishes as rows increase
    copies = [
        CellLayout(SimpleNamespace(n_rows=n, sparse_numbers=None), 1000, 0.1, False).copies(n / 1000)
        for n in (10**6, 10**9, 10**12)
    ]
    assert copies[0] < copies[1] < copies[2] < np.exp(0.1 / (1 - 2**-0.125))


@pytest.mark.parametrize(("n_columns", "overlap"), slow_but([(2, 0.3), (20, 0.3), (20, 0.1)], (20, 0.1)))
def test_no_part_of_the_rows_has_more_copies_in_buckets_than_planned(n_columns, overlap):
    X = np.random.default_rng(0).standard_normal((20_000, n_columns)).astype(np.float32)
    problem = Problem((2500,) * 8, n_columns, np.dtype("float32"), 0, n_outputs=1, has_test=False)
    layout = CellLayout(problem, 500, overlap, is_double=False)
    some, ones = X[: layout.sample_rows], np.ones(layout.sample_rows)
    mapping = ShuffledSample(some, ones[:, None], ones, 1.0).centred()
    placed = mapping.apply(X)
    tree = layout.tree(placed[: layout.sample_rows], 0)
    counts = np.array([len(part) for _, part, _ in tree.members(placed)])
    places = Places(mapping, tree, grouped(counts, layout.bucket_rows))
    # neighbours lie in the same part
    parts = np.array_split(placed[np.argsort(placed[:, 0])], 8)
    copies = [len(places.sorted_rows(part)[0]) / len(part) for part in parts]
    assert 0.5 * layout.bucket_copies < max(copies) <= layout.bucket_copies
    assert layout.bucket_copies <= layout.leaf_copies


@pytest.mark.slow
def test_neighbours_are_learned_from_and_not_counted():
    X, y = rows(3000)
    plain, overlapping = (
        Classifier(max_cell_rows=200, overlap=share, random_state=0).fit(X[:2000], y[:2000])
        for share in (0.0, 0.2)
    )
    assert overlapping.n_cells_ > plain.n_cells_
    assert overlapping.score(X[2000:], y[2000:]) > plain.score(X[2000:], y[2000:])
    # errors and losses count each row once
    assert overlapping.history_[-1]["train_error"] == pytest.approx(1 - overlapping.score(X[:2000], y[:2000]))


def test_a_cell_of_neighbours_alone_is_not_worth_its_matrix():
    X, y = rows(1000)
    kernel = KernelChoice(find_kernel("rbf"), 1.0, {}).with_gamma(1.0)
    settings = CellSettings(kernel, find_loss("hinge")(), 10.0)
    solving = buckets.Solving(None, 1, Risk(settings.loss), 1000, 0.1, 0, settings)
    found = []
    for n_own in (0, 1):
        lies = np.arange(1000) < n_own
        block = Block(X, y, np.ones(1000))
        machine, figures = buckets.solve_rows(block, lies, solving, (0, 0))
        assert figures[0] == n_own
        found.append(machine)
    first = {row.tobytes() for row in X[:256]}
    few, all_rows = ({row.tobytes() for row in machine.rows} for machine in found)
    assert few <= first
    assert not all_rows <= first
    signs = [machine.predict(settings, rows(300, seed=1)[0])[:, 0] > 0 for machine in found]
    assert np.mean(signs[0] == signs[1]) > 0.85


def test_buckets_hold_no_more_rows_than_they_may():
    counts = np.random.default_rng(0).integers(0, 50, 200)
    found = grouped(counts, 120)
    assert set(np.diff(found)) == {0, 1}
    filled = np.bincount(found, counts)
    assert filled.max() <= 120
    assert (filled[:-1] + counts[np.flatnonzero(np.diff(found)) + 1] > 120).all()


def test_half_spaces_that_are_no_tree_are_refused():
    """Children before their node would make endless loops."""
    arrays = tree_to_arrays(Tree.fit(rows(400)[0].astype(np.float32), 100, 0))
    assert arrays["children"].tolist() == [[1, 2], [-1, -2], [-3, -4]]
    np.testing.assert_array_equal(tree_from_arrays(arrays).children, arrays["children"])
    for children in (
        [[0, 2], [-1, -2], [-3, -4]],
        [[1, 2], [0, -2], [-3, -4]],
        [[1, 1], [-1, -2], [-3, -4]],
        [[1, 2], [-1, -1], [-3, -4]],
        [[1, 3], [-1, -2], [-3, -4]],
        [[1, 2], [-1, -2], [-3, -5]],
        [[1, 2], [-1, -2]],
    ):
        with pytest.raises(ValueError, match=r"no tree|children"):
            tree_from_arrays({**arrays, "children": np.array(children, np.int32)})
    for name, wrong in (
        ("thresholds", np.zeros(2)),
        ("margins", np.zeros(3, int)),
        ("directions", np.ones(3)),
    ):
        with pytest.raises(ValueError, match=name):
            tree_from_arrays({**arrays, name: wrong})
    for name in ("directions", "thresholds", "margins"):
        with pytest.raises(ValueError, match="not finite"):
            tree_from_arrays({**arrays, name: np.full_like(arrays[name], np.nan)})
    leaf = {**tree_to_arrays(Tree.fit(np.ones((5, 2), np.float32), 9, 0))}
    assert tree_from_arrays(leaf).n_leaves == 1


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("ends", [2, 1, 4, 4]),
        ("ends", [1, 2, 3, 9]),
        ("places", [0, 1, 2, 7]),
        ("places", [0, 1, 2, -1]),
        ("constants", np.zeros((3, 1))),
        ("coefficients", np.zeros((3, 1))),
        ("support", np.zeros((4, 2))),
    ],
)
def test_machines_that_do_not_fit_together_are_refused(name, wrong):
    tree = Tree.fit(rows(400)[0].astype(np.float32), 100, 0)
    arrays = {
        **tree_to_arrays(tree),
        "support": np.zeros((4, tree.directions.shape[1]), np.float32),
        "places": np.arange(4, dtype=np.int32),
        "coefficients": np.zeros((4, 1), np.float32),
        "constants": np.zeros((4, 1)),
        "ends": np.arange(1, 5),
        "figures": np.zeros((4, 8)),
    }
    assert buckets.Machines.of(arrays).ends.tolist() == [1, 2, 3, 4]
    with pytest.raises(CorruptDataError, match=name if name != "ends" else "ends|overlap"):
        buckets.Machines.of({**arrays, name: np.asarray(wrong, arrays[name].dtype)})
