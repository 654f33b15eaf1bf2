"""The shuffle is exactly uniform although only one shard is in memory."""

import doctest
import itertools

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.core.rng import Purpose, stream
from distkern.data import collect, writer
from distkern.data.ingest import write_dataset
from distkern.data.spool import Run, in_order, shuffled
from distkern.data.writer import rows_of_a_shard, shard_sizes


def runs_of(sizes):
    return [Run(rows, 1, "<f4", 0, 0) for rows in sizes]


def order_of(sizes, shard_rows, seed):
    """The whole procedure on row numbers: permuted runs, then shards drawn from them."""
    runs = runs_of(sizes)
    starts = np.cumsum([0, *sizes])
    contents = {
        id(run): stream(seed, Purpose.SHUFFLE, 0, i).permutation(np.arange(starts[i], starts[i] + run.rows))
        for i, run in enumerate(runs)
    }
    order = []
    for rows, pieces in zip(shard_rows, shuffled(runs, shard_rows, seed), strict=True):
        out = np.full(rows, -1)
        for piece in pieces:
            out[piece.positions] = contents[id(piece.run)][piece.start : piece.start + piece.rows]
        order += out.tolist()
    return order


@pytest.mark.slow
def test_all_orders_are_equally_likely():
    trials = 2400
    counts = dict.fromkeys(itertools.permutations(range(4)), 0)
    for seed in range(trials):
        counts[tuple(order_of([3, 1], [1, 2, 1], seed))] += 1
    expected = trials / 24
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    # 23 degrees of freedom: above 58 once in ten thousand
    assert chi_square < 58


def pieces_cover(sizes, plan, runs):
    taken = [0] * len(runs)
    for rows, pieces in zip(sizes, plan, strict=True):
        filled = np.zeros(rows, dtype=int)
        for piece in pieces:
            filled[piece.positions] += 1
            number = next(i for i, run in enumerate(runs) if run is piece.run)
            assert piece.start == taken[number]
            taken[number] += piece.rows
        assert (filled == 1).all()
    assert taken == [run.rows for run in runs]


@pytest.mark.parametrize("sizes", [[10], [7, 1, 12], [5] * 9])
@pytest.mark.parametrize("per_shard", [1, 3, 8, 100])
def test_every_row_goes_to_one_place(sizes, per_shard):
    shards = shard_sizes(sum(sizes), per_shard)
    runs = runs_of(sizes)
    pieces_cover(shards, list(in_order(runs, shards)), runs)
    pieces_cover(shards, list(shuffled(runs, shards, 3)), runs)


def sharded(path, monkeypatch, **options):
    """4000 numbered rows through runs of 500 rows."""
    monkeypatch.setattr(collect, "SHARD_BYTES", 500 * 4 * 2)
    numbers = np.arange(4000.0)
    chunks = [(np.column_stack([part, -part]), part % 2) for part in np.array_split(numbers, 7)]
    data = write_dataset(chunks, path, scale="none", rows_per_shard=400, **options)
    return data, [data.train.reader(i)().features[:, 0].astype(int) for i in range(data.train.n_blocks)]


def test_rows_of_a_shard_come_from_everywhere(tmp_path, monkeypatch):
    _, shards = sharded(tmp_path / "d.zarr", monkeypatch)
    order = np.concatenate(shards)
    assert sorted(order) == list(range(4000))
    # correlations of independent orders have standard deviation 1 / sqrt(n) = 0.016
    assert abs(np.corrcoef(order, np.arange(4000))[0, 1]) < 0.064
    assert abs(np.corrcoef(order[1:], order[:-1])[0, 1]) < 0.064
    table = np.array([np.bincount(rows // 500, minlength=8) for rows in shards])
    chi_square = ((table - 50.0) ** 2 / 50.0).sum()
    # 9 x 7 = 63 degrees of freedom: both bounds are passed once in ten thousand
    assert 27 < chi_square < 113
    for rows in shards:
        assert abs(np.corrcoef(rows, np.arange(400))[0, 1]) < 0.2


def test_the_order_depends_on_the_seed_alone(tmp_path, monkeypatch):
    first, shards = sharded(tmp_path / "a.zarr", monkeypatch)
    again, _ = sharded(tmp_path / "b.zarr", monkeypatch)
    other, others = sharded(tmp_path / "c.zarr", monkeypatch, seed=1)
    assert again.fingerprint == first.fingerprint
    assert other.fingerprint != first.fingerprint
    assert np.mean(np.concatenate(shards) == np.concatenate(others)) < 0.01


def test_without_a_shuffle_rows_keep_their_order(tmp_path, monkeypatch):
    _, shards = sharded(tmp_path / "d.zarr", monkeypatch, shuffle=False)
    assert np.concatenate(shards).tolist() == list(range(4000))


@pytest.mark.parametrize("shuffle", [True, False])
def test_drawn_test_rows(tmp_path, monkeypatch, shuffle):
    data, shards = sharded(tmp_path / "d.zarr", monkeypatch, shuffle=shuffle, test_fraction=0.1234)
    test = np.concatenate([data.test.reader(i)().features[:, 0] for i in range(data.test.n_blocks)]).astype(
        int
    )
    assert len(test) == 494  # ceil(0.1234 * 4000)
    assert (np.diff(test) > 0).all()
    assert sorted([*test, *np.concatenate(shards)]) == list(range(4000))
    # drawn from everywhere: 10 tenths with 49.4 rows each, chi square of 9 degrees, less for the strata
    assert ((np.bincount(test // 400, minlength=10) - 49.4) ** 2 / 49.4).sum() < 34
    # and not every eighth row
    assert len(set(np.diff(test))) > 10


@pytest.mark.parametrize(
    ("share", "rows", "expected"), [(0.1, 30, 3), (0.2, 6, 2), (0.5, 3, 2), (0.07, 100, 7)]
)
def test_the_number_of_drawn_rows_is_exact(tmp_path, share, rows, expected):
    features = np.arange(2.0 * rows).reshape(rows, 2)
    data = write_dataset([(features, None)], tmp_path / "d.zarr", task="none", test_fraction=share)
    assert (data.n_rows, data.test.n_rows) == (rows - expected, expected)


def test_more_rows_than_can_be_shuffled_are_refused():
    with pytest.raises(InputError, match="--no-shuffle"):
        next(shuffled(runs_of([600_000_000, 600_000_000]), [1], 0))


def test_the_example_of_the_documentation():
    assert doctest.testmod(writer).attempted == 1
    assert doctest.testmod(writer).failed == 0


@pytest.mark.parametrize(
    ("rows", "columns", "shards"),
    [(581_012, 54, 8), (60_000, 784, 16), (1000, 10, 1), (1, 5, 1), (40_000, 64, 8), (20_000, 64, 4)],
)
def test_sizes_of_shards(rows, columns, shards):
    sizes = shard_sizes(rows, rows_of_a_shard(rows, columns))
    assert len(sizes) == shards
    assert sum(sizes) == rows
    assert max(sizes) * 4 * columns <= 16 * 2**20
    assert len(sizes) >= 8 or rows * columns * 4 < 8 * 2**20
    assert len(sizes) == 1 or min(sizes) >= 0.9 * max(sizes)
