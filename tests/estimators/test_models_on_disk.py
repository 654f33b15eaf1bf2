"""The files of a model: what is in them, and that none can be another's."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

from distkern import AVMClassifier, CSVRGClassifier
from distkern.common.errors import CorruptDataError
from distkern.runs.persistence import load_model
from distkern.storage.arrays import load_arrays, save_arrays
from distkern.storage.description import sealed

KEYS = {
    "encoding-type",
    "encoding-version",
    "algorithm",
    "distkern-version",
    "numpy-version",
    "params",
    "classes",
    "n_features",
    "feature_names",
    "target_name",
    "gamma",
    "n_iter",
    "dtype",
    "scaling",
    "class_weights",
    "mean_weight",
    "history",
    "ended",
    "found",
    "seed",
    "further",
    "arrays",
    "fingerprint",
}


@pytest.mark.parametrize("kind", [CSVRGClassifier, AVMClassifier])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_folder_holds_what_the_format_says(kind, form, tmp_path):
    X, y = make_classification(300, 6, random_state=0)
    X = np.where(X > 0.5, X, 0)
    given = sparse.csr_array(X) if form == "sparse" else X
    model = kind(n_landmarks=30, gamma=0.2, random_state=0, stages=1, class_weight="balanced").fit(given, y)
    model.save(tmp_path / "m")
    description = json.loads((tmp_path / "m" / "model.json").read_text())
    assert set(description) == KEYS
    assert description["encoding-version"] == 5
    parts = (
        {"landmarks"}
        if form == "dense"
        else {f"landmarks.{part}" for part in ("data", "indices", "indptr", "n_features")}
    )
    arrays, kept = tmp_path / "m" / "arrays", description["further"]
    assert set(load_arrays(arrays, but="further.")) == parts | {"coefficients", "intercept"}
    assert set(load_arrays(arrays)) == parts | {"coefficients", "intercept", *kept["arrays"]}
    assert (kept["weight"], len(kept["sources"])) == (300, 1)
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.intercept_, np.zeros(1))
    np.testing.assert_array_equal(again.decision_function(given), model.decision_function(given))


def test_a_missing_array_is_named(tmp_path):
    X, y = make_classification(300, 6, random_state=0)
    CSVRGClassifier(n_landmarks=30, gamma=0.2, random_state=0, stages=1).fit(X, y).save(tmp_path / "m")
    arrays = load_arrays(tmp_path / "m" / "arrays")
    del arrays["landmarks"]
    digest = save_arrays(tmp_path / "m" / "arrays", arrays)
    with pytest.raises(CorruptDataError, match="not those that were written with the rest"):
        load_model(tmp_path / "m")
    file = tmp_path / "m" / "model.json"
    description = json.loads(file.read_text()) | {"arrays": digest}
    del description["fingerprint"]
    file.write_text(json.dumps(sealed(description)))
    with pytest.raises(CorruptDataError, match="'landmarks' is missing"):
        load_model(tmp_path / "m")
