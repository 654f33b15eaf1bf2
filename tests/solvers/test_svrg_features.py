"""The choice of explicit features: what is read of the data, which basis comes of it, what it takes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from distkern.bases.landmarks import LandmarkBasis
from distkern.bases.linear import LinearBasis
from distkern.bases.nystroem import NystroemBasis
from distkern.bases.random_features import RandomFeatureBasis
from distkern.core.sparse import COMPILED_BYTES, SparseRows
from distkern.core.types import Block
from distkern.kernels import find_kernel
from distkern.landmarks.uniform import Uniform
from distkern.solvers.base import Problem
from distkern.solvers.feature_choice import KINDS, FeatureChoice
from distkern.solvers.kernel_choice import KernelChoice
from reference import PlainRunner

X = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
PROBLEM = Problem((60,), 5, 1, np.dtype(np.float32), False, 11)
RBF = KernelChoice(find_kernel("rbf"), 0.5)
BASES = {
    "random": RandomFeatureBasis,
    "nystroem": NystroemBasis,
    "landmarks": LandmarkBasis,
    "linear": LinearBasis,
}


def choice_of(kind, kernel=RBF, **settings):
    return FeatureChoice(kind, kernel, 32, landmarks=Uniform(12), **settings)


def begun(choice, problem=PROBLEM, features=X):
    runner = PlainRunner([Block(features)])
    landmarks, gamma = runner.run(choice.begin(problem))
    return landmarks, gamma, runner


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
def test_every_kind_has_its_basis(kind, sparse):
    choice = choice_of(kind)
    features = SparseRows.of_dense(X) if sparse else X
    problem = dataclasses.replace(PROBLEM, sparse_numbers=12) if sparse else PROBLEM
    landmarks, gamma, runner = begun(choice, problem, features)
    basis = choice.basis_for(problem, landmarks, gamma)
    assert type(basis) is BASES[kind]
    assert gamma == (1.0 if kind == "linear" else 0.5)
    assert len(landmarks) == (12 if choice.has_landmarks else 0)
    assert basis.size == choice.expected_size(problem) == choice.footprint(problem).size
    assert basis.dtype == np.float32
    assert [outline.step.name for outline in choice.outline_begin(problem)] == runner.made
    # a compiled comparison of sparse rows is loaded by workers
    process_bytes = choice.footprint(problem).process_bytes
    assert (process_bytes >= COMPILED_BYTES) == (sparse and choice.has_landmarks)


@pytest.mark.parametrize("kind", ["random", "nystroem"])
def test_products_of_features_are_near_the_kernel(kind):
    choice = dataclasses.replace(choice_of(kind), n_features=8192, landmarks=Uniform(60))
    landmarks, gamma, _ = begun(choice)
    basis = choice.basis(5, np.dtype(np.float64), landmarks, gamma, PROBLEM.seed)
    z = np.empty((60, basis.size))
    basis.fill(X.astype(float), z)
    exact = np.exp(-0.5 * np.sum((X[:, None].astype(float) - X[None]) ** 2, axis=2))
    assert np.abs(z @ z.T - exact).max() < {"random": 0.08, "nystroem": 1e-4}[kind]


def test_gamma_by_rule_is_read_off_the_rows():
    choice = choice_of("random", KernelChoice(find_kernel("rbf"), "scale"))
    landmarks, gamma, runner = begun(choice)
    assert runner.made == ["width"]
    assert gamma == pytest.approx(1 / (5 * X.astype(float).var()), rel=1e-6)
    assert landmarks.shape == (0, 5)


def test_a_kernel_without_gamma_keeps_its_parameters():
    kernel = KernelChoice(find_kernel("arc_cosine"), "median", {"degree": 0})
    _, gamma, runner = begun(choice_of("random", kernel))
    assert (gamma, runner.made) == (1.0, [])
    assert choice_of("random", kernel).kernel_at(gamma).parameters == {"degree": 0}


def test_the_seed_is_the_problem_s_unless_it_is_given():
    def features(choice, seed):
        basis = choice.basis_for(dataclasses.replace(PROBLEM, seed=seed), np.empty((0, 5)), 1.0)
        values = np.empty((60, basis.size), dtype=np.float32)
        basis.fill(X, values)
        return values

    free, fixed = choice_of("random"), choice_of("random", seed=3)
    assert not np.array_equal(features(free, 1), features(free, 2))
    np.testing.assert_array_equal(features(fixed, 1), features(fixed, 2))
    np.testing.assert_array_equal(features(fixed, 1), features(free, 3))
