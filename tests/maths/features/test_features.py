"""Kinds of features: their passes over the data, bases and memory."""

import dataclasses
import pickle

import numpy as np
import pytest

from distkern.core.sparse import SparseRows, converted
from distkern.core.types import ArrayGroup, Block
from distkern.maths.features import COLUMN_FEATURES, GIVEN_FEATURES
from distkern.maths.features.base import KernelChoice
from distkern.maths.kernels import find_kernel
from distkern.solvers.base import Problem
from feature_problems import features_of_kind
from reference import PlainRunner

X = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
PROBLEM = Problem((60,), 5, np.dtype(np.float32), 11, n_outputs=1, has_test=False)
RBF = KernelChoice(find_kernel("rbf"), 0.5)


def choice_of(kind, kernel=RBF, **settings):
    return features_of_kind(kind, kernel, **{"n_features": 32, "n_landmarks": 12} | settings)


def begun(choice, problem=PROBLEM, features=X):
    runner = PlainRunner([Block(features)])
    landmarks, gamma = runner.run(choice.begin(problem))
    return landmarks, gamma, runner


@pytest.mark.parametrize("kind", GIVEN_FEATURES)
@pytest.mark.parametrize("sparse", [False, True])
def test_every_kind_says_what_it_reads_and_takes(kind, sparse):
    choice = choice_of(kind)
    features = SparseRows.of_dense(X) if sparse else X
    problem = dataclasses.replace(PROBLEM, sparse_numbers=12) if sparse else PROBLEM
    landmarks, gamma, runner = begun(choice, problem, features)
    basis = choice.basis(problem, landmarks, gamma)
    assert pickle.loads(pickle.dumps(basis)).size == basis.size
    assert gamma == (0.5 if hasattr(choice, "kernel") else 1.0)
    assert len(landmarks) == (12 if hasattr(choice, "rule") else 0)
    assert basis.size == choice.expected_size(problem) == choice.footprint(problem).size
    assert basis.dtype == np.float32
    assert [pass_.step.name for pass_ in choice.outline(problem)] == runner.made
    # a compiled comparison of sparse rows is loaded by workers
    footprint = choice.footprint(problem)
    assert footprint.is_compiled == basis.is_compiled == (sparse and hasattr(choice, "rule"))


def test_a_kernel_without_gamma_keeps_its_parameters():
    kernel = KernelChoice(find_kernel("arc_cosine"), "median", {"degree": 0})
    _, gamma, runner = begun(choice_of("random", kernel))
    assert (gamma, runner.made) == (1.0, [])
    assert choice_of("random", kernel).kernel.with_gamma(gamma).parameters == {"degree": 0}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", COLUMN_FEATURES)
def test_single_functions_of_a_group_are_those_of_the_basis(kind, sparse):
    choice = choice_of(kind)
    features = SparseRows.of_dense(X) if sparse else X
    basis = choice.basis(PROBLEM, np.empty((0, 5)), 0.5)
    group = basis.over(ArrayGroup(Block(features), slice(0, 60), (40, 20), 0))
    wanted = np.array([3, 0])
    columns = group.columns(wanted)
    columns = converted(columns, sparse=False)
    tiles = np.empty((60, basis.size), dtype=np.float32)
    basis.fill(X, tiles)
    np.testing.assert_allclose(columns, tiles[:, wanted].T, atol=1e-6)
    assert group.n_features == basis.size
