"""Groups of rows as keys, and what is lost by groups."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from distkern.common.errors import InputError
from distkern.common.held_out import Sides, groups_of, parted
from distkern.common.scores import by_group, mean_difference
from distkern.common.targets import keys_of_groups, keys_of_texts, refuse_one_group


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
    refuse_one_group(keys_of_texts(["a", "b", "a"]), "groups")
    with pytest.raises(InputError, match="groups: all rows are of one group"):
        refuse_one_group(keys_of_texts(["a", "a"]), "groups")


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
