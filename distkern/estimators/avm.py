"""AVM as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.estimators.coreset import CORESET_CONSTRAINTS, AbstractCoresetClassifier
from distkern.solvers.avm import AVM


class AVMClassifier(AbstractCoresetClassifier):
    """Approximation vector machine: stochastic gradients moved to landmarks (Le et al. 2017; csvrg.txt).

    Minimises the objective of :class:`CSVRGClassifier` with steps 1/t, so that ``lam`` is 1 / lambda of
    Le et al. Cheaper for each pass than CSVRG and slower to converge: O(1/t).

    Parameters
    ----------
    loss, kernel, gamma, smoothness, lam, mu, theta, n_landmarks, diameter, landmarks, order, projection, \
class_weight, random_state : as for :class:`CSVRGClassifier`
    stages : passes over the rows, measured after each
    steps_per_stage : int: rows; float: passes over the rows; None: one pass
    average : the model is the mean of the last half of the iterates rather than the last one
    """

    name = "avm"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**CORESET_CONSTRAINTS, "average": ["boolean"]}

    def __init__(
        self, *, loss: str = "hinge", kernel: str = "rbf", gamma: float | str = "scale",
        smoothness: float = 1.5, lam: float = 1024.0, mu: float = 0.4, theta: float = 0.4,
        n_landmarks: int | None = None, diameter: float | None = None, landmarks: str = "coverage",
        stages: int = 2, steps_per_stage: int | float | None = None, order: str = "shuffled",
        projection: bool = True, average: bool = True, class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.smoothness = smoothness
        self.lam = lam
        self.mu = mu
        self.theta = theta
        self.n_landmarks = n_landmarks
        self.diameter = diameter
        self.landmarks = landmarks
        self.stages = stages
        self.steps_per_stage = steps_per_stage
        self.order = order
        self.projection = projection
        self.average = average
        self.class_weight = class_weight
        self.random_state = random_state

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> AVM:
        return AVM(
            self._parts(class_weights, mean_weight),
            stages=self.stages,
            steps_per_stage=self.steps_per_stage,
            order=self.order,
            projection=self.projection,
            average=self.average,
        )
