"""What every kind of column must do: its words are found, counted in any order, encoded and stored."""

import numpy as np
import pandas
import pytest

from distkern.core.errors import InputError
from distkern.data.columns import COLUMNS
from distkern.data.columns._reading import Fitting, Reading
from distkern.data.columns._target_means import TargetSums
from distkern.data.dataset import open_dataset
from distkern.data.file_rows import FileRows
from distkern.data.ingest import check, shard
from distkern.data.scaling import Like, ScalingFit
from distkern.runs.writing import write_dataset
from file_rows import rows_of

N_ROWS = 60
SHARE_MISSING = 0.2
#: given by the user, where no words show them
SAID = {"text": ["c"]}


@pytest.fixture(params=list(COLUMNS))
def kind(request):
    return COLUMNS[request.param]


def words_of(kind, n_rows=N_ROWS, *, missing=SHARE_MISSING, seed=0):
    """Texts of the kind, of which some are missing, and each of which occurs."""
    generator = np.random.default_rng(seed)
    words = np.resize(np.array(kind.examples, dtype=object), n_rows)
    words[generator.random(n_rows) < missing] = None
    words[: len(kind.examples)] = kind.examples
    return generator.permutation(words)


def table(kind, **how):
    words = words_of(kind, **how)
    return pandas.DataFrame({"c": words, "y": np.arange(len(words)) % 2})


def said(kind):
    return SAID if kind.rank is None else {}


def sharded(kind, folder, *, missing=SHARE_MISSING, **options):
    table(kind, missing=missing).to_csv(folder / "a.csv", index=False)
    options = {"scale": "none", "shuffle": False, "sparse": False, **said(kind), **options}
    return shard(folder / "a.csv", folder / "a.zarr", overwrite=True, **options)


def parsed(kind, words):
    """Numbers of words, and how they were read."""
    reading = Reading("c")
    found = kind.parse([None if word is None else str(word) for word in words], reading)
    assert not len(found.wrong)
    return found.values, reading


def fitted(kind, values, reading, parts):
    """The column and the facts of rows that come in parts, and the parts in this order."""
    facts = kind.facts()
    for part in parts:
        own = kind.facts()
        own.add(values[part])
        facts.merge(own)
    return kind.fit(facts, Fitting(reading, len(values), flags=True, outputs=("y",))), facts


def test_the_kinds_are_there():
    assert {"number", "boolean", "date", "time", "category", "text"} <= set(COLUMNS)


def test_the_words_of_a_kind_show_it(kind, tmp_path):
    data = sharded(kind, tmp_path)
    (column,) = data.table.columns
    assert type(column) is kind
    assert column.has_missing or not column.recurs
    assert data.feature_names == column.features
    # so do frames of texts, and the table is the same to the bit
    frame = table(kind)
    options = {"scale": "none", "shuffle": False, "sparse": False, **said(kind)}
    other = write_dataset(frame[["c"]], frame["y"], tmp_path / "b.zarr", **options)
    assert other.table.columns == data.table.columns
    np.testing.assert_array_equal(rows_of(other.train), rows_of(data.train))


def test_a_word_of_another_kind_is_refused_by_its_place(kind, tmp_path):
    if not kind.parse(["no such value"], Reading("c")).wrong:
        pytest.skip("any text is of this kind")
    data, frame = sharded(kind, tmp_path), table(kind)
    frame.loc[41, "c"] = "no such value"
    frame.to_csv(tmp_path / "b.csv", index=False)
    like = Like(data.n_features, data.table.names, "y", data.scaling, data.table)
    message = rf"b\.csv, row 42 \(line 43\), column 'c': 'no such value' is not .*{kind.noun}.*; correct it"
    with pytest.raises(InputError, match=message):
        list(FileRows([tmp_path / "b.csv"], like))


