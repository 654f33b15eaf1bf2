"""What holds of every kernel in the folder; random features are in ``test_every_sampler.py``."""

import dataclasses
import json
import pickle

import numpy as np
import pytest
from formulas import CONTRACT, HALF_THE_DIGITS, examples, gram, label

from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.maths.bases.landmarks import LandmarkBasis
from distkern.maths.kernels import (
    FEATURE_KERNELS,
    KERNELS,
    LANDMARK_KERNELS,
    TILE_KERNELS,
    AbstractLandmarkKernel,
    AbstractTileKernel,
    find_kernel,
    kernel_matrix,
    require,
)
from distkern.maths.kernels.bandwidth import RULES, gamma_by_rule
from distkern.maths.kernels.base import Powers

FOR_LANDMARKS = [
    pytest.param(kernel, id=label(kernel))
    for name in LANDMARK_KERNELS
    for kernel in examples(find_kernel(name), gamma=0.7)
]
OTHERS = [
    kernel for name in KERNELS if name not in LANDMARK_KERNELS for kernel in examples(find_kernel(name))
]
EVERY_KERNEL = FOR_LANDMARKS + [pytest.param(kernel, id=label(kernel)) for kernel in OTHERS]
NAMED_BOUNDS = sorted({kernel.name for kernel in OTHERS if kernel.lower_bound > -np.inf})
DTYPES = [pytest.param(np.dtype(kind), id=kind) for kind in ("float32", "float64")]

every_landmark_kernel = pytest.mark.parametrize("kernel", FOR_LANDMARKS)
every_name = pytest.mark.parametrize("name", LANDMARK_KERNELS)


def digits(kernel):
    """The share of the digits that its values have."""
    names = (kernel.name, f"{kernel.name}-{getattr(kernel, 'smoothness', '')}")
    return 0.5 if set(names) & set(HALF_THE_DIGITS) else 1.0


def points(n, d, *, center=0.0, width=1.0, seed=0):
    return center + width * np.random.default_rng(seed).standard_normal((n, d))


def tile(kernel, rows, landmarks, dtype):
    """Values and scores the way a pass makes them."""
    prepared = kernel.prepare(np.ascontiguousarray(landmarks, dtype=dtype))
    scores = np.empty((len(rows), len(landmarks)), dtype=dtype)
    prepared.scores(np.ascontiguousarray(rows, dtype=dtype), scores)
    values = scores.copy()
    kernel.finish(values)
    return values, scores


