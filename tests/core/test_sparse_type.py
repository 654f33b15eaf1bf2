"""Sparse rows are the same rows: whatever is done to them gives what the dense array gives."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from distkern.core.sparse import SparseRows, converted, distinct, from_arrays, stacked, to_arrays
from distkern.core.types import Block
from distkern.maths.kernels import find_kernel
from distkern.maths.kernels.bandwidth import RULES, gamma_by_rule

VALUES = st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.5, 0.125])


@st.composite
def arrays(draw, least_rows=0):
    """Rows with many zeros, rows and columns of zeros among them."""
    rows, columns = draw(st.integers(least_rows, 7)), draw(st.integers(1, 6))
    numbers = draw(st.lists(VALUES, min_size=rows * columns, max_size=rows * columns))
    kind = draw(st.sampled_from([np.float32, np.float64]))
    return np.array(numbers, dtype=kind).reshape(rows, columns)


def check(found, expected):
    """Same rows, and in the form that everything relies on."""
    assert isinstance(found, SparseRows)
    assert found.shape == expected.shape
    assert (found.data.dtype, found.indices.dtype, found.indptr.dtype) == (expected.dtype, np.int32, np.int64)
    np.testing.assert_array_equal(found.toarray(), expected)
    assert found.indptr[0] == 0
    assert found.n_entries == np.count_nonzero(expected) == found.indptr[-1]
    for low, high in zip(found.indptr[:-1], found.indptr[1:], strict=True):
        assert np.all(np.diff(found.indices[low:high]) > 0)


@given(arrays())
def test_from_dense_and_from_scipy(rows):
    check(SparseRows.of_dense(rows), rows)
    check(SparseRows.of_scipy(sparse.csc_array(rows)), rows)
    check(converted(converted(rows, sparse=True), sparse=True), rows)
    np.testing.assert_array_equal(converted(SparseRows.of_dense(rows), sparse=False), rows)


@given(arrays(), st.data())
def test_rows_are_taken_as_from_an_array(rows, data):
    found = SparseRows.of_dense(rows)
    bounds = st.one_of(st.none(), st.integers(-9, 9))
    part = slice(data.draw(bounds), data.draw(bounds), data.draw(st.sampled_from([None, 1, 2, -1])))
    check(found[part], rows[part])
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), dtype=bool)
    check(found[mask], rows[mask])
    if len(rows):
        picks = st.lists(st.integers(-len(rows), len(rows) - 1), max_size=9)
        positions = np.array(data.draw(picks), dtype=np.intp)
        check(found[positions], rows[positions])
        check(Block(found).take(positions).features, rows[positions])
    with pytest.raises(IndexError):
        found[np.ones(len(rows) + 1, dtype=bool)]


@given(arrays(), st.integers(0, 3))
def test_values(rows, more):
    found = SparseRows.of_dense(rows)
    check(found.widened(rows.shape[1] + more), np.pad(rows, ((0, 0), (0, more))))
    check(found.astype(np.float32), rows.astype(np.float32))
    check(found.copy(), rows)
    check(found.with_data(np.where(found.data == 1, 0, found.data)), np.where(rows == 1, 0, rows))
    np.testing.assert_allclose(found.norms(), np.linalg.norm(rows.astype(float), axis=1))
    check(pickle.loads(pickle.dumps(found)), rows)
    check(from_arrays("a", to_arrays("a", found)), rows)


@given(arrays(1), arrays(1))
def test_stacked(first, second):
    width = max(first.shape[1], second.shape[1])
    first, second = (np.pad(rows, ((0, 0), (0, width - rows.shape[1]))) for rows in (first, second))
    second = second.astype(first.dtype)
    check(stacked([SparseRows.of_dense(first), SparseRows.of_dense(second)]), np.concatenate([first, second]))
    with pytest.raises(TypeError, match="cannot be stacked"):
        stacked([first, SparseRows.of_dense(second)])


@given(arrays(1), st.randoms(use_true_random=False))
def test_distinct_depends_on_the_set_of_rows_alone(rows, random):
    codes = np.array([random.randrange(2) for _ in rows], dtype=np.int32)
    found = SparseRows.of_dense(rows)
    for labels in (None, codes):
        first, inverse = distinct(found, labels)
        table = rows if labels is None else np.column_stack([rows, labels])
        assert len(first) == len(np.unique(table, axis=0))
        np.testing.assert_array_equal(table[first][inverse], table)
        order = np.array(random.sample(range(len(rows)), len(rows)))
        again, _ = distinct(found[order], None if labels is None else labels[order])
        np.testing.assert_array_equal(table[order][again], table[first])


def test_they_are_not_made_an_array_by_mistake():
    with pytest.raises(TypeError, match="toarray"):
        np.asarray(SparseRows.of_dense(np.eye(3)))


def test_norms_do_not_overflow():
    rows = SparseRows.of_dense(np.array([[1e200, 0, 1e200], [0, 0, 0], [0, 1e-300, 0]]))
    np.testing.assert_allclose(rows.norms(), [np.sqrt(2) * 1e200, 0, 1e-300])


@pytest.mark.parametrize("rule", RULES)
def test_the_rules_for_gamma_see_the_same_rows(rule):
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((301, 20)) * (generator.random((301, 20)) < 0.1)
    kind = find_kernel("rbf")
    assert gamma_by_rule(rule, kind, SparseRows.of_dense(rows)) == pytest.approx(
        gamma_by_rule(rule, kind, rows)
    )


def test_frozen_blocks_cannot_be_written_to():
    block = Block(SparseRows.of_dense(np.eye(3)))
    block.freeze()
    assert isinstance(block.features, SparseRows)
    with pytest.raises(ValueError, match="read-only"):
        block.features.data[0] = 2


def test_a_block_takes_what_it_has_of_each_row():
    codes, weights, keys = np.zeros(3, dtype=np.int32), np.ones(3), np.zeros(3, dtype=np.uint64)
    features = np.eye(3)
    assert Block(features).nbytes == 72
    assert Block(features, codes, weights, group_keys=keys).nbytes == 72 + 3 * (4 + 8 + 8)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("indices", [0, 3]),
        ("indices", [-1, 0]),
        ("indptr", [0, 2, 1]),
        ("indptr", [1, 1, 2]),
        ("data", [1.0]),
    ],
)
def test_entries_outside_of_the_rows_are_refused(name, wrong):
    stored = to_arrays("rows", SparseRows.of_dense(np.eye(2, 3)))
    assert from_arrays("rows", stored).shape == (2, 3)
    with pytest.raises(ValueError, match="sparse rows"):
        from_arrays("rows", {**stored, f"rows.{name}": np.array(wrong, stored[f"rows.{name}"].dtype)})
