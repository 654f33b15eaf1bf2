"""Dates as features, and dates that are refused."""

from datetime import datetime

import numpy as np
import pandas
import pyarrow as pa
import pytest
from pyarrow import parquet

from distkern.core.errors import InputError
from distkern.data.dataset import open_dataset
from distkern.data.ingest import shard
from distkern.data.scaling import Like
from distkern.runs.writing import write_dataset
from file_rows import feature, made, written


def test_dates(tmp_path):
    text = "at,day,y\n1970-01-02 06:00:00,2020-03-01,0\n1969-12-31T18:00:00,,1\n,2021/03/01,0\n"
    data = made(tmp_path, written(tmp_path, text))
    waves = [f"{wave} of {span}" for span in ("year", "week", "day") for wave in ("sin", "cos")]
    expected = ["at days", *(f"at {wave}" for wave in waves), "day days"]
    assert list(data.feature_names or ()) == expected + [f"day {wave}" for wave in waves[:4]]
    np.testing.assert_allclose(feature(data, "at days"), [1.25, -0.25, 0.5])
    # a quarter and three quarters of the day; nowhere on the circle
    np.testing.assert_allclose(feature(data, "at sin of day"), [1, -1, 0], atol=1e-6)
    # Friday 06:00 is 4.25 days after Monday
    np.testing.assert_allclose(feature(data, "at sin of week")[0], np.sin(2 * np.pi * 4.25 / 7), rtol=1e-6)
    march = np.sin(2 * np.pi * 59.5 / 365.2425)
    np.testing.assert_allclose(feature(data, "day sin of year")[[0, 2]], [march, march], atol=0.01)


def test_dates_outside_those_of_the_training_rows_count_as_the_nearest(tmp_path):
    """Data come daily, and the next day is of a date, and perhaps of a part of the year, that no row had."""
    first, last = (datetime(2024, 1, 1, 6), datetime(2024, 3, 1, 18))
    hours = pandas.date_range(first, last, freq="h")
    pandas.DataFrame({"at": hours, "y": np.arange(len(hours)) % 2}).to_csv(tmp_path / "a.csv", index=False)
    known = made(tmp_path, tmp_path / "a.csv")
    later = ["2024-03-02 06:00", "2024-12-25 00:00", "2026-02-10 00:00", "2023-11-20 00:00", ""]
    text = "".join(f"{moment},{number % 2}\n" for number, moment in enumerate(later))
    notices: list[str] = []
    like = Like(known.n_features, known.table.names, known.target_name, known.scaling, known.table)
    shard(
        written(tmp_path, f"at,y\n{text}", "b.csv"),
        tmp_path / "e.zarr",
        like=like,
        shuffle=False,
        notice=notices.append,
    )
    # half a day is less than a hundredth of these two months
    clipped = "rows with a date outside the range of the training rows, clipped to it: at (3)"
    filled = (
        "rows without a value in columns that have one in every training row: at (1, filled with 2024-01-31"
    )
    assert notices == [clipped, f"{filled} 12:00)"]
    encoded = open_dataset(tmp_path / "e.zarr")
    day = [(moment - datetime(1970, 1, 1)).total_seconds() / 86_400 for moment in (first, last)]
    middle = 0.5 * (day[0] + day[1])
    np.testing.assert_allclose(
        feature(encoded, "at days"), [day[1], day[1], day[1], day[0], middle], rtol=1e-6
    )
    # the nearest in the circle of the year, where February has been seen; 365 days later
    seen = (datetime(2026, 2, 10) - datetime(1970, 1, 1)).days
    angles = 2 * np.pi * np.array([day[1], day[0], seen, day[0]]) / 365.2425
    np.testing.assert_allclose(feature(encoded, "at sin of year")[:4], np.sin(angles), atol=1e-6)
    # days of the week are all known
    weekdays = np.array([5.25, 2.0, 1.0, 0.0])
    np.testing.assert_allclose(
        feature(encoded, "at cos of week")[:4], np.cos(2 * np.pi * weekdays / 7), atol=1e-5
    )


@pytest.mark.parametrize("unit", ["day", "s", "ms", "us"])
@pytest.mark.parametrize("beyond", [-1, 1])
def test_dates_beyond_all_calendars_are_refused(tmp_path, unit, beyond):
    # 2147483647 days and 2^63 - 1 of all else are what databases write for infinity
    ends = np.iinfo(np.int32 if unit == "day" else np.int64)
    of = pa.date32() if unit == "day" else pa.timestamp(unit)
    years = [datetime(1, 1, 1), datetime(9999, 12, 31), None]
    infinite = pa.array([ends.min if beyond < 0 else ends.max], pa.int32() if unit == "day" else pa.int64())
    for far in (infinite, None):
        dates = pa.array(years, pa.timestamp("us")).cast(of)
        if far is not None:
            dates = pa.chunked_array([dates, far.cast(of)])
        table = pa.table({"d": dates, "y": pa.array([0, 1, 0, 1][: len(dates)])})
        if far is None:
            parquet.write_table(table, tmp_path / "a.parquet")
            days = feature(made(tmp_path, tmp_path / "a.parquet"), "d days")
            assert days[:2].tolist() == [-719162, 2932896]
            continue
        with pytest.raises(
            InputError, match=r"^X, row 4 .*column 'd': the date is not between the years 1 and 9999"
        ):
            write_dataset(table.drop_columns("y"), table["y"], tmp_path / "d.zarr")
        if unit != "s":
            parquet.write_table(table, tmp_path / "a.parquet")
            with pytest.raises(InputError, match=r"a\.parquet, row 4 .*column 'd': the date is not between"):
                made(tmp_path, tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "word",
    [
        "2020-01-01 00:00:99",
        "2020-01-01 00:00:60",
        "2020-01-01 10:00+99:99",
        "2020-01-01 10:00-10:60",
        "0000-01-01",
    ],
)
def test_times_that_no_clock_shows_are_refused(tmp_path, word):
    rows = f"2020-01-01 10:00:59.5+14:00,0\n2020-01-02,1\n{word},0\n"
    with pytest.raises(InputError, match=r"row 3 \(line 4\), column 'd': '.*' is not a date"):
        made(tmp_path, written(tmp_path, "d,y\n" + rows))
    with pytest.raises(InputError, match=r"row 3 \(line 4\), column 'd': '.*' is not a date"):
        made(tmp_path, written(tmp_path, "d,y\n" + rows.replace("10:00:59.5+14:00", "10:00:59")))
