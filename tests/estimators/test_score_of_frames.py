"""Scores of Dask frames are those of the same rows in pandas."""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import distkern as dk
from distkern.common.errors import InputError


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    margin = frame["a"] + rng.normal(size=300)
    return frame.assign(
        label=np.where(margin > 0, "yes", "no"), code=(margin > 0) * 1, weight=rng.random(300)
    )


@pytest.mark.parametrize("label", ["label", "code"])
@pytest.mark.filterwarnings("ignore:Dask currently has limited support")
def test_accuracy(frame: pd.DataFrame, label: str) -> None:
    lazy = dd.from_pandas(frame, npartitions=3)
    X, y = frame[["a", "b"]], frame[label]
    model = dk.CSVRGClassifier(n_landmarks=10, stages=1, random_state=0).fit(X, y)
    plain = model.score(X, y)
    assert 0.6 < plain < 0.95
    for rows, labels in ((lazy[["a", "b"]], lazy[label]), (lazy[["a", "b"]], y), (X, lazy[label])):
        assert model.score(rows, labels) == pytest.approx(plain, abs=1e-12)
    weighted = model.score(X, y, frame["weight"])
    assert weighted != pytest.approx(plain, abs=1e-6)
    assert model.score(lazy[["a", "b"]], lazy[label], lazy["weight"]) == pytest.approx(weighted, abs=1e-12)
    with pytest.raises(InputError, match="X has 300 rows and y or sample_weight has 100"):
        model.score(lazy[["a", "b"]], y[:100])
