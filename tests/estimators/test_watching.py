"""What a fit is watched by: held-out rows in every form, bars, and its history."""

import io
import pickle
import sys
from types import ModuleType

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import distkern as dk
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.show import terminal


def machine(**settings):
    return dk.SVRGClassifier(features="linear", loss="logistic", random_state=0, **{"stages": 2} | settings)


@pytest.fixture(scope="module")
def halves():
    generator = np.random.default_rng(0)
    X = generator.standard_normal((400, 3)) * [1.0, 10.0, 1.0]
    y = np.where(X[:, 0] + 0.3 * generator.standard_normal(400) > 0, "up", "down")
    return (X[:300], y[:300]), (X[300:], y[300:])


def test_held_out_rows_in_every_form(halves):
    (X, y), (X2, y2) = halves
    names = ["p", "q", "r"]
    frame, frame2 = pd.DataFrame(X, columns=names), pd.DataFrame(X2, columns=names)
    forms = [
        (X, y, [(X2, list(y2))]),
        (csr_matrix(X), y, (csr_matrix(X2), y2)),
        (csr_matrix(X), y, (X2, y2)),
        (frame, y, (frame2, pd.Series(y2))),
    ]
    for rows, labels, given in forms:
        model = machine().fit(rows, labels, eval_set=given)
        seen = given[0][0] if isinstance(given, list) else given[0]
        assert model.history_[-1]["test_error"] == pytest.approx(1 - model.score(seen, y2))
        assert model.history_[-1]["test_error"] < 0.2
    lazy = machine().fit(da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100), eval_set=(X2, y2))
    assert lazy.history_[-1]["test_error"] == pytest.approx(1 - lazy.score(X2, y2))


def test_held_out_rows_are_prepared_as_the_training_rows_were(halves, tmp_path):
    (X, y), (X2, y2) = halves
    dataset = write_dataset([(X, y)], tmp_path / "d.zarr", scale="standard", test_fraction=0.3)
    of_arrays = machine().fit(dataset, eval_set=(X2, y2))
    assert of_arrays.history_[-1]["test_error"] == pytest.approx(1 - of_arrays.score(X2, y2))
    of_split = machine().fit(dataset.train, eval_set=dataset.test)
    assert of_split.history_[-1]["test_error"] == pytest.approx(1 - of_split.score(dataset.test))

    def table(rows):
        return pd.DataFrame({"size": rows[:, 1], "side": np.where(rows[:, 0] > 0, "right", "left")})

    mixed = machine().fit(table(X), y, eval_set=(table(X2), y2))
    assert mixed.history_[-1]["test_error"] == pytest.approx(1 - mixed.score(table(X2), y2))
    assert mixed.history_[-1]["test_error"] < 0.2


def test_held_out_rows_that_do_not_fit_are_refused(halves, tmp_path):
    (X, y), (X2, y2) = halves
    dataset = write_dataset([(X, y)], tmp_path / "d.zarr", scale="none", test_fraction=0.3)
    other = write_dataset([(X2, y2)], tmp_path / "e.zarr", scale="none", test_fraction=0.3)
    refused = [
        (X, y, (X2[:, :2], y2), "2 features"),
        (X, y, (X2, y2[:9]), "inconsistent numbers of samples"),
        (X, y, (X2, np.where(np.arange(100) == 7, "left", y2)), "'left' of row 7"),
        (X, y, X2, "give (X, y)"),
        (X, y, (da.from_array(X2), y2), "compute them first"),
        (X, y, dataset.test, "not the training data set"),
        (dataset.train, None, other.test, "e.zarr is not the training data set"),
        (dataset.train, None, dataset, "give (X, y), or the test split"),
        (X, y, (np.full((100, 3), np.nan), y2), "NaN"),
    ]
    for rows, labels, given, told in refused:
        with pytest.raises(ValueError, match=told.replace("(", r"\(").replace(")", r"\)")):
            machine().fit(rows, labels, eval_set=given)
    with pytest.raises(ValueError, match=r"eval_set, row 1 .*the target is missing"):
        dk.SVRGRegressor(stages=1).fit(X, X[:, 0], eval_set=(X2, np.full(100, np.nan)))


