"""Scaling: equal to scikit-learn's, in one pass, and exact through JSON."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from distkern.core.errors import InputError
from distkern.data.scaling import KINDS, Scaling, ScalingFit


def fitted(kind, rows, pieces=3):
    fit = ScalingFit(kind)
    for piece in np.array_split(rows, pieces):
        fit.update(piece)
    return fit.result(rows.shape[1])


@given(
    seed=st.integers(0, 1000),
    offset=st.sampled_from([0.0, 1e6, -1e9]),
    pieces=st.integers(1, 9),
    kind=st.sampled_from(["minmax", "standard", "unit"]),
)
def test_as_scikit_learn(seed, offset, pieces, kind):
    rows = np.random.default_rng(seed).normal(size=(50, 4)) * [1, 1e-3, 1e5, 0] + offset
    scaler = {"minmax": MinMaxScaler(), "standard": StandardScaler(), "unit": Normalizer()}[kind]
    expected = scaler.fit_transform(rows)
    found = fitted(kind, rows, pieces).apply(rows, np.float64)
    # the second column has a spread of 1e-3 around the offset: that many digits are left of it
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 + abs(offset) * 1e-12)


def test_ball_puts_the_largest_row_on_the_sphere():
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [0.3, -0.4]])
    np.testing.assert_allclose(
        fitted("ball", rows).apply(rows), [[0.6, 0.8], [0, 0], [0.06, -0.08]], rtol=1e-6
    )


def test_rows_of_zeros_stay_zero_and_later_rows_are_not_clipped():
    rows = np.array([[0.0, 0.0], [1.0, 2.0]])
    assert fitted("unit", rows).apply(np.zeros((1, 2))).tolist() == [[0, 0]]
    assert fitted("minmax", rows).apply(np.array([[3.0, -2.0]])).tolist() == [[3, -1]]
    assert fitted("ball", np.zeros((3, 2))).apply(rows).tolist() == rows.tolist()


def test_constant_features_have_factor_one():
    rows = np.full((10, 1), 1e8 + 0.1)
    for kind in ("minmax", "standard"):
        scaling = fitted(kind, rows)
        assert scaling.factor.tolist() == [1]
        np.testing.assert_allclose(scaling.apply(rows), 0, atol=1e-6)


def test_features_that_appear_later_were_zero_before():
    fit_late, late = ScalingFit("minmax"), np.array([[1.0, 5.0], [2.0, 7.0]])
    fit_late.update(np.array([[4.0]]))
    fit_late.update(late)
    whole = np.array([[4.0, 0.0], [1.0, 5.0], [2.0, 7.0]])
    assert fit_late.result(2) == fitted("minmax", whole, 1)
    moments = ScalingFit("standard")
    moments.update(np.array([[4.0]]))
    moments.update(late)
    np.testing.assert_allclose(
        moments.result(3).apply(np.pad(whole, ((0, 0), (0, 1))), np.float64)[:, :2],
        StandardScaler().fit_transform(whole),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_json_and_pickle_are_exact(kind):
    rows = np.random.default_rng(0).normal(size=(20, 3)) / 3
    scaling = fitted(kind, rows)
    again = Scaling.from_json(json.loads(json.dumps(scaling.to_json())))
    assert again == scaling == pickle.loads(pickle.dumps(scaling))
    assert hash(again) == hash(scaling)
    np.testing.assert_array_equal(again.apply(rows, np.float64), scaling.apply(rows, np.float64))
    if kind not in ("none", "unit"):
        assert scaling != fitted(kind, rows + 1)


def test_single_and_double_input_give_the_same_bits():
    rows = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    scaling = fitted("standard", rows)
    np.testing.assert_array_equal(scaling.apply(rows), scaling.apply(rows.astype(np.float64)))


@pytest.mark.parametrize("kind", ["minmax", "standard", "ball"])
def test_what_overflows_is_refused(kind):
    with pytest.raises(InputError, match=f"too large to scale by {kind}"):
        fitted(kind, np.array([[1.5e308, 1.5e308], [1.0, -1.5e308]]))


def test_another_number_of_features_is_refused():
    with pytest.raises(InputError, match="fitted on 2"):
        fitted("minmax", np.eye(2)).apply(np.eye(3))
    with pytest.raises(InputError, match="unknown scaling 'log'"):
        Scaling.from_json({"kind": "log", "shift": None, "factor": None})
