"""Tables as people type them: what is written is what was meant, and it is read as that."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from distkern.data.ingest import shard
from workflows.records import Records
from workflows.tables import messy
from workflows.tables.typed import LABEL, STYLES, cleaned, customers, typed, write


@pytest.mark.parametrize("style", STYLES)
def test_every_way_of_writing_is_read(tmp_path, style):
    made = write(tmp_path / "a.csv", 2000, 0, STYLES[style])
    data = shard(tmp_path / "a.csv", tmp_path / "a.zarr", target=LABEL, scale="none", shuffle=False)
    assert data.table is not None
    rows = np.concatenate([np.asarray(data.train.reader(at)().features) for at in range(data.train.n_blocks)])
    for column in data.table.columns:
        if column.encoding == "number" and column.kind != "boolean":
            meant = made.frame[column.name].fillna(made.frame[column.name].round(3).mean())
            found = rows[:, data.table.features.index(column.name)]
            np.testing.assert_allclose(found, meant, rtol=1e-5, err_msg=column.name)
    assert {"customer", "comment"} <= {*data.table.ignored}
    assert {"customer", "comment"}.isdisjoint(data.table.names)
    days = rows[:, data.table.features.index("signup days")]
    meant = made.frame["signup"].astype("datetime64[s]").astype(np.int64) / 86_400
    there = made.frame["signup"].notna().to_numpy()
    np.testing.assert_allclose(days[there], meant[there])


@pytest.mark.slow
def test_typed_tables_depend_on_their_seed_alone_and_are_as_hard_as_they_say():
    one, again, other = customers(3000), customers(3000), customers(3000, 1)
    assert one.frame.equals(again.frame)
    assert not set(one.frame["customer"]) & set(other.frame["customer"])
    european = STYLES["european"]
    assert typed(one.frame, european).equals(typed(again.frame, european))
    many = customers(40_000)
    assert many.label.mean() == pytest.approx(0.02, abs=0.004)
    assert roc_auc_score(many.label, many.chances) > 0.8
    assert not {"account", "comment", "customer"} & {*cleaned(one.frame, one.frame)}


def test_ways_that_are_near_enough_are_told(tmp_path):
    records = Records(tmp_path)
    for key, area in (
        ("american/pandas", 0.79),
        ("european/Dask", 0.7),
        ("LightGBM on cleaned columns", 0.8),
    ):
        records.put(key, {"asked": {}, "AUC": area, "log loss": 0.1})
    records.put("american/Dask", {"asked": {}, "failed": "InputError: no"})
    assert {row[0]: row[3] for row in messy.table(records).rows} == {
        "american, pandas": "yes",
        "european, Dask": "**no**",
        "LightGBM on cleaned columns": "",
    }


@pytest.mark.slow
def test_the_command_takes_every_way(tmp_path, command):
    pytest.importorskip("lightgbm")
    said = command("tables.messy", "--out", str(tmp_path / "out"), "--rows", "3000", "--limit", "300")
    assert "8/8" in said
    text = (tmp_path / "out" / "report" / "report.md").read_text()
    assert "InputError" not in text
    for style in STYLES:
        for way in ("commands", "pandas", "Dask"):
            assert f"| {style}, {way} | 0." in text