def test_facts_are_merged_in_any_order_to_the_same_bits(kind):
    values, reading = parsed(kind, words_of(kind, missing=0.0))
    values = values * (np.pi if kind.kind == "number" else 1.0)
    nothing = np.zeros(0), np.zeros(0)
    found = []
    for seed, n_parts in ((0, 1), (1, 7), (2, 30)):
        order = np.random.default_rng(seed).permutation(len(values))
        column, facts = fitted(kind, values, reading, np.array_split(order, n_parts))
        found.append((column, *(ends.tolist() for ends in column.ranges(facts, nothing)), facts.distinct))
    assert found[0] == found[1] == found[2]


def test_ranges_are_those_of_the_encoded_rows(kind, tmp_path):
    for impute in ("mean", "flag"):
        plain = sharded(kind, tmp_path, impute=impute)
        fit = ScalingFit("minmax")
        fit.update(rows_of(plain.train))
        scaled = sharded(kind, tmp_path, impute=impute, scale="minmax")
        expected = fit.result(plain.n_features)
        # one is of the numbers before they were rounded to single precision
        np.testing.assert_allclose(scaled.scaling.shift, expected.shift, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(scaled.scaling.factor, expected.factor, rtol=1e-5)
        stored = rows_of(scaled.train)
        assert (stored.min(), stored.max()) == (0.0, 1.0)


def test_missing_values_become_finite_features(kind, tmp_path):
    (column,) = sharded(kind, tmp_path).table.columns
    values = np.full((3, column.width), np.nan if column.width == 1 else 0.0)
    out = np.zeros((3, len(column.features)))
    column.encode(values[:, 0] if column.width == 1 else values, out)
    assert np.isfinite(out).all()


def test_a_stored_column_encodes_later_files_to_the_same_bits(kind, tmp_path):
    data = sharded(kind, tmp_path)
    again = open_dataset(tmp_path / "a.zarr").table
    assert again == data.table
    like = Like(data.n_features, again.names, "y", data.scaling, again)
    found = FileRows([tmp_path / "a.csv"], like)
    np.testing.assert_array_equal(
        np.concatenate([np.asarray(one.features) for one in found]), rows_of(data.train)
    )
    assert not found.unseen


def test_what_a_column_is_is_said(kind, tmp_path):
    table(kind).to_csv(tmp_path / "a.csv", index=False)
    reports = []
    check(tmp_path / "a.csv", report=reports.extend, **said(kind))
    (report,) = reports
    assert report.kind.startswith(kind.plural)
    assert report.missing == table(kind)["c"].isna().sum()
    (column,) = sharded(kind, tmp_path).table.columns
    assert report.becomes == column.becomes
    assert report.distinct in (None, len(kind.examples))


def test_the_grid_of_a_column_has_values_of_its_rows(kind, tmp_path):
    data = sharded(kind, tmp_path, missing=0.0)
    (column,) = data.table.columns
    features = rows_of(data.train).astype(np.float64)
    values = column.grid(features, 10)
    assert len(values) <= 10
    encoded = np.zeros((len(values), len(column.features)))
    if len(values):
        column.encode(values, encoded)
        distances = np.abs(encoded[:, None] - features).max(axis=2)
        assert distances.min(axis=1).max() < 1e-4
        assert all(isinstance(column.shown(value, 6), str | float) for value in values)


@pytest.mark.parametrize("weighted", [False, True])
def test_target_sums_are_merged_in_any_order_to_the_same_bits(weighted):
    generator = np.random.default_rng(0)
    n = 500
    codes, folds = generator.integers(0, 20, n), generator.integers(0, 5, n)
    targets = generator.normal(1e6, 1.0, (n, 2))
    weights = generator.uniform(0.1, 3.0, n) if weighted else None
    span, heaviest = (targets.min(axis=0), targets.max(axis=0)), 3.0 if weighted else 1.0
    found = []
    for seed, n_parts in ((0, 1), (1, 9)):
        order, whole = np.random.default_rng(seed).permutation(n), TargetSums(20, span, heaviest)
        for part in np.array_split(order, n_parts):
            sums = TargetSums(20, span, heaviest)
            sums.add(codes[part], targets[part], folds[part], None if weights is None else weights[part])
            whole.merge(sums)
        found.append((whole.means()[0], whole.of_others(codes, folds), *whole.ranges()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
