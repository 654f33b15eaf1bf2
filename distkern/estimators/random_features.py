"""Random features as a scikit-learn transformer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_container_adapter, _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from distkern.core import blas
from distkern.core.common_parameters import RANDOM_STATE
from distkern.core.errors import InputError
from distkern.core.parameters import NOTHING, Parameter, Whole
from distkern.core.python_words import in_python
from distkern.core.sparse import Rows, SparseRows, converted, refuse_masked, stacked
from distkern.core.types import Floats, is_dask
from distkern.data.dataset import Dataset, Split
from distkern.data.scaling import Preparation
from distkern.engine.dask.arrays import as_array
from distkern.estimators.declared import HyperparameterMixin
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.features.base import GAMMA, a_kernel
from distkern.maths.features.random import SAMPLER
from distkern.maths.kernels import FEATURE_KERNELS, AbstractKernel
from distkern.maths.kernels.bandwidth import gamma_by_rule
from distkern.model.fields import fitted
from distkern.model.parts import Columns
from distkern.model.settings import Settings
from distkern.runs.given import column_check, columns_of, rows_for
from distkern.solvers.hyperparameters import hyperparameters_of

_SAMPLE = 4000
_PRECISIONS = (np.float64, np.float32)


@dataclass(frozen=True, eq=False)
class FittedFeatures:
    """Random features of rows with known columns.

    Attributes
    ----------
    columns : columns of the rows
    n_features, sampler : number of features and how they are drawn
    """

    columns: Columns
    n_features: int
    sampler: str
    kernel: AbstractKernel = fitted("kernel")
    seed: int = fitted("seed of all draws")

    def basis(self, dtype: Any = np.float32) -> RandomFeatureBasis:
        own = self.columns.width, self.n_features, self.seed, self.sampler, dtype
        return RandomFeatureBasis(self.kernel, *own)


class RandomFeatures(
    HyperparameterMixin,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    # scikit-learn's own containers bring lazy rows into memory
    auto_wrap_output_keys=None,
):
    """Explicit features z(x) with E[z(x) . z(y)] = k(x, y), for any linear model.

    The features depend only on the parameters and the seed. ``fit`` checks the rows and reads the number of
    columns (and gamma, if a rule is given).

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> z = RandomFeatures(gamma=0.5, n_features=4096).fit_transform(X)
    >>> bool(abs(z @ z.T - np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))).max() < 0.1)
    True
    """

    task = "none"
    kind = FittedFeatures
    _model: FittedFeatures | None
    hyperparameters = hyperparameters_of(
        kernel=a_kernel(FEATURE_KERNELS),
        n_features=Parameter(1024, (Whole(),), "number of features; must be even if features come in pairs"),
        sampler=SAMPLER,
        random_state=replace(RANDOM_STATE, default=0),
        gamma=Parameter(None, (*GAMMA.kinds, NOTHING), f"{GAMMA.help}; none: 1"),
    )

    @in_python
    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Check the rows and the parameters.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, Dask array, Dask frame or Split
            Rows (n_rows, n_features).
        y : None
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        InputError or ValueError
            If a parameter is invalid or the kernel does not have it, or the kernel is not defined for a row.
        """
        values = {name: getattr(self, name) for name in self.hyperparameters}
        settings = Settings.of(self.hyperparameters, values)
        sample, columns = self._sample(X)
        choice, gamma = settings.kernel_choice(), settings.given["gamma"]
        if isinstance(gamma, str):
            gamma = gamma_by_rule(gamma, choice.kind, sample)
        kernel = choice.with_gamma(1.0 if gamma is None else gamma)
        kernel.check_domain(sample)
        own = settings.given["n_features"], settings.given["sampler"]
        made = FittedFeatures(columns, *own, kernel, settings.seed())
        made.basis()
        self._model, self._n_features_out = made, made.n_features
        return self

    @in_python
    def transform(self, X: Any) -> Any:
        """Compute z(X), (n_rows, n_features), in the precision of the rows.

        The result is lazy for Dask arrays, Dask frames and splits.
        """
        check_is_fitted(self, "kernel_")
        assert self._model is not None
        given = rows_for(self._model.columns, X)
        bases = self._model.basis(np.float32), self._model.basis(np.float64)
        function = partial(feature_rows, *bases, given.preparation)
        container = _get_output_config("transform", self)["dense"]
        names = self.get_feature_names_out
        if container == "pandas" and given.is_lazy:
            return given.map_to_frame(function, list(names()))
        if container == "polars" and given.is_lazy:
            raise InputError(
                "Polars frames hold all rows in memory, but these rows are lazy",
                where="set_output",
                hint="set the output to 'pandas', which gives a Dask frame, or to 'default'",
            )
        features = given.map(function, self._n_features_out)
        if container == "default":
            return features
        return _get_container_adapter("transform", self).create_container(features, X, columns=names)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the type that ``transform`` and ``fit_transform`` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None, default=None
            "default": arrays. "pandas": frames; for lazy rows a lazy Dask frame with the index of the given
            frame. "polars": frames, for rows in memory. None keeps the present choice.

        Returns
        -------
        self
        """
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _sample(self, X: Any) -> tuple[Rows, Columns]:
        """Return columns, and rows to check and derive gamma from: all in memory, or some of a source."""
        name = type(self).__name__
        if isinstance(X, Dataset):
            X = X.train
        if isinstance(X, Split):
            blocks = [0] if X.is_shuffled else np.unique(np.linspace(0, X.n_blocks - 1, 8).astype(int))
            share = -(-_SAMPLE // len(blocks))
            rows_of = (X.reader(int(block))().features for block in blocks)
            sample = stacked([part[:: -(-len(part) // share)].copy() for part in rows_of])
            return sample, Columns.of_dataset(name, X.dataset)
        if is_dask(X):
            array = as_array(X)
            columns = columns_of(name, X, int(array.shape[1]))
            if not isinstance(self.gamma, str):
                return np.empty((0, columns.n_features_in)), columns
            step = -(-int(array.shape[0]) // _SAMPLE)
            return np.asarray(array[::step].compute(), dtype=np.float64), columns
        refuse_masked(X)
        rows = validate_data(column_check(name), X, dtype=_PRECISIONS, order="C", accept_sparse="csr")
        checked: Rows = SparseRows.of_scipy(rows) if issparse(rows) else rows
        return checked, columns_of(name, X, checked.shape[1])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def feature_rows(
    single: RandomFeatureBasis,
    double: RandomFeatureBasis,
    preparation: Preparation | None,
    features: Floats | SparseRows,
) -> NDArray[Any]:
    """Compute z of rows in their own precision, after the preparation, with one BLAS thread."""
    rows: Rows = features if isinstance(features, SparseRows) else np.asarray(features)
    basis = single if rows.dtype == np.float32 else double
    if preparation is not None:
        rows = preparation.apply_rows(rows, basis.dtype)
    with blas.single_threaded():
        return basis.values(converted(rows.astype(basis.dtype), sparse=isinstance(rows, SparseRows)))
