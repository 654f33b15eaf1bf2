"""Single rows and columns of arrays in this process."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from distkern.common.errors import InputError
from distkern.common.sparse import SparseRows
from distkern.runs.arrays import ArraySource


@pytest.fixture(params=["dense", "sparse"])
def source(request, monkeypatch):
    generator = np.random.default_rng(0)
    features = np.where(generator.random((9000, 40)) < 0.2, generator.normal(size=(9000, 40)), 0)
    codes = generator.integers(0, 2, 9000).astype(np.int32)
    rows = SparseRows.of_dense(features) if request.param == "sparse" else features
    # small blocks, so that there are several groups
    monkeypatch.setattr("distkern.runs.arrays._BLOCK_BYTES", 1)
    made = ArraySource(rows, codes, np.arange(9000.0))
    order = np.concatenate([made.reader(block)().weights for block in range(made.n_blocks)]).astype(int)
    return made, features[order], codes[order], order


def dense(rows):
    return rows.toarray() if isinstance(rows, SparseRows) else rows


def test_rows_and_columns(source):
    made, features, codes, order = source
    start = 0
    assert len(made.groups) == 8
    for number, blocks in enumerate(made.groups):
        for opener in (made.group(number), pickle.loads(pickle.dumps(made.group(number)))):
            group = opener()
            stop = start + sum(made.block_rows[block] for block in blocks)
            assert (group.n_rows, group.n_features) == (stop - start, 40)
            own = features[start:stop]
            assert_array_equal(group.targets, codes[start:stop])
            positions = np.array([group.n_rows - 1, 0, 17])
            assert_array_equal(dense(group.rows(positions)), own[positions])
            columns = np.array([39, 0, 5, 5])
            assert_array_equal(dense(group.columns(columns)), own[:, columns].T)
            assert isinstance(group.columns(columns), SparseRows) == made.is_sparse
            read = list(group.blocks())
            assert [block.index for block in read] == list(blocks)
            assert_array_equal(np.concatenate([dense(block.features) for block in read]), own)
            assert_array_equal(np.concatenate([block.weights for block in read]), order[start:stop])
        start = stop


def test_rows_are_in_random_order_and_blocks_gather_them(source):
    """A true permutation: a row's block says nothing of where it was, whichever process reads it."""
    made, features, codes, order = source
    assert_array_equal(np.sort(order), np.arange(9000))
    assert abs(np.corrcoef(order, np.arange(9000))[0, 1]) < 4 / np.sqrt(9000)
    start = 0
    for block, rows in enumerate(made.block_rows):
        sent = pickle.dumps(made.reader(block))
        assert len(sent) < 2 * rows * made.row_bytes + 4096
        for read in (made.reader(block)(), pickle.loads(sent)()):
            assert read.index == block
            assert_array_equal(dense(read.features), features[start : start + rows])
            assert_array_equal(read.targets, codes[start : start + rows])
        start += rows


def test_the_transposed_copy_is_made_once(source):
    made, *_ = source
    if made.is_sparse:
        first, second = made.group(2)(), made.group(2)()
        first.columns(np.array([0]))
        assert first is second
        assert first._transposed is second._transposed


def test_dask_arrays_have_no_groups():
    da = pytest.importorskip("dask.array")
    from distkern.engine.dask.arrays import DaskArraySource

    X = da.zeros((100, 3), chunks=(50, 3))
    with pytest.raises(InputError, match="distkern shard"):
        DaskArraySource(X, da.zeros(100, chunks=50), None).group(0)
