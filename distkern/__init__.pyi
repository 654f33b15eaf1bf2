"""The public names of distkern, as type checkers and editors see them.

Written by ``python tests/stub.py``: change the docstrings and hyperparameters, not this file.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from distkern.choose.tuning.tune import Tuned
from distkern.core.errors import InputError as InputError
from distkern.core.sparse import Rows
from distkern.core.types import Array
from distkern.data.build import Notice
from distkern.data.dataset import Dataset as Dataset
from distkern.data.dataset import Split
from distkern.data.options import Impute
from distkern.data.options import Task
from distkern.data.scaling import Scaling
from distkern.data.scaling import ScalingKind
from distkern.data.store.parts import HeldParts
from distkern.data.store.parts import StoredParts
from distkern.data.store.places import Location
from distkern.data.table import Table
from distkern.engine.ending import Callback
from distkern.estimators.density_ratio import PermutationTest
from distkern.estimators.estimator import AbstractEstimator
from distkern.maths.kernels import AbstractKernel
from distkern.maths.maps.mapping import RowMap
from distkern.model.value import FittedModel
from distkern.show.explanation import Explanation
from distkern.show.history import History
from distkern.solvers._cells.place import Places
from distkern.solvers._cells.state import Settled
from numpy.random import RandomState
from numpy.typing import ArrayLike
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.base import ClassifierMixin
from sklearn.base import OutlierMixin
from sklearn.base import RegressorMixin
from sklearn.base import TransformerMixin
from typing import Any
from typing import Literal
from typing import Protocol
from typing import Self
from typing import overload
import numpy as np

__version__: str

__all__ = [
    "AVMClassifier",
    "CSVRGClassifier",
    "CellClassifier",
    "CellRegressor",
    "DSGClassifier",
    "DSGDensityRatio",
    "DSGGaussianProcessRegressor",
    "DSGNoveltyDetector",
    "DSGRegressor",
    "Dataset",
    "InputError",
    "KernelClassifier",
    "KernelRegressor",
    "NORMAClassifier",
    "NORMARegressor",
    "NewtonClassifier",
    "NewtonRegressor",
    "PegasosClassifier",
    "RBCDClassifier",
    "RBCDRegressor",
    "RandomFeatures",
    "SBMDClassifier",
    "SBMDRegressor",
    "SDCAClassifier",
    "SDCARegressor",
    "SIMBAClassifier",
    "SVRGClassifier",
    "SVRGRegressor",
    "__version__",
    "export",
    "kernel_matrix",
    "load_model",
    "open_dataset",
    "tune",
    "write_dataset",
]

class _Lazy(Protocol):
    """A Dask array or Dask frame."""

    def __dask_graph__(self) -> Any: ...


def export(model: Any, path: Location) -> None:
    """Write a fitted model as an ONNX file, for serving without Python or without this package.

    The file holds scaling, transforms and metric of the columns, kernel or random features, and what makes
    labels and probabilities. It computes in double precision and agrees with ``predict``,
    ``predict_proba`` and ``decision_function`` within 1e-5 (labels where no class is that near to another).

    ======= ================================== ========================================================
    name    shape                              what
    ======= ================================== ========================================================
    X       (n_rows, n_features) float32       input: the columns of ``fit`` in their order and units
    label   (n_rows,)                          of classifiers; dates are texts
    probabilities (n_rows, n_classes) float32  of classifiers that have ``predict_proba``
    decision (n_rows,) or (n_rows, n_classes) float32  of classifiers
    prediction (n_rows,) or (n_rows, n_quantiles) float32  of regressors
    ======= ================================== ========================================================

    Parameters
    ----------
    model : estimator
        Fitted: a linear machine, or one over landmarks, Nystroem features or random features.
    path : str or path-like
        File to write, as ``"model.onnx"``.

    Raises
    ------
    InputError
        If the package ``onnx`` is missing (``pip install 'distkern[onnx]'``), or the model has no formula in
        ONNX: machines in cells, models of encoded columns (texts, categories, dates), novelty detectors,
        density ratios, random features of the polynomial kernel; the message names the reason.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = NewtonClassifier(random_state=0).fit(X, y)
    >>> export(model, "moons.onnx")
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession("moons.onnx")
    >>> (label,) = session.run(["label"], {"X": X[:3].astype("float32")})
    >>> bool((label == model.predict(X[:3])).all())
    True
    """
    ...

def kernel_matrix(
        X: ArrayLike,
        Y: ArrayLike | None = None,
        *,
        kernel: str = 'rbf',
        **parameters: Any,
    ) -> Array:
    """The kernel's closed form between all rows of ``X`` and of ``Y`` (default ``X``), in float64.

    Parameters
    ----------
    X : (n, d) array
    Y : (m, d) array, optional
    kernel : name of the kernel
    **parameters : the kernel's own parameters, for instance ``gamma=0.5``

    Returns
    -------
    (n, m) float64 array

    Raises
    ------
    InputError
        If there is no kernel of that name, a parameter is unknown or out of range, the widths differ, or the
        kernel is not defined for a row.

    Examples
    --------
    >>> kernel_matrix([[0.0], [1.0]], kernel="laplacian", gamma=0.5).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """
    ...

def load_model(path: Location) -> _Loaded:
    """Load the fitted estimator that :meth:`save` or ``distkern train`` wrote to a folder or URL.

    Parameters
    ----------
    path : str or path-like
        The model's folder. Loading executes nothing that lies in it.

    Returns
    -------
    model : estimator
        The estimator of the class that was saved, fitted.

    Raises
    ------
    InputError
        If there is no finished model, or another version wrote it.
    CorruptDataError
        If anything in it is not what was written.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]] * 5), [0, 0, 1, 1] * 5
    >>> dk.NewtonClassifier(features="linear", random_state=0).fit(X, y).save("model")
    >>> load_model("model").predict([[0.0], [3.0]])
    array([0, 1])
    """
    ...

def open_dataset(path: Location) -> Dataset:
    """Open a data set that ``distkern shard`` or :func:`distkern.write_dataset` wrote.

    Parameters
    ----------
    path : str or path-like
        Its folder or fsspec URL. Rows are read when they are used.

    Returns
    -------
    dataset : Dataset
        With splits ``train`` and ``test`` (or None), ``classes``, ``n_rows`` and ``n_features``.

    Raises
    ------
    InputError
        If there is no data set, it is unfinished, or a newer version wrote it.
    CorruptDataError
        If its manifest is damaged.

    Examples
    --------
    >>> _ = dk.write_dataset([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], "four.zarr")
    >>> open_dataset("four.zarr").classes
    array([0, 1])
    """
    ...

def tune(
        estimator: Any,
        data: Any,
        y: Any = None,
        parameters: Mapping[str, Any] | None = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        method: str | None = None,
        candidates: int | None = None,
        validation: float | int = 0.2,
        metric: str | None = None,
        scoring: str | None = None,
        factor: int = 3,
        folder: Location | None = None,
        jobs: int = 1,
        memory_limit: int | str | None = None,
    ) -> Tuned:
    """Search for hyperparameters on held-out rows, out of core, on the Dask scheduler that is active.

    Parameters
    ----------
    estimator : estimator of this package
        Its ``random_state`` (0 if it is None) draws candidates and held-out rows. For ``KernelClassifier``
        and ``KernelRegressor`` the algorithm that they choose for the data is tuned.
    data : Dataset, Split, array-like, sparse matrix, frame, Dask array or Dask frame
        Of a data set the training rows alone are used. Other rows are written to ``TMPDIR`` first, frames as
        ``write_dataset`` stores them.
    y : array-like of shape (n_rows,), default=None
        Labels or targets; data sets have their own.
    parameters : dict, default=None
        Hyperparameter -> list of values, ``{"low": ..., "high": ...}`` with ``"log"`` and ``"points"`` if
        wanted, or a distribution of ``scipy.stats`` or Optuna. None: default ranges of the hyperparameters
        that are worth a search and that the estimator does not set. With a data set it may take the place
        of ``y``.
    sample_weight, groups : array-like of shape (n_rows,), default=None
        Weights of the rows, and groups that are held out together.
    method : {"grid", "random", "halving"}, default=None
        All combinations, some of them, or rungs: a ``factor``-th of the candidates goes on to ``factor``
        times the rows (Jamieson and Talwalkar 2016). None: "grid" where all values are listed, "random"
        where some are drawn, "halving" without ``parameters``.
    candidates : int, default=None
        How many are drawn; None: 10, or 20 without ``parameters``.
    validation : float or int, default=0.2
        Share of the rows that are held out, or a number of folds.
    metric : str, default=None
        A figure of ``distkern evaluate``; None: the log loss, or the root mean squared error.
    scoring : str, default=None
        scikit-learn's name of the score ("roc_auc", "neg_log_loss", ...), instead of ``metric``.
    factor : int, default=3
        Of "halving".
    folder : str or path-like, default=None
        Where finished trials are kept; a search with the same arguments goes on from there.
    jobs : int, default=1
        Trials at a time, each with a share of the workers' memory limit.
    memory_limit : int or str, default=None
        Memory of a worker, in bytes or as "512MiB".

    Returns
    -------
    found : Tuned
        ``found.estimator.fit(X, y)`` trains the best candidate on all rows; ``found.to_frame()`` lists all.

    Raises
    ------
    InputError
        If something cannot be tried or compared, or the folder holds another search.
    DistkernError
        If no candidate could be trained.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(400, noise=0.2, random_state=0)
    >>> found = tune(NewtonClassifier(), X, y, {"nu": [1e-2, 1e-6]}, scoring="roc_auc")
    >>> found.settings, found.value > 0.95
    ({'nu': 0.01}, True)
    """
    ...

def write_dataset(
        X: Any,
        y: Any,
        path: Location,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        task: Task | None = None,
        test_fraction: float | None = None,
        positive: str | None = None,
        scale: ScalingKind | None = None,
        rows_per_shard: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        sparse: bool | None = None,
        columns: bool = False,
        impute: Impute = 'mean',
        categorical: Mapping[str, str] | None = None,
        drop: Sequence[str] = (),
        text: Sequence[str] = (),
        id: str | None = None,
        keep_na: Sequence[str] = (),
        day_first: bool | None = None,
        overwrite: bool = False,
        notice: Notice | None = None,
    ) -> Dataset:
    """Write rows and their targets as a data set, as ``distkern shard`` does for files.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, Dask array or Dask frame of shape (n_rows, n_features)
        The rows. Lazy rows are computed a block at a time. Frames are of pandas, Polars, Arrow or Dask.
    y : array-like of shape (n_rows,) or None
        The targets; None without.
    path : str or path-like
        Folder or URL to make; it appears when it is complete.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows.
    groups : array-like of shape (n_rows,), default=None
        Rows of one group are held out together.
    task : {"classification", "regression", "none"}, default=None
        None: regression if ``y`` holds fractions or is lazy and holds floats, else classification.
    test_fraction : float, default=None
        Share of the rows, drawn at random, that become the split ``test``.
    positive : str, default=None
        This label against all others.
    scale : {"none", "minmax", "maxabs", "standard", "unit", "ball"}, default=None
        Scaling of the features, fitted on the training rows and applied to every later prediction. None:
        "minmax" for dense rows, "unit" for sparse ones.
    rows_per_shard : int, default=None
        None: shards of up to 16 MiB.
    shuffle : bool, default=True
        Store the training rows in random order.
    seed : int, default=0
        Seed of the order and of the test rows.
    sparse : bool, default=None
        Store rows sparse or dense; None: decided by the first rows.
    columns : bool, default=False
        Add a copy by columns, which SIMBA reads.
    impute : {"mean", "median", "flag", "none"}, default="mean"
        What replaces missing numbers of frames; "flag" adds a feature that marks them, "none" refuses them.
    categorical : dict, default=None
        Column name -> "onehot", "target" (target means) or "drop", for columns of frames.
    drop : list of str, default=()
        Columns of frames to leave out.
    text : list of str, default=()
        Columns of frames whose words become features.
    id : str, default=None
        Column of frames that names the rows. It is not a feature, and later frames may lack it.
    keep_na : list of str, default=()
        Columns of frames in which words such as "NA" are ordinary values.
    day_first : bool, default=None
        Whether 3/4/2024 is in April, in columns that do not show it.
    overwrite : bool, default=False
        Replace a data set at ``path``.
    notice : callable, default=None
        Called with notes on the rows.

    Returns
    -------
    dataset : Dataset
        The data set, opened.

    Raises
    ------
    InputError
        For rows or targets that cannot be used, and for a ``path`` that exists.

    Examples
    --------
    >>> X, y = np.random.default_rng(0).normal(size=(100, 3)), np.arange(100) % 2
    >>> write_dataset(X, y, "data.zarr", test_fraction=0.2).train.shape
    (80, 3)
    """
    ...

class _Model(BaseEstimator):  # type: ignore[misc]
    model_: FittedModel
    width_: int
    found_: Mapping[str, Any]
    coef_: NDArray[np.float64]
    intercept_: Any
    coefficients_: NDArray[np.float64]
    constants_: NDArray[np.float64]
    seed_: int
    n_iter_: int
    history_: History
    importances_: Explanation | None
    ended_: str | None
    updates_: tuple[dict[str, Any], ...]
    map_: RowMap | None
    mean_weight_: float
    class_weights_: NDArray[np.float64] | None
    class_shares_: NDArray[np.float64] | None
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    table_: Table | None
    target_name_: str | None
    zero_based_: bool | None
    scaling_: Scaling | None
    dtype_: np.dtype[Any] | None

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        text: Sequence[str] = (),
        categorical: Mapping[str, str] | Sequence[str] = (),
        id: str | None = None,
        eval_set: Any = None,
        early_stopping: int | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        verbose: bool = False,
    ) -> Self:
        """Fit to arrays, frames, Dask collections or the training split of a data set.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, Dask array, Dask frame, Dataset, Split or list of dict
            Rows (n_rows, n_features) in any order. Frames (pandas, Polars, Arrow, Dask) may hold texts, dates
            and missing values, which become numbers as ``distkern shard`` makes them.
        y : array-like of shape (n_rows,), default=None
            Labels or targets; data sets have their own.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights s_i >= 0 of the losses, whose sum the objective divides by.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group are held out together wherever something is chosen on held-out rows.
        text : list of str, default=()
            Columns of a frame whose words become features.
        categorical : list of str or dict, default=()
            Columns of a frame that are categories though they hold numbers, with a feature for each value;
            or column name -> "onehot", "target" (target means) or "drop".
        id : str, default=None
            Column of a frame that names the rows and is not a feature; frames to predict may lack it.
        eval_set : tuple (X, y) or Split, default=None
            Rows that are measured after every stage, as ``test_error`` in ``history_``.
        early_stopping : int, default=None
            End after this many stages without a lower error on ``eval_set`` and keep the best stage's model.
        callbacks : callable or list of callables, default=()
            Called after every stage with its line of ``history_``; one that returns True ends the fit.
        verbose : bool, default=False
            Show a bar and a line for every stage, in a terminal or a notebook.

        Returns
        -------
        self : estimator
            Fitted.

        Raises
        ------
        InputError or ValueError
            If a hyperparameter, a number or a label is not usable; the message names it.
        DivergenceError
            If the objective becomes NaN or infinite, or far exceeds the objective of the zero model.

        Warns
        -----
        ConvergenceWarning
            If the objective ended above that of the zero model or still fell much, or the model is no better
            than one class for all rows.
        """
        ...

    def update(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        old: Any = None,
        verbose: bool = False,
    ) -> Self:
        """Learn from new rows, going on from what has been learned.

        Landmarks, gamma, scaling, maps, encodings and weights of classes stay what they are, and so do the
        hyperparameters. What the updated model minimises depends on the algorithm:

        - Newton with the square loss, where it has made the matrix of all rows for up to 2,048 functions: of
          its objective over old and new rows, exactly. The old rows are not needed.
        - Newton with other losses, RBCD, SVRG and CSVRG: likewise, and they read the old rows again.
        - Cells: the machines of cells that get new rows are solved again from their old and new rows, all
          others stay to the bit, and so do map, kernel, C and the sigmoids of probabilities.
        - DSG, Pegasos, AVM, NORMA and SBMD go on with the steps of their papers over the new rows, counting
          on: the expected loss over the stream of all rows so far.

        Parameters
        ----------
        X, y, sample_weight : the new rows, as ``fit`` takes them in memory; or a split of a data set
        old : the rows that it has learned from so far, where they are to be read again: a tuple (X, y) or
            (X, y, sample_weight), a split, or a list of those
        verbose : show progress, as ``fit`` does

        Returns
        -------
        self

        Raises
        ------
        InputError
            If the algorithm cannot go on from a model, old rows are missing, or there is a label that the
            model does not know; the message says what to do instead.
        """
        ...

    def save(self, path: Location) -> None:
        """Write a model folder that :func:`distkern.load_model` reads; see there for what it holds.

        A model that is there stays until this one is whole.
        """
        ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get parameters for this estimator.

        Parameters
        ----------
        deep : bool, default=True
            If True, will return the parameters for this estimator and
            contained subobjects that are estimators.

        Returns
        -------
        params : dict
            Parameter names mapped to their values.
        """
        ...

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator.

        The method works on simple estimators as well as on nested objects
        (such as :class:`~sklearn.pipeline.Pipeline`). The latter have
        parameters of the form ``<component>__<parameter>`` so that it's
        possible to update each component of a nested object.

        Parameters
        ----------
        **params : dict
            Estimator parameters.

        Returns
        -------
        self : estimator instance
            Estimator instance.
        """
        ...

    def get_metadata_routing(self) -> Any:
        """Get metadata routing of this object.

        Please check :ref:`User Guide <metadata_routing>` on how the routing
        mechanism works.

        Returns
        -------
        routing : MetadataRequest
            A :class:`~sklearn.utils.metadata_routing.MetadataRequest` encapsulating
            routing information.
        """
        ...

class _Classifier(_Model, ClassifierMixin):  # type: ignore[misc]
    threshold_: float | None
    classes_: NDArray[Any]

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows: ``fit`` on the first one, ``update`` on later ones.

        What a fit chooses (scaling, landmarks, hyperparameters that are "auto") is chosen on the first batch.
        :meth:`update` says what the model then minimises: Newton with the square loss and up to 2,048
        functions ends where a fit to all rows with the choices of the first batch does.

        Parameters
        ----------
        X, y, sample_weight : rows in memory, as ``update`` takes them
        classes : all labels there are; None: those of the first batch, which has rows of each of them

        Raises
        ------
        InputError
            If the first batch has other labels than the classes, or a later one has a label that is not among
            them; if Newton has more functions; as :meth:`fit` and :meth:`update` do.
        """
        ...

    @overload
    def predict(self, X: _Lazy | Split | None) -> Any:
        """Labels (n_rows,); lazy for Dask arrays and splits."""
        ...

    @overload
    def predict(self, X: Any) -> NDArray[Any]: ...

    @overload
    def predict_proba(self, X: _Lazy | Split | None) -> Any:
        """Probabilities (n_rows, n_classes), where the model has them; lazy as predict.

        They are those of rows as they are, weighted by ``sample_weight``, whatever ``class_weight`` is.
        """
        ...

    @overload
    def predict_proba(self, X: Any) -> NDArray[Any]: ...

    @overload
    def decision_function(self, X: _Lazy | Split | None) -> Any:
        """f(x): (n_rows,) for two classes, else (n_rows, n_classes); lazy for Dask arrays and splits."""
        ...

    @overload
    def decision_function(self, X: Any) -> NDArray[Any]: ...

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy on arrays, or on a split of a data set, which has its own labels."""
        ...

    def explain(
        self,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[str | int] | None = None,
        grid_resolution: int = 20,
        n_repeats: int = 5,
        max_samples: int = 2000,
        random_state: int = 0,
    ) -> Explanation:
        """Permutation importances of the columns and partial dependence on them, on a sample of rows.

        A column of a table is permuted as a whole, and set to a value of the table. Only the sample is held.

        Parameters
        ----------
        X, y : rows and labels or targets as ``fit`` takes them, best such as it has not seen; of a data set
            its test rows, if it has some
        features : names or positions of the columns that are looked at; None: up to 30, those of the largest
            weight in a learned metric, else of the largest variance, and for partial dependence the five
            that cost most
        grid_resolution : values of a column for partial dependence, at most: quantiles from 5 to 95 %, or the
            categories of most rows
        n_repeats : permutations of each column
        max_samples : rows, at most, and at most 8 MiB of them
        random_state : seed of the sample and of the permutations

        Raises
        ------
        InputError or ValueError
            If an argument is not usable or nothing can be measured; the message says why.
        """
        ...

class _Regressor(_Model, RegressorMixin):  # type: ignore[misc]
    target_center_: NDArray[np.float64]
    target_scale_: float

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows, see :meth:`AbstractClassifier.partial_fit`."""
        ...

    @overload
    def predict(self, X: _Lazy | Split | None) -> Any:
        """Predictions (n_rows,), or (n_rows, n_quantiles); lazy for Dask arrays and splits."""
        ...

    @overload
    def predict(self, X: Any) -> NDArray[Any]: ...

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2 on arrays, or on a split of a data set, which has its own targets."""
        ...

    def explain(
        self,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[str | int] | None = None,
        grid_resolution: int = 20,
        n_repeats: int = 5,
        max_samples: int = 2000,
        random_state: int = 0,
    ) -> Explanation:
        """Permutation importances of the columns and partial dependence on them, on a sample of rows.

        A column of a table is permuted as a whole, and set to a value of the table. Only the sample is held.

        Parameters
        ----------
        X, y : rows and labels or targets as ``fit`` takes them, best such as it has not seen; of a data set
            its test rows, if it has some
        features : names or positions of the columns that are looked at; None: up to 30, those of the largest
            weight in a learned metric, else of the largest variance, and for partial dependence the five
            that cost most
        grid_resolution : values of a column for partial dependence, at most: quantiles from 5 to 95 %, or the
            categories of most rows
        n_repeats : permutations of each column
        max_samples : rows, at most, and at most 8 MiB of them
        random_state : seed of the sample and of the permutations

        Raises
        ------
        InputError or ValueError
            If an argument is not usable or nothing can be measured; the message says why.
        """
        ...


class _Loaded(_Classifier):
    """A fitted estimator of any class: regressors lack what classifiers alone have."""

class AVMClassifier(_Classifier):
    """Approximation vector machine: gradients moved to landmarks (Le et al. 2017; Tan et al. 2019).

    Minimises the objective of :class:`CSVRGClassifier` with steps 1/t, so that ``lam`` is 1 / lambda of
    Le et al. Cheaper for each pass than CSVRG and slower to converge: O(1/t).

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "squared_hinge"}, default="hinge"
        the loss
    kernel : {"cauchy", "laplacian", "matern", "rbf"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 2048, or by the diameter
    diameter : float >= 0 or None, default=None
        of the balls that cover the rows, instead of n_landmarks
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    lam : float > 0 or "auto", default="auto"
        weight of the losses against 1/2 |w|^2 (the papers' lambda): larger fits closer; auto:
        chosen on held-out rows, or 1024.0
    stages : int >= 1, default=10
        passes over the rows, measured after each
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: one pass, or more where that would be less
        than lam steps (at most 2^14 of them)
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement, block by
        block, which leave out some rows and take others twice
    projection : bool, default=True
        keep w in the ball that holds the optimum
    average : bool, default=True
        the model is the mean of the last half of the iterates, not the last
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    threshold : float in (0, 1), "balanced" or None, default=None
        probability of the second of two classes from which on it is predicted; balanced: its share
        of the training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2,
        or with class_weight w_0 / (w_0 + w_1). Figures of stages are without it
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    theta : float in [0, 1) or None, default=None
        half width of the band of margins around 1 that cost nothing; none: 0.4
    mu : float in (0, 1] or None, default=None
        weight of margins above the band against those below it; none: 0.4
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    landmarks_ : Rows
        (r, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was fitted on
        sparse rows
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    seed_ : int
        of every random choice that was made
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> AVMClassifier(gamma=4.0, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    landmarks_: Rows
    gamma_: float
    loss: Literal["hinge", "least_squares", "logistic", "odm", "squared_hinge"]
    kernel: Literal["cauchy", "laplacian", "matern", "rbf"]
    gamma: Literal["median", "scale", "auto"] | float | str
    n_landmarks: int | None
    diameter: float | None
    landmarks: Literal["coverage", "uniform"]
    lam: Literal["auto"] | float
    stages: int
    steps_per_stage: int | float | None
    order: Literal["shuffled", "iid"]
    projection: bool
    average: bool
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    threshold: Literal["balanced"] | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    theta: float | None
    mu: float | None
    smoothness: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "squared_hinge"] = 'hinge',
        kernel: Literal["cauchy", "laplacian", "matern", "rbf"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        n_landmarks: int | None = None,
        diameter: float | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        lam: Literal["auto"] | float = 'auto',
        stages: int = 10,
        steps_per_stage: int | float | None = None,
        order: Literal["shuffled", "iid"] = 'shuffled',
        projection: bool = True,
        average: bool = True,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        smoothness: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class CSVRGClassifier(_Classifier):
    """Kernel machine trained by coreset variance-reduced stochastic gradients (Tan et al. 2019, Algorithm 1).

    Minimises 1/2 |w|^2 + (lam / m) sum_i l(y_i <w, phi(x_i)>) over w in the span of at most ``n_landmarks``
    landmarks, for losses without kinks with linear convergence to the optimum of that span; with
    ``projection=True``, as in the paper, to a fixed point whose distance is that of the rows from their
    landmarks. Several classes are learnt one-vs-rest over the same landmarks, sharing every kernel row.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "squared_hinge"}, default="odm"
        the loss
    kernel : {"cauchy", "laplacian", "matern", "rbf"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 512, or by the diameter
    diameter : float >= 0 or None, default=None
        of the balls that cover the rows, instead of n_landmarks
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    lam : float > 0 or "auto", default="auto"
        weight of the losses against 1/2 |w|^2 (the papers' lambda): larger fits closer; auto:
        chosen on held-out rows, or 1024.0
    stages : int >= 1, default=5
        at most this many; each is one pass for the full gradient and one for the inner loop
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: one pass, or 3 / eta rows up to three passes
        or 10,000 rows
    step_size : float in (0, 1) or None, default=None
        eta; none: 1 / L, 0.5 / L without the mean of iterates, and 0.02 / max(1, lam) for a loss
        that is not smooth
    option : {"mean", "I", "II"}, default="mean"
        the next snapshot is the mean of the iterates of the stage's last quarter, the last one (I)
        or a random one (II)
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement, block by
        block, which leave out some rows and take others twice
    projection : bool or "span", default="span"
        span: gradients are projected on the span of the landmarks, which takes r^2 operations more
        of a row; true: they are moved to the nearest landmark, as in the paper; by both w is kept
        in the ball that holds the optimum; false: as true, without the ball
    tol : float >= 0, default=0.01
        stop once w changes by less than this share of itself in a stage, or, with
        projection='span', the objective is shown to be within this share of f(0) - f of its minimum
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    threshold : float in (0, 1), "balanced" or None, default=None
        probability of the second of two classes from which on it is predicted; balanced: its share
        of the training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2,
        or with class_weight w_0 / (w_0 + w_1). Figures of stages are without it
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    theta : float in [0, 1) or None, default=None
        half width of the band of margins around 1 that cost nothing; none: 0.4
    mu : float in (0, 1] or None, default=None
        weight of margins above the band against those below it; none: 0.4
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    landmarks_ : Rows
        (r, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was fitted on
        sparse rows
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    seed_ : int
        of every random choice that was made
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> CSVRGClassifier(gamma=4.0, lam=64.0, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    landmarks_: Rows
    gamma_: float
    loss: Literal["hinge", "least_squares", "logistic", "odm", "squared_hinge"]
    kernel: Literal["cauchy", "laplacian", "matern", "rbf"]
    gamma: Literal["median", "scale", "auto"] | float | str
    n_landmarks: int | None
    diameter: float | None
    landmarks: Literal["coverage", "uniform"]
    lam: Literal["auto"] | float
    stages: int
    steps_per_stage: int | float | None
    step_size: float | None
    option: Literal["mean", "I", "II"]
    order: Literal["shuffled", "iid"]
    projection: Literal["span"] | bool
    tol: float
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    threshold: Literal["balanced"] | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    theta: float | None
    mu: float | None
    smoothness: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "squared_hinge"] = 'odm',
        kernel: Literal["cauchy", "laplacian", "matern", "rbf"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        n_landmarks: int | None = None,
        diameter: float | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        lam: Literal["auto"] | float = 'auto',
        stages: int = 5,
        steps_per_stage: int | float | None = None,
        step_size: float | None = None,
        option: Literal["mean", "I", "II"] = 'mean',
        order: Literal["shuffled", "iid"] = 'shuffled',
        projection: Literal["span"] | bool = 'span',
        tol: float = 0.01,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        smoothness: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class CellClassifier(_Classifier):
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

    Parameters
    ----------
    loss : {"hinge", "least_squares", "odm", "squared_hinge"}, default="squared_hinge"
        the loss
    kernel : {"auto", "cauchy", "laplacian", "matern", "rbf"}, default="auto"
        the kernel; auto: searched, or exp(-gamma |x - y|)
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        of the kernel, over mapped rows: a number, or a rule that reads it off them; auto: searched,
        or 'median'
    smoothness : float in [0.5, 9.5], default=0.5
        of the Matern kernel: with 0.5 it is exp(-gamma |x - y|)
    probability : bool, default=True
        whether probabilities of classes are fitted, on rows that are held out of some cells
    C : float in (0, 1e+10] or "auto", default="auto"
        weight of the losses against 1/2 |w|^2: larger fits closer; auto: searched, or 10
    scale : {"auto", "none", "standard", "normal", "ranks"}, default="auto"
        of each column: standard: to mean 0 and variance 1; ranks: to its ranks; normal: to normal
        quantiles; none: as it is; auto: searched, or none
    metric : {"auto", "diagonal", "interactions", "full"} or None, default="auto"
        in which distances are measured, learned from gradients; interactions: a diagonal that
        starts from the columns whose narrow pairs explain what a broad machine leaves; none:
        Euclidean; auto: searched, or Euclidean
    search : {"full", "quick"} or None, default="full"
        how what is auto of scale, metric, gamma and C is chosen, on rows that are held out of a
        sample and of rows near each other; none: it is not
    max_cell_rows : int >= 2 or "auto", default="auto"
        rows of a cell, at most: time grows with them, memory with their square; auto: 1000 to
        12000, fewer of many rows
    overlap : float in [0, 0.5] or "auto", default="auto"
        share of the rows of two cells from which both learn, at the border between them; less, as a
        share, where more cells meet; auto: 0.3 for few cells (about 8), else 0.1
    tol : float >= 0, default=0.05
        the largest slope of the dual that is left, in units of predictions (margins, or standard
        deviations of the targets), 1e-4 or more; less where the duality gap is more than 3 % of the
        objective; the square loss is solved at once
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    threshold : float in (0, 1), "balanced" or None, default=None
        probability of the second of two classes from which on it is predicted; balanced: its share
        of the training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2,
        or with class_weight w_0 / (w_0 + w_1). Figures of stages are without it
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    theta : float in [0, 1) or None, default=None
        half width of the band of margins around 1 that cost nothing; none: 0.4
    mu : float in (0, 1] or None, default=None
        weight of margins above the band against those below it; none: 0.4
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    settled_ : Settled
        what was chosen: ``gamma_``, ``cost_`` and which kernel
    places_ : Places
        where a row lies; ``places_.map`` has the transform and the metric
    machines_ : ndarray
        (n_buckets, 32), fingerprints of the buckets' machines
    parts_ : StoredParts or HeldParts
        the buckets' machines, in memory or in the folder of the model
    bucket_bytes_ : int
        of the largest bucket's machines
    n_cells_ : int
        cells
    n_support_ : int
        rows with a coefficient
    regulariser_ : float
        |w|^2 / (2 C n) of n training rows, summed over the cells
    sigmoids_ : ndarray
        (n_outputs, 3) slopes, offsets and a power, with ``probability=True``
    metric_importances_ : ndarray
        The weight of each feature in the learned metric, (d,), their sum 1; there are none without
        one
    gamma_ : float
        The kernel's gamma over mapped rows
    cost_ : float
        C
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    seed_ : int
        of every random choice that was made
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> CellClassifier(max_cell_rows=100, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    settled_: Settled
    places_: Places
    machines_: NDArray[np.uint8]
    parts_: StoredParts | HeldParts
    bucket_bytes_: int
    n_cells_: int
    n_support_: int
    regulariser_: float
    sigmoids_: NDArray[np.float64]
    metric_importances_: NDArray[np.float64]
    gamma_: float
    cost_: float
    loss: Literal["hinge", "least_squares", "odm", "squared_hinge"]
    kernel: Literal["auto", "cauchy", "laplacian", "matern", "rbf"]
    gamma: Literal["median", "scale", "auto"] | float | str
    smoothness: float
    probability: bool
    C: Literal["auto"] | float
    scale: Literal["auto", "none", "standard", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    search: Literal["full", "quick"] | None
    max_cell_rows: Literal["auto"] | int
    overlap: Literal["auto"] | float
    tol: float
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    threshold: Literal["balanced"] | float | None
    random_state: int | RandomState | None
    theta: float | None
    mu: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "odm", "squared_hinge"] = 'squared_hinge',
        kernel: Literal["auto", "cauchy", "laplacian", "matern", "rbf"] = 'auto',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        smoothness: float = 0.5,
        probability: bool = True,
        C: Literal["auto"] | float = 'auto',
        scale: Literal["auto", "none", "standard", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = 'auto',
        search: Literal["full", "quick"] | None = 'full',
        max_cell_rows: Literal["auto"] | int = 'auto',
        overlap: Literal["auto"] | float = 'auto',
        tol: float = 0.05,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class CellRegressor(_Regressor):
    """An exact kernel machine in each cell of the rows, for real targets.

    f = target_center_ + target_scale_ g, see :class:`CellClassifier` for what g minimises.

    Parameters
    ----------
    loss : {"absolute", "epsilon_insensitive", "huber", "square"}, default="square"
        the loss
    kernel : {"auto", "cauchy", "laplacian", "matern", "rbf"}, default="auto"
        the kernel; auto: searched, or exp(-gamma |x - y|)
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        of the kernel, over mapped rows: a number, or a rule that reads it off them; auto: searched,
        or 'median'
    smoothness : float in [0.5, 9.5], default=0.5
        of the Matern kernel: with 0.5 it is exp(-gamma |x - y|)
    C : float in (0, 1e+10] or "auto", default="auto"
        weight of the losses against 1/2 |w|^2: larger fits closer; auto: searched, or 10
    scale : {"auto", "none", "standard", "normal", "ranks"}, default="auto"
        of each column: standard: to mean 0 and variance 1; ranks: to its ranks; normal: to normal
        quantiles; none: as it is; auto: searched, or none
    metric : {"auto", "diagonal", "interactions", "full"} or None, default="auto"
        in which distances are measured, learned from gradients; interactions: a diagonal that
        starts from the columns whose narrow pairs explain what a broad machine leaves; none:
        Euclidean; auto: searched, or Euclidean
    search : {"full", "quick"} or None, default="full"
        how what is auto of scale, metric, gamma and C is chosen, on rows that are held out of a
        sample and of rows near each other; none: it is not
    max_cell_rows : int >= 2 or "auto", default="auto"
        rows of a cell, at most: time grows with them, memory with their square; auto: 1000 to
        12000, fewer of many rows
    overlap : float in [0, 0.5] or "auto", default="auto"
        share of the rows of two cells from which both learn, at the border between them; less, as a
        share, where more cells meet; auto: 0.3 for few cells (about 8), else 0.1
    tol : float >= 0, default=0.05
        the largest slope of the dual that is left, in units of predictions (margins, or standard
        deviations of the targets), 1e-4 or more; less where the duality gap is more than 3 % of the
        objective; the square loss is solved at once
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    epsilon : float >= 0 or None, default=None
        residual that costs nothing, in the units of the targets; none: 0.1 standard deviations
    delta : float > 0 or None, default=None
        residual from which on it grows linearly, in the units of the targets; none: 1.35 standard
        deviations of theirs, as efficient as the square loss to 95 % if the noise is normal (Huber
        1964)
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    settled_ : Settled
        what was chosen: ``gamma_``, ``cost_`` and which kernel
    places_ : Places
        where a row lies; ``places_.map`` has the transform and the metric
    machines_ : ndarray
        (n_buckets, 32), fingerprints of the buckets' machines
    parts_ : StoredParts or HeldParts
        the buckets' machines, in memory or in the folder of the model
    bucket_bytes_ : int
        of the largest bucket's machines
    n_cells_ : int
        cells
    n_support_ : int
        rows with a coefficient
    regulariser_ : float
        |w|^2 / (2 C n) of n training rows, summed over the cells
    metric_importances_ : ndarray
        The weight of each feature in the learned metric, (d,), their sum 1; there are none without
        one
    gamma_ : float
        The kernel's gamma over mapped rows
    cost_ : float
        C
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    seed_ : int
        of every random choice that was made
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    target_center_ : ndarray
        (n_outputs,), of the square loss the mean of the targets, of the others their median or the
        quantiles that are asked for; of DSG's quantiles those of y - target_scale_ g
    target_scale_ : float
        of the square loss the standard deviation of the targets, of the others the spread between
        their deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> CellRegressor(random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    settled_: Settled
    places_: Places
    machines_: NDArray[np.uint8]
    parts_: StoredParts | HeldParts
    bucket_bytes_: int
    n_cells_: int
    n_support_: int
    regulariser_: float
    metric_importances_: NDArray[np.float64]
    gamma_: float
    cost_: float
    loss: Literal["absolute", "epsilon_insensitive", "huber", "square"]
    kernel: Literal["auto", "cauchy", "laplacian", "matern", "rbf"]
    gamma: Literal["median", "scale", "auto"] | float | str
    smoothness: float
    C: Literal["auto"] | float
    scale: Literal["auto", "none", "standard", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    search: Literal["full", "quick"] | None
    max_cell_rows: Literal["auto"] | int
    overlap: Literal["auto"] | float
    tol: float
    random_state: int | RandomState | None
    epsilon: float | None
    delta: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["absolute", "epsilon_insensitive", "huber", "square"] = 'square',
        kernel: Literal["auto", "cauchy", "laplacian", "matern", "rbf"] = 'auto',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        smoothness: float = 0.5,
        C: Literal["auto"] | float = 'auto',
        scale: Literal["auto", "none", "standard", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = 'auto',
        search: Literal["full", "quick"] | None = 'full',
        max_cell_rows: Literal["auto"] | int = 'auto',
        overlap: Literal["auto"] | float = 'auto',
        tol: float = 0.05,
        random_state: int | RandomState | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class DSGClassifier(_Classifier):
    """Kernel classifier by doubly stochastic gradients (Dai et al. 2014; variants of Li and Poczos 2016).

    Minimises mean_i s_i l(f(x_i), y_i) + nu/2 |f|^2 over the kernel's function space: each step draws a batch
    of rows and a new block of random features, which are regenerated from the seed and never stored.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"}, default="logistic"
        the loss
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    step_size : float > 0 or None, default=None
        gamma_t = step_size / (1 + step_decay t); none: .5, or 5 / l'' plainly
    step_decay : float >= 0, default=0.02
        how fast steps of a given size fall
    n_features : int >= 1, default=16384
        random features at most, rounded up to whole blocks
    block_size : int >= 1, default=512
        features of a block, as many as a step adds; even for pairs
    batch_size : int >= 1, default=4096
        B, rows of a step; at most all rows
    nu : float >= 0 or "auto", default=1e-06
        weight of |f|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06
    variant : {"dsg", "udsg", "cdsg"}, default="dsg"
        dsg: a new block each step; udsg: every other step in an old one; cdsg: in an old one where
        its inequality allows
    udsg_pattern : float or list of float, default=(1, 1)
        steps in new blocks, then steps in old blocks, and so on
    largest_reuse : float > 0, default=4.0
        largest step in an old block, in units of steps in new blocks
    feature_variance : float > 0, default=1.0
        variance over x of phi(x) phi(x'), about 1 for cosines
    precondition : bool, default=True
        divide a block's step by its damped curvature, as the authors' published code does
    damping : float >= 0 or None, default=None
        of that curvature; none: 0.3 / n (10 / n of a density ratio), from 1e-5 to 1e-2
    average : bool, default=True
        the model is the average of the iterates, late ones weighing most
    polish : "exact" or None, default=None
        exact: after the steps, the minimiser over the features in use, up to 8192 of them
    stages : int >= 1, default=10
        parts of the run; the model is measured after each
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: until there are n_features, 32 steps at least
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    threshold : float in (0, 1), "balanced" or None, default=None
        probability of the second of two classes from which on it is predicted; balanced: its share
        of the training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2,
        or with class_weight w_0 / (w_0 + w_1). Figures of stages are without it
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    theta : float in [0, 1) or None, default=None
        half width of the band of margins around 1 that cost nothing; none: 0.4
    mu : float in (0, 1] or None, default=None
        weight of margins above the band against those below it; none: 0.4
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    gamma_ : float
        the kernel's gamma
    n_blocks_ : int
        blocks of random features in use
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    seed_ : int
        of every random choice that was made
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> DSGClassifier(gamma=4.0, n_features=512, block_size=64, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    gamma_: float
    n_blocks_: int
    loss: Literal["hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    step_size: float | None
    step_decay: float
    n_features: int
    block_size: int
    batch_size: int
    nu: Literal["auto"] | float
    variant: Literal["dsg", "udsg", "cdsg"]
    udsg_pattern: float | Sequence[float]
    largest_reuse: float
    feature_variance: float
    precondition: bool
    damping: float | None
    average: bool
    polish: Literal["exact"] | None
    stages: int
    steps_per_stage: int | float | None
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    threshold: Literal["balanced"] | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    theta: float | None
    mu: float | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"] = 'logistic',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        step_size: float | None = None,
        step_decay: float = 0.02,
        n_features: int = 16384,
        block_size: int = 512,
        batch_size: int = 4096,
        nu: Literal["auto"] | float = 1e-06,
        variant: Literal["dsg", "udsg", "cdsg"] = 'dsg',
        udsg_pattern: float | Sequence[float] = (1, 1),
        largest_reuse: float = 4.0,
        feature_variance: float = 1.0,
        precondition: bool = True,
        damping: float | None = None,
        average: bool = True,
        polish: Literal["exact"] | None = None,
        stages: int = 10,
        steps_per_stage: int | float | None = None,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

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
        ...

class DSGDensityRatio(_Classifier):
    """f = log(p/q) of two samples by doubly stochastic functional gradients (Dai et al. 2014, Section 4).

    Minimises E_q exp(f) - E_p f + nu/2 |f|^2 (Nguyen et al. 2010), whose minimiser without the last term is
    log(p/q), and its minimum 1 - KL(p, q). Both samples weigh the same, however many rows they have. They are
    two arrays or data sets, ``fit(P, Q)``, or the rows of two labels, ``fit(X, y)``: p is then the density of
    the rows of ``classes_[1]``, and with two arrays that of the first.

    As a classifier it predicts the sample of the larger density, and ``decision_function`` is ``log_ratio``.

    Parameters
    ----------
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale"}, default="scale/0.5"
        of the kernel: a number, or a rule that reads it off the rows
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    step_size : float > 0 or None, default=None
        gamma_t = step_size / (1 + step_decay t); none: .5, or 5 / l'' plainly
    step_decay : float >= 0, default=0.02
        how fast steps of a given size fall
    cap : float > 0, default=8.0
        log-ratio from which on a parabola goes on for exp
    n_features : int >= 1, default=2048
        random features at most, rounded up to whole blocks
    block_size : int >= 1, default=256
        features of a block, as many as a step adds; even for pairs
    batch_size : int >= 1, default=4096
        B, rows of a step; at most all rows
    nu : float >= 0, default=0.0001
        weight of |f|^2 / 2 against the mean loss
    variant : {"dsg", "udsg", "cdsg"}, default="dsg"
        dsg: a new block each step; udsg: every other step in an old one; cdsg: in an old one where
        its inequality allows
    udsg_pattern : float or list of float, default=(1, 1)
        steps in new blocks, then steps in old blocks, and so on
    largest_reuse : float > 0, default=4.0
        largest step in an old block, in units of steps in new blocks
    feature_variance : float > 0, default=1.0
        variance over x of phi(x) phi(x'), about 1 for cosines
    precondition : bool, default=True
        divide a block's step by its damped curvature, as the authors' published code does
    damping : float >= 0 or None, default=None
        of that curvature; none: 0.3 / n (10 / n of a density ratio), from 1e-5 to 1e-2
    average : bool, default=True
        the model is the average of the iterates, late ones weighing most
    stages : int >= 1, default=10
        parts of the run; the model is measured after each
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: until there are n_features, 32 steps at least
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    kl_divergence_ : float
        E_p f - E_q exp(f) + 1 of the training rows (of about 16,384 of them), which is too large
        where they are few; of other rows see :meth:`kl_divergence`
    gamma_ : float
        the kernel's gamma
    n_blocks_ : int
        blocks of random features in use
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    seed_ : int
        of every random choice that was made
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> P, Q = rng.normal(0.5, 1, (2000, 1)), rng.normal(-0.5, 1, (2000, 1))
    >>> model = DSGDensityRatio(gamma=0.2, n_features=256, block_size=64, random_state=0).fit(P, Q)
    >>> bool(np.abs(model.log_ratio([[-1.0], [0.0], [1.0]]) - [-1, 0, 1]).max() < 0.3)
    True
    """

    kl_divergence_: float
    gamma_: float
    n_blocks_: int
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale"] | float | str
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    step_size: float | None
    step_decay: float
    cap: float
    n_features: int
    block_size: int
    batch_size: int
    nu: float
    variant: Literal["dsg", "udsg", "cdsg"]
    udsg_pattern: float | Sequence[float]
    largest_reuse: float
    feature_variance: float
    precondition: bool
    damping: float | None
    average: bool
    stages: int
    steps_per_stage: int | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    random_state: int | RandomState | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale"] | float | str = 'scale/0.5',
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        step_size: float | None = None,
        step_decay: float = 0.02,
        cap: float = 8.0,
        n_features: int = 2048,
        block_size: int = 256,
        batch_size: int = 4096,
        nu: float = 0.0001,
        variant: Literal["dsg", "udsg", "cdsg"] = 'dsg',
        udsg_pattern: float | Sequence[float] = (1, 1),
        largest_reuse: float = 4.0,
        feature_variance: float = 1.0,
        precondition: bool = True,
        damping: float | None = None,
        average: bool = True,
        stages: int = 10,
        steps_per_stage: int | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        random_state: int | RandomState | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

    @overload
    def log_ratio(self, X: _Lazy | Split | None) -> Any:
        """log(p/q), (n_rows,); lazy for Dask arrays and splits."""
        ...

    @overload
    def log_ratio(self, X: Any) -> NDArray[Any]: ...

    def kl_divergence(self, X: Any, y: Any) -> float:
        """E_p f - E_q exp(f) + 1 of other rows: at most KL(p, q) in expectation, whatever f is.

        Parameters
        ----------
        X, y : as of :meth:`permutation_test`
        """
        ...

    def permutation_test(self, X: Any, y: Any, *, n_permutations: int = 999, random_state: Any = None) -> PermutationTest:
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
        ...

class DSGGaussianProcessRegressor(_Regressor):
    """Gaussian process regressor over random features, whose predictions have standard deviations.

    The prior of f has the mean of the targets and the covariance target_scale_^2 k(x, x'), target_scale_ the
    standard deviation of the targets, and the noise is normal: scikit-learn's ``GaussianProcessRegressor``
    with the kernel as it is, ``normalize_y=True`` and ``alpha=noise**2``. The posterior is exact for the
    ``n_features`` random features, in whose space covariances are within about n_features^-1/2 of k. Where
    there are many more rows than features, and they leave the process room (narrow kernels, points far from
    all rows), standard deviations are too small, as of any process of finite rank.

    Parameters
    ----------
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        of the kernel: a number, or a rule that reads it off the rows; auto: of the largest marginal
        likelihood of 512 rows, of sparse ones 'scale'
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="quasi_monte_carlo"
        how random features are drawn
    step_size : float > 0 or None, default=None
        gamma_t = step_size / (1 + step_decay t); none: .5, or 5 / l'' plainly
    step_decay : float >= 0, default=0.02
        how fast steps of a given size fall
    n_features : int >= 1, default=2048
        random features at most, rounded up to whole blocks
    block_size : int >= 1, default=256
        features of a block, as many as a step adds; even for pairs
    batch_size : int >= 1, default=4096
        B, rows of a step; at most all rows
    variant : {"dsg", "udsg", "cdsg"}, default="dsg"
        dsg: a new block each step; udsg: every other step in an old one; cdsg: in an old one where
        its inequality allows
    udsg_pattern : float or list of float, default=(1, 1)
        steps in new blocks, then steps in old blocks, and so on
    largest_reuse : float > 0, default=4.0
        largest step in an old block, in units of steps in new blocks
    feature_variance : float > 0, default=1.0
        variance over x of phi(x) phi(x'), about 1 for cosines
    precondition : bool, default=True
        divide a block's step by its damped curvature, as the authors' published code does
    damping : float >= 0 or None, default=None
        of that curvature; none: 0.3 / n (10 / n of a density ratio), from 1e-5 to 1e-2
    average : bool, default=True
        the model is the average of the iterates, late ones weighing most
    stages : int >= 1, default=10
        parts of the run; the model is measured after each
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: until there are n_features, 32 steps at least
    noise : float > 0 or None, default=None
        standard deviation of the noise, in that of the targets; none: of the largest marginal
        likelihood
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    noise_ : float
        standard deviation of the noise, in the units of the targets
    nu_ : float
        (noise_ / target_scale_)^2 / n, n the sum of the rows' weights
    log_marginal_likelihood_ : float
        of the training targets, in units of target_scale_; NaN if the fit was ended before its last
        stage, as noise_
    spread_ : ndarray
        (n_features, n_features), D: the standard deviation of f(x) is |z(x)' D|
    gamma_ : float
        the kernel's gamma
    n_blocks_ : int
        blocks of random features in use
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    seed_ : int
        of every random choice that was made
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    target_center_ : ndarray
        (n_outputs,), of the square loss the mean of the targets, of the others their median or the
        quantiles that are asked for; of DSG's quantiles those of y - target_scale_ g
    target_scale_ : float
        of the square loss the standard deviation of the targets, of the others the spread between
        their deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> model = DSGGaussianProcessRegressor(gamma=0.5, n_features=256, random_state=0).fit(X, y)
    >>> mean, deviation = model.predict([[1.5], [9.0]], return_std=True)
    >>> bool(abs(mean[0] - 1) < 0.1), bool(deviation[1] > 5 * deviation[0])
    (True, True)
    """

    noise_: float
    nu_: float
    log_marginal_likelihood_: float
    spread_: NDArray[np.float64]
    gamma_: float
    n_blocks_: int
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    step_size: float | None
    step_decay: float
    n_features: int
    block_size: int
    batch_size: int
    variant: Literal["dsg", "udsg", "cdsg"]
    udsg_pattern: float | Sequence[float]
    largest_reuse: float
    feature_variance: float
    precondition: bool
    damping: float | None
    average: bool
    stages: int
    steps_per_stage: int | float | None
    noise: float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'quasi_monte_carlo',
        step_size: float | None = None,
        step_decay: float = 0.02,
        n_features: int = 2048,
        block_size: int = 256,
        batch_size: int = 4096,
        variant: Literal["dsg", "udsg", "cdsg"] = 'dsg',
        udsg_pattern: float | Sequence[float] = (1, 1),
        largest_reuse: float = 4.0,
        feature_variance: float = 1.0,
        precondition: bool = True,
        damping: float | None = None,
        average: bool = True,
        stages: int = 10,
        steps_per_stage: int | float | None = None,
        noise: float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

    @overload
    def predict(self, X: _Lazy | Split | None, return_std: bool = False) -> Any:
        """Mean of the posterior of f, (n_rows,), with ``return_std`` also its standard deviation (n_rows,),
        without the noise; lazy for Dask arrays and splits.

        Raises
        ------
        InputError
            If the fit was ended before the stage that finds deviations.
        """
        ...

    @overload
    def predict(self, X: Any, return_std: bool = False) -> Any: ...

class DSGNoveltyDetector(_Model, OutlierMixin):  # type: ignore[misc]
    """Novelty detector by doubly stochastic functional gradients (Dai et al. 2014, Section 4).

    Minimises mean_i s_i max(0, tau - f(x_i)) - nu tau + nu/2 |f|^2 over f and its threshold tau, as
    scikit-learn's ``OneClassSVM`` does (its dual coefficients are n nu times ours). After an exact polish
    tau is the nu-quantile of rows that were held out, each fifth once. Steps learn from four fifths of the
    rows, or from all but about 16,384 of many rows, and tau is the nu-quantile of the others. So about a
    share ``nu`` of fresh rows lies below tau, and fewer of the training rows. With m held-out rows the
    standard deviation of that share is (nu (1 - nu) / m)^1/2. Labels are not used, and data sets may have
    any or none (``distkern shard --task none``).

    The model of up to 2,048 rows is exact in the span of 8,192 random features (``polish``). Its scores have
    a rank correlation of .99 or more with those of the kernel's own machine (measured for nu from .01 to .5).
    Steps make that of more rows, over 2,048 features, and at a small ``nu`` these are most of its error: f is
    then a sum over about n nu rows far from the others, with errors of kernel values of n_features^-1/2, and
    more steps do not make it smaller. More ``n_features`` do: for 4,000 rows with nu = .01 the rank
    correlation is .80 with 2,048 of them and .98 with 8,192, at ten times the time.

    Parameters
    ----------
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows
    sampler : {"auto", "fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="auto"
        how random features are drawn; auto: quasi_monte_carlo, or monte_carlo of kernels that it is
        not for
    step_size : float > 0 or None, default=None
        gamma_t = step_size / (1 + step_decay t); none: .5, or 5 / l'' plainly
    step_decay : float >= 0, default=0.02
        how fast steps of a given size fall
    n_features : int >= 1 or None, default=None
        random features at most, rounded up to whole blocks; none: 8192 with an exact polish, else
        2048
    block_size : int >= 1, default=256
        features of a block, as many as a step adds; even for pairs
    batch_size : int >= 1, default=4096
        B, rows of a step; at most all rows
    nu : float in (0, 1), default=0.1
        share of the rows that are taken for outliers, and weight of |f|^2 / 2
    variant : {"dsg", "udsg", "cdsg"}, default="dsg"
        dsg: a new block each step; udsg: every other step in an old one; cdsg: in an old one where
        its inequality allows
    udsg_pattern : float or list of float, default=(1, 1)
        steps in new blocks, then steps in old blocks, and so on
    largest_reuse : float > 0, default=4.0
        largest step in an old block, in units of steps in new blocks
    feature_variance : float > 0, default=1.0
        variance over x of phi(x) phi(x'), about 1 for cosines
    precondition : bool, default=True
        divide a block's step by its damped curvature, as the authors' published code does
    damping : float >= 0 or None, default=None
        of that curvature; none: 0.3 / n (10 / n of a density ratio), from 1e-5 to 1e-2
    average : bool, default=True
        the model is the average of the iterates, late ones weighing most
    polish : {"auto", "exact"} or None, default="auto"
        exact: the minimiser over all n_features, of at most 2048 rows; steps are then made, before
        it, only where steps_per_stage asks for some; auto: exact of so many rows that take at most
        64 MiB, unless steps_per_stage asks for steps
    stages : int >= 1, default=10
        parts of the run; the model is measured after each
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: until there are n_features, 32 steps at least
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    offset_ : float
        tau: ``decision_function`` is ``score_samples`` less it
    gamma_ : float
        the kernel's gamma
    n_blocks_ : int
        blocks of random features in use
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    seed_ : int
        of every random choice that was made
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = DSGNoveltyDetector(nu=0.05, n_features=256, block_size=64, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.1], [5.0, 5.0]]).tolist(), float(np.mean(model.predict(X) == -1)) <= 0.05
    ([1, -1], True)
    """

    offset_: float
    gamma_: float
    n_blocks_: int
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale"] | float | str
    sampler: Literal["auto", "fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    step_size: float | None
    step_decay: float
    n_features: int | None
    block_size: int
    batch_size: int
    nu: float
    variant: Literal["dsg", "udsg", "cdsg"]
    udsg_pattern: float | Sequence[float]
    largest_reuse: float
    feature_variance: float
    precondition: bool
    damping: float | None
    average: bool
    polish: Literal["auto", "exact"] | None
    stages: int
    steps_per_stage: int | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    random_state: int | RandomState | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale"] | float | str = 'scale',
        sampler: Literal["auto", "fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'auto',
        step_size: float | None = None,
        step_decay: float = 0.02,
        n_features: int | None = None,
        block_size: int = 256,
        batch_size: int = 4096,
        nu: float = 0.1,
        variant: Literal["dsg", "udsg", "cdsg"] = 'dsg',
        udsg_pattern: float | Sequence[float] = (1, 1),
        largest_reuse: float = 4.0,
        feature_variance: float = 1.0,
        precondition: bool = True,
        damping: float | None = None,
        average: bool = True,
        polish: Literal["auto", "exact"] | None = 'auto',
        stages: int = 10,
        steps_per_stage: int | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        random_state: int | RandomState | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> NDArray[Any]:
        """Perform fit on X and returns labels for X.

        Returns -1 for outliers and 1 for inliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The input samples.

        y : Ignored
            Not used, present for API consistency by convention.

        **kwargs : dict
            Arguments to be passed to ``fit``.

            .. versionadded:: 1.4

        Returns
        -------
        y : ndarray of shape (n_samples,)
            1 for inliers, -1 for outliers.
        """
        ...

    @overload
    def predict(self, X: _Lazy | Split | None) -> Any:
        """-1 for outliers and +1 for other rows, (n_rows,); lazy as ``decision_function``."""
        ...

    @overload
    def predict(self, X: Any) -> NDArray[Any]: ...

    @overload
    def decision_function(self, X: _Lazy | Split | None) -> Any:
        """f(x) - tau, (n_rows,): negative for outliers; lazy for Dask arrays and splits."""
        ...

    @overload
    def decision_function(self, X: Any) -> NDArray[Any]: ...

    @overload
    def score_samples(self, X: _Lazy | Split | None) -> Any:
        """f(x), (n_rows,): the lower, the more abnormal; lazy as ``decision_function``."""
        ...

    @overload
    def score_samples(self, X: Any) -> NDArray[Any]: ...

class DSGRegressor(_Regressor):
    """Kernel regressor by doubly stochastic gradients (Dai et al. 2014; variants of Li and Poczos 2016).

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.

    Parameters
    ----------
    loss : {"absolute", "epsilon_insensitive", "huber", "quantile", "square"}, default="square"
        the loss
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    step_size : float > 0 or None, default=None
        gamma_t = step_size / (1 + step_decay t); none: .5, or 5 / l'' plainly
    step_decay : float >= 0, default=0.02
        how fast steps of a given size fall
    n_features : int >= 1, default=16384
        random features at most, rounded up to whole blocks
    block_size : int >= 1, default=512
        features of a block, as many as a step adds; even for pairs
    batch_size : int >= 1, default=4096
        B, rows of a step; at most all rows
    nu : float >= 0 or "auto", default=1e-06
        weight of |f|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06
    variant : {"dsg", "udsg", "cdsg"}, default="dsg"
        dsg: a new block each step; udsg: every other step in an old one; cdsg: in an old one where
        its inequality allows
    udsg_pattern : float or list of float, default=(1, 1)
        steps in new blocks, then steps in old blocks, and so on
    largest_reuse : float > 0, default=4.0
        largest step in an old block, in units of steps in new blocks
    feature_variance : float > 0, default=1.0
        variance over x of phi(x) phi(x'), about 1 for cosines
    precondition : bool, default=True
        divide a block's step by its damped curvature, as the authors' published code does
    damping : float >= 0 or None, default=None
        of that curvature; none: 0.3 / n (10 / n of a density ratio), from 1e-5 to 1e-2
    average : bool, default=True
        the model is the average of the iterates, late ones weighing most
    polish : "exact" or None, default=None
        exact: after the steps, the minimiser over the features in use, up to 8192 of them
    stages : int >= 1, default=10
        parts of the run; the model is measured after each
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: until there are n_features, 32 steps at least
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    epsilon : float >= 0 or None, default=None
        residual that costs nothing, in the units of the targets; none: 0.1 standard deviations
    delta : float > 0 or None, default=None
        residual from which on it grows linearly, in the units of the targets; none: 1.35 standard
        deviations of theirs, as efficient as the square loss to 95 % if the noise is normal (Huber
        1964)
    quantiles : float or list of float or None, default=None
        one output for each of these quantiles; none: (0.5,)
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    gamma_ : float
        the kernel's gamma
    n_blocks_ : int
        blocks of random features in use
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    seed_ : int
        of every random choice that was made
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    target_center_ : ndarray
        (n_outputs,), of the square loss the mean of the targets, of the others their median or the
        quantiles that are asked for; of DSG's quantiles those of y - target_scale_ g
    target_scale_ : float
        of the square loss the standard deviation of the targets, of the others the spread between
        their deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> DSGRegressor(n_features=512, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    gamma_: float
    n_blocks_: int
    loss: Literal["absolute", "epsilon_insensitive", "huber", "quantile", "square"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    step_size: float | None
    step_decay: float
    n_features: int
    block_size: int
    batch_size: int
    nu: Literal["auto"] | float
    variant: Literal["dsg", "udsg", "cdsg"]
    udsg_pattern: float | Sequence[float]
    largest_reuse: float
    feature_variance: float
    precondition: bool
    damping: float | None
    average: bool
    polish: Literal["exact"] | None
    stages: int
    steps_per_stage: int | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    epsilon: float | None
    delta: float | None
    quantiles: float | Sequence[float] | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["absolute", "epsilon_insensitive", "huber", "quantile", "square"] = 'square',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        step_size: float | None = None,
        step_decay: float = 0.02,
        n_features: int = 16384,
        block_size: int = 512,
        batch_size: int = 4096,
        nu: Literal["auto"] | float = 1e-06,
        variant: Literal["dsg", "udsg", "cdsg"] = 'dsg',
        udsg_pattern: float | Sequence[float] = (1, 1),
        largest_reuse: float = 4.0,
        feature_variance: float = 1.0,
        precondition: bool = True,
        damping: float | None = None,
        average: bool = True,
        polish: Literal["exact"] | None = None,
        stages: int = 10,
        steps_per_stage: int | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        quantiles: float | Sequence[float] | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on with a batch of rows, see :meth:`DSGClassifier.partial_fit`."""
        ...

class KernelClassifier(_Classifier):
    """The classifier that suits the data: the package chooses the algorithm and says which and why.

    A sample of rows of up to 1,024 columns decides between a linear machine, kernels at landmarks (both
    :class:`~distkern.NewtonClassifier`) and exact machines in cells (:class:`~distkern.CellClassifier`), by
    log loss on rows that are held out; see :func:`distkern.choose.ladder.climb`. With more columns it decides
    between the first two, and sparse rows of 16,384 columns or more get the linear one. Cells that do not
    fit ``memory_limit`` give way to smaller ones, to a search on fewer rows or to the best other machine of
    the sample, and what does not fit to SVRG or DSG. The choice depends on the data, the seed and the limit
    alone. ``algorithm`` names one of them instead.

    Parameters
    ----------
    algorithm : {"auto", "cells", "newton", "svrg", "dsg"}, default="auto"
        the machine that is fitted, as the estimator of that name with nothing else set; auto: the
        one that rows which are held out of a sample choose
    search : {"full", "quick"} or None, default="full"
        how what the data's shape leaves open is chosen, on rows that are held out; none: it is not
    memory_limit : int or str or None, default=None
        memory of a process that trains, as '512MiB' or in bytes: what does not fit is not chosen;
        of a job its memory_limit
    settings : dict or None, default=None
        hyperparameters of the algorithm that is chosen, in place of what was chosen for them; --set
        of any of them is one
    probability : bool, default=True
        whether the model is to give probabilities of classes
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    threshold : float in (0, 1), "balanced" or None, default=None
        probability of the second of two classes from which on it is predicted; balanced: its share
        of the training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2,
        or with class_weight w_0 / (w_0 + w_1). Figures of stages are without it
    n_jobs : int >= 1, int <= -1 or None, default=None
        threads of a fit, of at least 1; of -1 one for each core, of -2 one less, ...; none: one for
        few rows, else as Dask is configured. A Dask client that is active has workers of its own.
        The bits are the same
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    machine_ : AbstractEstimator
        The estimator that was chosen, fitted
    algorithm_ : str
        The name of the algorithm that was chosen
    chosen_because_ : str
        Why, a clause
    held_out_score_ : float or None
        Log loss, or mean squared error in squared units of the target, of rows that were held out
        from a machine with the chosen settings; None where most rows are not in the sample that
        chose them
    held_out_error_ : float or None
        The standard error of ``held_out_score_``
    metric_importances_ : ndarray
        Importances of the machine's metric, if it has one
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    seed_ : int
        of every random choice that was made
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = KernelClassifier(search="quick", random_state=0).fit(X, y)
    >>> model.algorithm_, model.score(X, y) > 0.98
    ('newton', True)
    """

    machine_: AbstractEstimator
    algorithm_: str
    chosen_because_: str
    held_out_score_: float | None
    held_out_error_: float | None
    metric_importances_: NDArray[np.float64]
    algorithm: Literal["auto", "cells", "newton", "svrg", "dsg"]
    search: Literal["full", "quick"] | None
    memory_limit: int | str | None
    settings: dict[Any, Any] | None
    probability: bool
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    threshold: Literal["balanced"] | float | None
    n_jobs: int | None
    random_state: int | RandomState | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        algorithm: Literal["auto", "cells", "newton", "svrg", "dsg"] = 'auto',
        search: Literal["full", "quick"] | None = 'full',
        memory_limit: int | str | None = None,
        settings: dict[Any, Any] | None = None,
        probability: bool = True,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class KernelRegressor(_Regressor):
    """The regressor that suits the data, see :class:`KernelClassifier`.

    Parameters
    ----------
    algorithm : {"auto", "cells", "newton", "svrg", "dsg"}, default="auto"
        the machine that is fitted, as the estimator of that name with nothing else set; auto: the
        one that rows which are held out of a sample choose
    search : {"full", "quick"} or None, default="full"
        how what the data's shape leaves open is chosen, on rows that are held out; none: it is not
    memory_limit : int or str or None, default=None
        memory of a process that trains, as '512MiB' or in bytes: what does not fit is not chosen;
        of a job its memory_limit
    settings : dict or None, default=None
        hyperparameters of the algorithm that is chosen, in place of what was chosen for them; --set
        of any of them is one
    n_jobs : int >= 1, int <= -1 or None, default=None
        threads of a fit, of at least 1; of -1 one for each core, of -2 one less, ...; none: one for
        few rows, else as Dask is configured. A Dask client that is active has workers of its own.
        The bits are the same
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    machine_ : AbstractEstimator
        The estimator that was chosen, fitted
    algorithm_ : str
        The name of the algorithm that was chosen
    chosen_because_ : str
        Why, a clause
    held_out_score_ : float or None
        Log loss, or mean squared error in squared units of the target, of rows that were held out
        from a machine with the chosen settings; None where most rows are not in the sample that
        chose them
    held_out_error_ : float or None
        The standard error of ``held_out_score_``
    metric_importances_ : ndarray
        Importances of the machine's metric, if it has one
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    seed_ : int
        of every random choice that was made
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    target_center_ : ndarray
        (n_outputs,), of the square loss the mean of the targets, of the others their median or the
        quantiles that are asked for; of DSG's quantiles those of y - target_scale_ g
    target_scale_ : float
        of the square loss the standard deviation of the targets, of the others the spread between
        their deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> model = KernelRegressor(search="quick", random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    machine_: AbstractEstimator
    algorithm_: str
    chosen_because_: str
    held_out_score_: float | None
    held_out_error_: float | None
    metric_importances_: NDArray[np.float64]
    algorithm: Literal["auto", "cells", "newton", "svrg", "dsg"]
    search: Literal["full", "quick"] | None
    memory_limit: int | str | None
    settings: dict[Any, Any] | None
    n_jobs: int | None
    random_state: int | RandomState | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        algorithm: Literal["auto", "cells", "newton", "svrg", "dsg"] = 'auto',
        search: Literal["full", "quick"] | None = 'full',
        memory_limit: int | str | None = None,
        settings: dict[Any, Any] | None = None,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class NORMAClassifier(_Classifier):
    """Kernel classifier by stochastic functional gradients (Dai et al. 2014, Table 2: NORMA).

    Minimises mean_i s_i l(f(x_i), y_i) + nu/2 |f|^2 by steps that shrink f and add kernels at a batch of
    rows: f is a combination of kernels at training rows, at most ``max_support``. With the paper's steps
    (``step_decay``) the oldest leave it for others; with those of the default no others enter, and a run of
    more rows says so. Over explicit features (``features="random"``, say) it is stochastic gradient descent
    with the same steps.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"}, default="logistic"
        the loss
    features : {"kernel", "landmarks", "linear", "nystroem", "random"}, default="kernel"
        kernel: the kernel itself, at the training rows that the model needs; landmarks: the kernel
        at landmarks, regularised as plain numbers; linear: the rows themselves, dense or sparse;
        nystroem: Nystroem features of the kernel at landmarks; random: random features of the
        kernel
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    max_support : int >= 1, default=20000
        training rows with a coefficient other than 0, at most; every process keeps them
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 512
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    nu : float >= 0 or "auto", default="auto"
        weight of |f|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 0.0001
    step_size : float > 0 or None, default=None
        gamma_1; none: 2 / the loss's curvature, or 4 where its slope jumps, for k(x, x) <= 1
    step_decay : float >= 0 or None, default=None
        steps fall like 1 / sqrt(1 + step_decay t), 1 is the paper's; none: linearly, to 0 at the
        end
    batch_size : int >= 1, default=1
        B, rows of a step
    stages : int >= 1, default=4
        passes over the rows; the model is measured after each
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    threshold : float in (0, 1), "balanced" or None, default=None
        probability of the second of two classes from which on it is predicted; balanced: its share
        of the training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2,
        or with class_weight w_0 / (w_0 + w_1). Figures of stages are without it
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    theta : float in [0, 1) or None, default=None
        half width of the band of margins around 1 that cost nothing; none: 0.4
    mu : float in (0, 1] or None, default=None
        weight of margins above the band against those below it; none: 0.4
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> NORMAClassifier(loss="hinge", gamma=4.0, stages=5, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    gamma_: float
    landmarks_: Rows
    loss: Literal["hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"]
    features: Literal["kernel", "landmarks", "linear", "nystroem", "random"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    max_support: int
    n_landmarks: int | None
    landmarks: Literal["coverage", "uniform"]
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    nu: Literal["auto"] | float
    step_size: float | None
    step_decay: float | None
    batch_size: int
    stages: int
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    threshold: Literal["balanced"] | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    theta: float | None
    mu: float | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"] = 'logistic',
        features: Literal["kernel", "landmarks", "linear", "nystroem", "random"] = 'kernel',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        max_support: int = 20000,
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        nu: Literal["auto"] | float = 'auto',
        step_size: float | None = None,
        step_decay: float | None = None,
        batch_size: int = 1,
        stages: int = 4,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class NORMARegressor(_Regressor):
    """Kernel regressor by stochastic functional gradients.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.

    Parameters
    ----------
    loss : {"absolute", "epsilon_insensitive", "huber", "quantile", "square"}, default="square"
        the loss
    features : {"kernel", "landmarks", "linear", "nystroem", "random"}, default="kernel"
        kernel: the kernel itself, at the training rows that the model needs; landmarks: the kernel
        at landmarks, regularised as plain numbers; linear: the rows themselves, dense or sparse;
        nystroem: Nystroem features of the kernel at landmarks; random: random features of the
        kernel
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    max_support : int >= 1, default=20000
        training rows with a coefficient other than 0, at most; every process keeps them
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 512
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    nu : float >= 0 or "auto", default="auto"
        weight of |f|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 0.0001
    step_size : float > 0 or None, default=None
        gamma_1; none: 2 / the loss's curvature, or 4 where its slope jumps, for k(x, x) <= 1
    step_decay : float >= 0 or None, default=None
        steps fall like 1 / sqrt(1 + step_decay t), 1 is the paper's; none: linearly, to 0 at the
        end
    batch_size : int >= 1, default=1
        B, rows of a step
    stages : int >= 1, default=4
        passes over the rows; the model is measured after each
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    epsilon : float >= 0 or None, default=None
        residual that costs nothing, in the units of the targets; none: 0.1 standard deviations
    delta : float > 0 or None, default=None
        residual from which on it grows linearly, in the units of the targets; none: 1.35 standard
        deviations of theirs, as efficient as the square loss to 95 % if the noise is normal (Huber
        1964)
    quantiles : float or list of float or None, default=None
        one output for each of these quantiles; none: (0.5,)
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    target_center_ : ndarray
        (n_outputs,), of the square loss the mean of the targets, of the others their median or the
        quantiles that are asked for; of DSG's quantiles those of y - target_scale_ g
    target_scale_ : float
        of the square loss the standard deviation of the targets, of the others the spread between
        their deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> NORMARegressor(random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    """

    gamma_: float
    landmarks_: Rows
    loss: Literal["absolute", "epsilon_insensitive", "huber", "quantile", "square"]
    features: Literal["kernel", "landmarks", "linear", "nystroem", "random"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    max_support: int
    n_landmarks: int | None
    landmarks: Literal["coverage", "uniform"]
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    nu: Literal["auto"] | float
    step_size: float | None
    step_decay: float | None
    batch_size: int
    stages: int
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    epsilon: float | None
    delta: float | None
    quantiles: float | Sequence[float] | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["absolute", "epsilon_insensitive", "huber", "quantile", "square"] = 'square',
        features: Literal["kernel", "landmarks", "linear", "nystroem", "random"] = 'kernel',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        max_support: int = 20000,
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        nu: Literal["auto"] | float = 'auto',
        step_size: float | None = None,
        step_decay: float | None = None,
        batch_size: int = 1,
        stages: int = 4,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        quantiles: float | Sequence[float] | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class NewtonClassifier(_Classifier):
    """Linear classifier over features of a kernel, by Newton's method on summed Gram matrices.

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, in few passes, each of which makes the Hessian of
    all rows; or, with more random or linear features than have a matrix in ``memory_limit`` (without one:
    than 8,192), by products with the Hessian, a pass for each step of preconditioned conjugate gradients
    (``hessian="products"``).

    Measured on one core, logistic loss: a9a (32,561 rows), 16,384 random features, nu = 1e-4: products in a
    limit of 512 MiB end after 19 passes, 59 CPU seconds and 315 MiB at an objective of 0.3334 and 14.8 % of
    test errors, matrices after 187 CPU seconds and 3.6 GiB at 0.3343 and 14.8 %; letter (16,000 rows, 26
    classes), as many features, nu = 1e-5, the same limit: 36 passes, 56 CPU seconds, 352 MiB, 8.55 %. For few
    features and many rows matrices, which are of a sample then, are faster: covtype (464,809 rows), 2,048
    features, gamma = 16, nu = 1e-6: 11 passes, 12 CPU seconds (0.4260, 19.3 %), products 19 passes and 52 to
    59 CPU seconds (0.4261, 19.2 %).

    Parameters
    ----------
    loss : {"least_squares", "logistic", "odm", "softmax", "squared_hinge"}, default="logistic"
        the loss
    features : {"nystroem", "landmarks", "linear", "random"}, default="nystroem"
        nystroem: Nystroem features of the kernel at landmarks; landmarks: the kernel at landmarks,
        regularised as plain numbers; linear: the rows themselves, dense or sparse; random: random
        features of the kernel
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    n_landmarks : int >= 1, default=1024
        at most this many landmarks
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    nu : float >= 0 or "auto", default="auto"
        weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06
    stages : int >= 1, default=10
        at most this many; each makes a Gram matrix or one for each output, of a sample or of all
        rows, or products
    tol : float >= 0, default=0.001
        stop once the objective is shown to be within this share of f(0) - f of its minimum
    hessian : {"auto", "matrix", "products"}, default="auto"
        matrix: Gram matrices; products: conjugate gradients, whose every step is a pass; auto:
        products where matrices do not fit memory_limit, or are of more than 8192 features without
        one
    memory_limit : int or str or None, default=None
        memory of a process that trains, as '512MiB' or in bytes; of a job its memory_limit
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    threshold : float in (0, 1), "balanced" or None, default=None
        probability of the second of two classes from which on it is predicted; balanced: its share
        of the training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2,
        or with class_weight w_0 / (w_0 + w_1). Figures of stages are without it
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    theta : float in [0, 1) or None, default=None
        half width of the band of margins around 1 that cost nothing; none: 0.4
    mu : float in (0, 1] or None, default=None
        weight of margins above the band against those below it; none: 0.4
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    hessian_ : str
        "matrix" or "products"
    coefficients_ : ndarray
        (r, n_outputs); of Nystroem features the coefficients of the kernels at ``landmarks_``
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> NewtonClassifier(gamma=4.0, n_landmarks=64, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    hessian_: str
    gamma_: float
    landmarks_: Rows
    loss: Literal["least_squares", "logistic", "odm", "softmax", "squared_hinge"]
    features: Literal["nystroem", "landmarks", "linear", "random"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    n_landmarks: int
    landmarks: Literal["coverage", "uniform"]
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    nu: Literal["auto"] | float
    stages: int
    tol: float
    hessian: Literal["auto", "matrix", "products"]
    memory_limit: int | str | None
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    threshold: Literal["balanced"] | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    theta: float | None
    mu: float | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["least_squares", "logistic", "odm", "softmax", "squared_hinge"] = 'logistic',
        features: Literal["nystroem", "landmarks", "linear", "random"] = 'nystroem',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        n_landmarks: int = 1024,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        nu: Literal["auto"] | float = 'auto',
        stages: int = 10,
        tol: float = 0.001,
        hessian: Literal["auto", "matrix", "products"] = 'auto',
        memory_limit: int | str | None = None,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class NewtonRegressor(_Regressor):
    """Linear regressor over features of a kernel, by Newton's method on summed Gram matrices.

    For the square loss that is ridge regression, in one pass. ``nu`` weighs |g|^2 / 2, where
    f = target_center_ + target_scale_ g: it means the same for targets in any unit.

    Parameters
    ----------
    loss : {"huber", "square"}, default="square"
        the loss
    features : {"nystroem", "landmarks", "linear", "random"}, default="nystroem"
        nystroem: Nystroem features of the kernel at landmarks; landmarks: the kernel at landmarks,
        regularised as plain numbers; linear: the rows themselves, dense or sparse; random: random
        features of the kernel
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    n_landmarks : int >= 1, default=1024
        at most this many landmarks
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    nu : float >= 0 or "auto", default="auto"
        weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06
    stages : int >= 1, default=10
        at most this many; each makes a Gram matrix or one for each output, of a sample or of all
        rows, or products
    tol : float >= 0, default=0.001
        stop once the objective is shown to be within this share of f(0) - f of its minimum
    hessian : {"auto", "matrix", "products"}, default="auto"
        matrix: Gram matrices; products: conjugate gradients, whose every step is a pass; auto:
        products where matrices do not fit memory_limit, or are of more than 8192 features without
        one
    memory_limit : int or str or None, default=None
        memory of a process that trains, as '512MiB' or in bytes; of a job its memory_limit
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    delta : float > 0 or None, default=None
        residual from which on it grows linearly, in the units of the targets; none: 1.35 standard
        deviations of theirs, as efficient as the square loss to 95 % if the noise is normal (Huber
        1964)
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    hessian_ : str
        "matrix" or "products"
    coefficients_ : ndarray
        (r, n_outputs); of Nystroem features the coefficients of the kernels at ``landmarks_``
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    constants_ : ndarray
        (n_outputs,) what is added to them
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    target_center_ : ndarray
        (n_outputs,), of the square loss the mean of the targets, of the others their median or the
        quantiles that are asked for; of DSG's quantiles those of y - target_scale_ g
    target_scale_ : float
        of the square loss the standard deviation of the targets, of the others the spread between
        their deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> NewtonRegressor(random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    hessian_: str
    gamma_: float
    landmarks_: Rows
    loss: Literal["huber", "square"]
    features: Literal["nystroem", "landmarks", "linear", "random"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    n_landmarks: int
    landmarks: Literal["coverage", "uniform"]
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    nu: Literal["auto"] | float
    stages: int
    tol: float
    hessian: Literal["auto", "matrix", "products"]
    memory_limit: int | str | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    delta: float | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["huber", "square"] = 'square',
        features: Literal["nystroem", "landmarks", "linear", "random"] = 'nystroem',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        n_landmarks: int = 1024,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        nu: Literal["auto"] | float = 'auto',
        stages: int = 10,
        tol: float = 0.001,
        hessian: Literal["auto", "matrix", "products"] = 'auto',
        memory_limit: int | str | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        delta: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class PegasosClassifier(_Classifier):
    """Linear support vector machine on rows, random features or landmarks, by Pegasos.

    Minimises lam/2 |w|^2 + mean_i s_i l(y_i (<w, phi(x_i)> + b)), several classes one-vs-rest in one pass
    over the rows (Shalev-Shwartz, Singer, Srebro 2007; compared with by Hazan et al. 2011, Dai et al. 2014).

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "squared_hinge"}, default="hinge"
        the loss
    features : {"linear", "landmarks", "nystroem", "random"}, default="linear"
        linear: the rows themselves, dense or sparse; landmarks: the kernel at landmarks,
        regularised as plain numbers; nystroem: Nystroem features of the kernel at landmarks;
        random: random features of the kernel
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 512
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    lam : float > 0 or "auto", default=0.0001
        weight of |w|^2 / 2 against the mean loss: larger fits less closely, unlike CSVRG's; auto:
        chosen on held-out rows, or 0.0001
    batch_size : int >= 1, default=1
        B, rows of a step
    stages : int >= 1, default=5
        the model is measured after each
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: one pass, or more where that would be less
        than 1 / lam steps (at most 2^14 of them)
    projection : bool, default=True
        project w on the ball that holds the optimum after every step
    averaging : int in [0, 8] or None, default=3
        k: the model is the mean of the iterates weighted with step^k; none: the last iterate
    fit_intercept : bool, default=True
        learn b, as the weight of a constant feature 1, regularised with the others
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement, block by
        block, which leave out some rows and take others twice
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    threshold : float in (0, 1), "balanced" or None, default=None
        probability of the second of two classes from which on it is predicted; balanced: its share
        of the training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2,
        or with class_weight w_0 / (w_0 + w_1). Figures of stages are without it
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    theta : float in [0, 1) or None, default=None
        half width of the band of margins around 1 that cost nothing; none: 0.4
    mu : float in (0, 1] or None, default=None
        weight of margins above the band against those below it; none: 0.4
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = PegasosClassifier(features="random", gamma=4.0, n_features=256, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.98
    True
    """

    gamma_: float
    landmarks_: Rows
    loss: Literal["hinge", "least_squares", "logistic", "odm", "squared_hinge"]
    features: Literal["linear", "landmarks", "nystroem", "random"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    n_landmarks: int | None
    landmarks: Literal["coverage", "uniform"]
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    lam: Literal["auto"] | float
    batch_size: int
    stages: int
    steps_per_stage: int | float | None
    projection: bool
    averaging: int | None
    fit_intercept: bool
    order: Literal["shuffled", "iid"]
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    threshold: Literal["balanced"] | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    theta: float | None
    mu: float | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "squared_hinge"] = 'hinge',
        features: Literal["linear", "landmarks", "nystroem", "random"] = 'linear',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        lam: Literal["auto"] | float = 0.0001,
        batch_size: int = 1,
        stages: int = 5,
        steps_per_stage: int | float | None = None,
        projection: bool = True,
        averaging: int | None = 3,
        fit_intercept: bool = True,
        order: Literal["shuffled", "iid"] = 'shuffled',
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class RBCDClassifier(_Classifier):
    """Linear classifier over features of a kernel, by random block coordinate descent (Dai et al. 2014).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, a block of w at a time, each by a step over all
    rows; for losses whose slope does not jump. It is r-RBCD of Table 2 of Dai et al. 2014, and n-RBCD with
    ``features="nystroem"``. Features are made anew for each step and never stored.

    Parameters
    ----------
    loss : {"least_squares", "logistic", "odm", "softmax", "squared_hinge"}, default="logistic"
        the loss
    features : {"random", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; landmarks: the kernel at landmarks, regularised as
        plain numbers; linear: the rows themselves, dense or sparse; nystroem: Nystroem features of
        the kernel at landmarks
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 512
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    nu : float >= 0, default=1e-06
        weight of |w|^2 / 2 against the mean loss
    block_size : int >= 1, default=256
        c, coefficients of a step
    precondition : bool, default=True
        H_j is a bound of the block's second derivatives, and not their largest eigenvalue
    stages : int >= 1, default=30
        at most this many, each of as many steps as there are blocks
    tol : float >= 0, default=0.0001
        stop once the objective would fall by less than this share of f(0) - f in all further
        stages, by the rate of the last two
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every block once a stage, in random order; iid: independent draws of blocks
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    threshold : float in (0, 1), "balanced" or None, default=None
        probability of the second of two classes from which on it is predicted; balanced: its share
        of the training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2,
        or with class_weight w_0 / (w_0 + w_1). Figures of stages are without it
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    theta : float in [0, 1) or None, default=None
        half width of the band of margins around 1 that cost nothing; none: 0.4
    mu : float in (0, 1] or None, default=None
        weight of margins above the band against those below it; none: 0.4
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> RBCDClassifier(gamma=4.0, n_features=256, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    gamma_: float
    landmarks_: Rows
    loss: Literal["least_squares", "logistic", "odm", "softmax", "squared_hinge"]
    features: Literal["random", "landmarks", "linear", "nystroem"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale"] | float | str
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    n_landmarks: int | None
    landmarks: Literal["coverage", "uniform"]
    nu: float
    block_size: int
    precondition: bool
    stages: int
    tol: float
    order: Literal["shuffled", "iid"]
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    threshold: Literal["balanced"] | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    theta: float | None
    mu: float | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["least_squares", "logistic", "odm", "softmax", "squared_hinge"] = 'logistic',
        features: Literal["random", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: float = 1e-06,
        block_size: int = 256,
        precondition: bool = True,
        stages: int = 30,
        tol: float = 0.0001,
        order: Literal["shuffled", "iid"] = 'shuffled',
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class RBCDRegressor(_Regressor):
    """Linear regressor over features of a kernel, by block coordinate descent.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.

    Parameters
    ----------
    loss : {"huber", "square"}, default="square"
        the loss
    features : {"random", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; landmarks: the kernel at landmarks, regularised as
        plain numbers; linear: the rows themselves, dense or sparse; nystroem: Nystroem features of
        the kernel at landmarks
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 512
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    nu : float >= 0, default=1e-06
        weight of |w|^2 / 2 against the mean loss
    block_size : int >= 1, default=256
        c, coefficients of a step
    precondition : bool, default=True
        H_j is a bound of the block's second derivatives, and not their largest eigenvalue
    stages : int >= 1, default=30
        at most this many, each of as many steps as there are blocks
    tol : float >= 0, default=0.0001
        stop once the objective would fall by less than this share of f(0) - f in all further
        stages, by the rate of the last two
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every block once a stage, in random order; iid: independent draws of blocks
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    delta : float > 0 or None, default=None
        residual from which on it grows linearly, in the units of the targets; none: 1.35 standard
        deviations of theirs, as efficient as the square loss to 95 % if the noise is normal (Huber
        1964)
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    target_center_ : ndarray
        (n_outputs,), of the square loss the mean of the targets, of the others their median or the
        quantiles that are asked for; of DSG's quantiles those of y - target_scale_ g
    target_scale_ : float
        of the square loss the standard deviation of the targets, of the others the spread between
        their deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> RBCDRegressor(n_features=256, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    """

    gamma_: float
    landmarks_: Rows
    loss: Literal["huber", "square"]
    features: Literal["random", "landmarks", "linear", "nystroem"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale"] | float | str
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    n_landmarks: int | None
    landmarks: Literal["coverage", "uniform"]
    nu: float
    block_size: int
    precondition: bool
    stages: int
    tol: float
    order: Literal["shuffled", "iid"]
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    delta: float | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["huber", "square"] = 'square',
        features: Literal["random", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: float = 1e-06,
        block_size: int = 256,
        precondition: bool = True,
        stages: int = 30,
        tol: float = 0.0001,
        order: Literal["shuffled", "iid"] = 'shuffled',
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        delta: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class RandomFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Explicit features z(x) with E[z(x) . z(y)] = k(x, y), for any linear model.

    The features are a function of the parameters and the seed alone; fitting checks the rows and reads off
    their number of columns (and gamma, where a rule is given).

    Parameters
    ----------
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    n_features : int >= 1, default=1024
        r, columns of the result; even where features come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    random_state : int in [0, 4294967295], RandomState instance or None, default=0
        seed of every random choice
    gamma : float > 0, str, {"median", "scale"} or None, default=None
        of the kernel: a number, or a rule that reads it off the rows; none: 1
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0

    Attributes
    ----------
    kernel_ : AbstractKernel
        the kernel
    seed_ : int
        of all draws
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> z = RandomFeatures(gamma=0.5, n_features=4096).fit_transform(X)
    >>> bool(abs(z @ z.T - np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))).max() < 0.1)
    True
    """

    kernel_: AbstractKernel
    seed_: int
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    table_: Table | None
    target_name_: str | None
    zero_based_: bool | None
    scaling_: Scaling | None
    dtype_: np.dtype[Any] | None
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    random_state: int | RandomState | None
    gamma: Literal["median", "scale"] | float | str | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None

    def __init__(
        self,
        *,
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        n_features: int = 1024,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        random_state: int | RandomState | None = 0,
        gamma: Literal["median", "scale"] | float | str | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
    ) -> None: ...

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Check rows and parameters.

        Parameters
        ----------
        X : (n_rows, d) array, sparse matrix of SciPy, Dask array, or a split of a data set
        y : not used

        Raises
        ------
        InputError or ValueError
            If a parameter is wrong or not one of the kernel's, or the kernel is not defined for a row.
        """
        ...

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[Any]:
        """Fit to data, then transform it.

        Fits transformer to `X` and `y` with optional parameters `fit_params`
        and returns a transformed version of `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Input samples.

        y :  array-like of shape (n_samples,) or (n_samples, n_outputs),                 default=None
            Target values (None for unsupervised transformations).

        **fit_params : dict
            Additional fit parameters.
            Pass only if the estimator accepts additional params in its `fit` method.

        Returns
        -------
        X_new : ndarray array of shape (n_samples, n_features_new)
            Transformed array.
        """
        ...

    @overload
    def transform(self, X: _Lazy | Split | None) -> Any:
        """z(X): (n_rows, n_features) in the rows' precision; lazy for Dask arrays, Dask frames and splits."""
        ...

    @overload
    def transform(self, X: Any) -> NDArray[Any]: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get parameters for this estimator.

        Parameters
        ----------
        deep : bool, default=True
            If True, will return the parameters for this estimator and
            contained subobjects that are estimators.

        Returns
        -------
        params : dict
            Parameter names mapped to their values.
        """
        ...

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator.

        The method works on simple estimators as well as on nested objects
        (such as :class:`~sklearn.pipeline.Pipeline`). The latter have
        parameters of the form ``<component>__<parameter>`` so that it's
        possible to update each component of a nested object.

        Parameters
        ----------
        **params : dict
            Estimator parameters.

        Returns
        -------
        self : estimator instance
            Estimator instance.
        """
        ...

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what ``transform`` and ``fit_transform`` return.

        Parameters
        ----------
        transform : "default": arrays. "pandas": frames; of lazy rows a lazy Dask frame, with the index of the
            frame that is given. "polars": frames, of rows in memory. None leaves the choice as it is
        """
        ...

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Get output feature names for transformation.

        The feature names out will prefixed by the lowercased class name. For
        example, if the transformer outputs 3 features, then the feature names
        out are: `["class_name0", "class_name1", "class_name2"]`.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Only used to validate feature names with the names seen in `fit`.

        Returns
        -------
        feature_names_out : ndarray of str objects
            Transformed feature names.
        """
        ...

    def get_metadata_routing(self) -> Any:
        """Get metadata routing of this object.

        Please check :ref:`User Guide <metadata_routing>` on how the routing
        mechanism works.

        Returns
        -------
        routing : MetadataRequest
            A :class:`~sklearn.utils.metadata_routing.MetadataRequest` encapsulating
            routing information.
        """
        ...

class SBMDClassifier(_Classifier):
    """Linear classifier on a kernel's features by stochastic block mirror descent (Dai et al. 2014, Table 2).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, by steps over a batch of rows in a block of w;
    every loss. It is r-SBMD of Table 2 of Dai et al. 2014, and n-SBMD with ``features="nystroem"``.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"}, default="logistic"
        the loss
    features : {"random", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; landmarks: the kernel at landmarks, regularised as
        plain numbers; linear: the rows themselves, dense or sparse; nystroem: Nystroem features of
        the kernel at landmarks
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 512
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    nu : float >= 0 or "auto", default="auto"
        weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06
    batch_size : int >= 1 or None, default=None
        B, rows of a step; none: 512 or n / 16, if that is less, with a preconditioner, 4 without
    block_size : int >= 1, default=512
        coefficients of a step
    step_size : float > 0 or None, default=None
        gamma_0; none: by the loss and the features
    precondition : bool or None, default=None
        divide steps by a bound of the block's second derivatives; none: for up to 8192 features,
        unless batch_size is below 16
    stages : int >= 1, default=20
        the model is measured after each
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: one pass
    averaging : int in [0, 8] or None, default=3
        k: the model is the mean of the iterates weighted with step^k; none: the last iterate
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement, block by
        block, which leave out some rows and take others twice
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    threshold : float in (0, 1), "balanced" or None, default=None
        probability of the second of two classes from which on it is predicted; balanced: its share
        of the training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2,
        or with class_weight w_0 / (w_0 + w_1). Figures of stages are without it
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    theta : float in [0, 1) or None, default=None
        half width of the band of margins around 1 that cost nothing; none: 0.4
    mu : float in (0, 1] or None, default=None
        weight of margins above the band against those below it; none: 0.4
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = SBMDClassifier(gamma=4.0, n_features=256, batch_size=8, stages=60, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.95
    True
    """

    gamma_: float
    landmarks_: Rows
    loss: Literal["hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"]
    features: Literal["random", "landmarks", "linear", "nystroem"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    n_landmarks: int | None
    landmarks: Literal["coverage", "uniform"]
    nu: Literal["auto"] | float
    batch_size: int | None
    block_size: int
    step_size: float | None
    precondition: bool | None
    stages: int
    steps_per_stage: int | float | None
    averaging: int | None
    order: Literal["shuffled", "iid"]
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    threshold: Literal["balanced"] | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    theta: float | None
    mu: float | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"] = 'logistic',
        features: Literal["random", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: Literal["auto"] | float = 'auto',
        batch_size: int | None = None,
        block_size: int = 512,
        step_size: float | None = None,
        precondition: bool | None = None,
        stages: int = 20,
        steps_per_stage: int | float | None = None,
        averaging: int | None = 3,
        order: Literal["shuffled", "iid"] = 'shuffled',
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class SBMDRegressor(_Regressor):
    """Linear regressor over features of a kernel, by stochastic block mirror descent.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.

    Parameters
    ----------
    loss : {"absolute", "epsilon_insensitive", "huber", "quantile", "square"}, default="square"
        the loss
    features : {"random", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; landmarks: the kernel at landmarks, regularised as
        plain numbers; linear: the rows themselves, dense or sparse; nystroem: Nystroem features of
        the kernel at landmarks
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 512
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    nu : float >= 0 or "auto", default="auto"
        weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06
    batch_size : int >= 1 or None, default=None
        B, rows of a step; none: 512 or n / 16, if that is less, with a preconditioner, 4 without
    block_size : int >= 1, default=512
        coefficients of a step
    step_size : float > 0 or None, default=None
        gamma_0; none: by the loss and the features
    precondition : bool or None, default=None
        divide steps by a bound of the block's second derivatives; none: for up to 8192 features,
        unless batch_size is below 16
    stages : int >= 1, default=20
        the model is measured after each
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: one pass
    averaging : int in [0, 8] or None, default=3
        k: the model is the mean of the iterates weighted with step^k; none: the last iterate
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement, block by
        block, which leave out some rows and take others twice
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    epsilon : float >= 0 or None, default=None
        residual that costs nothing, in the units of the targets; none: 0.1 standard deviations
    delta : float > 0 or None, default=None
        residual from which on it grows linearly, in the units of the targets; none: 1.35 standard
        deviations of theirs, as efficient as the square loss to 95 % if the noise is normal (Huber
        1964)
    quantiles : float or list of float or None, default=None
        one output for each of these quantiles; none: (0.5,)
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    target_center_ : ndarray
        (n_outputs,), of the square loss the mean of the targets, of the others their median or the
        quantiles that are asked for; of DSG's quantiles those of y - target_scale_ g
    target_scale_ : float
        of the square loss the standard deviation of the targets, of the others the spread between
        their deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> SBMDRegressor(n_features=256, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    """

    gamma_: float
    landmarks_: Rows
    loss: Literal["absolute", "epsilon_insensitive", "huber", "quantile", "square"]
    features: Literal["random", "landmarks", "linear", "nystroem"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    n_landmarks: int | None
    landmarks: Literal["coverage", "uniform"]
    nu: Literal["auto"] | float
    batch_size: int | None
    block_size: int
    step_size: float | None
    precondition: bool | None
    stages: int
    steps_per_stage: int | float | None
    averaging: int | None
    order: Literal["shuffled", "iid"]
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    epsilon: float | None
    delta: float | None
    quantiles: float | Sequence[float] | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["absolute", "epsilon_insensitive", "huber", "quantile", "square"] = 'square',
        features: Literal["random", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: Literal["auto"] | float = 'auto',
        batch_size: int | None = None,
        block_size: int = 512,
        step_size: float | None = None,
        precondition: bool | None = None,
        stages: int = 20,
        steps_per_stage: int | float | None = None,
        averaging: int | None = 3,
        order: Literal["shuffled", "iid"] = 'shuffled',
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        quantiles: float | Sequence[float] | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class SDCAClassifier(_Classifier):
    """Linear classifier on features of a kernel by dual coordinate ascent (Dai et al. 2014, Table 2).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, by exact steps in the dual variables of single
    rows, until the duality gap is at most ``tol`` of the objective. It is r-SDCA of Dai et al. 2014, n-SDCA
    with ``features="nystroem"`` and k-SDCA with ``features="kernel"``: there the model is a combination of
    kernels at the training rows that it needs, and |w| is the norm of the kernel's space. Time and messages
    grow with the number of these rows, at most ``max_support``; the hinge and the epsilon-insensitive loss
    need fewest.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "squared_hinge"}, default="logistic"
        the loss
    features : {"random", "kernel", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; kernel: the kernel itself, at the training rows that
        the model needs; landmarks: the kernel at landmarks, regularised as plain numbers; linear:
        the rows themselves, dense or sparse; nystroem: Nystroem features of the kernel at landmarks
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    max_support : int >= 1, default=20000
        training rows with a coefficient other than 0, at most; every process keeps them
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 512
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    nu : float > 0 or "auto", default="auto"
        weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-05
    stages : int >= 1, default=20
        at most this many, each two passes over the rows, with features='kernel' one; more of few
        rows
    tol : float >= 0, default=0.001
        stop once the duality gap is at most this share of f(0) - f
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    threshold : float in (0, 1), "balanced" or None, default=None
        probability of the second of two classes from which on it is predicted; balanced: its share
        of the training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2,
        or with class_weight w_0 / (w_0 + w_1). Figures of stages are without it
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    theta : float in [0, 1) or None, default=None
        half width of the band of margins around 1 that cost nothing; none: 0.4
    mu : float in (0, 1] or None, default=None
        weight of margins above the band against those below it; none: 0.4
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> SDCAClassifier(nu=1e-3, gamma=4.0, n_features=256, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    gamma_: float
    landmarks_: Rows
    loss: Literal["hinge", "least_squares", "logistic", "odm", "squared_hinge"]
    features: Literal["random", "kernel", "landmarks", "linear", "nystroem"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    max_support: int
    n_landmarks: int | None
    landmarks: Literal["coverage", "uniform"]
    nu: Literal["auto"] | float
    stages: int
    tol: float
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    threshold: Literal["balanced"] | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    theta: float | None
    mu: float | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "squared_hinge"] = 'logistic',
        features: Literal["random", "kernel", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        max_support: int = 20000,
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: Literal["auto"] | float = 'auto',
        stages: int = 20,
        tol: float = 0.001,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class SDCARegressor(_Regressor):
    """Linear regressor over features of a kernel, by stochastic dual coordinate ascent.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.

    Parameters
    ----------
    loss : {"absolute", "epsilon_insensitive", "huber", "square"}, default="square"
        the loss
    features : {"random", "kernel", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; kernel: the kernel itself, at the training rows that
        the model needs; landmarks: the kernel at landmarks, regularised as plain numbers; linear:
        the rows themselves, dense or sparse; nystroem: Nystroem features of the kernel at landmarks
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    max_support : int >= 1, default=20000
        training rows with a coefficient other than 0, at most; every process keeps them
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 512
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    nu : float > 0 or "auto", default="auto"
        weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-05
    stages : int >= 1, default=20
        at most this many, each two passes over the rows, with features='kernel' one; more of few
        rows
    tol : float >= 0, default=0.001
        stop once the duality gap is at most this share of f(0) - f
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    epsilon : float >= 0 or None, default=None
        residual that costs nothing, in the units of the targets; none: 0.1 standard deviations
    delta : float > 0 or None, default=None
        residual from which on it grows linearly, in the units of the targets; none: 1.35 standard
        deviations of theirs, as efficient as the square loss to 95 % if the noise is normal (Huber
        1964)
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    target_center_ : ndarray
        (n_outputs,), of the square loss the mean of the targets, of the others their median or the
        quantiles that are asked for; of DSG's quantiles those of y - target_scale_ g
    target_scale_ : float
        of the square loss the standard deviation of the targets, of the others the spread between
        their deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> SDCARegressor(n_features=256, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    """

    gamma_: float
    landmarks_: Rows
    loss: Literal["absolute", "epsilon_insensitive", "huber", "square"]
    features: Literal["random", "kernel", "landmarks", "linear", "nystroem"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    max_support: int
    n_landmarks: int | None
    landmarks: Literal["coverage", "uniform"]
    nu: Literal["auto"] | float
    stages: int
    tol: float
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    epsilon: float | None
    delta: float | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["absolute", "epsilon_insensitive", "huber", "square"] = 'square',
        features: Literal["random", "kernel", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        max_support: int = 20000,
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: Literal["auto"] | float = 'auto',
        stages: int = 20,
        tol: float = 0.001,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class SIMBAClassifier(_Classifier):
    """Linear support vector machine learned from single rows and columns (Hazan et al. 2011, Algorithm 1).

    Maximises the margin gamma of <w, x> + b with |w| <= 1 where rows may fall short of it by nu on
    average, all in units of the largest norm of a row; weights and constant are scaled so that the margin
    is 1. Several classes one-vs-rest, with one nu for all. Data sets need a feature-major copy
    (``distkern shard --columns``) unless ``features`` are random. Dask arrays are written to a temporary one.
    ``rows_read`` and ``bytes_read`` are of the passes; what the rounds look at is in
    ``feature_accesses``, which leaves out the trials of nu.

    Parameters
    ----------
    features : {"linear", "random"}, default="linear"
        linear: the rows themselves, dense or sparse; random: random features of the kernel
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    nu : float in [0, 1] or "auto", default="auto"
        how far rows may fall short, on average, mostly .0003 to .03: about the hinge loss of a good
        model by |w| and the largest norm; auto: chosen on held-out rows, or 0.01
    fit_intercept : bool, default=True
        learn b in [-1, 1], in units of the largest norm
    max_rounds : int >= 1, default=20000
        T, rounds
    max_feature_accesses : float > 0 or None, default=None
        stop after this many, counted as n_features a row and n_rows a column; none: no limit
    rows_per_round : int >= 1, default=4
        rows (times the outputs) of a round; the paper has 1
    columns_per_round : int >= 1, default=1
        the same of columns
    selection_every : int >= 1, default=16
        rounds until it is chosen anew who may fall short
    averaging : int in [0, 8], default=2
        k: the model is the mean of the iterates weighted with round^k; 0: the paper's
    stages : int >= 1, default=10
        parts of the run; the model is measured after each
    validation_fraction : float in [0, 1), default=0.1
        of the training rows, held out for patience
    patience : int >= 1 or None, default=5
        stop after this many stages without fewer mistakes on them, keep the best model; none: go on
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(400, 40, class_sep=2.0, random_state=0)
    >>> model = SIMBAClassifier(max_rounds=2000, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    gamma_: float
    landmarks_: Rows
    features: Literal["linear", "random"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale"] | float | str
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    nu: Literal["auto"] | float
    fit_intercept: bool
    max_rounds: int
    max_feature_accesses: float | None
    rows_per_round: int
    columns_per_round: int
    selection_every: int
    averaging: int
    stages: int
    validation_fraction: float
    patience: int | None
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    random_state: int | RandomState | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        features: Literal["linear", "random"] = 'linear',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        nu: Literal["auto"] | float = 'auto',
        fit_intercept: bool = True,
        max_rounds: int = 20000,
        max_feature_accesses: float | None = None,
        rows_per_round: int = 4,
        columns_per_round: int = 1,
        selection_every: int = 16,
        averaging: int = 2,
        stages: int = 10,
        validation_fraction: float = 0.1,
        patience: int | None = 5,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        random_state: int | RandomState | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class SVRGClassifier(_Classifier):
    """Linear classifier on a kernel's features by variance-reduced gradients (Li and Poczos 2016, Section 5).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2 with linear convergence for smooth losses; the
    features z(x) are regenerated wherever they are needed and never stored.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"}, default="logistic"
        the loss
    features : {"random", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; landmarks: the kernel at landmarks, regularised as
        plain numbers; linear: the rows themselves, dense or sparse; nystroem: Nystroem features of
        the kernel at landmarks
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 512
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    nu : float >= 0 or "auto", default="auto"
        weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06
    batch_size : int >= 1 or None, default=None
        B, rows of a step; none: 256, with a preconditioner a quarter of the features if that is
        more, at most n / 8 of more than 128 rows, and no fewer than 16
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: two passes, the usual 2 n / B steps
    step_size : float > 0 or None, default=None
        eta; none: by the loss and the features
    precondition : bool or None, default=None
        divide steps by a bound of the Hessian from a sample of rows; none: for up to 8192 features
    damping : float >= 0 or None, default=None
        added to that bound; none: by the batch
    stages : int >= 1, default=10
        at most this many; each ends with one pass for the full gradient
    tol : float >= 0, default=0.001
        stop once the objective is shown to be within this share of f(0) - f of its minimum, or w
        changes by less than this share of itself in a stage
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement, block by
        block, which leave out some rows and take others twice
    class_weight : dict, "balanced" or None, default=None
        weight w of each class: its losses count as w times as much, and predict names the class of
        the largest w p; probabilities p are those of the rows as they are
    threshold : float in (0, 1), "balanced" or None, default=None
        probability of the second of two classes from which on it is predicted; balanced: its share
        of the training rows by sample_weight, above which it gains in balanced accuracy; none: 1/2,
        or with class_weight w_0 / (w_0 + w_1). Figures of stages are without it
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    theta : float in [0, 1) or None, default=None
        half width of the band of margins around 1 that cost nothing; none: 0.4
    mu : float in (0, 1] or None, default=None
        weight of margins above the band against those below it; none: 0.4
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    threshold_ : float or None
        The probability from which on the second of two classes is predicted: the one that was
        given, or w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value
        says the class
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    classes_ : ndarray
        (n_classes,) label values
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> SVRGClassifier(gamma=4.0, n_features=256, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    gamma_: float
    landmarks_: Rows
    loss: Literal["hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"]
    features: Literal["random", "landmarks", "linear", "nystroem"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    n_landmarks: int | None
    landmarks: Literal["coverage", "uniform"]
    nu: Literal["auto"] | float
    batch_size: int | None
    steps_per_stage: int | float | None
    step_size: float | None
    precondition: bool | None
    damping: float | None
    stages: int
    tol: float
    order: Literal["shuffled", "iid"]
    class_weight: Literal["balanced"] | dict[Any, Any] | None
    threshold: Literal["balanced"] | float | None
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    theta: float | None
    mu: float | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"] = 'logistic',
        features: Literal["random", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: Literal["auto"] | float = 'auto',
        batch_size: int | None = None,
        steps_per_stage: int | float | None = None,
        step_size: float | None = None,
        precondition: bool | None = None,
        damping: float | None = None,
        stages: int = 10,
        tol: float = 0.001,
        order: Literal["shuffled", "iid"] = 'shuffled',
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...

class SVRGRegressor(_Regressor):
    """Linear regressor over features of a kernel, by variance-reduced stochastic gradients.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.

    Parameters
    ----------
    loss : {"absolute", "epsilon_insensitive", "huber", "quantile", "square"}, default="square"
        the loss
    features : {"random", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; landmarks: the kernel at landmarks, regularised as
        plain numbers; linear: the rows themselves, dense or sparse; nystroem: Nystroem features of
        the kernel at landmarks
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        the kernel
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        of the kernel: a number, or a rule that reads it off the rows; auto: chosen on held-out
        rows, or scale
    n_features : int >= 1, default=2048
        random features; even where they come in pairs
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        how random features are drawn
    n_landmarks : int >= 1 or None, default=None
        at most this many landmarks; none: 512
    landmarks : {"coverage", "uniform"}, default="uniform"
        the rule that chooses landmarks
    nu : float >= 0 or "auto", default="auto"
        weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06
    batch_size : int >= 1 or None, default=None
        B, rows of a step; none: 256, with a preconditioner a quarter of the features if that is
        more, at most n / 8 of more than 128 rows, and no fewer than 16
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: two passes, the usual 2 n / B steps
    step_size : float > 0 or None, default=None
        eta; none: by the loss and the features
    precondition : bool or None, default=None
        divide steps by a bound of the Hessian from a sample of rows; none: for up to 8192 features
    damping : float >= 0 or None, default=None
        added to that bound; none: by the batch
    stages : int >= 1, default=10
        at most this many; each ends with one pass for the full gradient
    tol : float >= 0, default=0.001
        stop once the objective is shown to be within this share of f(0) - f of its minimum, or w
        changes by less than this share of itself in a stage
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement, block by
        block, which leave out some rows and take others twice
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        of each column, fitted on the training rows in a pass before all others and kept in the
        model; auto: standard where the ranges of most columns differ more than 30-fold, else minmax
        where numbers exceed 100, no range 0.01 or a column is farther from 0 than it is wide (of
        sparse rows maxabs for all), else none, as of data sets that were scaled when they were
        sharded, and kernels of numbers of at least 0; normal: to the normal distribution's
        quantiles; ranks: to its ranks, both by quantiles of 2,000 rows
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        in which distances of rows are measured, learned from gradients over 2,000 rows before the
        first pass; diagonal: a weight of each column; interactions: one that starts from the
        columns whose narrow pairs explain what a broad machine leaves; full: a matrix; none:
        Euclidean; auto: chosen by rows of these that are held out, with scale where that is auto
        too. scale is then standard, normal, ranks or none
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        seed of every random choice
    epsilon : float >= 0 or None, default=None
        residual that costs nothing, in the units of the targets; none: 0.1 standard deviations
    delta : float > 0 or None, default=None
        residual from which on it grows linearly, in the units of the targets; none: 1.35 standard
        deviations of theirs, as efficient as the square loss to 95 % if the noise is normal (Huber
        1964)
    quantiles : float or list of float or None, default=None
        one output for each of these quantiles; none: (0.5,)
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>; none: ()
    rate : float > 0 or None, default=None
        the paper's beta; none: 1.0
    smoothness : float in [0.5, 9.5] or None, default=None
        the paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5
    offset : float >= 0, float > 0 or None, default=None
        added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0
    dtype : {"auto", "float32", "float64"}, default="auto"
        precision in which rows of arrays and frames are trained and predicted, to which they are
        cast once scaled; auto: float32 for float32 rows and for 4,000 rows or more, unless columns
        that are not centred lie so far from 0 that it would not tell their numbers apart, else
        float64; of partial_fit that of the first batch. Data sets have the precision that they are
        stored in

    Attributes
    ----------
    seed_ : int
        of the random features, and of every other choice
    gamma_ : float
        the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was
        fitted on sparse rows; without rows unless the features are made of landmarks
    model_ : FittedModel
        The fitted model as a value, whose fields are the other attributes: what functions of runs
        take
    width_ : int
        Features of a row
    found_ : dict
        The values chosen for hyperparameters that were "auto", by name
    coef_ : ndarray
        Of linear models, (n_outputs, n_features), of regressors with one output (n_features,): the
        weights of the columns of X, in their own units
    intercept_ : object
        (n_outputs,), of regressors with one output a float: the constant of f, in linear models
        beside ``coef_``
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes
    constants_ : ndarray
        (n_outputs,) what is added to them
    n_iter_ : int
        stages done, of the model that is kept
    history_ : History
        :class:`~distkern.show.history.History`, a list of dict, a line of figures for each stage
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of a model that ``distkern train`` has made,
        or None
    ended_ : str or None
        why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its
        minimum), "stages used up", "diverged", "stopped early", "stopped by a callback", or the
        rule by which the solver stopped otherwise: "patience: ..." or "settled: ..."
    updates_ : tuple
        of each of the last hundred updates its ``number``, its ``rows``, the error on them
        ``before`` and ``after``, and their ``drift``: how many columns have numbers outside the
        ranges of before, and which most; None where these are not known
    map_ : RowMap or None
        of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one,
        or None
    mean_weight_ : float
        mean of the rows' weights, which the weights of the losses are divided by
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None
    class_shares_ : ndarray or None
        (n_classes,) of the training rows by ``sample_weight``, or None
    target_center_ : ndarray
        (n_outputs,), of the square loss the mean of the targets, of the others their median or the
        quantiles that are asked for; of DSG's quantiles those of y - target_scale_ g
    target_scale_ : float
        of the square loss the standard deviation of the targets, of the others the spread between
        their deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`
    n_features_in_ : int
        columns of what it was fitted on
    feature_names_in_ : ndarray
        (n_features_in_,) their names, where it had some
    table_ : Table or None
        how they became features, where they were not mere numbers, see
        :class:`~distkern.data.table.Table`; else None
    target_name_ : str or None
        of the column that held the target, where it was fitted on a data set of a table
    zero_based_ : bool or None
        whether indices of svmlight files start at 0, where it was fitted on a data set
    scaling_ : Scaling or None
        of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to
        ``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled
    dtype_ : dtype or None
        of the rows that it was fitted to, which those that are given to ``predict`` are brought to;
        None for a stored model that does not say, whose rows are predicted in their own precision

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> SVRGRegressor(n_features=256, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    """

    gamma_: float
    landmarks_: Rows
    loss: Literal["absolute", "epsilon_insensitive", "huber", "quantile", "square"]
    features: Literal["random", "landmarks", "linear", "nystroem"]
    kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"]
    gamma: Literal["median", "scale", "auto"] | float | str
    n_features: int
    sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"]
    n_landmarks: int | None
    landmarks: Literal["coverage", "uniform"]
    nu: Literal["auto"] | float
    batch_size: int | None
    steps_per_stage: int | float | None
    step_size: float | None
    precondition: bool | None
    damping: float | None
    stages: int
    tol: float
    order: Literal["shuffled", "iid"]
    scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"]
    metric: Literal["auto", "diagonal", "interactions", "full"] | None
    random_state: int | RandomState | None
    epsilon: float | None
    delta: float | None
    quantiles: float | Sequence[float] | None
    degree: int | None
    coefficients: Sequence[float] | None
    rate: float | None
    smoothness: float | None
    offset: float | None
    dtype: Literal["auto", "float32", "float64"]

    def __init__(
        self,
        *,
        loss: Literal["absolute", "epsilon_insensitive", "huber", "quantile", "square"] = 'square',
        features: Literal["random", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: Literal["auto"] | float = 'auto',
        batch_size: int | None = None,
        steps_per_stage: int | float | None = None,
        step_size: float | None = None,
        precondition: bool | None = None,
        damping: float | None = None,
        stages: int = 10,
        tol: float = 0.001,
        order: Literal["shuffled", "iid"] = 'shuffled',
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        quantiles: float | Sequence[float] | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...
