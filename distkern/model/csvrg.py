"""Models that CSVRG finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from distkern.maths.bases.nystroem import NystroemBasis
from distkern.maths.features.landmarks import AbstractLandmarkFeatures, Nystroem
from distkern.model.features import LandmarkModel
from distkern.model.settings import Settings
from distkern.solvers.csvrg import SpanCSVRG


@dataclass(frozen=True, eq=False, kw_only=True)
class CSVRGModel(LandmarkModel):
    """A model that CSVRG finds."""

    @classmethod
    def kind_of_solver(cls, settings: Settings) -> tuple[type[Any], type[AbstractLandmarkFeatures]]:
        if settings.value("projection") == "span":
            return SpanCSVRG, Nystroem
        return super().kind_of_solver(settings)

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        found = super().of_state(settings, solver, state)
        if isinstance(solver, SpanCSVRG):
            # the same model over the kernels themselves, which are quicker
            kernel = settings.kernel_choice().with_gamma(state.gamma)
            basis = NystroemBasis(kernel, state.landmarks)
            found["coefficients"] = basis.landmark_coefficients(state.coefficients)
        return found
