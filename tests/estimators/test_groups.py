"""Groups of rows: what is chosen by held-out rows is chosen by those of other groups."""

import pickle

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import log_loss

import distkern as dk
from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.core.targets import keys_of_groups
from distkern.core.types import Block
from distkern.estimators.sample import FoldedSample, neighbourhoods
from distkern.maths.maps.mapping import MapChoice, RowMap
from distkern.runs.data import from_arrays
from distkern.runs.sources import ArraySource
from distkern.solvers._simba.messages import HoldOut

N_GROUPS, N_EACH = 100, 10


@pytest.fixture(scope="module")
def noise():
    """Rows that tell their group, and labels that are those of the groups, which are drawn at random."""
    generator = np.random.default_rng(0)
    groups = generator.permutation(np.repeat(np.arange(N_GROUPS), N_EACH))
    places, labels = generator.normal(size=(N_GROUPS, 2)), np.arange(N_GROUPS) % 2
    X = places[groups] + 0.003 * generator.normal(size=(len(groups), 2))
    return X, labels[groups], groups


def held_out_figure(model):
    """The log loss or the share of the variance that held-out rows are told to lose."""
    told = [note for note in model.history_[0]["notes"] if "of the search on held-out rows: " in note]
    return float(told[0].partition(": ")[2].split()[0])


@pytest.mark.slow
def test_groups_that_rows_tell_leak_without_them_and_not_with_them(noise):
    X, y, groups = noise
    generator = np.random.default_rng(1)
    others, labels = generator.normal(size=(500, 2)), generator.integers(0, 2, 500)
    told, lost = {}, {}
    for name, given in (("rows", None), ("groups", groups)):
        model = dk.CellClassifier(search="quick", random_state=0).fit(X, y, groups=given)
        told[name], lost[name] = held_out_figure(model), log_loss(labels, model.predict_proba(others))
    assert told["rows"] < 0.1
    # chance is log 2, less what the best of many machines is better by on a few groups
    assert 0.5 < told["groups"] < 0.8
    # nor are probabilities of rows of other groups surer than they can be
    assert lost["rows"] > 0.95
    assert lost["groups"] < 0.85


@pytest.mark.slow
def test_real_targets_of_groups_leak_without_them_and_not_with_them(noise):
    X, _, groups = noise
    y = np.random.default_rng(1).normal(size=N_GROUPS)[groups]
    found = [
        held_out_figure(dk.CellRegressor(search="quick", random_state=0).fit(X, y, groups=given))
        for given in (None, groups)
    ]
    # percent of the variance
    assert found[0] < 2
    assert found[1] > 50


def test_the_sample_that_auto_chooses_by_has_whole_groups_in_its_folds(noise):
    X, y, groups = noise
    data = from_arrays(X, y, None, group_keys=keys_of_groups(groups, len(X)))
    sample = FoldedSample.of(data.source, data.classes, 0, data.class_totals / data.class_totals.sum())
    for learned, held_out in sample.parts():
        assert not set(sample.rows.group_keys[learned]) & set(sample.rows.group_keys[held_out])
    assert data.problem(1, False, 0).has_groups


def test_the_sample_holds_equal_rows_out_one_by_one_if_they_are_independent():
    generator = np.random.default_rng(0)
    X = np.repeat(generator.normal(size=(400, 2)), 5, axis=0)

    def sampled(y, **how):
        data = from_arrays(X, y, None, "regression")
        sample = FoldedSample.of(data.source, None, 0, **how)
        return sample, {tuple(np.unique(sample.folds[rows])) for rows in np.arange(2000).reshape(400, 5)}

    sample, folds = sampled(generator.normal(size=2000))
    assert sample.apart
    assert sample.rows.group_keys is None
    assert max(map(len, folds)) > 2
    # near an anchor, no row of the training rows is held out, and copies of a row are on both sides
    mapping = RowMap.fit(MapChoice("none"), X, X)
    near = neighbourhoods(ArraySource(X, sample.rows.targets, None), sample, mapping, 500, 0, 3)
    # the targets are all different
    learned = sample.rows.targets[next(sample.parts())[0]]
    shared = 0
    for train, held_out in near:
        assert not set(held_out.targets) & {*train.targets, *learned}
        shared += len(set(map(tuple, held_out.features)) & set(map(tuple, train.features)))
    assert shared
    for other, how in (
        (np.repeat(generator.normal(size=400), 5), {}),
        (sample.rows.targets, {"together": True}),
    ):
        sample, folds = sampled(other, **how)
        assert not sample.apart
        assert set(map(len, folds)) == {1}


