"""Exact machines in cells as a scikit-learn classifier and regressor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common import blas
from distkern.common.errors import CorruptDataError
from distkern.common.parameters import AUTO
from distkern.common.shapes import indexed, shaped
from distkern.common.types import Floats
from distkern.engine.checkpoint import RunWorkplace
from distkern.estimators.base import AbstractClassifier
from distkern.estimators.declared import fitted
from distkern.estimators.features import unit_of
from distkern.estimators.functional import AbstractFunctionalEstimator, AbstractFunctionalRegressor
from distkern.losses.conjugate import AbstractDualLoss
from distkern.runs.data import TrainingData
from distkern.solvers._cells.basis import CellBasis, cell_basis
from distkern.solvers._cells.calibrating import Sigmoids
from distkern.solvers._cells.place import Places, places_from_arrays, places_to_arrays
from distkern.solvers._cells.state import CellsState, Settled
from distkern.solvers._cells.touched import PreviousCells
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.cells import Cells
from distkern.solvers.hyperparameters import CLASS_WEIGHT, RANDOM_STATE, THRESHOLD
from distkern.storage.description import described
from distkern.storage.parts import HeldParts, StoredParts, save_parts
from distkern.storage.places import Place, absolute, place_of

if TYPE_CHECKING:
    from distkern.estimators.arena import ArenaSizes
    from distkern.search.folds import TriedMachine

_FOLDER = "machines"


class AbstractCells(AbstractFunctionalEstimator):
    """What the classifier and the regressor share."""

    folders = (_FOLDER,)
    settled_: Settled = fitted(
        "what was chosen: ``gamma_``, ``cost_`` and which kernel",
        fact="settled",
        write=asdict,
        read=partial(described, Settled),
    )
    places_: Places = fitted("where a row lies; ``places_.map`` has the transform and the metric")
    machines_: NDArray[np.uint8] = fitted(
        "(n_buckets, 32), fingerprints of the buckets' machines", array="machines"
    )
    parts_: StoredParts | HeldParts = fitted("the buckets' machines, in memory or in the folder of the model")
    bucket_bytes_: int = fitted("of the largest bucket's machines", fact="bucket_bytes", write=int)
    n_cells_: int = fitted("cells", fact="cells", write=int)
    n_support_: int = fitted("rows with a coefficient", fact="support", write=int)
    regulariser_: float = fitted(
        "|w|^2 / (2 C n) of n training rows, summed over the cells", fact="regulariser", write=float
    )

    #: whether a run measures the score on held-out rows also where nothing else needs these
    reports_score: bool = False

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> Cells:
        return Cells(
            self._risk_for(class_weights, mean_weight),
            None if self.value("kernel") == "auto" else self.kernel_choice(),
            self.value("gamma"),
            **self.values_of(Cells),
            is_calibrated=self._is_calibrated,
            reports_score=self.reports_score,
        )

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        solver, problem = super().problem(data, has_test=has_test)
        if self._begins is not None:
            return solver, problem
        cells = cast("Cells", solver)
        return replace(cells, search_result=self._searched(cells, data, problem.seed)), problem

    def _searched(self, cells: Cells, data: TrainingData, seed: int) -> TriedMachine | None:
        """What a search before the run chooses; None where everything is given, or where rows say nothing.

        The last one is kept, because a plan asks for it before the run does.
        """
        if not cells.space.is_open(data.source.n_features):
            return None
        key = data.source.fingerprint, repr(sorted(self.get_params().items()))
        kept = getattr(self, "_kept_search", None)
        if kept is None or not data.source.fingerprint or kept[0] != key:
            # models that are loaded have no use for it
            from distkern.estimators.arena import Arena

            with blas.single_threaded():
                weights = cells.risk.class_weights
                arena = Arena.of(data, seed, self._arena_sizes(cells, data), weights)
                found = None
                if arena.sample.tells:
                    space, loss = cells.space, cells.risk.loss
                    assert isinstance(loss, AbstractDualLoss)
                    # ridges are of rows whose mean weight is 1
                    ridges = None if isinstance(cells.C, str) else (1.0 / (cells.C * cells.risk.mean_weight),)
                    maps = space.maps(data.source.n_features)
                    found = arena.exact(maps, space.kernels, ridges, loss, is_wide=space.gamma == AUTO)
            self._kept_search = kept = (key, found)
        result: TriedMachine | None = kept[1]
        return result

    def _arena_sizes(self, cells: Cells, data: TrainingData) -> ArenaSizes:
        from distkern.estimators.arena import ArenaSizes

        source = data.source
        rows = cells.rows_of_cell(source.n_rows, source.n_features)
        return ArenaSizes.of(source, is_real=self.task == "regression", cell_rows=rows)

    def choosing_bytes(self, data: TrainingData) -> int:
        cells = self._solver(None, 1.0)
        if self._begins is not None or not cells.space.is_open(data.source.n_features):
            return 0
        return self._arena_sizes(cells, data).bytes_for(data.source)

    def before(self, n_blocks: int) -> PreviousCells:
        """The fitted model as one that an update begins from, of so many blocks of old rows."""
        last, unit = self.history_[-1], unit_of(self)
        places: dict[str, Any] = places_to_arrays(self.places_)
        state = CellsState(
            0,
            float(last["objective"]),
            float(last["train_error"]),
            # of other test rows
            None,
            np.full(2, math.nan),
            *unit,
            np.full(2, math.nan),
            self.settled_.kernel,
            self.settled_.gamma,
            self.settled_.cost,
            rows_of_bucket=np.zeros(len(self.machines_), dtype=np.int64),
            machines=self.machines_,
            bucket_bytes=self.bucket_bytes_,
            regulariser=self.regulariser_,
            model_size=self.n_support_,
            n_cells=self.n_cells_,
            sigmoids=getattr(self, "sigmoids_", np.zeros((0, 3))),
            **places,
        )
        return PreviousCells(state, self.parts_, n_blocks)

    @property
    def draws_any_row(self) -> bool:  # type: ignore[override]
        # an update draws none, and finds the cells of rows wherever they are
        return self._begins is not None

    def _begun(self, solver: AbstractSolver[Any], problem: Problem) -> tuple[AbstractSolver[Any], Problem]:
        begins, cells = self._begins, cast("Cells", solver)
        assert begins is not None, "only updates begin from a model"
        before = self.before(begins.data.source.n_blocks - begins.new.n_blocks)
        seed = problem.seed if begins.seed is None else begins.seed
        return replace(cells, before=before), replace(problem, seed=seed)

    def memory_hint(self) -> str:
        rows = self.value("max_cell_rows")
        return f"smaller cells (--set max_cell_rows={1000 if rows == 'auto' else max(2, rows // 2)})"

    def basis(self, dtype: DTypeLike = np.float32) -> CellBasis:
        solver = self._solver(None, 1.0)
        in_memory = isinstance(self.parts_, HeldParts)
        settings = solver.settings(solver.risk, self.settled_)
        return cell_basis(
            self.places_,
            settings,
            self.parts_,
            self.machines_,
            self.bucket_bytes_,
            self.coefficients_.shape[1],
            dtype,
            in_memory=in_memory,
        )

    @property
    def metric_importances_(self) -> NDArray[np.float64]:
        """The weight of each feature in the learned metric, (d,), their sum 1; there are none without one.

        The variance of the scaled feature times its entry on the diagonal of the metric, which is the average
        squared slope of the targets along it (Radhakrishnan et al. 2024). It is no measure
        of what the model would lose without the feature.
        """
        found = self._fitted().places_.map
        if not found.has_metric:
            raise AttributeError("no metric was learned")
        return found.importance()

    @property
    def gamma_(self) -> float:
        """The kernel's gamma over mapped rows."""
        return self.settled_.gamma

    @property
    def cost_(self) -> float:
        """C."""
        return self.settled_.cost

    def _keep(self, state: CellsState) -> None:
        self._keep_coefficients(np.eye(len(state.center)), state)
        self.settled_ = state.settled
        self.places_, self.machines_ = state.places, state.machines
        self.bucket_bytes_, self.n_cells_, self.n_support_ = (
            state.bucket_bytes,
            state.n_cells,
            state.model_size,
        )
        self.regulariser_ = state.regulariser

    def _take_parts(self, state: CellsState, workplace: RunWorkplace) -> None:
        store = workplace.arrays(_FOLDER)
        if workplace.stays:
            self.parts_ = StoredParts(store.folder, _texts(state.machines))
        else:
            self.parts_ = HeldParts(tuple(store.load(number) for number in range(len(state.machines))))

    def _save_parts(self, folder: Place) -> None:
        if not isinstance(self.parts_, StoredParts) or self.parts_.folder != absolute(folder) / _FOLDER:
            save_parts(self.parts_, len(self.machines_), folder / _FOLDER)

    def objective_value(self, losses: float, n_rows: int) -> float:
        """|w|^2 / (2 C n) of n training rows, summed over the cells, and the mean loss; without a unit."""
        return losses / n_rows + self.regulariser_

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return super()._arrays() | places_to_arrays(self.places_)

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        super()._restore(arrays, facts, where)
        folder = place_of(where)
        self.places_ = places_from_arrays(arrays)
        indexed(arrays, "machines", self.places_.n_buckets, 32, below=256)
        if self.places_.n_features != self.width_:
            raise ValueError(f"places of rows with {self.places_.n_features} features for {self.width_}")
        self.parts_ = StoredParts(folder / _FOLDER, _texts(self.machines_))
        missing = self.parts_.missing()
        if missing is not None:
            raise CorruptDataError(
                "these machines of the model are missing",
                where=str(missing),
                hint="copy the whole folder of the model again",
            )


