"""What a run of machines in cells says that it chose."""

from functools import partial

import numpy as np
import pytest

from distkern.estimators.cells import CellClassifier, CellRegressor


def problem(n_rows=600):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, 4)).astype(np.float32)
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1]


@pytest.mark.slow
def test_the_choice_and_what_it_gained_are_said():
    X, f = problem()
    model = CellClassifier(
        search="quick", scale="ranks", metric="diagonal", C=3.0, kernel="rbf", random_state=0
    )
    last = model.fit(X, f > 0).history_[-1]
    width = 1.0 / np.sqrt(model.gamma_) / model.places_.map.width
    assert last["notes"][:2] == [
        f"chosen: ranks, diagonal metric, exp(-g|x-y|^2), width {width:.3g} medians, C 3",
        f"held-out log loss {last['search_score']:.3g}",
    ]
    real = CellRegressor(search="quick", metric=None, gamma="median", random_state=0).fit(X, f).history_[-1]
    assert "no metric" in real["notes"][0]
    assert "width 1.41 medians" in real["notes"][0]
    assert real["notes"][1].startswith("held-out squared error ")
    assert real["notes"][1].endswith(" % of the variance")
    assert max(map(len, real["notes"] + last["notes"])) <= 80
    alone = CellClassifier(search=None, random_state=0).fit(X, f > 0)
    assert alone.history_[-1]["notes"] == [f"1 cell, with {alone.n_support_} support vectors"]
    assert "notes" not in alone.history_[0]
    several = CellClassifier(search=None, max_cell_rows=100, random_state=0).fit(X, f > 0)
    mean = several.n_support_ / several.n_cells_
    told = f"{several.n_cells_} cells, with {mean:.0f} support vectors on average"
    assert several.history_[-1]["notes"] == [told]


def test_without_a_metric_no_column_has_a_weight_in_it():
    X, f = problem(200)
    fit = partial(CellRegressor, search=None, scale="standard", random_state=0)
    assert not hasattr(fit(metric=None).fit(X, f), "metric_importances_")
    found = fit(metric="diagonal").fit(X, f).metric_importances_
    assert found.shape == (4,)
    assert found.sum() == pytest.approx(1.0)
    assert not hasattr(fit(), "metric_importances_")


def test_weights_in_a_metric_do_not_depend_on_the_unit_of_a_column():
    X, f = problem(300)
    fit = partial(CellRegressor, search=None, metric="full", scale="standard", random_state=0)
    one, other = (fit().fit(X * np.float32(units), f).metric_importances_ for units in (1, [1, 8, 1, 1024]))
    # rows are ordered by keys of their values in the given units
    np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-4)
    assert one[:2].min() > 3 * one[2:].max()