def test_rows_held_out_near_anchors_have_the_class_shares_there():
    generator = np.random.default_rng(0)
    # the sample takes more rows of the rare class, so that hardly any are new to it
    X, y = generator.normal(size=(14_000, 2)), (generator.random(14_000) < 0.2).astype(int)
    data = from_arrays(X, y, None)
    shares = data.class_totals / data.class_totals.sum()
    sample = FoldedSample.of(data.source, data.classes, 0, shares)
    mapping = RowMap.fit(MapChoice("none"), X, X)
    for train, held_out in neighbourhoods(data.source, sample, mapping, 6000, 0, 3):
        assert held_out.n_rows > 600
        n_rare = train.targets.sum() + held_out.targets.sum()
        share = n_rare / (train.n_rows + held_out.n_rows)
        assert np.average(held_out.targets, weights=held_out.weights) == pytest.approx(share, rel=0.05)
        assert train.targets.mean() == pytest.approx(share, rel=0.05)


def test_equal_rows_of_other_groups_are_not_merged():
    X, y = np.zeros((6, 1)), np.array([0, 0, 0, 1, 1, 1])
    keys = keys_of_groups([0, 0, 1, 0, 1, 1], 6)
    block = from_arrays(X, y, None, group_keys=keys).source.reader(0)()
    assert sorted(zip(block.targets, block.group_keys, block.weights, strict=True)) == sorted(
        [(0, keys[0], 2.0), (0, keys[2], 1.0), (1, keys[0], 1.0), (1, keys[2], 2.0)]
    )
    left = from_arrays(X, y, np.array([0.0, 0, 1, 1, 1, 1]), group_keys=keys).source.reader(0)()
    assert (left.targets == 0).sum() == 1


def test_rows_that_simba_stops_by_are_whole_groups(noise):
    X, _, groups = noise
    block = Block(X, group_keys=keys_of_groups(groups, len(X)))
    mask = HoldOut(0.3, 0).mask(block)
    assert 0 < mask.sum() < len(X)
    assert not set(groups[mask]) & set(groups[~mask])
    by_content = HoldOut(0.3, 0).mask(Block(X))
    assert set(groups[by_content]) & set(groups[~by_content])


def test_frames_and_dask_arrays_carry_groups(noise):
    X, y, groups = noise
    city = [f"city {number}" for number in groups * 2]
    frame = pd.DataFrame({"a": X[:, 0], "city": pd.Series(city, dtype="category")})
    model = dk.NewtonClassifier(random_state=0, nu=1e-3, gamma=1.0).fit(frame, y, groups=groups)
    # target means of other groups know nothing of a city of one
    assert model.score(frame, y) < 0.95
    assert dk.NewtonClassifier(random_state=0, nu=1e-3, gamma=1.0).fit(frame, y).score(frame, y) > 0.95
    lazy = da.from_array(X, chunks=(200, 2)), da.from_array(y, chunks=200)
    for given in (da.from_array(groups, chunks=150), groups):
        dk.SIMBAClassifier(random_state=0, max_rounds=50).fit(*lazy, groups=given)
    with pytest.raises(InputError, match="groups: all rows are in one group"):
        dk.NewtonClassifier(random_state=0).fit(*lazy, groups=np.zeros(len(X)))


def test_groups_that_cannot_be_are_refused(noise, tmp_path):
    X, y, groups = noise
    with pytest.raises(InputError, match="groups: all rows are in one group"):
        dk.NewtonClassifier().fit(X, y, groups=np.zeros(len(X)))
    with pytest.raises(InputError, match="the group is missing"):
        dk.NewtonClassifier().fit(X, y, groups=np.where(groups == 3, np.nan, groups))
    with pytest.raises(InputError, match="has its own labels, weights and groups"):
        dk.NewtonClassifier().fit(dk.write_dataset(X, y, tmp_path / "d.zarr").train, groups=groups)


@pytest.fixture(scope="module")
def table(noise, tmp_path_factory):
    X, y, groups = noise
    file = tmp_path_factory.mktemp("groups") / "rows.csv"
    pd.DataFrame({"customer": groups, "a": X[:, 0], "b": X[:, 1], "y": y}).to_csv(file, index=False)
    return file


def test_the_column_is_no_feature_of_later_files(table, tmp_path, capsys):
    given = ["--target", "y", "--group", "customer", "--out", str(tmp_path / "d.zarr")]
    assert main(["shard", str(table), *given]) == 0
    trained = ["--data", str(tmp_path / "d.zarr"), "--out", str(tmp_path / "m"), "--algorithm", "newton"]
    assert main(["train", *trained, "--set", "nu=0.001", "--set", "gamma=1", "--no-dashboard"]) == 0
    assert main(["predict", str(tmp_path / "m"), str(table), "--out", str(tmp_path / "p.csv")]) == 0
    capsys.readouterr()
    assert len((tmp_path / "p.csv").read_text().splitlines()) == N_GROUPS * N_EACH + 1


@pytest.fixture(params=["dense", "sparse"])
def source(request, monkeypatch):
    generator = np.random.default_rng(0)
    features = np.where(generator.random((9000, 40)) < 0.2, generator.normal(size=(9000, 40)), 0)
    codes = generator.integers(0, 2, 9000).astype(np.int32)
    rows = SparseRows.of_dense(features) if request.param == "sparse" else features
    # small blocks, so that there are several groups
    monkeypatch.setattr("distkern.runs.sources._BLOCK_BYTES", 1)
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