def histograms(n, d, *, seed=0):
    """Rows without negative numbers, some of them 0."""
    generator = np.random.default_rng(seed)
    return generator.random((n, d)) * (generator.random((n, d)) < 0.8)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_closed_form_is_the_naive_kernel(kernel):
    make = points if kernel.lower_bound == -np.inf else histograms
    left, right = make(12, 3), make(9, 3, seed=1)
    right[0] = left[0]
    expected = gram(kernel, left, right)
    tolerance = {"rtol": 1e-9, "atol": 1e-7 if digits(kernel) < 1 else 0.0}
    np.testing.assert_allclose(kernel.closed_form(left, right), expected, **tolerance)
    np.testing.assert_allclose(
        kernel_matrix(left, right, kernel=kernel.name, **kernel.parameters), expected, **tolerance
    )


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_symmetric_and_positive_definite(kernel):
    rows = histograms(60, 4, seed=3)
    K = kernel_matrix(rows, kernel=kernel.name, **kernel.parameters)
    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    least = 1e-6 if digits(kernel) < 1 else 1e-12
    assert np.linalg.eigvalsh(0.5 * (K + K.T)).min() > -least * np.trace(K)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tiles_of_every_kernel_that_has_them(kernel, dtype):
    rows = histograms(300, 6).astype(dtype)
    basis = LandmarkBasis(kernel, rows[::20])
    values = np.concatenate([tile.values.copy() for tile in basis.tiles(rows)])
    exact = kernel.closed_form(rows.astype(np.float64), rows[::20].astype(np.float64))
    tolerance = 50 * float(np.finfo(dtype).eps) ** digits(kernel)
    np.testing.assert_allclose(values, exact, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
def test_is_hashable_and_its_parameters_survive_a_job_file(kernel):
    again = json.loads(json.dumps(kernel.parameters))
    assert type(kernel).from_parameters(**again) == kernel
    assert hash(pickle.loads(pickle.dumps(kernel))) == hash(kernel)
    assert list(kernel.parameters) == type(kernel).parameter_names()


def test_the_names_of_the_contract_are_there():
    for names in (KERNELS, FEATURE_KERNELS, TILE_KERNELS):
        assert set(names) >= CONTRACT
    assert {"cauchy", "laplacian", "matern", "rbf"} <= set(LANDMARK_KERNELS)


def test_a_kernel_that_lacks_what_is_asked_for_says_who_has_it():
    others = ", ".join(LANDMARK_KERNELS)
    with pytest.raises(InputError, match=f"kernel chi2 cannot be used here.*use one of {others}"):
        require(find_kernel("chi2")(), AbstractLandmarkKernel)


def test_gamma_by_rule_is_for_kernels_with_a_gamma():
    with pytest.raises(InputError, match="kernel chi2 has no gamma"):
        gamma_by_rule("scale", find_kernel("chi2"), np.ones((4, 2)))


@pytest.mark.parametrize("name", NAMED_BOUNDS)
def test_rows_outside_of_the_domain_are_refused_by_row_and_column(name):
    kernel = find_kernel(name)()
    bound = kernel.lower_bound
    rows = histograms(9, 3) + 0.1
    kernel.check_domain(rows)
    kernel.check_domain(np.zeros((2, 3)))
    rows[4, 2] = bound - 0.5
    pattern = rf"a.csv, row 104, column 2.*kernel {name} needs numbers .*got {bound - 0.5:g}; scale"
    for given in (rows, SparseRows.of_dense(rows)):
        with pytest.raises(InputError, match=pattern):
            kernel.check_domain(given, first_row=100, where="a.csv")
        with pytest.raises(InputError, match=r"X, row 4, column 2: "):
            kernel.check_domain(given)
    with pytest.raises(InputError, match=r"Y, row 4, column 2: "):
        kernel_matrix(np.ones((2, 3)), rows, kernel=name)
    rows[4, 2] = np.nan
    with pytest.raises(InputError, match=r"row 4, column 2: .*got nan"):
        kernel.check_domain(rows)


def test_refuses_parameters_that_it_does_not_have():
    with pytest.raises(InputError, match="unknown parameter of kernel chi2 'gamma'"):
        find_kernel("chi2").from_parameters(gamma=1.0)


@every_landmark_kernel
@pytest.mark.parametrize("power", [1, 2, 3, 9, 80])
def test_powers_are_values_of_another_gamma(kernel, power):
    rows = points(300, 5, width=0.3)
    narrow = dataclasses.replace(kernel, gamma=power * kernel.gamma)
    assert narrow.power_of(kernel) == (power if kernel.is_exponential else 0)
    made, several = [], Powers()
    for one in (kernel, narrow):

        def make(one=one):
            made.append(one)
            return tile(one, rows, rows[:70], np.float64)[0]

        found = several.of(one, make)
        np.testing.assert_allclose(found, one.closed_form(rows, rows[:70]), rtol=1e-9, atol=1e-6)
    assert made == ([kernel] if kernel.is_exponential else [kernel, narrow])


def test_gamma_alone_may_differ_and_by_a_whole_number():
    wide, other = find_kernel("rbf")(gamma=0.5), find_kernel("laplacian")(gamma=0.5)
    powers = {0.25: 0, 0.75: 0, 0.5: 1, 51.0: 0}
    assert {gamma: find_kernel("rbf")(gamma=gamma).power_of(wide) for gamma in powers} == powers
    assert other.power_of(wide) == 0
    named = ("rbf", {}), ("laplacian", {}), ("matern", {"smoothness": 0.5}), ("matern", {"smoothness": 1.5})
    are = [find_kernel(name)(**given).is_exponential for name, given in named]
    assert are == [True, True, True, False]


@every_landmark_kernel
@pytest.mark.parametrize("width", [0.1, 1.0, 10.0])
def test_symmetric_positive_definite_and_one_at_zero(kernel, width):
    rows = points(60, 4, width=width)
    K = kernel.closed_form(rows, rows)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    np.testing.assert_array_equal(K, K.T)
    assert np.all((K >= 0) & (K <= 1))
    assert np.linalg.eigvalsh(K).min() > -1e-12 * len(rows)


@every_landmark_kernel
def test_falls_with_the_distance(kernel):
    steps = np.linspace(0, 5, 200)[:, None]
    values = kernel.closed_form(np.zeros((1, 3)), steps * np.array([1.0, -0.5, 2.0]))[0]
    assert np.all(np.diff(values) < 0)


@every_landmark_kernel
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("center", "width"), [(0.0, 1.0), (100.0, 1.0), (-3.0, 1e-3), (0.5, 0.3)])
def test_tiles_are_the_closed_form(kernel, dtype, center, width):
    """Also of rows far from the origin, where |x|^2 - 2 x c + |c|^2 would cancel."""
    kernel = dataclasses.replace(kernel, gamma=0.7 * type(kernel).gamma_from_width(width, 7))
    # what the tile is given, exactly: the rounding of the rows themselves is not the kernel's
    rows = points(300, 7, center=center, width=width).astype(dtype)
    landmarks = rows[::15]
    values, _ = tile(kernel, rows, landmarks, dtype)
    exact = kernel.closed_form(rows.astype(np.float64), landmarks.astype(np.float64))
    assert values.dtype == dtype
    tolerance = 50 * float(np.finfo(dtype).eps) ** digits(kernel)
    np.testing.assert_allclose(values, exact, atol=tolerance)


