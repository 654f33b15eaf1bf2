"""Groups of rows in data sets: stored, kept whole by splits, and no features."""

import numpy as np
import pandas as pd
import pytest

from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.core.targets import keys_of_groups
from distkern.data import collect
from distkern.data.ingest import shard
from distkern.data.manifest import read_manifest
from parts import parts_of, source_rows

N_GROUPS, N_ROWS = 25, 500


@pytest.fixture(scope="module")
def frame():
    generator = np.random.default_rng(0)
    customer = generator.integers(0, N_GROUPS, N_ROWS)
    return pd.DataFrame(
        {
            "customer": [f"no {number}" for number in customer],
            "a": generator.normal(size=N_ROWS),
            "city": [f"city {number}" for number in customer * 40 + generator.integers(0, 40, N_ROWS)],
            "y": np.where(customer % 2, "yes", "no"),
        }
    )


def made(folder, frame, ending="csv", **how):
    file = folder / f"rows.{ending}"
    frame.to_csv(file, index=False) if ending == "csv" else frame.to_parquet(file, index=False)
    how = {"group": "customer", "rows_per_shard": 90, "drop": ["city"], **how}
    return shard(file, folder / f"{ending}.zarr", overwrite=True, **how)


def keys_of(split):
    keys = [split.reader(number)().group_keys for number in range(split.n_blocks)]
    return np.concatenate([own for own in keys if own is not None])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_group_of_each_row_is_stored_and_is_no_feature(tmp_path, frame, ending):
    data = made(tmp_path, frame, ending)
    assert data.feature_names == ("a",)
    assert data.group_name == "customer"
    assert data.train.has_groups
    assert "in groups of 'customer'" in repr(data.train)
    expected = keys_of_groups(frame["customer"], N_ROWS)
    np.testing.assert_array_equal(keys_of(data.train), expected[source_rows(data.train)])
    assert data.train.row_bytes == 4 + 16 + 8
    assert (data.path / "train" / "group_keys" / "c" / "0").stat().st_size == 8 * 90 + 4
    manifest, _ = read_manifest(data.path)
    assert '"encoding-version": 5' in manifest.to_text()


def test_inspect_and_shard_report_the_column(tmp_path, frame, capsys):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    given = [str(tmp_path / "rows.csv"), "--out", str(tmp_path / "d.zarr"), "--group", "customer", "--json"]
    assert main(["shard", *given]) == 0
    assert '"group": "customer"' in capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "d.zarr")]) == 0
    assert "rows with the same 'customer' are held out together" in " ".join(capsys.readouterr().out.split())
    assert main(["inspect", str(tmp_path / "d.zarr"), "--json"]) == 0
    assert '"group_name": "customer"' in capsys.readouterr().out


@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("case", ["one run", "several runs", "more groups than are kept in mind"])
def test_a_drawn_test_split_has_whole_groups_in_their_share(tmp_path, frame, monkeypatch, share, case):
    if case != "one run":
        monkeypatch.setattr(collect, "SHARD_BYTES", 4 * 60)
    if case.startswith("more"):
        monkeypatch.setattr(collect, "_MOST_GROUPS", 3)
    data = made(tmp_path, frame, test_fraction=share)
    train, test = (set(frame["customer"].iloc[source_rows(split)]) for split in (data.train, data.test))
    assert not train & test
    assert len(train | test) == N_GROUPS
    if not case.startswith("more"):
        assert len(test) == np.ceil(share * N_GROUPS)
    assert not data.test.has_groups
    again = made(tmp_path, frame, test_fraction=share)
    assert again.fingerprint == data.fingerprint


def test_test_files_need_no_groups(tmp_path, frame):
    frame.drop(columns="customer").head(40).to_csv(tmp_path / "test.csv", index=False)
    data = made(tmp_path, frame, test=tmp_path / "test.csv")
    assert (data.test.n_rows, data.train.n_rows) == (40, N_ROWS)


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("validation", [0.2, 5])
def test_parts_of_a_split_have_whole_groups(tmp_path, frame, monkeypatch, validation, few):
    monkeypatch.setattr("distkern.data.part.FEW_ROWS", 100 if few else 0)
    data = made(tmp_path, frame)
    for learned, out in parts_of(data.train, validation, seed=0):
        groups = [set(frame["customer"].iloc[source_rows(part)]) for part in (learned, out)]
        assert not groups[0] & groups[1]
        assert len(groups[0] | groups[1]) == N_GROUPS
        np.testing.assert_array_equal(
            np.concatenate([learned.reader(number).group_keys() for number in range(learned.n_blocks)]),
            keys_of(learned),
        )
        if few:
            assert abs(out.n_rows / N_ROWS - 0.2) < 0.06


def test_more_folds_than_groups_are_refused(tmp_path, frame):
    data = made(tmp_path, frame[frame["customer"].isin(["no 1", "no 2", "no 3"])])
    assert len(parts_of(data.train, 3, 0)) == 3
    with pytest.raises(InputError, match="column 'customer': 4 folds, but the rows have 3 groups; give"):
        parts_of(data.train, 4, 0)


def test_target_means_are_those_of_other_groups(tmp_path, frame):
    # a city is of one customer, so that no row of another group shares its target
    apart = made(tmp_path, frame, drop=(), categorical={"city": "target"})
    prior = apart.train[:][:, 1]
    assert len(np.unique(np.round(prior, 6))) <= 5
    alone = made(tmp_path, frame, drop=["customer"], group=None, categorical={"city": "target"})
    assert len(np.unique(np.round(alone.train[:][:, 1], 6))) > 5


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("missing", [None, "NA", " "])
def test_a_row_without_a_group_is_refused_by_its_place(tmp_path, frame, ending, missing):
    changed = frame.copy()
    changed.loc[7, "customer"] = missing
    with pytest.raises(InputError, match=r"row 8 \(.*, column 'customer': the group is missing.*; fill the"):
        made(tmp_path, changed, ending)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_name_of_a_group_may_be_a_word_for_nothing(tmp_path, frame, ending):
    changed = frame.copy()
    changed.loc[7, "customer"] = "NA"
    with pytest.raises(InputError, match=r"the group is missing \('NA'\); .*give --keep-na and the column"):
        made(tmp_path, changed, ending)
    assert made(tmp_path, changed, ending, keep_na=["customer"]).train.n_rows == N_ROWS


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"group": "customers"}, "no column 'customers' \\(--group\\); did you mean 'customer'?"),
        ({"group": "y"}, "column 'y' cannot be both target and group; give --target COLUMN"),
        ({"group": "a", "weight": "a"}, "column 'a' cannot be both weight and group"),
    ],
)
def test_columns_that_are_no_groups_are_refused(tmp_path, frame, how, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        made(tmp_path, frame, **how)


def test_one_group_is_refused(tmp_path, frame):
    same = frame.assign(customer="only")
    with pytest.raises(InputError, match="column 'customer': all training rows are in one group"):
        made(tmp_path, same)
    with pytest.raises(InputError, match=r"none is left for training .rows of one 'customer' go together"):
        made(tmp_path, same, test_fraction=0.2)


def test_files_without_columns_have_no_groups(tmp_path):
    np.savez(tmp_path / "rows.npz", X=np.eye(3), y=np.arange(3))
    with pytest.raises(InputError, match="--group does not apply to npz files"):
        shard(tmp_path / "rows.npz", tmp_path / "d.zarr", group="g")
