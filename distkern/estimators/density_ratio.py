"""Logarithms of density ratios by doubly stochastic gradients as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, check_random_state

from distkern.core.common_parameters import RANDOM_STATE, SCALE
from distkern.core.errors import InputError, invalid_value
from distkern.core.names import plain_labels
from distkern.core.targets import plain_targets
from distkern.core.types import Block, is_dask
from distkern.data.dataset import Dataset, Split
from distkern.data.table import are_alike
from distkern.engine.dask.arrays import in_turn
from distkern.estimators.base import AbstractClassifier
from distkern.model.random import RatioModel
from distkern.runs.data import TrainingData
from distkern.runs.recipe import Recipe
from distkern.runs.sources import JoinedRows


def are_samples(X: Any, y: Any) -> bool:
    """Return whether ``y`` holds rows like ``X``, not labels; two single columns are samples."""
    if isinstance(y, Dataset | Split):
        return True
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple):
        shape = np.shape(y)
    if shape is None or len(shape) != 2:
        return False
    return bool(shape[1] > 1 or np.shape(X)[-1:] == (1,))


def joined_arrays(P: Any, Q: Any) -> tuple[Any, Any]:
    """Return the rows of both samples, with label 1 for ``P`` and 0 for ``Q``.

    Raises
    ------
    InputError
        If the columns or the types differ.
    """
    if np.shape(P)[1:] != np.shape(Q)[1:]:
        raise InputError(
            f"rows of shape {np.shape(P)[1:]} and of shape {np.shape(Q)[1:]}",
            where="the second sample",
            hint="give samples with the same columns",
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
            hint="give two arrays or two sparse matrices, or all rows together with their labels",
        )
    return np.concatenate([np.asarray(P), np.asarray(Q)]), labels


def joined_splits(P: Split, Q: Split) -> TrainingData:
    """Return the rows of two splits, with label 1 for ``P`` and 0 for ``Q``.

    Raises
    ------
    InputError
        If the columns or the scalings differ.
    """
    first, second = P.dataset, Q.dataset
    same = first.n_features == second.n_features and P.is_sparse == Q.is_sparse
    same = same and first.feature_names == second.feature_names
    if not (same and are_alike(first.table, second.table)):
        raise InputError(
            f"has different columns from {first.path}",
            where=str(second.path),
            hint="shard files with the same columns",
        )
    if first.scaling != second.scaling:
        raise InputError(
            f"was scaled differently from {first.path}",
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
    """The blocks of two splits, one split after the other, with targets 1 and 0 and their weights."""

    def __init__(self, first: Split, second: Split) -> None:
        weighs = not (first.weight_totals is None and second.weight_totals is None)
        functions = partial(_labelled, 1, weighs), partial(_labelled, 0, weighs)
        super().__init__((first, second), functions, first.n_features, first.dtype)
        self.is_shuffled = False
        self.reader_bytes = max(first.reader_bytes, second.reader_bytes)


def _labelled(label: int, weighs: bool, block: Block) -> Block:
    """Return a block with one label for all rows, and with weights if some rows have one."""
    targets: NDArray[np.int32] = np.full(block.n_rows, label, dtype=np.int32)
    weights = np.ones(block.n_rows) if weighs and block.weights is None else block.weights
    return replace(block, targets=targets, weights=weights)


class PermutationTest(NamedTuple):
    """Result of a test whether two samples have the same distribution.

    Attributes
    ----------
    statistic : mean of log(p/q) over the rows of p minus the mean over the rows of q
    p_value : (1 + number of permutations with at least this statistic) / (1 + n_permutations)
    n_permutations : number of random permutations
    """

    statistic: float
    p_value: float
    n_permutations: int


@dataclass(frozen=True)
class RatioRecipe(Recipe):
    """How the ratio is learned: both samples have the same total weight.

    Attributes
    ----------
    second : the sample of q if both are data sets
    """

    second: Split | None = None

    def data_of(self, split: Split) -> TrainingData:
        return super().data_of(split) if self.second is None else joined_splits(split, self.second)

    def check_classes(self, data: TrainingData) -> None:
        if len(data.classes) > 2:
            raise InputError(
                "Only binary classification is supported. The type of the target is multiclass: the rows "
                f"have {len(data.classes)} labels",
                where="y",
                hint="give two samples: rows with two labels, or two arrays",
            )
        super().check_classes(data)

    def class_weights(self, data: TrainingData) -> NDArray[np.float64]:
        """Return weights that give both samples the same total weight.

        Raises
        ------
        InputError
            If a label has no training row of positive weight.
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