@every_landmark_kernel
@pytest.mark.parametrize("dtype", DTYPES)
def test_best_score_is_the_nearest_landmark(kernel, dtype):
    rows, landmarks = points(500, 5), points(40, 5, seed=1)
    _, scores = tile(kernel, rows, landmarks, dtype)
    exact = kernel.closed_form(rows, landmarks)
    chosen = exact[np.arange(len(rows)), scores.argmax(axis=1)]
    # two landmarks may be equally near up to rounding
    np.testing.assert_allclose(chosen, exact.max(axis=1), rtol=1e-4 if dtype == np.float32 else 1e-12)
    if dtype == np.float64:
        np.testing.assert_array_equal(scores.argmax(axis=1), exact.argmax(axis=1))


@every_landmark_kernel
@pytest.mark.parametrize("dtype", DTYPES)
def test_score_at_a_landmark_is_zero(kernel, dtype):
    landmarks = points(30, 6, center=5.0).astype(dtype)
    values, scores = tile(kernel, landmarks, landmarks, dtype)
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(np.diag(scores), 0.0, atol=300 * eps)
    np.testing.assert_array_equal(scores.argmax(axis=1), np.arange(30))
    assert np.all(np.isfinite(values))


@every_landmark_kernel
@pytest.mark.parametrize("dtype", DTYPES)
def test_distant_rows_give_next_to_nothing_not_a_nan(kernel, dtype):
    rows, landmarks = np.full((3, 4), 1e8), points(5, 4)
    values, _ = tile(kernel, rows, landmarks, dtype)
    np.testing.assert_allclose(values, kernel.closed_form(rows, landmarks), rtol=1e-5, atol=1e-12)
    assert values.max() < 1e-3


@every_landmark_kernel
@pytest.mark.parametrize("dtype", DTYPES)
def test_read_only_memory_will_do(kernel, dtype):
    """What other processes send is read-only."""
    rows = points(20, 4).astype(dtype)
    expected, _ = tile(kernel, rows, rows[:6], dtype)
    rows.flags.writeable = False
    values, _ = tile(kernel, rows, rows[:6], dtype)
    np.testing.assert_array_equal(values, expected)


@every_landmark_kernel
def test_pickles_with_its_prepared_landmarks(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    rows = points(40, 4).astype(np.float32)
    prepared = kernel.prepare(rows[:7])
    copy = pickle.loads(pickle.dumps(prepared))
    first, second = np.empty((40, 7), np.float32), np.empty((40, 7), np.float32)
    prepared.scores(rows, first)
    copy.scores(rows, second)
    np.testing.assert_array_equal(first, second)


@every_name
def test_refuses_unknown_parameters_with_the_nearest_name(name):
    with pytest.raises(InputError, match="did you mean 'gamma'"):
        find_kernel(name).from_parameters(gama=1.0)
    with pytest.raises(InputError, match=f"did you mean '{name}'"):
        find_kernel(name + "x")


@every_name
@pytest.mark.parametrize("width", [0.05, 1.0, 40.0])
def test_gamma_from_width_is_about_that_wide(name, width):
    """At the distance ``width`` in a random direction the kernel is near exp(-1)."""
    d = 20
    directions = points(200, d)
    directions *= width / np.linalg.norm(directions, axis=1, keepdims=True)
    kind = find_kernel(name)
    kernel = kind(gamma=kind.gamma_from_width(width, d))
    mean = kernel.closed_form(np.zeros((1, d)), directions).mean()
    assert 0.2 < mean < 0.6


@every_name
@pytest.mark.parametrize("rule", RULES)
def test_gamma_by_rule_follows_the_spread_of_the_data(name, rule):
    kind = find_kernel(name)
    sample = points(400, 6, center=3.0, width=0.2).astype(np.float32)
    ratio = gamma_by_rule(rule, kind, sample[:200] * 10) / gamma_by_rule(rule, kind, sample[:200])
    # of rows ten times as far from each other
    expected = kind.gamma_from_width(10.0, 6) / kind.gamma_from_width(1.0, 6)
    assert expected in (pytest.approx(0.1), pytest.approx(0.01))
    assert ratio == pytest.approx(expected, rel=1e-5)
    for flat in (np.ones((5, 3)), np.ones((1, 3)), np.zeros((2, 1))):
        assert gamma_by_rule(rule, kind, flat) == kind.gamma_from_width(1.0, flat.shape[1])


def test_the_rules_are_what_they_say():
    rbf = find_kernel("rbf")
    sample = points(4000, 3, center=1.0, width=2.0)
    assert gamma_by_rule("scale", rbf, sample) == pytest.approx(1 / (3 * sample.var()))
    distances = np.linalg.norm(sample[:, None] - sample[None, ::10], axis=2)
    assert gamma_by_rule("median", rbf, sample) == pytest.approx(
        1 / (2 * np.median(distances) ** 2), rel=0.05
    )
    with pytest.raises(InputError, match="did you mean 'scale'"):
        gamma_by_rule("scal", rbf, sample)


def test_kernel_matrix_refuses_rows_of_different_widths():
    with pytest.raises(InputError, match="do not match"):
        kernel_matrix(np.ones((3, 2)), np.ones((3, 4)))


def scattered(n, d, *, seed=0, share=0.15):
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n, d)) * (generator.random((n, d)) < share)
    rows[0] = 0
    return rows