def _texts(machines: NDArray[np.uint8]) -> tuple[str, ...]:
    return tuple(row.tobytes().hex() for row in machines)


class CellClassifier(AbstractCells, AbstractClassifier, solver=Cells):
    """An exact kernel machine in each cell of the rows, several classes by one-vs-rest.

    The rows are cut into cells of at most ``max_cell_rows`` rows, and each cell's machine minimises
    1/2 |w|^2 + C sum_i s_i l(f(x_i), y_i) over its rows; a row is predicted by the machine of its cell. s_i
    is the weight of a row times that of its class: a row of weight 2 is one that is there twice, and doubled
    weights are a doubled C. The largest C s_i that is solved is 10^10.

    The losses are no likelihoods. With ``probability=True`` some cells are solved once more without a fifth
    of their rows, and ``predict_proba`` is a sigmoid of the decision values that is fitted to these (Platt
    1999); of several classes one each, to one power (Guo et al. 2017), made to sum to 1, so that a row's
    likeliest class may differ from its label where they are close. Weights of classes do not count in it,
    those of rows do.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> CellClassifier(max_cell_rows=100, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    beside: ClassVar = {"class_weight": CLASS_WEIGHT, "threshold": THRESHOLD, "random_state": RANDOM_STATE}
    sigmoids_: NDArray[np.float64] = fitted(
        "(n_outputs, 3) slopes, offsets and a power, with ``probability=True``"
    )

    def _own_chances(self) -> Callable[[Floats], NDArray[np.float64]] | None:
        return Sigmoids(self.sigmoids_) if len(self.sigmoids_) else None

    def _keep(self, state: CellsState) -> None:
        super()._keep(state)
        self.sigmoids_ = state.sigmoids

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return super()._arrays() | ({"sigmoids": self.sigmoids_} if len(self.sigmoids_) else {})

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        super()._restore(arrays, facts, where)
        if self._is_calibrated:
            shaped(arrays, "sigmoids", self.n_outputs(len(self.classes_)), 3)
        self.sigmoids_ = arrays.get("sigmoids", np.zeros((0, 3)))


class CellRegressor(AbstractCells, AbstractFunctionalRegressor, solver=Cells):
    """An exact kernel machine in each cell of the rows, for real targets.

    f = target_center_ + target_scale_ g, see :class:`CellClassifier` for what g minimises.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> CellRegressor(random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    beside: ClassVar = {"probability": None, "random_state": RANDOM_STATE}
