"""Rows that are held out: classes in their shares, equal rows on one side."""

import numpy as np
import pytest
from scipy import sparse

from distkern.common.held_out import groups_of, parted, row_keys, stratified_order
from distkern.common.sparse import SparseRows


def test_every_run_of_the_stratified_order_has_each_class():
    codes = np.repeat([0, 1, 2], [700, 200, 100])
    order = stratified_order(codes, len(codes), 1)
    np.testing.assert_array_equal(np.sort(order), np.arange(1000))
    for start in range(0, 1000, 100):
        counts = np.bincount(codes[order[start : start + 100]], minlength=3)
        assert np.abs(counts - [70, 20, 10]).max() <= 2
    assert not np.array_equal(order, stratified_order(codes, len(codes), 2))
    np.testing.assert_array_equal(np.sort(stratified_order(None, 10, 1)), np.arange(10))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_have_one_key_in_any_form_and_others_have_others(dtype):
    generator = np.random.default_rng(0)
    # whole numbers differ in few bits, and zeros may be negative
    rows = generator.integers(-1, 2, (20_000, 16)).astype(dtype)
    rows[rows == 0] *= -1
    distinct, expected = np.unique(rows, axis=0, return_inverse=True)
    keys = row_keys(rows)
    assert len(np.unique(keys)) == len(distinct) > 19_000
    groups = groups_of(keys)
    assert len(np.unique(np.column_stack([groups, expected.ravel()]), axis=0)) == len(distinct)
    assert groups[0] == 0
    np.testing.assert_array_equal(keys, row_keys(SparseRows.of_scipy(sparse.csr_matrix(rows))))
    np.testing.assert_array_equal(keys, row_keys(rows.astype(np.float64)))


@pytest.mark.parametrize("copies", [1, 3])
def test_rows_are_parted_with_each_class_in_its_share_and_equal_rows_on_one_side(copies):
    generator = np.random.default_rng(0)
    rows = np.tile(generator.normal(size=(400, 2)), (copies, 1))
    codes = np.tile(np.arange(400) >= 380, copies).astype(np.int32)
    learned, held_out = parted(row_keys(rows), codes, 0, 150 * copies, 150 * copies)
    assert len(learned) == len(held_out) == 150 * copies
    for part in (learned, held_out):
        assert 6 <= codes[part].sum() / copies <= 9
    assert not {tuple(row) for row in rows[learned]} & {tuple(row) for row in rows[held_out]}


def test_copies_at_the_border_are_in_neither_part():
    rows = np.repeat(np.arange(10.0), 3)[:, None]
    learned, held_out = parted(row_keys(rows), None, 0, 10, 20)
    assert len(learned) == 10
    assert len(held_out) == 18
    assert not set(rows[learned, 0]) & set(rows[held_out, 0])
    # rows that are all equal have nothing to hold out
    assert len(parted(row_keys(np.ones((9, 2))), None, 0, 6, 3)[1]) == 0
