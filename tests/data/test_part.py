"""Parts of a split: which rows they have, and that all ways to read them agree."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.core.held_out import Sides, row_keys
from distkern.core.sparse import SparseRows
from distkern.data.dataset import open_dataset
from distkern.data.ingest import write_dataset
from parts import parts_of, source_rows
from small import slow_but

N_ROWS = 2000


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(N_ROWS, 6)).astype(np.float32)
    features[:, 3:] *= generator.random((N_ROWS, 3)) < 0.2
    # classes of 1400, 560 and 40 rows, the rare one in the first half only
    labels = np.repeat([0, 1], [1400, 600])
    generator.shuffle(labels)
    labels[np.flatnonzero(labels == 1)[:40]] = 2
    return features, labels


@pytest.fixture(scope="module")
def data(rows, tmp_path_factory):
    features, labels = rows
    path = tmp_path_factory.mktemp("part") / "d.zarr"
    return write_dataset([(features, labels)], path, scale="none", rows_per_shard=300, columns=True)


@pytest.fixture(params=[True, False], ids=["few", "many"])
def few(request, monkeypatch):
    """Whether the rows are few enough to be put in order before they are held out."""
    if not request.param:
        monkeypatch.setattr("distkern.data.part.FEW_ROWS", 0)
    return bool(request.param)


@pytest.mark.parametrize("validation", slow_but([0.2, 0.37, 5], 0.37, 5))
def test_every_row_is_in_one_part_and_every_class_in_its_share(data, rows, validation, few):
    folds = parts_of(data.train, validation, seed=3)
    assert len(folds) == (5 if validation == 5 else 1)
    share = 0.2 if validation == 5 else validation
    held_out = []
    for learned, out in folds:
        both = np.concatenate([source_rows(learned), source_rows(out)])
        np.testing.assert_array_equal(np.sort(both), np.arange(N_ROWS))
        held_out.append(source_rows(out))
        for part in (learned, out):
            counts = np.bincount(rows[1][source_rows(part)], minlength=3)
            np.testing.assert_array_equal(part.class_counts, counts)
        chance = np.sqrt(share * (1 - share) * data.train.class_counts)
        assert (np.abs(out.class_counts - share * data.train.class_counts) < (1 if few else 4 * chance)).all()
    if validation == 5:
        np.testing.assert_array_equal(np.sort(np.concatenate(held_out)), np.arange(N_ROWS))


@pytest.mark.parametrize(
    ("validation", "is_sparse"), [(0.2, True), pytest.param(4, False, marks=pytest.mark.slow)]
)
def test_equal_rows_lie_on_one_side_whatever_their_labels(rows, tmp_path, validation, is_sparse, few):
    # copies of each row lie far apart, with other labels; a third of the rows are one and the same
    features = np.concatenate([rows[0], rows[0][::-1], np.repeat(rows[0][:1], N_ROWS, axis=0)])[::2]
    labels = np.arange(len(features)) % 3
    given = sparse.csr_matrix(features) if is_sparse else features
    made = write_dataset(
        [(given, labels)], tmp_path / "d.zarr", scale="none", rows_per_shard=170, sparse=is_sparse
    )
    for share in (1.0, 0.3):
        for learned, out in parts_of(made.train, validation, 2, share):
            own, others = (features[source_rows(part)] for part in (learned, out))
            assert not {row.tobytes() for row in own} & {row.tobytes() for row in others}
            assert len(own) == learned.n_rows
            np.testing.assert_array_equal(learned.class_counts, np.bincount(labels[source_rows(learned)]))


def test_a_row_lies_on_the_same_side_dense_or_sparse_in_any_precision(rows):
    sides, wide = Sides((0.3, 0.6), 1), np.pad(rows[0], ((0, 0), (0, 200)))
    found = sides.of(row_keys(wide))
    assert set(np.unique(found)) == {0, 1, 2}
    for same in (wide.astype(np.float64), SparseRows.of_dense(wide), wide * np.float32(-1) * -1):
        np.testing.assert_array_equal(sides.of(row_keys(same)), found)
    np.testing.assert_array_equal(sides.of(row_keys(wide[::-1][:100])), found[::-1][:100])


def test_rows_are_drawn_by_the_seed(data, few):
    first, again, other = (source_rows(parts_of(data.train, 0.2, seed)[0][1]) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    # a fifth of a fifth is held out by both, were they independent
    assert 40 < len(np.intersect1d(first, other)) < 130


def test_a_share_is_the_first_rows_of_a_larger_one(data):
    whole, small, smaller = (parts_of(data.train, 0.2, 0, share)[0] for share in (1.0, 1 / 3, 1 / 9))
    assert set(source_rows(smaller[0])) < set(source_rows(small[0])) < set(source_rows(whole[0]))
    for (learned, out), share in ((small, 1 / 3), (smaller, 1 / 9)):
        assert np.abs(learned.class_counts - share * whole[0].class_counts).max() < 1
        assert source_rows(out).tolist() == source_rows(whole[1]).tolist()
    # the other shards are never read
    assert smaller[0].n_blocks < small[0].n_blocks < whole[0].n_blocks == data.train.n_blocks


def test_of_rows_that_were_not_shuffled_a_share_comes_from_all_shards(rows, tmp_path):
    plain = write_dataset([rows], tmp_path / "d.zarr", scale="none", rows_per_shard=300, shuffle=False)
    learned, _ = parts_of(plain.train, 0.2, 0, 0.25)[0]
    assert learned.n_blocks == plain.train.n_blocks
    assert len(source_rows(learned)) == learned.n_rows == sum(learned.block_rows)
    np.testing.assert_array_equal(learned.class_counts, [280, 112, 8])


def test_blocks_labels_and_positions_are_those_rows(data, rows):
    features, labels = rows
    for part in parts_of(data.train, 0.25, 5)[0]:
        numbers = source_rows(part)
        blocks = [pickle.loads(pickle.dumps(part.reader(block)))() for block in range(part.n_blocks)]
        assert [block.n_rows for block in blocks] == list(part.block_rows)
        assert [block.index for block in blocks] == list(range(part.n_blocks))
        np.testing.assert_array_equal(np.concatenate([block.features for block in blocks]), features[numbers])
        np.testing.assert_array_equal(part.labels, labels[numbers])
        np.testing.assert_array_equal(part[[-1, 7, 400]], features[numbers[[-1, 7, 400]]])


@pytest.mark.parametrize(
    ("share", "is_sparse"),
    [
        (0.4, True),
        *(pytest.param(*both, marks=pytest.mark.slow) for both in ((1.0, False), (0.4, False), (1.0, True))),
    ],
)
def test_groups_read_single_rows_and_columns(rows, tmp_path, is_sparse, share, few):
    features, labels = rows
    given = sparse.csr_matrix(features) if is_sparse else features
    made = write_dataset(
        [(given, labels)],
        tmp_path / "d.zarr",
        scale="none",
        rows_per_shard=140,
        columns=True,
        sparse=is_sparse,
    )
    part, _ = parts_of(made.train, 0.3, 1, share)[0]
    assert part.has_columns
    start = 0
    for number, blocks in enumerate(part.groups):
        group = part.group(number)()
        own = source_rows(part)[start : start + group.n_rows]
        start += sum(part.block_rows[block] for block in blocks)
        np.testing.assert_array_equal(group.targets, labels[own])
        wanted = np.array([group.n_rows - 1, 0, group.n_rows // 2, 0])
        np.testing.assert_array_equal(dense(group.rows(wanted)), features[own[wanted]])
        np.testing.assert_array_equal(dense(group.columns(np.array([4, 1]))), features[own][:, [4, 1]].T)
        np.testing.assert_array_equal(
            dense(group.block(0).features), features[own][: part.block_rows[blocks[0]]]
        )
    assert start == part.n_rows


def dense(found):
    return found.to_scipy().toarray() if isinstance(found, SparseRows) else np.asarray(found)


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_weights_of_a_part_are_added_up(tmp_path, share):
    generator = np.random.default_rng(1)
    file = tmp_path / "rows.csv"
    weights = generator.integers(1, 9, size=500) / 4
    labels = generator.integers(0, 2, size=500)
    columns = [generator.normal(size=500), weights, labels]
    np.savetxt(file, np.stack(columns, axis=1), delimiter=",", header="a,w,y", comments="")
    out = tmp_path / "d.zarr"
    assert main(["shard", str(file), "--out", str(out), "--weight", "w", "--target", "y"]) == 0
    part, _ = parts_of(open_dataset(out).train, 0.4, 0, share)[0]
    own = source_rows(part)
    for code in (0, 1):
        mine = weights[own][labels[own] == code]
        np.testing.assert_allclose(part.weight_totals[code], mine.sum())
        assert part.largest_weights[code] == mine.max()


def test_real_targets_have_no_classes(tmp_path):
    features = np.arange(1000.0).reshape(500, 2)
    made = write_dataset([(features, features[:, 0])], tmp_path / "d.zarr", task="regression", scale="none")
    learned, out = parts_of(made.train, 4, 0)[3]
    assert (learned.n_rows, out.n_rows, learned.class_counts) == (375, 125, None)
    np.testing.assert_array_equal(out.labels, features[source_rows(out), 0])


def test_a_share_without_a_row_is_refused(data):
    with pytest.raises(InputError, match="rows is held out; hold out another share"):
        parts_of(data.train, 1e-4, 0)
