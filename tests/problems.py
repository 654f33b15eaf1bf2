"""Small training problems for the tests of solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import reference
from distkern.maths.features.base import KernelChoice
from distkern.maths.features.landmarks import AbstractLandmarkFeatures, Landmarks
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.solvers.base import Problem
from distkern.solvers.risk import Risk
from reference import PlainRunner, cut_blocks


@dataclass
class Case:
    """Rows, the problem they make, and the same as dense arrays for the plain loops."""

    features: np.ndarray
    codes: np.ndarray
    sizes: tuple[int, ...]
    n_outputs: int = 1
    raw_weights: np.ndarray | None = None
    class_weights: np.ndarray | None = None
    test: tuple[np.ndarray, np.ndarray] | None = None
    seed: int = 0

    @property
    def row_weights(self) -> np.ndarray:
        weights = np.ones(len(self.codes)) if self.raw_weights is None else self.raw_weights
        return weights if self.class_weights is None else weights * self.class_weights[self.codes]

    @property
    def mean_weight(self) -> float:
        return float(self.row_weights.mean())

    @property
    def scaled_weights(self) -> np.ndarray:
        return self.row_weights / self.mean_weight

    @property
    def signs(self) -> np.ndarray:
        if self.n_outputs == 1:
            return np.where(self.codes == 1, 1.0, -1.0)[:, None]
        return np.where(self.codes[:, None] == np.arange(self.n_outputs), 1.0, -1.0)

    @property
    def problem(self) -> Problem:
        return Problem(
            self.sizes,
            self.features.shape[1],
            self.features.dtype,
            self.seed,
            n_outputs=self.n_outputs,
            has_test=self.test is not None,
            max_relative_weight=float(self.scaled_weights.max()),
        )

    def parts(
        self,
        loss: str = "odm",
        lam: float = 4.0,
        *,
        kernel: str = "rbf",
        gamma: float | str = 2.0,
        n_landmarks: int | None = None,
        diameter: float | None = None,
        uniform: bool = False,
        features: type[AbstractLandmarkFeatures] = Landmarks,
        **loss_options: float,
    ) -> dict[str, Any]:
        """What a coreset solver of the case is made of."""
        rule = "uniform" if uniform else "coverage"
        weighted = self.raw_weights is not None or self.class_weights is not None
        risk = Risk(
            find_loss(loss)(**loss_options),
            self.n_outputs,
            self.class_weights,
            self.mean_weight if weighted else 1.0,
        )
        choice = KernelChoice(find_kernel(kernel), gamma)
        return {"risk": risk, "features": features(choice, n_landmarks, rule, diameter), "lam": lam}

    def runner(self) -> PlainRunner:
        test = cut_blocks(self.test[0], self.test[1], (len(self.test[0]),)) if self.test else ()
        return PlainRunner(cut_blocks(self.features, self.codes, self.sizes, self.raw_weights), test)

    def objective(self, solver: Any, K_rows: Any, K_landmarks: Any, sigma: np.ndarray) -> float:
        """The solver's objective at coefficients, by plain loops."""
        loss = reference.LOSSES[solver.risk.loss.name]
        return reference.objective(
            loss, solver.lam, K_rows, K_landmarks, sigma, self.signs, self.scaled_weights
        )

    def grams(self, landmarks: np.ndarray, kernel: str = "rbf", gamma: float = 2.0) -> tuple[Any, Any]:
        """K(X, C) and K(C, C), by plain loops."""
        return (
            reference.gram(kernel, self.features, landmarks, gamma=gamma),
            reference.gram(kernel, landmarks, landmarks, gamma=gamma),
        )


def weighing_rows(case: Case) -> Case:
    """The case with random weights of rows, some of them 0."""
    case.raw_weights = np.random.default_rng(1).exponential(size=len(case.codes))
    case.raw_weights[::7] = 0.0
    return case


def weighing_classes(case: Case, *weights: float) -> Case:
    """The case with weights of classes."""
    case.class_weights = np.array(weights)
    return case


def waves(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Uniform rows whose class alternates along the first two columns."""
    X = np.random.default_rng(seed).random((n, d)).astype(np.float32)
    return X, (np.sin(9 * X[:, 0]) * np.sin(9 * X[:, 1]) > 0).astype(int)


def topics(n: int = 1200, words: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Texts of 12 words, two thirds of them from the half of the words that belongs to their class."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, n)
    features = np.zeros((n, words), dtype=np.float32)
    for row, label in enumerate(labels):
        own = generator.integers(0, words // 2, 8) + label * (words // 2)
        features[row, np.concatenate([own, generator.integers(0, words, 4)])] = 1
    return features / np.linalg.norm(features, axis=1, keepdims=True), labels


def overlapping(n: int, d: int = 2, *, classes: int = 2, seed: int = 0, dtype: str = "float64") -> Case:
    """Gaussian classes that overlap, in three unequal blocks."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, classes, size=n).astype(np.int32)
    centers = generator.standard_normal((classes, d))
    features = (centers[codes] * 0.7 + 0.6 * generator.standard_normal((n, d))).astype(dtype)
    first, second = int(0.4 * n), int(0.35 * n)
    return Case(features, codes, (first, second, n - first - second), classes if classes > 2 else 1)


def run_stages(solver: Any, case: Case) -> tuple[list[Any], PlainRunner]:
    """The states after init and after each stage, and the runner with what was sampled."""
    runner = case.runner()
    states = [runner.run(solver.init(case.problem))]
    while not solver.finished(states[-1]):
        states.append(runner.run(solver.stage(case.problem, states[-1])))
    return states, runner
