"""Logarithms of density ratios by doubly stochastic gradients as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, check_random_state

from distkern.core.errors import InputError
from distkern.core.names import plain_labels
from distkern.core.targets import plain_targets
from distkern.core.types import Block
from distkern.data.dataset import Dataset, Split
from distkern.data.table import are_alike
from distkern.engine.dask.arrays import in_turn, is_dask
from distkern.estimators.base import AbstractClassifier
from distkern.model.random import RatioModel
from distkern.runs.data import TrainingData
from distkern.runs.joined import JoinedRows
from distkern.runs.recipe import Recipe
from distkern.solvers.dsg_density_ratio import DSGLogRatio as DensityRatioSolver
from distkern.solvers.hyperparameters import RANDOM_STATE, SCALE


def are_samples(X: Any, y: Any) -> bool:
    """Whether ``y`` is rows as ``X`` is, and not their labels; it is rows where both are one column."""
    if isinstance(y, Dataset | Split):
        return True
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple):
        shape = np.shape(y)
    if shape is None or len(shape) != 2:
        return False
    return bool(shape[1] > 1 or np.shape(X)[-1:] == (1,))


def joined_arrays(P: Any, Q: Any) -> tuple[Any, Any]:
    """The rows of both, and 1 for those of ``P`` and 0 for those of ``Q``.

    Raises
    ------
    InputError
        If they have other columns, or are not of one kind.
    """
    if np.shape(P)[1:] != np.shape(Q)[1:]:
        raise InputError(
            f"rows of shape {np.shape(P)[1:]} and of shape {np.shape(Q)[1:]}",
            where="the second sample",
            hint="give the same columns",
        )
    if is_dask(P, Q):
        return in_turn(P, Q, (1, 0))
    sparse = [hasattr(part, "tocsr") for part in (P, Q)]
    labels = np.repeat([1, 0], [np.shape(P)[0], np.shape(Q)[0]])
    if all(sparse):
        from scipy.sparse import vstack

        return vstack([P.tocsr(), Q.tocsr()]).tocsr(), labels
    if any(sparse) or hasattr(P, "columns") or hasattr(Q, "columns"):
        raise InputError(
            f"a {type(P).__name__} and a {type(Q).__name__}",
            where="the second sample",
            hint="give two arrays or two sparse matrices, or the rows of both together and their labels",
        )
    return np.concatenate([np.asarray(P), np.asarray(Q)]), labels


def joined_splits(P: Split, Q: Split) -> TrainingData:
    """The rows of two splits, 1 for those of ``P`` and 0 for those of ``Q``.

    Raises
    ------
    InputError
        If they have other columns, or were prepared in another way.
    """
    first, second = P.dataset, Q.dataset
    same = first.n_features == second.n_features and P.is_sparse == Q.is_sparse
    same = same and first.feature_names == second.feature_names
    if not (same and are_alike(first.table, second.table)):
        raise InputError(
            f"has other columns than {first.path}",
            where=str(second.path),
            hint="shard files with the same columns",
        )
    if first.scaling != second.scaling:
        raise InputError(
            f"was scaled in another way than {first.path}",
            where=str(second.path),
            hint="shard both with --scale none, or one file with the sample as its target",
        )
    both = Q, P
    totals = [one.n_rows if one.weight_totals is None else one.weight_totals.sum() for one in both]
    largest = [1.0 if one.largest_weights is None else one.largest_weights.max() for one in both]
    return TrainingData(
        JoinedSplits(P, Q),
        np.array([0, 1]),
        np.array(totals, dtype=np.float64),
        np.array(largest, dtype=np.float64),
        first.scaling,
    )


class JoinedSplits(JoinedRows):
    """The blocks of two splits one after the other, with their weights; targets are 1 and then 0."""

    def __init__(self, first: Split, second: Split) -> None:
        weighs = not (first.weight_totals is None and second.weight_totals is None)
        functions = partial(_labelled, 1, weighs), partial(_labelled, 0, weighs)
        super().__init__((first, second), functions, first.n_features, first.dtype)
        self.is_shuffled = False
        self.reader_bytes = max(first.reader_bytes, second.reader_bytes)


def _labelled(label: int, weighs: bool, block: Block) -> Block:
    """A block, all of one label, with a weight for each row if some rows have one."""
    targets: NDArray[np.int32] = np.full(block.n_rows, label, dtype=np.int32)
    weights = np.ones(block.n_rows) if weighs and block.weights is None else block.weights
    return replace(block, targets=targets, weights=weights)


class PermutationTest(NamedTuple):
    """Whether two samples are of one distribution.

    Attributes
    ----------
    statistic : mean of log(p/q) over the rows of p, less that over the rows of q
    p_value : (1 + permutations with at least that statistic) / (1 + n_permutations)
    n_permutations : how often the rows were dealt out anew
    """

    statistic: float
    p_value: float
    n_permutations: int


@dataclass(frozen=True)
class RatioRecipe(Recipe):
    """How the ratio is learned: both samples weigh the same.

    Attributes
    ----------
    second : the sample of q, where both are data sets
    """

    second: Split | None = None

    def data_of(self, split: Split) -> TrainingData:
        return super().data_of(split) if self.second is None else joined_splits(split, self.second)

    def check_classes(self, data: TrainingData) -> None:
        if len(data.classes) > 2:
            raise InputError(
                "Only binary classification is supported. The type of the target is multiclass: the rows are "
                f"of {len(data.classes)} labels",
                where="y",
                hint="give two samples, as the rows of two labels or as two arrays",
            )
        super().check_classes(data)

    def class_weights(self, data: TrainingData) -> NDArray[np.float64]:
        """Weights with which both samples weigh the same.

        Raises
        ------
        InputError
            If no training row with a weight is of one of the labels.
        """
        absent = data.classes[data.class_totals == 0].tolist()
        if absent:
            raise InputError(
                f"no training row has label {absent[0]!r}, or all such rows weigh 0",
                where="y",
                hint="give rows of both samples",
            )
        weights: NDArray[np.float64] = data.class_totals.sum() / (2 * data.class_totals)
        return weights


class DSGDensityRatio(AbstractClassifier, solver=DensityRatioSolver):
    """f = log(p/q) of two samples by doubly stochastic functional gradients (Dai et al. 2014, Section 4).

    Minimises E_q exp(f) - E_p f + nu/2 |f|^2 (Nguyen et al. 2010), whose minimiser without the last term is
    log(p/q), and its minimum 1 - KL(p, q). Both samples weigh the same, however many rows they have. They are
    two arrays or data sets, ``fit(P, Q)``, or the rows of two labels, ``fit(X, y)``: p is then the density of
    the rows of ``classes_[1]``, and with two arrays that of the first.

    As a classifier it predicts the sample of the larger density, and ``decision_function`` is ``log_ratio``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> P, Q = rng.normal(0.5, 1, (2000, 1)), rng.normal(-0.5, 1, (2000, 1))
    >>> model = DSGDensityRatio(gamma=0.2, n_features=256, block_size=64, random_state=0).fit(P, Q)
    >>> bool(np.abs(model.log_ratio([[-1.0], [0.0], [1.0]]) - [-1, 0, 1]).max() < 0.3)
    True
    """

    most_classes = 2
    kind = RatioModel
    beside: ClassVar = {"scale": SCALE, "random_state": RANDOM_STATE}
    _second: Split | None = None

    def recipe(self) -> RatioRecipe:
        return RatioRecipe(**vars(super().recipe()), second=self._second)

    def fit_with(self, X: Any, y: Any = None, sample_weight: Any = None, **how: Any) -> Self:
        try:
            if are_samples(X, y):
                X, y = (part.train if isinstance(part, Dataset) else part for part in (X, y))
                if isinstance(X, Split) and isinstance(y, Split):
                    self._second, y = y, None
                else:
                    X, y = joined_arrays(X, y)
            return super().fit_with(X, y, sample_weight, **how)
        finally:
            self._second = None

    # -- what the ratio says

    def log_ratio(self, X: Any) -> Any:
        """log(p/q), (n_rows,); lazy for Dask arrays and splits."""
        return self.decision_function(X)

    def kl_divergence(self, X: Any, y: Any) -> float:
        """E_p f - E_q exp(f) + 1 of other rows: at most KL(p, q) in expectation, whatever f is.

        Parameters
        ----------
        X, y : as of :meth:`permutation_test`
        """
        values, of_p = self._ratios(X, y)
        return float(values[of_p].mean() - np.exp(values[~of_p]).mean() + 1.0)

    def permutation_test(
        self, X: Any, y: Any, *, n_permutations: int = 999, random_state: Any = None
    ) -> PermutationTest:
        """Test whether p = q by rows that the model was not fitted on.

        The statistic is the mean of f over the rows of p less that over the rows of q, and it is compared
        with those of rows that are dealt out to p and q at random (Lopez-Paz and Oquab 2017, with f for the
        classifier). The p-value is exact, whatever f is, if the rows are independent of the training rows.

        Parameters
        ----------
        X, y : rows and their labels, or a sample of p and one of q; arrays, of which
            f takes 8 bytes a row
        n_permutations : how often
        random_state : of the permutations

        Raises
        ------
        InputError
            If a label is none of the training rows', or a sample has no rows.
        """
        if not isinstance(n_permutations, int | np.integer) or n_permutations < 1:
            raise InputError(f"is {n_permutations!r}", where="n_permutations", hint="use 1 or more")
        values, of_p = self._ratios(X, y)
        n_p, n, total = int(of_p.sum()), len(values), float(values.sum())

        def statistic(sum_of_p: float) -> float:
            return sum_of_p / n_p - (total - sum_of_p) / (n - n_p)

        generator = check_random_state(random_state)
        found = statistic(float(values[of_p].sum()))
        # what differs by rounding alone is not less
        least = found - 1e-12 * max(1.0, abs(found))
        others = sum(
            statistic(float(values[generator.permutation(n)[:n_p]].sum())) >= least
            for _ in range(n_permutations)
        )
        return PermutationTest(found, (1 + others) / (1 + n_permutations), int(n_permutations))

    def _ratios(self, X: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """f of each row, and which rows are of p."""
        self._fitted()
        if are_samples(X, y):
            parts = [np.asarray(self.log_ratio(part)) for part in (X, y)]
            values, of_p = np.concatenate(parts), np.repeat([True, False], [len(part) for part in parts])
        else:
            values, labels = np.asarray(self.log_ratio(X)), plain_targets(y)
            unknown = ~np.isin(labels, self._classes())
            if unknown.any():
                raise InputError(
                    f"label {plain_labels(labels[unknown])[0]!r} is none of the training rows'",
                    where="y",
                    hint=f"they have {plain_labels(self._classes())}",
                )
            of_p = labels == self._classes()[1]
        if of_p.all() or not of_p.any():
            raise InputError("one of the samples has no rows", where="X", hint="give rows of both")
        return values, of_p

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