def test_what_cannot_be_asked_for_is_refused(halves):
    (X, y), held_out = halves
    for how, told in (
        ({"early_stopping": 2}, "give them as eval_set"),
        ({"early_stopping": 0, "eval_set": held_out}, ">= 1"),
        ({"early_stopping": True, "eval_set": held_out}, ">= 1"),
        ({"callbacks": [3]}, "must be functions"),
    ):
        with pytest.raises(InputError, match=told):
            machine().fit(X, y, **how)


def test_patience_counts_stages_since_the_best():
    from distkern.engine.ending import STOPPED, Stopping

    def reasons(patience, errors):
        # the model 0 is none to keep
        lines = [{"stage": stage, "test_error": error} for stage, error in enumerate((0, *errors))]
        asked = Stopping(patience)
        return [asked.reason(lines[: place + 1]) for place in range(1, len(lines))]

    assert reasons(2, [5, 4, 4, 4]) == [None, None, None, STOPPED]
    assert reasons(2, [5, 6, 4, 5, 3, 3.5]) == [None] * 6
    assert reasons(1, [5, 5]) == [None, STOPPED]
    assert reasons(None, [1, 2, 3, 4]) == [None] * 4


def test_a_fit_that_stops_early_does_not_say_that_it_could_go_on(halves, recwarn):
    (X, y), _ = halves
    model = machine(stages=30, step_size=1e-3).fit(X, y, callbacks=lambda line: line["stage"] == 2)
    assert model.ended_ == "stopped by a callback"
    assert not [warning for warning in recwarn if "last stage still made" in str(warning.message)]


def test_what_is_watched_is_no_hyperparameter(halves):
    (X, y), _ = halves
    model = machine()
    assert not {"eval_set", "early_stopping", "callbacks", "verbose"} & model.get_params().keys()
    told = []
    pipeline = make_pipeline(StandardScaler(), clone(model))
    pipeline.fit(X, y, svrgclassifier__callbacks=told.append)
    assert [line["stage"] for line in told] == [1, 2]


def test_the_history_is_a_list_a_frame_and_a_picture(halves, tmp_path):
    (X, y), held_out = halves
    model = machine().fit(X, y, eval_set=held_out)
    history = model.history_
    assert isinstance(history, list)
    frame = history.to_frame()
    assert frame["stage"].tolist() == [0, 1, 2]
    assert frame["test_error"].tolist() == [line["test_error"] for line in history]
    drawn = history.plot()
    assert drawn._repr_html_().startswith("<iframe srcdoc=")
    [plots] = drawn.sections
    assert [list(plot.keys) for plot in plots.plots if "Error" in plot.title] == [["train", "test"]]
    drawn.save(tmp_path / "page.html")
    assert "Error in percent" in (tmp_path / "page.html").read_text()
    assert pickle.loads(pickle.dumps(model)).history_ == history
    model.save(tmp_path / "m")
    loaded = dk.load_model(tmp_path / "m").history_
    assert loaded == history
    assert loaded.plot() == drawn


def test_verbose_tells_every_stage(halves, monkeypatch):
    (X, y), held_out = halves
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    machine().fit(X, y)
    assert sys.stderr.getvalue() == ""
    machine().fit(X, y, eval_set=held_out, verbose=True)
    lines = sys.stderr.getvalue().splitlines()
    assert lines[0] == "svrg: 300 rows x 3 features on 1 thread of this process"
    assert [line.split()[0] for line in lines[2:5]] == ["0", "1", "2"]


def test_a_notebook_gets_one_display_that_changes(halves, monkeypatch):
    (X, y), _ = halves
    pages = []

    class Handle:
        def update(self, page):
            pages[-1] = page

    fake = ModuleType("IPython.display")
    fake.HTML = str
    fake.display = lambda page, display_id: (pages.append(page), Handle())[1]
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    seen = []
    machine().fit(X, y, verbose=True, callbacks=lambda line: seen.append(list(pages)))
    assert len(pages) == 1
    assert "svrg: 300 rows x 3 features" in pages[0]
    assert "finished after" in pages[0]
    assert "<progress" not in pages[0]
    # after the last stage
    assert ["finished after" in page for page in seen[-1]] == [False]
    monkeypatch.setattr(terminal, "_INTERVAL", 0.0)
    bar = terminal.progress_display()
    with bar:
        bar.show("stage 1: <rows>", 1, 4)
        assert '<progress max="1" value="0.2500">' in pages[1]
        assert "&lt;rows&gt;" in pages[1]
    assert "<progress" not in pages[1]
