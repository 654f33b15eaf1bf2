"""Rows that are held out: classes in their shares, equal rows and whole groups on one side."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from distkern.core.errors import InputError
from distkern.core.held_out import Sides, are_independent, groups_of, parted, row_keys, stratified_order
from distkern.core.scores import by_group, mean_difference
from distkern.core.sparse import SparseRows
from distkern.core.targets import keys_of_groups, keys_of_texts, refuse_one_group


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


def test_a_group_has_one_key_however_it_is_held():
    texts = ["7", "8", "7", "-1"]
    keys = keys_of_texts(texts)
    # the first bytes of BLAKE2b, as data sets hold them
    assert keys[0] == int.from_bytes(hashlib.blake2b(b"7", digest_size=8).digest(), "little")
    assert keys.dtype == np.uint64
    assert groups_of(keys).tolist() == [0, 1, 0, 2]
    numbers = [7, 8, 7, -1]
    for given in (
        texts,
        np.array(texts, dtype=object),
        numbers,
        np.array(numbers, float),
        pd.Series(numbers),
    ):
        np.testing.assert_array_equal(keys_of_groups(given, 4), keys)
    dates = keys_of_groups(np.array(["2024-01-01", "2024-01-02", "2024-01-01"], "datetime64[D]"), 3)
    assert dates[0] == dates[2] != dates[1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1.0, np.nan, 2.0], r"groups, row 2 \(index 1\): the group is missing"),
        (["a", None, "b"], r"groups, row 2 \(index 1\): the group is missing"),
        (["a", " ", "b"], "groups: the group is missing"),
        ([1, 2], r"groups of shape \(2,\) for 3 rows; give one for each row"),
    ],
)
def test_groups_that_are_none_are_refused(groups, message):
    with pytest.raises(InputError, match=message):
        keys_of_groups(groups, 3)


def test_one_group_is_refused():
    refuse_one_group(keys_of_texts(["a", "b", "a"]))
    with pytest.raises(InputError, match="groups: all rows are in one group"):
        refuse_one_group(keys_of_texts(["a", "a"]))


def test_counted_keys_lie_where_their_rows_do():
    generator = np.random.default_rng(0)
    keys = keys_of_groups(generator.integers(0, 40, 1000), 1000)
    codes = generator.integers(0, 2, 1000)
    found, first, counts = np.unique(keys, return_index=True, return_counts=True)
    order = np.argsort(first)
    by_rows = Sides.of_few((0.2, 0.6), 1, keys, codes)
    by_counts = Sides.of_few((0.2, 0.6), 1, found[order], codes[first[order]], counts[order])
    np.testing.assert_array_equal(by_rows.of(keys), by_counts.of(keys))
    shares = np.bincount(by_rows.of(keys), minlength=3) / 1000
    # to about a group, one in 40
    assert np.abs(shares - [0.2, 0.4, 0.4]).max() < 0.05


@pytest.mark.parametrize("seed", range(6))
def test_two_groups_are_parted_whatever_their_order(seed):
    keys = keys_of_groups(np.repeat([0, 1], [400, 600]), 1000)
    learned, held_out = parted(keys, None, seed, 500, 500)
    assert len(learned) >= 400
    assert len(held_out) >= 400
    assert not set(keys[learned]) & set(keys[held_out])


def test_the_rows_of_a_group_count_as_one():
    generator = np.random.default_rng(0)
    of_groups, sizes = generator.normal(size=30), generator.integers(1, 20, 30)
    losses = np.repeat(of_groups, sizes)
    keys = keys_of_groups(np.repeat(np.arange(30), sizes), sizes.sum())
    found = by_group(np.stack([losses, 2 * losses]), keys)
    assert found.shape == (2, 30)
    np.testing.assert_allclose(found.mean(axis=1), [losses.mean(), 2 * losses.mean()])
    assert by_group(losses, None) is losses
    # a thousand copies of a row of each group do not make a difference more certain
    same = by_group(np.tile(of_groups, 1000), keys_of_groups(np.tile(np.arange(30), 1000), 30_000))
    assert mean_difference(same, 0 * same)[1] == pytest.approx(of_groups.std() / np.sqrt(30))
    assert mean_difference(same[:1], np.zeros(1))[1] == np.inf


@pytest.mark.parametrize("kind", ["classes", "real"])
def test_equal_rows_are_independent_if_their_targets_differ(kind):
    """Real targets differ half as often as those of random rows; a weight may stand for merged rows."""
    generator = np.random.default_rng(0)
    values = generator.integers(0, 400, 3000)
    keys = row_keys(values[:, None].astype(float))
    of_value = generator.random(400)

    def targets(share):
        """The target is that of the value, except for a share of the rows."""
        other = generator.random(3000) < share
        found = np.where(other, generator.random(3000), of_value[values])
        return found if kind == "real" else (found > 0.5).astype(np.int32)

    assert not are_independent(keys, targets(0.0), None)
    assert not are_independent(keys, targets(0.02), None)
    # equal rows differ if one of two does
    assert are_independent(keys, targets(0.15), None) == (kind == "classes")
    assert are_independent(keys, targets(0.4), None)
    assert are_independent(keys, targets(1.0), np.full(3000, 2.0))
    assert not are_independent(keys, targets(1.0), generator.integers(1, 3, 3000).astype(float))
    assert not are_independent(keys[:1000], targets(1.0)[:1000], None)
    assert not are_independent(row_keys(np.arange(3000.0)[:, None]), targets(1.0), None)
    assert not are_independent(keys, None, None)
    assert not are_independent(keys, np.zeros(3000), None)
