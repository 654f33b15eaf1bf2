"""Doubly stochastic functional gradients as a scikit-learn classifier and regressor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from distkern.bases.random_features import RandomFeatureBasis
from distkern.common.errors import CorruptDataError, InputError
from distkern.common.labels import plain_labels
from distkern.common.parameters import AUTO
from distkern.common.sparse import Rows, SparseRows, converted
from distkern.common.targets import plain_targets
from distkern.estimators.base import AbstractClassifier
from distkern.estimators.declared import fitted
from distkern.estimators.features import unit_of
from distkern.estimators.functional import AbstractFunctionalEstimator, AbstractFunctionalRegressor
from distkern.landmarks.base import RowLayout
from distkern.monitor.history import History
from distkern.runs.persistence import SavedForUpdate
from distkern.runs.update import further_of
from distkern.solvers._dsg.settings import DSGState, StepRule
from distkern.solvers.base import AbstractSolver, Problem, cannot_go_on
from distkern.solvers.dsg import DSG, ContinuedDSG
from distkern.storage.preparation import Preparation


class AbstractDSG(AbstractFunctionalEstimator):
    """What the estimators by doubly stochastic gradients share."""

    solver_type: ClassVar[type[DSG]]
    gamma_: float = fitted("the kernel's gamma", fact="gamma", write=float)
    n_blocks_: int = fitted("blocks of random features in use", fact="n_blocks", write=int)
    seed_: int = fitted("of every random choice that was made", fact="seed", write=int)
    #: steps of a run, and how often each block of features is changed, at least: 32 are as many as the
    #: default features of a classifier make
    least_steps: ClassVar[int] = 32
    least_visits: ClassVar[int] = 1

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> DSG:
        steps, values = None, self.values_of(self.solver_type)
        if self.step_size is not None:
            steps = StepRule(self.value("step_size"), self.value("step_decay"))
        values["block_size"] = min(values["block_size"], values["n_features"])
        n_blocks = -(-values["n_features"] // values["block_size"])
        return self.solver_type(
            self._risk_for(class_weights, mean_weight),
            self.kernel_choice(),
            sampler=self.value("sampler"),
            steps=steps,
            least_steps=max(self._least_steps(), self.least_visits * n_blocks),
            **values,
        )

    def _least_steps(self) -> int:
        # of quantiles slopes are small beside the curvature of 1 that stands for their kink's
        return self.least_steps * (4 if self._loss().predicts_quantiles else 1)

    def basis(self, dtype: DTypeLike = np.float32) -> RandomFeatureBasis:
        """The random features in use, computing in ``dtype``."""
        solver = self._solver(None, 1.0)
        return solver.basis(
            RowLayout((), self.width_, np.dtype(dtype), self.seed_), self.gamma_, self.n_blocks_
        )

    def _continue(self, rows: Rows, targets: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        """Steps over one more batch of validated rows with class codes or numbers."""
        from distkern.engine.drive import Driver
        from distkern.engine.executors import open_executor
        from distkern.runs.arrays import ArraySource

        before: DSGState | None = getattr(self, "_state", None)
        if before is None and hasattr(self, "coefficients_"):
            before = self._stored_state(further_of(self))
        if before is None:
            self.scaling_ = self.map_ = None
            wanted = self.value("dtype")
            self.dtype_ = rows.dtype if wanted == AUTO else np.dtype(wanted)
        rows = Preparation(scaling=self.scaling_, dtype=self.dtype_).apply_rows(rows)
        if self.map_ is not None:
            rows = self.map_.apply_rows(rows, rows.dtype)
        self.mean_weight_ = 1.0 if weights is None else float(weights.mean())
        source = ArraySource(converted(rows, sparse=isinstance(rows, SparseRows)), targets, weights)
        outputs = self._batch_outputs()
        solver = self._solver(None, self.mean_weight_)
        solver = replace(solver, risk=replace(solver.risk, n_outputs=outputs), stages=1, polish=None)
        if before is None:
            self.seed_ = self._seed()
        problem = Problem(
            source.block_rows,
            source.n_features,
            source.dtype,
            self.seed_,
            n_outputs=outputs,
            has_test=False,
            sparse_numbers=source.row_numbers if source.is_sparse else None,
            real_targets=self.task == "regression",
            class_shares=self._batch_shares(targets, weights),
        )
        with open_executor("synchronous") as executor:
            outcome = Driver({"train": source}, executor).run(
                ContinuedDSG(**vars(solver), before=before), problem
            )
        self.n_features_in_ = source.n_features
        self.history_ = History([*getattr(self, "history_", []), *outcome.history])
        self.n_iter_, self.ended_ = getattr(self, "n_iter_", 0) + 1, outcome.ending.reason
        earlier = SavedForUpdate() if self._further is None else self._further.loaded()
        kept, n_rows = solver.further(outcome.state), earlier.n_rows + source.n_rows
        weight = earlier.weight + self.mean_weight_ * source.n_rows
        self._further = SavedForUpdate(kept, n_rows, weight, (*earlier.sources, source.fingerprint))
        self._keep(outcome.state)

    def _stored_state(self, further: SavedForUpdate) -> DSGState:
        """The last state of the run that made a model, of what is kept of it; its figures are not known."""
        # all that is constant is the offset of classes
        center, scale = (self.constants_, 1.0) if self.task == "classification" else unit_of(self)
        own = dict(further.solver_state)
        state = DSGState(
            gamma=self.gamma_,
            landmarks=np.empty((0, self.width_)),
            cursor=np.zeros(0, np.int64),
            n_steps=int(own["step"]),
            center=center,
            target_scale=scale,
            variances=np.full(2, np.nan),
            **own,
        )
        if state.is_polished:
            # the average is of steps before the model was polished
            average = state.scale * state.coefficients if len(state.average) else state.average
            state = replace(state, average=average, polish_gap=math.nan)
        return state

    def _begun(self, solver: AbstractSolver[Any], problem: Problem) -> tuple[AbstractSolver[Any], Problem]:
        begins = self._begins
        assert begins is not None, "only updates begin from a model"
        if self.value("polish") is not None:
            why = "it was polished, is the minimum over its rows, and further steps would leave it"
            raise cannot_go_on(self.name, why)
        before, n_earlier = self._stored_state(begins.further), begins.n_earlier
        n_more = max(1, round(before.step * problem.n_rows / n_earlier))
        continued = ContinuedDSG(**vars(solver), before=before, n_more=n_more)
        return continued, replace(problem, seed=self.seed_)

    def _batch_shares(self, targets: NDArray[Any], weights: NDArray[np.float64] | None) -> tuple[float, ...]:
        """Shares of classes in the weight of a batch."""
        return ()

    def _batch_outputs(self) -> int:
        """Outputs of the model that batches are fitted to."""
        raise NotImplementedError

    def _batch(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Rows, NDArray[Any], NDArray[np.float64] | None]:
        """Validated rows, targets and weights of a batch."""
        self.check_parameters()
        metric = self.row_metric()
        if not hasattr(self, "coefficients_") and (metric or self.row_scale() not in (AUTO, "none")):
            raise InputError(
                "a single batch does not tell how far columns spread, or what they say of the targets",
                where="scale" if metric is None else "metric",
                hint="scale the rows before, or call fit on the first ones",
            )
        if getattr(self, "class_weight", None) == "balanced":
            raise InputError(
                "'balanced' needs all labels at once", where="class_weight", hint="give {label: weight}"
            )
        y = y if y is None else plain_targets(y)
        from distkern.runs.data import of_positive_weight
        from distkern.runs.given import validated

        is_first = not hasattr(self, "coefficients_")
        rows, targets, weights = validated(self, X, y, sample_weight, reset=is_first)
        return of_positive_weight(rows, targets, weights)

    def _keep(self, state: DSGState) -> None:
        self._state = state
        self._keep_coefficients(self._solver(None, 1.0).model_coefficients(state), state)
        self.gamma_, self.n_blocks_ = state.gamma, state.n_blocks

    def _squared_norm(self) -> float:
        # features are normalised block by block: those of all blocks together are sqrt(most_blocks) as long
        return self._solver(None, 1.0).most_blocks * float(
            np.einsum("ij,ij->", self.coefficients_, self.coefficients_)
        )

    def _facts(self) -> dict[str, Any]:
        return super()._facts() | {"features_digest": self.basis(np.float64).digest()}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        super()._restore(arrays, facts, where)
        basis = self.basis(np.float64)
        if self.coefficients_.shape[0] != basis.size:
            raise CorruptDataError(
                f"{self.coefficients_.shape[0]} coefficients for {basis.size} features",
                where=where,
                hint="train again",
            )
        basis.check_digest(facts["features_digest"], written_with=facts["numpy-version"], where=where)


class DSGClassifier(AbstractDSG, AbstractClassifier, solver=DSG):
    """Kernel classifier by doubly stochastic gradients (Dai et al. 2014; variants of Li and Poczos 2016).

    Minimises mean_i s_i l(f(x_i), y_i) + nu/2 |f|^2 over the kernel's function space: each step draws a batch
    of rows and a new block of random features, which are regenerated from the seed and never stored.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> DSGClassifier(gamma=4.0, n_features=512, block_size=64, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on with a batch of rows: as many steps as ``batch_size`` goes into them, at least one.

        Step sizes count on from batch to batch; the bandwidth is chosen on the first. Arrays only. Nothing is
        tried for ``nu`` or ``gamma`` "auto": they are as a ``fit`` before has found them, or their defaults;
        and columns are scaled only as by a ``fit`` before.

        Parameters
        ----------
        X : (n_rows, n_features) array or sparse matrix
        y : (n_rows,) labels
        classes : all labels there are, needed in the first call
        sample_weight : (n_rows,) weights of the losses

        Raises
        ------
        InputError
            If there is a label that ``classes`` does not hold, or the first call does not give them.
        """
        from distkern.runs.data import of_positive_weight

        rows, labels, weights = self._batch(X, y, sample_weight)
        check_classification_targets(labels)
        if hasattr(self, "coefficients_"):
            self._check_known(classes)
            known = self.classes_
        elif classes is None:
            raise InputError("is missing", where="classes", hint="give all labels in the first call")
        else:
            known = np.unique(plain_targets(classes, "classes"))
            if len(known) < 2:
                raise InputError("holds one label only", where="classes", hint="give at least two")
        places = np.searchsorted(known, labels)
        codes = np.minimum(places, len(known) - 1).astype(np.int32)
        unseen = plain_labels(labels[known[codes] != labels])
        if unseen:
            raise InputError(
                f"label {unseen[0]!r} is not among the classes",
                where="y",
                hint=f"classes of the first call: {plain_labels(known)}",
            )
        # a batch that is refused leaves no classes behind
        self.classes_, self.class_weights_ = known, None
        if self.class_weight:
            factors = self._given_weights(self.class_weight, self.classes_, np.ones(len(self.classes_)))
            self.class_weights_ = factors
            weights = factors[codes] if weights is None else weights * factors[codes]
            rows, codes, weights = of_positive_weight(rows, codes, weights)
        self._continue(rows, codes, weights)
        return self

    def _batch_shares(self, targets: NDArray[Any], weights: NDArray[np.float64] | None) -> tuple[float, ...]:
        totals = np.bincount(targets, weights, minlength=len(self.classes_))
        return tuple((totals / totals.sum()).tolist())

    def _batch_outputs(self) -> int:
        return self.n_outputs(len(self.classes_))


class DSGRegressor(AbstractDSG, AbstractFunctionalRegressor, solver=DSG):
    """Kernel regressor by doubly stochastic gradients (Dai et al. 2014; variants of Li and Poczos 2016).

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> DSGRegressor(n_features=512, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on with a batch of rows, see :meth:`DSGClassifier.partial_fit`."""
        rows, targets, weights = self._batch(X, y, sample_weight)
        self._continue(rows, np.asarray(targets, dtype=np.float64), weights)
        return self

    def _batch_outputs(self) -> int:
        return self.n_outputs()
