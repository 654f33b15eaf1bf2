"""Models of exact machines in cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import CorruptDataError
from distkern.core.stores import indexed, shaped
from distkern.core.types import Floats
from distkern.data.store.description import described
from distkern.data.store.parts import HeldParts, StoredParts, save_parts
from distkern.data.store.places import Place, absolute, place_of
from distkern.model.fields import fitted
from distkern.model.settings import AbstractSettings, Settings
from distkern.model.value import FittedModel
from distkern.solvers._cells.buckets import CellBasis
from distkern.solvers._cells.calibrating import Sigmoids
from distkern.solvers._cells.choosing import CellsState, Settled
from distkern.solvers._cells.tree import Places, places_from_arrays, places_to_arrays
from distkern.solvers._cells.updating import PreviousCells
from distkern.solvers.base import Problem
from distkern.solvers.cells import Cells
from distkern.solvers.risk import Risk

if TYPE_CHECKING:
    from distkern.engine.checkpoint import RunWorkplace

_FOLDER = "machines"


@dataclass(frozen=True, eq=False, kw_only=True)
class CellModel(FittedModel):
    """Exact kernel machines in cells of the rows."""

    folders = (_FOLDER,)

    settled: Settled = fitted(
        "chosen values: ``gamma_``, ``cost_`` and the kernel",
        fact="settled",
        write=asdict,
        internal=True,
        read=partial(described, Settled),
    )
    places: Places = fitted(
        "finds the cell of a row; ``places_.map`` has the transform and the metric", internal=True
    )
    machines: NDArray[np.uint8] = fitted(
        "(n_buckets, 32) fingerprints of the buckets' machines", array="machines", internal=True
    )
    parts: StoredParts | HeldParts = fitted(
        "machines of the buckets, in memory or in the model's folder", internal=True
    )
    bucket_bytes: int = fitted(
        "bytes of the largest bucket's machines", fact="bucket_bytes", write=int, internal=True
    )
    n_cells: int = fitted("number of cells", fact="cells", write=int)
    n_support: int = fitted("number of rows with a nonzero coefficient", fact="support", write=int)
    regulariser: float = fitted(
        "|w|^2 / (2 C n) for n training rows, summed over the cells", fact="regulariser", write=float
    )
    sigmoids: NDArray[np.float64] = fitted(
        "(n_outputs, 3) slopes, offsets and a power of the probabilities, with ``probability=True``",
        task="classification",
    )

    @classmethod
    def solver_of(cls, settings: Settings, risk: Risk) -> Cells:
        return Cells(
            risk,
            None if settings.value("kernel") == "auto" else settings.kernel_choice(),
            settings.value("gamma"),
            **settings.values_of(Cells),
            is_calibrated=bool(settings.given.get("probability", False)),
        )

    @classmethod
    def memory_hint(cls, settings: Settings, solver: Any) -> str:
        return "smaller cells (--set max_cell_rows=...)"

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: CellsState) -> dict[str, Any]:
        return cls.unit_parts(np.eye(len(state.center)), state, is_real=solver.risk.is_real) | {
            "settled": state.settled,
            "places": state.places,
            "machines": state.machines,
            "bucket_bytes": state.bucket_bytes,
            "n_cells": state.n_cells,
            "n_support": state.model_size,
            "regulariser": state.regulariser,
            "sigmoids": state.sigmoids,
        }

    @classmethod
    def stored_fields(cls, state: CellsState, workplace: RunWorkplace) -> dict[str, Any]:
        store = workplace.arrays(_FOLDER)
        if workplace.stays:
            return {"parts": StoredParts(store.folder, _texts(state.machines))}
        return {"parts": HeldParts(tuple(store.load(number) for number in range(len(state.machines))))}

    def basis(self, dtype: DTypeLike = np.float32) -> CellBasis:
        solver = self.solver_of(self.settings.cleaned, self.risk_of(self.settings, max(self.n_outputs, 2)))
        return CellBasis(
            self.places,
            solver.settings(solver.risk, self.settled),
            self.parts,
            None if isinstance(self.parts, HeldParts) else self.machines,
            self.bucket_bytes,
            self.n_outputs,
            dtype,
            self.target_scale,
        )

    def penalty(self) -> float:
        """Return |w|^2 / (2 C n) for n training rows, summed over the cells; without a unit."""
        return self.regulariser

    def raw_chances(self) -> Callable[[Floats], NDArray[np.float64]] | None:
        return Sigmoids(self.sigmoids) if len(self.sigmoids) else None

    @property
    def metric_weights(self) -> NDArray[np.float64] | None:
        return self.places.map.importance() if self.places.map.has_metric else None

    def before(self, n_blocks: int) -> PreviousCells:
        """Return the start of an update that reads ``n_blocks`` blocks of old rows."""
        last, places = self.history[-1], dict[str, Any](places_to_arrays(self.places))
        state = CellsState(
            0,
            float(last["objective"]),
            float(last["train_error"]),
            # the test rows of the update differ
            None,
            np.full(2, math.nan),
            *self.unit,
            np.full(2, math.nan),
            self.settled.kernel,
            self.settled.gamma,
            self.settled.cost,
            rows_of_bucket=np.zeros(len(self.machines), dtype=np.int64),
            machines=self.machines,
            bucket_bytes=self.bucket_bytes,
            regulariser=self.regulariser,
            model_size=self.n_support,
            n_cells=self.n_cells,
            sigmoids=self.sigmoids,
            **places,
        )
        return PreviousCells(state, self.parts, n_blocks)

    def continued(self, solver: Any, problem: Problem, update_run: Any) -> tuple[Any, Problem]:
        before = self.before(update_run.data.source.n_blocks - update_run.new.n_blocks)
        return replace(solver, before=before), replace(problem, seed=self.seed)

    def save_parts(self, folder: Place) -> None:
        if not isinstance(self.parts, StoredParts) or self.parts.folder != absolute(folder) / _FOLDER:
            save_parts(self.parts, len(self.machines), folder / _FOLDER)

    def arrays(self) -> dict[str, NDArray[Any]]:
        own = {"sigmoids": self.sigmoids} if len(self.sigmoids) else {}
        return super().arrays() | places_to_arrays(self.places) | own

    @classmethod
    def read(
        cls, known: dict[str, Any], arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str
    ) -> CellModel:
        places = places_from_arrays(arrays)
        indexed(arrays, "machines", places.n_buckets, 32, below=256)
        if places.n_features != known["columns"].width:
            raise ValueError(f"places of rows with {places.n_features} features for {known['columns'].width}")
        parts = StoredParts(place_of(where) / _FOLDER, _texts(arrays["machines"]))
        if (missing := parts.missing()) is not None:
            raise CorruptDataError(
                "these machines of the model are missing",
                where=str(missing),
                hint="copy the whole folder of the model again",
            )
        settings: AbstractSettings = known["settings"]
        if settings.has("probability") and settings.value("probability"):
            n_outputs = cls.loss_of(settings).n_outputs(len(known["classes"]))
            shaped(arrays, "sigmoids", n_outputs, 3)
        own = {"sigmoids": arrays.get("sigmoids", np.zeros((0, 3)))}
        return super().read({**known, **own, "places": places, "parts": parts}, arrays, facts, where)


def _texts(machines: NDArray[np.uint8]) -> tuple[str, ...]:
    return tuple(row.tobytes().hex() for row in machines)