@every_landmark_kernel
@pytest.mark.parametrize("dtype", DTYPES)
def test_sparse_tiles_are_the_closed_form(kernel, dtype):
    rows = scattered(200, 40).astype(dtype)
    landmarks = rows[::8]
    prepared = kernel.prepare_sparse(SparseRows.of_dense(landmarks))
    scores = np.empty((len(rows), len(landmarks)), dtype=dtype)
    prepared.scores(SparseRows.of_dense(rows), scores)
    assert np.all(scores <= 0)
    np.testing.assert_array_equal(scores[::8].argmax(axis=1)[1:], np.arange(len(landmarks))[1:])
    kernel.finish(scores)
    exact = kernel.closed_form(rows.astype(np.float64), landmarks.astype(np.float64))
    np.testing.assert_allclose(scores, exact, atol=50 * float(np.finfo(dtype).eps) ** digits(kernel))


@every_landmark_kernel
def test_sparse_rows_far_away_give_next_to_nothing_not_a_nan(kernel):
    landmarks, rows = scattered(5, 30).astype(np.float32), np.full((3, 30), 1e8, np.float32)
    values = LandmarkBasis(kernel, SparseRows.of_dense(landmarks)).combine(
        SparseRows.of_dense(rows), np.eye(5)
    )
    # a product over many columns is infinite before its reciprocal is 0
    with np.errstate(over="ignore"):
        exact = kernel.closed_form(rows.astype(np.float64), landmarks.astype(np.float64))
    np.testing.assert_allclose(values, exact, rtol=1e-5, atol=1e-12)


@every_landmark_kernel
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_and_landmarks_of_either_form_give_the_same_values(kernel, dtype):
    rows = scattered(300, 40, seed=1).astype(dtype)
    landmarks = rows[:20]
    coefficients = np.random.default_rng(0).standard_normal((20, 2))
    forms = [
        LandmarkBasis(kernel, chosen).combine(given, coefficients)
        for chosen in (landmarks, SparseRows.of_dense(landmarks))
        for given in (rows, SparseRows.of_dense(rows))
    ]
    np.testing.assert_array_equal(forms[0], forms[1])
    np.testing.assert_array_equal(forms[2], forms[3])
    tolerance = 500 * float(np.finfo(dtype).eps) ** (0.5 if kernel.name == "matern" else 1)
    np.testing.assert_allclose(forms[0], forms[2], atol=tolerance)


@every_landmark_kernel
def test_the_values_of_a_sparse_row_do_not_depend_on_the_rows_around_it(kernel):
    rows = SparseRows.of_dense(scattered(50, 30).astype(np.float32))
    basis = pickle.loads(pickle.dumps(LandmarkBasis(kernel, rows[:9])))
    together = basis.combine(rows, np.eye(9))
    alone = [basis.combine(rows[row : row + 1], np.eye(9)) for row in range(50)]
    np.testing.assert_array_equal(together, np.concatenate(alone))


def test_a_kernel_for_dense_rows_alone_says_so():
    @dataclasses.dataclass(frozen=True)
    class OnlyDense(find_kernel("rbf")):
        name = "only dense"
        prepare_sparse = AbstractTileKernel.prepare_sparse

    with pytest.raises(InputError, match=r"kernel only dense compares dense rows only; .*--dense"):
        LandmarkBasis(OnlyDense(), SparseRows.of_dense(np.eye(2)))
