"""A table like the Adult data: 14 mixed columns and a label, some values missing.

    python tests/mixed_tables.py adult.csv --rows 1000000

writes one as CSV, some rows at a time.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas

_WORK = ["Private", "Self-emp", "Local-gov", "State-gov", "Without, pay"]
_EDUCATION = ["HS-grad", "Some-college", "Bachelors", "Masters", "Doctorate", "11th", "9th"]
_STATUS = ["Married", "Never-married", "Divorced", "Widowed"]
_JOBS = [f"occupation={name}" for name in "abcdefghijklm"] + ["Übersetzer", 'the "rest"']
_STATES = [f"state {number}" for number in range(45)]


def adult(n_rows: int, seed: int = 0, *, missing: float = 0.01) -> pandas.DataFrame:
    """Rows whose label depends on numbers, categories, a date and the mean of a wide category."""
    random = np.random.default_rng(seed)
    education = random.integers(0, 7, n_rows)
    job, state = random.integers(0, len(_JOBS), n_rows), random.integers(0, len(_STATES), n_rows)
    status, age = random.integers(0, 4, n_rows), random.integers(17, 80, n_rows)
    hours, gain = random.normal(40, 10, n_rows).round(1), random.exponential(500.0, n_rows).round()
    citizen = random.random(n_rows) < 0.8
    joined = np.datetime64("2015-01-01") + random.integers(0, 3000, n_rows).astype("timedelta64[D]")
    years = joined.astype("datetime64[Y]").astype(int) - 45
    by_state = np.random.default_rng(7).normal(0, 1.5, len(_STATES))
    score = (
        0.8 * np.array([0, 1, 2, 3, 4, -2, -3])[education]
        + 2.0 * (status == 0)
        + 0.05 * (hours - 40)
        + by_state[state]
        + 0.3 * (4 - years)
        + 0.6 * citizen
        + np.sin(np.arange(len(_JOBS)) * 2.0)[job]
        - 2.0 * ((age - 48) / 20.0) ** 2
    )
    label = np.where(score + random.logistic(0, 0.3, n_rows) > 0.5, ">50K", "<=50K")
    frame = pandas.DataFrame(
        {
            "age": age,
            "workclass": np.array(_WORK, dtype=object)[random.integers(0, 5, n_rows)],
            "weight": random.integers(10_000, 500_000, n_rows),
            "education": np.array(_EDUCATION, dtype=object)[education],
            "education-num": education + 5,
            "marital": np.array(_STATUS, dtype=object)[status],
            "occupation": np.array(_JOBS, dtype=object)[job],
            "citizen": citizen,
            "sex": np.array(["Male", "Female"], dtype=object)[random.integers(0, 2, n_rows)],
            "capital gain": gain,
            "hours": hours,
            "state": np.array(_STATES, dtype=object)[state],
            "joined": np.datetime_as_string(joined),
            "country": np.array(["United-States", "Mexico", "Österreich"], dtype=object)[
                random.choice(3, n_rows, p=[0.9, 0.06, 0.04])
            ],
        }
    )
    holes = random.random(frame.shape) < missing
    frame = frame.astype(object).mask(holes)
    frame["income"] = label
    return frame


def write(path: Path, n_rows: int, seed: int = 0, piece: int = 100_000) -> None:
    """Write a CSV file of so many rows, in memory that does not grow with them."""
    with path.open("w", encoding="utf-8", newline="") as file:
        for number, start in enumerate(range(0, n_rows, piece)):
            part = adult(min(piece, n_rows - start), seed=seed + 1000 * number)
            part.to_csv(file, index=False, header=start == 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    write(given.out, given.rows, given.seed)
