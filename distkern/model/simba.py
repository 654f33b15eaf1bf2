"""Models that SIMBA finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.maths.losses import find_loss
from distkern.maths.losses.base import AbstractLoss
from distkern.model.features import FeatureModel
from distkern.model.settings import Settings
from distkern.solvers.risk import Risk


@dataclass(frozen=True, eq=False, kw_only=True)
class SIMBAModel(FeatureModel):
    """A model that SIMBA finds; its objective is the mean weighted hinge loss, added up over the outputs."""

    @classmethod
    def loss_of(cls, settings: Settings) -> AbstractLoss:
        return find_loss("hinge")()

    @classmethod
    def risk_of(
        cls,
        settings: Settings,
        n_classes: int = 2,
        class_weights: NDArray[np.float64] | None = None,
        mean_weight: float = 1.0,
    ) -> Risk:
        return Risk(cls.loss_of(settings), 1, class_weights, mean_weight)

    @classmethod
    def solver_of(cls, settings: Settings, risk: Risk) -> Any:
        assert settings.solver is not None
        return settings.solver(cls.features_of(settings), risk, **settings.values_of(settings.solver))

    def penalty(self) -> float:
        return 0.0