class DSGDensityRatio(AbstractClassifier, solver="dsg_density_ratio"):
    """Estimate f = log(p/q) of two samples by doubly stochastic functional gradients (Dai et al. 2014,
    Section 4).

    Minimises E_q exp(f) - E_p f + nu/2 |f|^2 (Nguyen et al. 2010). Without the last term the minimiser is
    log(p/q) and the minimum is 1 - KL(p, q). Both samples have the same total weight, whatever their sizes.
    Give two arrays or data sets, ``fit(P, Q)``, or rows with two labels, ``fit(X, y)``. With labels, p is the
    density of the rows of ``classes_[1]``; with two samples, p is the density of the first.

    As a classifier it predicts the sample with the larger density, and ``decision_function`` equals
    ``log_ratio``.

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
    extra_parameters: ClassVar = {"scale": SCALE, "random_state": RANDOM_STATE}
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

    # -- the ratio

    def log_ratio(self, X: Any) -> Any:
        """Compute log(p/q), (n_rows,); lazy for Dask collections and splits."""
        return self.decision_function(X)

    def kl_divergence(self, X: Any, y: Any) -> float:
        """Estimate the KL divergence on other rows: E_p f - E_q exp(f) + 1.

        The expectation is at most KL(p, q), whatever f is.

        Parameters
        ----------
        X, y : array-like
            See :meth:`permutation_test`.

        Returns
        -------
        kl : float
        """
        values, of_p = self._ratios(X, y)
        return float(values[of_p].mean() - np.exp(values[~of_p]).mean() + 1.0)

    def permutation_test(
        self, X: Any, y: Any, *, n_permutations: int = 999, random_state: Any = None
    ) -> PermutationTest:
        """Test p = q on rows that were not used to fit.

        The statistic is the mean of f over the rows of p minus the mean over the rows of q. It is compared
        with the statistics of random divisions of the rows (Lopez-Paz and Oquab 2017, with f as the
        classifier). The p-value is exact, whatever f is, if the rows are independent of the training rows.

        Parameters
        ----------
        X, y : array-like
            Rows and their labels, or a sample of p and a sample of q. f takes 8 bytes for each row.
        n_permutations : int, default=999
            Number of random divisions.
        random_state : int, RandomState or None, default=None
            Seed of the divisions.

        Returns
        -------
        test : PermutationTest

        Raises
        ------
        InputError
            If a label is unknown to the model, or a sample has no rows.
        """
        if not isinstance(n_permutations, int | np.integer) or n_permutations < 1:
            raise invalid_value("n_permutations", n_permutations, "an integer >= 1")
        values, of_p = self._ratios(X, y)
        n_p, n, total = int(of_p.sum()), len(values), float(values.sum())

        def statistic(sum_of_p: float) -> float:
            return sum_of_p / n_p - (total - sum_of_p) / (n - n_p)

        generator = check_random_state(random_state)
        found = statistic(float(values[of_p].sum()))
        # a difference within rounding counts as equal
        least = found - 1e-12 * max(1.0, abs(found))
        others = sum(
            statistic(float(values[generator.permutation(n)[:n_p]].sum())) >= least
            for _ in range(n_permutations)
        )
        return PermutationTest(found, (1 + others) / (1 + n_permutations), int(n_permutations))

    def _ratios(self, X: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return f of each row and whether the row belongs to p."""
        self._fitted()
        if are_samples(X, y):
            parts = [np.asarray(self.log_ratio(part)) for part in (X, y)]
            values, of_p = np.concatenate(parts), np.repeat([True, False], [len(part) for part in parts])
        else:
            values, labels = np.asarray(self.log_ratio(X)), plain_targets(y)
            unknown = ~np.isin(labels, self._classes())
            if unknown.any():
                raise InputError(
                    f"label {plain_labels(labels[unknown])[0]!r} is unknown to the model",
                    where="y",
                    hint=f"its labels are {plain_labels(self._classes())}",
                )
            of_p = labels == self._classes()[1]
        if of_p.all() or not of_p.any():
            raise InputError("one of the samples has no rows", where="X", hint="give rows of both")
        return values, of_p

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
