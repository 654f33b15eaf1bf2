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
from distkern.model.parts import History
from distkern.model.value import FittedModel
from distkern.show.explanation import Explanation
from distkern.solvers._cells.choosing import Settled
from distkern.solvers._cells.tree import Places
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

    The file holds scaling, transforms and metric of the columns, the kernel or random features, and the
    formulas of labels and probabilities. It computes in double precision and agrees with ``predict``,
    ``predict_proba`` and ``decision_function`` within 1e-5 (labels can differ if two classes are that close).

    ======= ================================== ========================================================
    name    shape                              content
    ======= ================================== ========================================================
    X       (n_rows, n_features) float32       input: the columns of ``fit`` in their order and units
    label   (n_rows,)                          classifiers; dates are strings
    probabilities (n_rows, n_classes) float32  classifiers with ``predict_proba``
    decision (n_rows,) or (n_rows, n_classes) float32  classifiers
    prediction (n_rows,) or (n_rows, n_quantiles) float32  regressors
    ======= ================================== ========================================================

    Parameters
    ----------
    model : estimator
        A fitted linear model, or a model over landmarks, Nystroem features or random features.
    path : str or path-like
        File to write, such as ``"model.onnx"``.

    Raises
    ------
    InputError
        If the package ``onnx`` is missing (``pip install 'distkern[onnx]'``), or the model has no formula in
        ONNX: machines in cells, models of encoded columns (texts, categories, dates, ids), novelty
        detectors, density ratios, random features of the polynomial kernel. The message names the reason.

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
    """Return the kernel's closed form between all rows of ``X`` and ``Y`` (default ``X``), in float64.

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
        If the kernel or a parameter is unknown, a parameter is out of range, the widths differ, or the kernel
        is undefined for a row.

    Examples
    --------
    >>> kernel_matrix([[0.0], [1.0]], kernel="laplacian", gamma=0.5).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """
    ...

def load_model(path: Location) -> _Loaded:
    """Load the fitted estimator that :meth:`save` or ``distkern train`` wrote.

    Parameters
    ----------
    path : str or path-like
        Folder or URL of the model. Loading executes no code from it.

    Returns
    -------
    model : estimator
        The fitted estimator, of the class that was saved.

    Raises
    ------
    InputError
        If there is no complete model, or another version wrote it.
    CorruptDataError
        If a file differs from what was written.

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
    """Search for hyperparameters on held-out rows, out of core, on the active Dask scheduler.

    Parameters
    ----------
    estimator : estimator of this package
        Its ``random_state`` (None: 0) is the seed of candidates and held-out rows. For ``KernelClassifier``
        and ``KernelRegressor`` the search tunes the algorithm that they choose for the data.
    data : Dataset, Split, array-like, sparse matrix, frame, Dask array or Dask frame
        Only the training rows of a data set are used. Other rows are first written to ``TMPDIR``, frames as
        ``write_dataset`` stores them.
    y : array-like of shape (n_rows,), default=None
        Labels or targets; data sets have their own.
    parameters : dict, default=None
        Hyperparameter -> list of values, ``{"low": ..., "high": ...}`` with optional ``"log"`` and
        ``"points"``, or a distribution of ``scipy.stats`` or Optuna. None: default ranges of the
        hyperparameters worth searching that the estimator does not set. With a data set it may be the third
        argument.
    sample_weight, groups : array-like of shape (n_rows,), default=None
        Weights of the rows, and groups that are held out together.
    method : {"grid", "random", "halving"}, default=None
        All combinations, drawn ones, or rungs: one in ``factor`` candidates continues to ``factor`` times the
        rows (Jamieson and Talwalkar 2016). None: "grid" if all values are listed, "random" if some are drawn,
        "halving" without ``parameters``.
    candidates : int, default=None
        Number of drawn candidates; None: 10, or 20 without ``parameters``.
    validation : float or int, default=0.2
        Share of held-out rows, or a number of folds.
    metric : str, default=None
        A figure of ``distkern evaluate``; None: the log loss, or the root mean squared error.
    scoring : str, default=None
        scikit-learn's name of a score ("roc_auc", "neg_log_loss", ...), instead of ``metric``.
    factor : int, default=3
        Factor of "halving".
    folder : str or path-like, default=None
        Folder for finished trials; a search with the same arguments continues from there.
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
        positive: Any = None,
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
    """Write rows and targets as a data set, as ``distkern shard`` does for files.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, Dask array or Dask frame of shape (n_rows, n_features)
        The rows. Lazy rows are computed one block at a time. Frames may be from pandas, Polars, Arrow or
        Dask.
    y : array-like of shape (n_rows,) or None
        The targets, if there are any.
    path : str or path-like
        Folder or URL of the new data set; it appears when it is complete.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows.
    groups : array-like of shape (n_rows,), default=None
        Rows of one group are held out together.
    task : {"classification", "regression", "none"}, default=None
        None: regression if ``y`` holds fractions, or is lazy and holds floats; otherwise classification.
    test_fraction : float, default=None
        Share of the rows, drawn at random, for the split ``test``.
    positive : label, default=None
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
        Replacement for missing numbers of frames; "flag" adds a feature that marks them, "none" refuses them.
    categorical : dict, default=None
        Column name -> "onehot", "target" (target means), "signs" or "drop", for columns of frames.
    drop : list of str, default=()
        Columns of frames to leave out.
    text : list of str, default=()
        Columns of frames whose words become features.
    id : str, default=None
        Column of frames that names the rows. It is not a feature, and later frames may lack it.
    keep_na : list of str, default=()
        Columns of frames in which words such as "NA" are ordinary values.
    day_first : bool, default=None
        Whether 3/4/2024 is in April, for columns that do not show it.
    overwrite : bool, default=False
        Replace an existing data set at ``path``.
    notice : callable, default=None
        Called with notes on the rows. None: warn about columns that are left out, as ``fit`` does.

    Returns
    -------
    dataset : Dataset
        The new data set, opened.

    Raises
    ------
    InputError
        For invalid rows or targets, and if ``path`` exists.

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
            and missing values, which become numbers as ``distkern shard`` encodes them.
        y : array-like of shape (n_rows,), default=None
            Labels or targets; data sets have their own.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights s_i >= 0 of the losses. The objective divides by their sum.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group are held out together wherever something is chosen on held-out rows.
        text : list of str, default=()
            Columns of a frame whose words become features.
        categorical : list of str or dict, default=()
            Columns of a frame to treat as categories although they hold numbers, with one feature for each
            value; or column name -> "onehot", "target" (target means), "signs" or "drop".
        id : str, default=None
            Column of a frame that names the rows. It is not a feature, and frames to predict may lack it.
        eval_set : tuple (X, y) or Split, default=None
            Rows to evaluate after every stage; ``history_`` has the result as ``test_error``.
        early_stopping : int, default=None
            Stop after this many stages without a lower error on ``eval_set``, and keep the model of the best
            stage.
        callbacks : callable or list of callables, default=()
            Called after every stage with its line of ``history_``. A callback that returns True ends the fit.
        verbose : bool, default=False
            Show a progress bar and a line for every stage in a terminal or notebook.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        InputError or ValueError
            If a hyperparameter, a number or a label is invalid; the message names it.
        DivergenceError
            If the objective becomes NaN or infinite, or far exceeds the objective of the zero model.

        Warns
        -----
        ConvergenceWarning
            If the objective ended above that of the zero model or was still falling fast, or the model is no
            better than predicting one class for all rows.
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
        """Update the fitted model with new rows.

        Landmarks, gamma, scaling, maps, encodings, class weights and hyperparameters do not change. What the
        updated model minimises depends on the algorithm:

        - Newton with the square loss and at most 2,048 basis functions, if the fit used the matrix of all
          rows: its objective over old and new rows, exactly. The old rows are not needed.
        - Newton with other losses, RBCD, SVRG and CSVRG: the same objective. They read the old rows again.
        - Cells: machines of cells with new rows are solved again on their old and new rows. All other
          machines, the map, the kernel, C and the sigmoids of the probabilities keep their exact values.
        - DSG, Pegasos, AVM, NORMA and SBMD: the expected loss over the stream of all rows so far. They
          continue the steps of their papers over the new rows, and the step count continues too.

        Parameters
        ----------
        X, y, sample_weight : array-like, frame or Split
            The new rows in memory, as ``fit`` takes them, or a split of a data set.
        old : tuple (X, y), tuple (X, y, sample_weight), Split or list of these, default=None
            All rows that the model has learned from so far, if the algorithm reads them again.
        verbose : bool, default=False
            Show progress as ``fit`` does.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If the algorithm has no updates, old rows are missing, or a label is new to the model; the message
            says what to do instead.
        """
        ...

    def save(self, path: Location, *, overwrite: bool = False) -> None:
        """Write a model folder that :func:`distkern.load_model` reads.

        An existing model is replaced only once the new one is complete.

        Parameters
        ----------
        path : folder or URL
        overwrite : also replace a model with the metrics and report of a run, which are then removed

        Raises
        ------
        InputError
            If the folder holds files that are not a model's, or a run and not ``overwrite``.
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
        """Set hyperparameters.

        Raises
        ------
        InputError
            If a name is unknown; the message suggests the right one.
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
        """Fit on a batch of rows: the first call is ``fit``, later calls are ``update``.

        The first batch decides everything that a fit chooses: scaling, landmarks, and hyperparameters set to
        "auto". :meth:`update` describes what the model then minimises. Newton with the square loss and at
        most 2,048 basis functions reaches the same model as a fit on all rows with the choices of the first
        batch.

        Parameters
        ----------
        X, y, sample_weight : array-like
            Rows in memory, as ``update`` takes them.
        classes : array-like, default=None
            All labels; None: the labels of the first batch, which must contain rows of every class.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If the labels of the first batch differ from ``classes``, a later batch has an unknown label, or
            Newton has more basis functions; also as :meth:`fit` and :meth:`update` do.
        """
        ...

    @overload
    def predict(self, X: _Lazy | Split | None) -> Any:
        """Predict labels, (n_rows,); lazy for Dask collections and splits."""
        ...

    @overload
    def predict(self, X: Any) -> NDArray[Any]: ...

    @overload
    def predict_proba(self, X: _Lazy | Split | None) -> Any:
        """Predict class probabilities, (n_rows, n_classes), if the model has them; lazy as :meth:`predict`.

        The probabilities are for rows as they occur, weighted by ``sample_weight``; ``class_weight`` does not
        change them.
        """
        ...

    @overload
    def predict_proba(self, X: Any) -> NDArray[Any]: ...

    @overload
    def decision_function(self, X: _Lazy | Split | None) -> Any:
        """Compute f(x): (n_rows,) for two classes, otherwise (n_rows, n_classes).

        The result is lazy for Dask collections and splits.
        """
        ...

    @overload
    def decision_function(self, X: Any) -> NDArray[Any]: ...

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy on arrays, or on a split of a data set, which has its own labels."""
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
        """Compute permutation importances and partial dependence on a sample of rows.

        The columns of a table are permuted as a whole, and partial dependence sets them to values of the
        table. Only the sample is held in memory.

        Parameters
        ----------
        X, y : array-like, frame, Dask collection, Split or Dataset
            Rows with labels or targets, as ``fit`` takes them; preferably rows that were not used to fit. The
            test rows of a data set are used if it has any.
        features : list of str or int, default=None
            Names or positions of the columns to measure. None: up to 30 columns, those with the largest
            weight in the learned metric or else the largest variance; partial dependence for the five most
            important.
        grid_resolution : int, default=20
            Largest number of values in a partial dependence curve: quantiles from 5 to 95 %, or the most
            frequent categories.
        n_repeats : int, default=5
            Permutations of each column.
        max_samples : int, default=2000
            Largest number of rows; the sample also takes at most 8 MiB.
        random_state : int, default=0
            Seed of the sample and the permutations.

        Returns
        -------
        explanation : Explanation

        Raises
        ------
        InputError or ValueError
            If an argument is invalid or nothing can be measured; the message says why.
        """
        ...

class _Regressor(_Model, RegressorMixin):  # type: ignore[misc]
    target_center_: NDArray[np.float64]
    target_scale_: float

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on a batch of rows, see :meth:`AbstractClassifier.partial_fit`."""
        ...

    @overload
    def predict(self, X: _Lazy | Split | None) -> Any:
        """Predict targets, (n_rows,) or (n_rows, n_quantiles); lazy for Dask collections and splits."""
        ...

    @overload
    def predict(self, X: Any) -> NDArray[Any]: ...

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R^2 on arrays, or on a split of a data set, which has its own targets."""
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
        """Compute permutation importances and partial dependence on a sample of rows.

        The columns of a table are permuted as a whole, and partial dependence sets them to values of the
        table. Only the sample is held in memory.

        Parameters
        ----------
        X, y : array-like, frame, Dask collection, Split or Dataset
            Rows with labels or targets, as ``fit`` takes them; preferably rows that were not used to fit. The
            test rows of a data set are used if it has any.
        features : list of str or int, default=None
            Names or positions of the columns to measure. None: up to 30 columns, those with the largest
            weight in the learned metric or else the largest variance; partial dependence for the five most
            important.
        grid_resolution : int, default=20
            Largest number of values in a partial dependence curve: quantiles from 5 to 95 %, or the most
            frequent categories.
        n_repeats : int, default=5
            Permutations of each column.
        max_samples : int, default=2000
            Largest number of rows; the sample also takes at most 8 MiB.
        random_state : int, default=0
            Seed of the sample and the permutations.

        Returns
        -------
        explanation : Explanation

        Raises
        ------
        InputError or ValueError
            If an argument is invalid or nothing can be measured; the message says why.
        """
        ...


class _Loaded(_Classifier):
    """A fitted estimator of any class: regressors lack what classifiers alone have."""

class AVMClassifier(_Classifier):
    """Kernel classifier by the approximation vector machine (Le et al. 2017; Tan et al. 2019).

    Minimises the objective of :class:`CSVRGClassifier` by stochastic gradients that are moved to landmarks,
    with steps 1/t; ``lam`` is 1 / lambda of Le et al. A pass costs less than a pass of CSVRG, but convergence
    is slower: O(1/t).

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "squared_hinge"}, default="hinge"
        The loss.
    kernel : {"cauchy", "laplacian", "matern", "rbf"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 2048, or by the diameter.
    diameter : float >= 0 or None, default=None
        Diameter of the balls that cover the rows; an alternative to n_landmarks.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    lam : float > 0 or "auto", default="auto"
        Weight of the losses against 1/2 |w|^2 (the papers' lambda): larger fits closer; auto:
        chosen on held-out rows, or 1024.0.
    stages : int >= 1, default=10
        Passes over the rows, measured after each.
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: one pass, or more if that is less than lam
        steps (at most 2^14 of them).
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement within
        each block.
    projection : bool, default=True
        Keep w in the ball that holds the optimum.
    average : bool, default=True
        The model is the mean of the last half of the iterates, not the last.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    threshold : float in (0, 1), "balanced" or None, default=None
        The second class is predicted from this probability upwards; balanced: its weighted share of
        the training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 /
        (w_0 + w_1). The figures of stages ignore it.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    theta : float in [0, 1) or None, default=None
        Half width of the band of margins around 1 without loss; none: 0.4.
    mu : float in (0, 1] or None, default=None
        Weight of margins above the band against those below it; none: 0.4.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    landmarks_ : Rows
        (r, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the training rows
        were sparse.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    seed_ : int
        Seed of every random choice.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
    """Kernel classifier by coreset variance-reduced stochastic gradients (Tan et al. 2019, Algorithm 1).

    Minimises 1/2 |w|^2 + (lam / m) sum_i l(y_i <w, phi(x_i)>) over w in the span of at most ``n_landmarks``
    landmarks. For smooth losses it converges linearly to the optimum of that span. With ``projection=True``,
    as in the paper, it converges to a fixed point whose distance from the optimum depends on the distance of
    the rows from their landmarks. Several classes are learned one-vs-rest over the same landmarks and share
    every kernel row.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "squared_hinge"}, default="odm"
        The loss.
    kernel : {"cauchy", "laplacian", "matern", "rbf"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 512, or by the diameter.
    diameter : float >= 0 or None, default=None
        Diameter of the balls that cover the rows; an alternative to n_landmarks.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    lam : float > 0 or "auto", default="auto"
        Weight of the losses against 1/2 |w|^2 (the papers' lambda): larger fits closer; auto:
        chosen on held-out rows, or 1024.0.
    stages : int >= 1, default=5
        At most this many; each is one pass for the full gradient and one for the inner loop.
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: one pass, or 3 / eta rows up to three passes
        or 10,000 rows.
    step_size : float in (0, 1) or None, default=None
        eta; none: 1 / L, 0.5 / L without the mean of iterates, and 0.02 / max(1, lam) for nonsmooth
        losses.
    option : {"mean", "I", "II"}, default="mean"
        The next snapshot: the mean of the iterates in the stage's last quarter, the last iterate
        (I) or a random one (II).
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement within
        each block.
    projection : bool or "span", default="span"
        span: project gradients on the span of the landmarks, at r^2 more operations a row; true:
        move them to the nearest landmark, as in the paper; both keep w in the ball that holds the
        optimum; false: as true, without the ball.
    tol : float >= 0, default=0.01
        Stop once w changes by less than this share of itself in a stage, or, with
        projection='span', the objective is shown to be within this share of f(0) - f of its
        minimum.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    threshold : float in (0, 1), "balanced" or None, default=None
        The second class is predicted from this probability upwards; balanced: its weighted share of
        the training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 /
        (w_0 + w_1). The figures of stages ignore it.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    theta : float in [0, 1) or None, default=None
        Half width of the band of margins around 1 without loss; none: 0.4.
    mu : float in (0, 1] or None, default=None
        Weight of margins above the band against those below it; none: 0.4.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    landmarks_ : Rows
        (r, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the training rows
        were sparse.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    seed_ : int
        Seed of every random choice.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
    """Exact kernel machines in cells of the input, with several classes by one-vs-rest.

    The rows are divided into cells of at most ``max_cell_rows`` rows. The machine of a cell minimises 1/2
    |w|^2 + C sum_i s_i l(f(x_i), y_i) over its rows, and predicts new rows in that cell. s_i is the weight of
    a row times the weight of its class: a row of weight 2 equals two rows, and doubling all weights doubles
    C. C s_i is limited to 10^10.

    The losses are not likelihoods. With ``probability=True`` some cells are solved again without a fifth of
    their rows, and ``predict_proba`` is a sigmoid of the decision values fitted to those rows (Platt 1999).
    Several classes have one sigmoid each and a common power (Guo et al. 2017), normalised to sum 1, so the
    most probable class can differ from the predicted label if both are close. Sample weights count in this
    fit; class weights do not.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "odm", "squared_hinge"}, default="squared_hinge"
        The loss.
    kernel : {"auto", "cauchy", "laplacian", "matern", "rbf"}, default="auto"
        The kernel; auto: searched, or exp(-gamma |x - y|).
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        Parameter of the kernel over mapped rows: a number, or a rule that computes it from them;
        auto: searched, or 'median'.
    smoothness : float in [0.5, 9.5], default=0.5
        Smoothness of the Matern kernel; 0.5 gives exp(-gamma |x - y|).
    probability : bool, default=True
        Whether class probabilities are fitted, on rows held out of some cells.
    C : float in (0, 1e+10] or "auto", default="auto"
        Weight of the losses against 1/2 |w|^2: larger values fit closer; auto: searched, or 10.
    scale : {"auto", "none", "standard", "normal", "ranks"}, default="auto"
        How each column is scaled: standard: to mean 0 and variance 1; ranks: to its ranks; normal:
        to normal quantiles; none: not at all; auto: searched, or none.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default="auto"
        Metric of the distances, learned from gradients; interactions: a diagonal that starts from
        pairs of columns that explain the residuals of a wide kernel; none: Euclidean; auto:
        searched, or Euclidean.
    search : {"full", "quick"} or None, default="full"
        How scale, metric, kernel, gamma, C and trend are searched if they are auto, on rows held
        out of a sample and of neighbourhoods of rows; none: no search.
    max_cell_rows : int >= 2 or "auto", default="auto"
        Most rows of a cell: time grows with them, memory with their square; auto: 1000 to 12000,
        fewer for many rows.
    overlap : float in [0, 0.5] or "auto", default="auto"
        Share of the rows of two neighbouring cells that both learn from, near their border; a
        smaller share where more cells meet; auto: 0.3 for few cells (about 8), else 0.1.
    tol : float >= 0, default=0.05
        Largest remaining gradient of the dual, in units of predictions (margins, or standard
        deviations of the targets), at least 1e-4; smaller if the duality gap exceeds 3 % of the
        objective; the square loss is solved directly.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    threshold : float in (0, 1), "balanced" or None, default=None
        The second class is predicted from this probability upwards; balanced: its weighted share of
        the training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 /
        (w_0 + w_1). The figures of stages ignore it.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    theta : float in [0, 1) or None, default=None
        Half width of the band of margins around 1 without loss; none: 0.4.
    mu : float in (0, 1] or None, default=None
        Weight of margins above the band against those below it; none: 0.4.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    settled_ : Settled
        Chosen values: ``gamma_``, ``cost_`` and the kernel.
    places_ : Places
        Finds the cell of a row; ``places_.map`` has the transform and the metric.
    machines_ : ndarray
        (n_buckets, 32) fingerprints of the buckets' machines.
    parts_ : StoredParts or HeldParts
        Machines of the buckets, in memory or in the model's folder.
    bucket_bytes_ : int
        Bytes of the largest bucket's machines.
    n_cells_ : int
        Number of cells.
    n_support_ : int
        Number of rows with a nonzero coefficient.
    regulariser_ : float
        |w|^2 / (2 C n) for n training rows, summed over the cells.
    sigmoids_ : ndarray
        (n_outputs, 3) slopes, offsets and a power of the probabilities, with ``probability=True``.
    metric_importances_ : ndarray
        Weight of each column of X in the learned metric, (n_features_in_,), with sum 1; missing
        without a metric.
    gamma_ : float
        The kernel's gamma over mapped rows.
    cost_ : float
        The value of C.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    seed_ : int
        Seed of every random choice.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
    """Exact kernel machines in cells of the input, for real targets.

    f = target_center_ + target_scale_ g + t, where g minimises the objective of :class:`CellClassifier` for
    what t leaves. t is 0, or with ``trend`` a linear function of the columns, fitted to all rows by ridge
    regression (:class:`~distkern.maths.maps.trend.LinearTrend`), which ends a little beyond their ranges.

    Parameters
    ----------
    loss : {"absolute", "epsilon_insensitive", "huber", "square"}, default="square"
        The loss.
    kernel : {"auto", "cauchy", "laplacian", "matern", "rbf"}, default="auto"
        The kernel; auto: searched, or exp(-gamma |x - y|).
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        Parameter of the kernel over mapped rows: a number, or a rule that computes it from them;
        auto: searched, or 'median'.
    smoothness : float in [0.5, 9.5], default=0.5
        Smoothness of the Matern kernel; 0.5 gives exp(-gamma |x - y|).
    C : float in (0, 1e+10] or "auto", default="auto"
        Weight of the losses against 1/2 |w|^2: larger values fit closer; auto: searched, or 10.
    scale : {"auto", "none", "standard", "normal", "ranks"}, default="auto"
        How each column is scaled: standard: to mean 0 and variance 1; ranks: to its ranks; normal:
        to normal quantiles; none: not at all; auto: searched, or none.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default="auto"
        Metric of the distances, learned from gradients; interactions: a diagonal that starts from
        pairs of columns that explain the residuals of a wide kernel; none: Euclidean; auto:
        searched, or Euclidean.
    trend : {"auto", "linear"} or None, default="auto"
        linear: machines learn what a linear function of the columns leaves of the targets; none:
        they learn the targets; auto: searched, or none.
    search : {"full", "quick"} or None, default="full"
        How scale, metric, kernel, gamma, C and trend are searched if they are auto, on rows held
        out of a sample and of neighbourhoods of rows; none: no search.
    max_cell_rows : int >= 2 or "auto", default="auto"
        Most rows of a cell: time grows with them, memory with their square; auto: 1000 to 12000,
        fewer for many rows.
    overlap : float in [0, 0.5] or "auto", default="auto"
        Share of the rows of two neighbouring cells that both learn from, near their border; a
        smaller share where more cells meet; auto: 0.3 for few cells (about 8), else 0.1.
    tol : float >= 0, default=0.05
        Largest remaining gradient of the dual, in units of predictions (margins, or standard
        deviations of the targets), at least 1e-4; smaller if the duality gap exceeds 3 % of the
        objective; the square loss is solved directly.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    epsilon : float >= 0 or None, default=None
        Largest residual without loss, in the units of the targets; none: 0.1 standard deviations.
    delta : float > 0 or None, default=None
        Residual beyond which the loss is linear, in the units of the targets; none: 1.35 standard
        deviations, 95 % as efficient as the square loss for normal noise (Huber 1964).
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    settled_ : Settled
        Chosen values: ``gamma_``, ``cost_`` and the kernel.
    places_ : Places
        Finds the cell of a row; ``places_.map`` has the transform and the metric.
    machines_ : ndarray
        (n_buckets, 32) fingerprints of the buckets' machines.
    parts_ : StoredParts or HeldParts
        Machines of the buckets, in memory or in the model's folder.
    bucket_bytes_ : int
        Bytes of the largest bucket's machines.
    n_cells_ : int
        Number of cells.
    n_support_ : int
        Number of rows with a nonzero coefficient.
    regulariser_ : float
        |w|^2 / (2 C n) for n training rows, summed over the cells.
    metric_importances_ : ndarray
        Weight of each column of X in the learned metric, (n_features_in_,), with sum 1; missing
        without a metric.
    gamma_ : float
        The kernel's gamma over mapped rows.
    cost_ : float
        The value of C.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    seed_ : int
        Seed of every random choice.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    target_center_ : ndarray
        (n_outputs,) mean of the targets for the square loss, otherwise their median or the
        requested quantiles; for quantiles by DSG those of y - target_scale_ g.
    target_scale_ : float
        Standard deviation of the targets for the square loss, otherwise the distance between their
        first and ninth decile divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
    trend: Literal["auto", "linear"] | None
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
        trend: Literal["auto", "linear"] | None = 'auto',
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

    Minimises mean_i s_i l(f(x_i), y_i) + nu/2 |f|^2 over the kernel's function space. Each step draws a batch
    of rows and a new block of random features. The features are computed from the seed and never stored.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"}, default="logistic"
        The loss.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    step_size : float > 0 or None, default=None
        gamma_t = step_size / (1 + step_decay t); none: .5, or 5 / l'' without precondition.
    step_decay : float >= 0, default=0.02
        Decay of a given step_size.
    n_features : int >= 1, default=16384
        Random features at most, rounded up to whole blocks.
    block_size : int >= 1, default=512
        Features of a block, added by one step; even for paired features.
    batch_size : int >= 1, default=4096
        B, rows of a step; at most all rows.
    nu : float >= 0 or "auto", default=1e-06
        Weight of |f|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06.
    variant : {"dsg", "udsg", "cdsg"}, default="dsg"
        dsg: a new block each step; udsg: every other step in an old one; cdsg: in an old one if its
        inequality allows.
    udsg_pattern : float or list of float, default=(1, 1)
        Steps in new blocks, then steps in old blocks, and so on.
    largest_reuse : float > 0, default=4.0
        Largest step in an old block, in units of steps in new blocks.
    feature_variance : float > 0, default=1.0
        Variance over x of phi(x) phi(x'), about 1 for cosines.
    precondition : bool, default=True
        Divide a block's step by its damped curvature, as the authors' published code does.
    damping : float >= 0 or None, default=None
        Damping of the block's curvature; none: 0.3 / n (10 / n for density ratios), from 1e-5 to
        1e-2.
    average : bool, default=True
        The model is the average of the iterates, weighted towards late ones.
    polish : "exact" or None, default=None
        exact: after the steps, compute the minimiser over the features in use, up to 8192.
    stages : int >= 1, default=10
        Parts of the run; the model is measured after each.
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: until there are n_features, 32 steps at least.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    threshold : float in (0, 1), "balanced" or None, default=None
        The second class is predicted from this probability upwards; balanced: its weighted share of
        the training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 /
        (w_0 + w_1). The figures of stages ignore it.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    theta : float in [0, 1) or None, default=None
        Half width of the band of margins around 1 without loss; none: 0.4.
    mu : float in (0, 1] or None, default=None
        Weight of margins above the band against those below it; none: 0.4.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    gamma_ : float
        Gamma of the kernel.
    n_blocks_ : int
        Number of blocks of random features in use.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    seed_ : int
        Seed of every random choice.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
        """Continue with a batch of rows: one step for every ``batch_size`` rows, and at least one.

        The step count carries over from batch to batch, and the first batch decides the bandwidth. Nothing is
        searched: ``nu`` and ``gamma`` set to "auto" keep the values of an earlier ``fit``, or else their
        defaults. Columns are scaled only as in an earlier ``fit``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows in memory.
        y : array-like of shape (n_rows,)
            Labels.
        classes : array-like, default=None
            All labels; required in the first call.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the losses.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If a label is not in ``classes``, or the first call lacks them.
        """
        ...

class DSGDensityRatio(_Classifier):
    """Estimate f = log(p/q) of two samples by doubly stochastic functional gradients (Dai et al. 2014,
    Section 4).

    Minimises E_q exp(f) - E_p f + nu/2 |f|^2 (Nguyen et al. 2010). Without the last term the minimiser is
    log(p/q) and the minimum is 1 - KL(p, q). Both samples have the same total weight, whatever their sizes.
    Give two arrays or data sets, ``fit(P, Q)``, or rows with two labels, ``fit(X, y)``. With labels, p is the
    density of the rows of ``classes_[1]``; with two samples, p is the density of the first.

    As a classifier it predicts the sample with the larger density, and ``decision_function`` equals
    ``log_ratio``.

    Parameters
    ----------
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale"}, default="scale/0.5"
        Width parameter of the kernel: a number, or a rule that computes it from the rows.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    step_size : float > 0 or None, default=None
        gamma_t = step_size / (1 + step_decay t); none: .5, or 5 / l'' without precondition.
    step_decay : float >= 0, default=0.02
        Decay of a given step_size.
    cap : float > 0, default=8.0
        log-ratio beyond which a parabola replaces exp.
    n_features : int >= 1, default=2048
        Random features at most, rounded up to whole blocks.
    block_size : int >= 1, default=256
        Features of a block, added by one step; even for paired features.
    batch_size : int >= 1, default=4096
        B, rows of a step; at most all rows.
    nu : float >= 0, default=0.0001
        Weight of |f|^2 / 2 against the mean loss.
    variant : {"dsg", "udsg", "cdsg"}, default="dsg"
        dsg: a new block each step; udsg: every other step in an old one; cdsg: in an old one if its
        inequality allows.
    udsg_pattern : float or list of float, default=(1, 1)
        Steps in new blocks, then steps in old blocks, and so on.
    largest_reuse : float > 0, default=4.0
        Largest step in an old block, in units of steps in new blocks.
    feature_variance : float > 0, default=1.0
        Variance over x of phi(x) phi(x'), about 1 for cosines.
    precondition : bool, default=True
        Divide a block's step by its damped curvature, as the authors' published code does.
    damping : float >= 0 or None, default=None
        Damping of the block's curvature; none: 0.3 / n (10 / n for density ratios), from 1e-5 to
        1e-2.
    average : bool, default=True
        The model is the average of the iterates, weighted towards late ones.
    stages : int >= 1, default=10
        Parts of the run; the model is measured after each.
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: until there are n_features, 32 steps at least.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    kl_divergence_ : float
        E_p f - E_q exp(f) + 1 on about 16,384 training rows, which is too large for few rows;
        :meth:`kl_divergence` computes it for other rows.
    gamma_ : float
        Gamma of the kernel.
    n_blocks_ : int
        Number of blocks of random features in use.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    seed_ : int
        Seed of every random choice.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
        """Compute log(p/q), (n_rows,); lazy for Dask collections and splits."""
        ...

    @overload
    def log_ratio(self, X: Any) -> NDArray[Any]: ...

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
        ...

    def permutation_test(self, X: Any, y: Any, *, n_permutations: int = 999, random_state: Any = None) -> PermutationTest:
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
        ...

class DSGGaussianProcessRegressor(_Regressor):
    """Gaussian process regressor over random features, with standard deviations of the predictions.

    The prior of f has the mean of the targets and the covariance target_scale_^2 k(x, x'), where
    target_scale_ is the standard deviation of the targets, and the noise is normal. This is scikit-learn's
    ``GaussianProcessRegressor`` with a fixed kernel, ``normalize_y=True`` and ``alpha=noise**2``. The
    posterior is exact for the ``n_features`` random features, whose covariances are within about
    n_features^-1/2 of k. With many more rows than features, standard deviations are too small where the data
    leave the process free (narrow kernels, points far from all rows), as for any process of finite rank.

    Parameters
    ----------
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        maximise the marginal likelihood of 512 rows; sparse rows: 'scale'.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="quasi_monte_carlo"
        How random features are drawn.
    step_size : float > 0 or None, default=None
        gamma_t = step_size / (1 + step_decay t); none: .5, or 5 / l'' without precondition.
    step_decay : float >= 0, default=0.02
        Decay of a given step_size.
    n_features : int >= 1, default=2048
        Random features at most, rounded up to whole blocks.
    block_size : int >= 1, default=256
        Features of a block, added by one step; even for paired features.
    batch_size : int >= 1, default=4096
        B, rows of a step; at most all rows.
    variant : {"dsg", "udsg", "cdsg"}, default="dsg"
        dsg: a new block each step; udsg: every other step in an old one; cdsg: in an old one if its
        inequality allows.
    udsg_pattern : float or list of float, default=(1, 1)
        Steps in new blocks, then steps in old blocks, and so on.
    largest_reuse : float > 0, default=4.0
        Largest step in an old block, in units of steps in new blocks.
    feature_variance : float > 0, default=1.0
        Variance over x of phi(x) phi(x'), about 1 for cosines.
    precondition : bool, default=True
        Divide a block's step by its damped curvature, as the authors' published code does.
    damping : float >= 0 or None, default=None
        Damping of the block's curvature; none: 0.3 / n (10 / n for density ratios), from 1e-5 to
        1e-2.
    average : bool, default=True
        The model is the average of the iterates, weighted towards late ones.
    stages : int >= 1, default=10
        Parts of the run; the model is measured after each.
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: until there are n_features, 32 steps at least.
    noise : float > 0 or None, default=None
        Standard deviation of the noise, relative to that of the targets; none: maximise the
        marginal likelihood.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    noise_ : float
        Standard deviation of the noise, in the units of the targets.
    nu_ : float
        (noise_ / target_scale_)^2 / n, where n is the sum of the rows' weights.
    log_marginal_likelihood_ : float
        Log marginal likelihood of the training targets, in units of target_scale_; NaN, as noise_
        is, if the fit ended before its last stage.
    spread_ : ndarray
        (n_features, n_features) matrix D: the standard deviation of f(x) is |z(x)' D|.
    gamma_ : float
        Gamma of the kernel.
    n_blocks_ : int
        Number of blocks of random features in use.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    seed_ : int
        Seed of every random choice.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    target_center_ : ndarray
        (n_outputs,) mean of the targets for the square loss, otherwise their median or the
        requested quantiles; for quantiles by DSG those of y - target_scale_ g.
    target_scale_ : float
        Standard deviation of the targets for the square loss, otherwise the distance between their
        first and ninth decile divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
        """Predict the posterior mean of f, (n_rows,), and optionally its standard deviation.

        Parameters
        ----------
        X : array-like, frame, Dask collection or Split
            Rows (n_rows, n_features); the result is lazy for Dask collections and splits.
        return_std : bool, default=False
            Also return the standard deviation of f, (n_rows,), without the noise.

        Raises
        ------
        InputError
            If the fit ended before the last stage, which computes standard deviations.
        """
        ...

    @overload
    def predict(self, X: Any, return_std: bool = False) -> Any: ...

class DSGNoveltyDetector(_Model, OutlierMixin):  # type: ignore[misc]
    """Novelty detector by doubly stochastic functional gradients (Dai et al. 2014, Section 4).

    Minimises mean_i s_i max(0, tau - f(x_i)) - nu tau + nu/2 |f|^2 over f and its threshold tau, as
    scikit-learn's ``OneClassSVM`` does (whose dual coefficients are n nu times ours). After an exact polish,
    tau is the nu-quantile of held-out rows, where each fifth of the rows is held out once. Steps learn from
    four fifths of the rows, or from all but about 16,384 of many rows, and tau is the nu-quantile of the
    rest. About a share ``nu`` of new rows therefore lies below tau, and a smaller share of the training rows.
    With m held-out rows the standard deviation of that share is (nu (1 - nu) / m)^1/2. Labels are not used,
    and data sets need none (``distkern shard --task none``).

    For up to 2,048 rows the model is exact in the span of 8,192 random features (``polish``). The rank
    correlation of its scores with those of the kernel's exact machine is at least .99 (measured for nu from
    .01 to .5). Larger data sets use steps over 2,048 features. At a small ``nu`` these features cause most of
    the error: f is a sum over about n nu rows far from the others, with errors of kernel values of
    n_features^-1/2. More steps do not reduce this error; more ``n_features`` do. For 4,000 rows with nu = .01
    the rank correlation is .80 with 2,048 features and .98 with 8,192, at ten times the time.

    Parameters
    ----------
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows.
    sampler : {"auto", "fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="auto"
        How random features are drawn; auto: quasi_monte_carlo, or monte_carlo for kernels that do
        not support it.
    step_size : float > 0 or None, default=None
        gamma_t = step_size / (1 + step_decay t); none: .5, or 5 / l'' without precondition.
    step_decay : float >= 0, default=0.02
        Decay of a given step_size.
    n_features : int >= 1 or None, default=None
        Random features at most, rounded up to whole blocks; none: 8192 with an exact polish, else
        2048.
    block_size : int >= 1, default=256
        Features of a block, added by one step; even for paired features.
    batch_size : int >= 1, default=4096
        B, rows of a step; at most all rows.
    nu : float in (0, 1), default=0.1
        Share of rows treated as outliers, and weight of |f|^2 / 2.
    variant : {"dsg", "udsg", "cdsg"}, default="dsg"
        dsg: a new block each step; udsg: every other step in an old one; cdsg: in an old one if its
        inequality allows.
    udsg_pattern : float or list of float, default=(1, 1)
        Steps in new blocks, then steps in old blocks, and so on.
    largest_reuse : float > 0, default=4.0
        Largest step in an old block, in units of steps in new blocks.
    feature_variance : float > 0, default=1.0
        Variance over x of phi(x) phi(x'), about 1 for cosines.
    precondition : bool, default=True
        Divide a block's step by its damped curvature, as the authors' published code does.
    damping : float >= 0 or None, default=None
        Damping of the block's curvature; none: 0.3 / n (10 / n for density ratios), from 1e-5 to
        1e-2.
    average : bool, default=True
        The model is the average of the iterates, weighted towards late ones.
    polish : {"auto", "exact"} or None, default="auto"
        exact: compute the minimiser over all n_features, for up to 2048 rows; earlier steps are
        made only if steps_per_stage is given; auto: exact for up to 2,048 rows that take at most 64
        MiB, unless steps_per_stage is given.
    stages : int >= 1, default=10
        Parts of the run; the model is measured after each.
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: until there are n_features, 32 steps at least.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    offset_ : float
        Threshold tau: ``decision_function`` is ``score_samples`` minus tau.
    gamma_ : float
        Gamma of the kernel.
    n_blocks_ : int
        Number of blocks of random features in use.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    seed_ : int
        Seed of every random choice.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
        """Predict -1 for outliers and +1 for other rows, (n_rows,); lazy as :meth:`decision_function`."""
        ...

    @overload
    def predict(self, X: Any) -> NDArray[Any]: ...

    @overload
    def decision_function(self, X: _Lazy | Split | None) -> Any:
        """Compute f(x) - tau, (n_rows,): negative for outliers; lazy for Dask collections and splits."""
        ...

    @overload
    def decision_function(self, X: Any) -> NDArray[Any]: ...

    @overload
    def score_samples(self, X: _Lazy | Split | None) -> Any:
        """Compute f(x), (n_rows,): lower is more abnormal; lazy as :meth:`decision_function`."""
        ...

    @overload
    def score_samples(self, X: Any) -> NDArray[Any]: ...

class DSGRegressor(_Regressor):
    """Kernel regressor by doubly stochastic gradients (Dai et al. 2014; variants of Li and Poczos 2016).

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.

    Parameters
    ----------
    loss : {"absolute", "epsilon_insensitive", "huber", "quantile", "square"}, default="square"
        The loss.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    step_size : float > 0 or None, default=None
        gamma_t = step_size / (1 + step_decay t); none: .5, or 5 / l'' without precondition.
    step_decay : float >= 0, default=0.02
        Decay of a given step_size.
    n_features : int >= 1, default=16384
        Random features at most, rounded up to whole blocks.
    block_size : int >= 1, default=512
        Features of a block, added by one step; even for paired features.
    batch_size : int >= 1, default=4096
        B, rows of a step; at most all rows.
    nu : float >= 0 or "auto", default=1e-06
        Weight of |f|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06.
    variant : {"dsg", "udsg", "cdsg"}, default="dsg"
        dsg: a new block each step; udsg: every other step in an old one; cdsg: in an old one if its
        inequality allows.
    udsg_pattern : float or list of float, default=(1, 1)
        Steps in new blocks, then steps in old blocks, and so on.
    largest_reuse : float > 0, default=4.0
        Largest step in an old block, in units of steps in new blocks.
    feature_variance : float > 0, default=1.0
        Variance over x of phi(x) phi(x'), about 1 for cosines.
    precondition : bool, default=True
        Divide a block's step by its damped curvature, as the authors' published code does.
    damping : float >= 0 or None, default=None
        Damping of the block's curvature; none: 0.3 / n (10 / n for density ratios), from 1e-5 to
        1e-2.
    average : bool, default=True
        The model is the average of the iterates, weighted towards late ones.
    polish : "exact" or None, default=None
        exact: after the steps, compute the minimiser over the features in use, up to 8192.
    stages : int >= 1, default=10
        Parts of the run; the model is measured after each.
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: until there are n_features, 32 steps at least.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    epsilon : float >= 0 or None, default=None
        Largest residual without loss, in the units of the targets; none: 0.1 standard deviations.
    delta : float > 0 or None, default=None
        Residual beyond which the loss is linear, in the units of the targets; none: 1.35 standard
        deviations, 95 % as efficient as the square loss for normal noise (Huber 1964).
    quantiles : float or list of float or None, default=None
        Levels of the quantiles; one output each; none: (0.5,).
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    gamma_ : float
        Gamma of the kernel.
    n_blocks_ : int
        Number of blocks of random features in use.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    seed_ : int
        Seed of every random choice.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    target_center_ : ndarray
        (n_outputs,) mean of the targets for the square loss, otherwise their median or the
        requested quantiles; for quantiles by DSG those of y - target_scale_ g.
    target_scale_ : float
        Standard deviation of the targets for the square loss, otherwise the distance between their
        first and ninth decile divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
        """Continue with a batch of rows, see :meth:`DSGClassifier.partial_fit`."""
        ...

class KernelClassifier(_Classifier):
    """Classifier that chooses the algorithm for the data.

    Candidates are compared by log loss on held-out rows of a sample (:func:`distkern.choose.ladder.climb`):

    - up to 1,024 columns: a linear machine, kernels at landmarks (both :class:`~distkern.NewtonClassifier`),
      and exact machines in cells (:class:`~distkern.CellClassifier`);
    - more columns: the first two. Sparse rows with 16,384 or more columns always get the linear machine.

    If the chosen cells do not fit ``memory_limit``, smaller cells, a search on fewer rows and the best other
    machine of the sample are tried in turn, then SVRG and DSG. Low limits shrink samples. The choice
    depends on the data, the seed and the limit alone. ``algorithm`` sets the algorithm instead.

    Parameters
    ----------
    algorithm : {"auto", "cells", "newton", "svrg", "dsg"}, default="auto"
        The algorithm to fit with default settings; auto: the best one on held-out rows of a sample.
    search : {"full", "quick"} or None, default="full"
        How to choose settings on held-out rows; quick: among fewer candidates; none: by the shape
        of the data alone.
    memory_limit : int or str or None, default=None
        Memory of a training process, as '512MiB' or in bytes. An algorithm that needs more is not
        chosen. Jobs use their own memory_limit.
    settings : dict or None, default=None
        Hyperparameters of the chosen algorithm that replace automatic ones; --set also takes their
        names.
    probability : bool, default=True
        Whether to compute class probabilities.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    threshold : float in (0, 1), "balanced" or None, default=None
        The second class is predicted from this probability upwards; balanced: its weighted share of
        the training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 /
        (w_0 + w_1). The figures of stages ignore it.
    n_jobs : int >= 1, int <= -1 or None, default=None
        Number of threads of a fit; -1: one for each core, -2: one less, ...; none: one for few
        rows, else as Dask is configured. An active Dask client uses its own workers. Results do not
        depend on it.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    machine_ : AbstractEstimator
        The chosen estimator, fitted.
    algorithm_ : str
        Name of the chosen algorithm.
    chosen_because_ : str
        Reason for the choice, a clause.
    held_out_score_ : float or None
        Held-out log loss, or mean squared error in squared units of the target, of the chosen
        settings.
    held_out_error_ : float or None
        Standard error of ``held_out_score_``.
    metric_importances_ : ndarray
        Importances of the columns in the machine's metric, if it has one.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    seed_ : int
        Seed of every random choice.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
    """Regressor that chooses the algorithm for the data, see :class:`KernelClassifier`.

    Parameters
    ----------
    algorithm : {"auto", "cells", "newton", "svrg", "dsg"}, default="auto"
        The algorithm to fit with default settings; auto: the best one on held-out rows of a sample.
    search : {"full", "quick"} or None, default="full"
        How to choose settings on held-out rows; quick: among fewer candidates; none: by the shape
        of the data alone.
    memory_limit : int or str or None, default=None
        Memory of a training process, as '512MiB' or in bytes. An algorithm that needs more is not
        chosen. Jobs use their own memory_limit.
    settings : dict or None, default=None
        Hyperparameters of the chosen algorithm that replace automatic ones; --set also takes their
        names.
    n_jobs : int >= 1, int <= -1 or None, default=None
        Number of threads of a fit; -1: one for each core, -2: one less, ...; none: one for few
        rows, else as Dask is configured. An active Dask client uses its own workers. Results do not
        depend on it.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    machine_ : AbstractEstimator
        The chosen estimator, fitted.
    algorithm_ : str
        Name of the chosen algorithm.
    chosen_because_ : str
        Reason for the choice, a clause.
    held_out_score_ : float or None
        Held-out log loss, or mean squared error in squared units of the target, of the chosen
        settings.
    held_out_error_ : float or None
        Standard error of ``held_out_score_``.
    metric_importances_ : ndarray
        Importances of the columns in the machine's metric, if it has one.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    seed_ : int
        Seed of every random choice.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    target_center_ : ndarray
        (n_outputs,) mean of the targets for the square loss, otherwise their median or the
        requested quantiles; for quantiles by DSG those of y - target_scale_ g.
    target_scale_ : float
        Standard deviation of the targets for the square loss, otherwise the distance between their
        first and ninth decile divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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

    Minimises mean_i s_i l(f(x_i), y_i) + nu/2 |f|^2. Each step shrinks f and adds kernels at a batch of rows,
    so f is a combination of kernels at no more than ``max_support`` training rows. With the steps of the
    paper (``step_decay``) the oldest rows make room for new ones. With the default steps no more rows enter,
    and a run with more rows reports that. Over explicit features (such as ``features="random"``) the
    algorithm is stochastic gradient descent with the same steps.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"}, default="logistic"
        The loss.
    features : {"kernel", "landmarks", "linear", "nystroem", "random"}, default="kernel"
        kernel: the kernel itself, at the training rows that the model needs; landmarks: the kernel
        at landmarks, regularised as plain numbers; linear: the rows themselves, dense or sparse;
        nystroem: Nystroem features of the kernel at landmarks; random: random features of the
        kernel.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    max_support : int >= 1, default=20000
        Most training rows with nonzero coefficients; every process keeps them.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 512.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    nu : float >= 0 or "auto", default="auto"
        Weight of |f|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 0.0001.
    step_size : float > 0 or None, default=None
        gamma_1; none: 2 / the loss's curvature, or 4 if its slope jumps, for k(x, x) <= 1.
    step_decay : float >= 0 or None, default=None
        Steps fall like 1 / sqrt(1 + step_decay t), 1 is the paper's; none: linearly, to 0 at the
        end.
    batch_size : int >= 1, default=1
        B, rows of a step.
    stages : int >= 1, default=4
        Passes over the rows; the model is measured after each.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    threshold : float in (0, 1), "balanced" or None, default=None
        The second class is predicted from this probability upwards; balanced: its weighted share of
        the training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 /
        (w_0 + w_1). The figures of stages ignore it.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    theta : float in [0, 1) or None, default=None
        Half width of the band of margins around 1 without loss; none: 0.4.
    mu : float in (0, 1] or None, default=None
        Weight of margins above the band against those below it; none: 0.4.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.

    Parameters
    ----------
    loss : {"absolute", "epsilon_insensitive", "huber", "quantile", "square"}, default="square"
        The loss.
    features : {"kernel", "landmarks", "linear", "nystroem", "random"}, default="kernel"
        kernel: the kernel itself, at the training rows that the model needs; landmarks: the kernel
        at landmarks, regularised as plain numbers; linear: the rows themselves, dense or sparse;
        nystroem: Nystroem features of the kernel at landmarks; random: random features of the
        kernel.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    max_support : int >= 1, default=20000
        Most training rows with nonzero coefficients; every process keeps them.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 512.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    nu : float >= 0 or "auto", default="auto"
        Weight of |f|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 0.0001.
    step_size : float > 0 or None, default=None
        gamma_1; none: 2 / the loss's curvature, or 4 if its slope jumps, for k(x, x) <= 1.
    step_decay : float >= 0 or None, default=None
        Steps fall like 1 / sqrt(1 + step_decay t), 1 is the paper's; none: linearly, to 0 at the
        end.
    batch_size : int >= 1, default=1
        B, rows of a step.
    stages : int >= 1, default=4
        Passes over the rows; the model is measured after each.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    epsilon : float >= 0 or None, default=None
        Largest residual without loss, in the units of the targets; none: 0.1 standard deviations.
    delta : float > 0 or None, default=None
        Residual beyond which the loss is linear, in the units of the targets; none: 1.35 standard
        deviations, 95 % as efficient as the square loss for normal noise (Huber 1964).
    quantiles : float or list of float or None, default=None
        Levels of the quantiles; one output each; none: (0.5,).
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    target_center_ : ndarray
        (n_outputs,) mean of the targets for the square loss, otherwise their median or the
        requested quantiles; for quantiles by DSG those of y - target_scale_ g.
    target_scale_ : float
        Standard deviation of the targets for the square loss, otherwise the distance between their
        first and ninth decile divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, in a few passes that each sum the Hessian over all
    rows. If the Hessian of random or linear features does not fit ``memory_limit`` (without a limit: more
    than 8,192 features), it uses products with the Hessian instead: one pass for each step of preconditioned
    conjugate gradients (``hessian="products"``).

    Measured on one core with the logistic loss:

    - a9a (32,561 rows), 16,384 random features, nu = 1e-4: products within 512 MiB take 19 passes, 59 CPU
      seconds and 315 MiB to reach objective 0.3334 and test error 14.8 %; matrices take 187 CPU seconds and
      3.6 GiB to reach 0.3343 and 14.8 %.
    - letter (16,000 rows, 26 classes), 16,384 random features, nu = 1e-5: products within 512 MiB take 36
      passes, 56 CPU seconds and 352 MiB to reach test error 8.55 %.
    - covtype (464,809 rows), 2,048 features, gamma = 16, nu = 1e-6: matrices of a sample are faster for few
      features and many rows. They take 11 passes and 12 CPU seconds (0.4260, 19.3 %); products take 19 passes
      and 52 to 59 CPU seconds (0.4261, 19.2 %).

    Parameters
    ----------
    loss : {"least_squares", "logistic", "odm", "softmax", "squared_hinge"}, default="logistic"
        The loss.
    features : {"nystroem", "landmarks", "linear", "random"}, default="nystroem"
        nystroem: Nystroem features of the kernel at landmarks; landmarks: the kernel at landmarks,
        regularised as plain numbers; linear: the rows themselves, dense or sparse; random: random
        features of the kernel.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    n_landmarks : int >= 1, default=1024
        At most this many landmarks.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    nu : float >= 0 or "auto", default="auto"
        Weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06.
    stages : int >= 1, default=10
        At most this many; each makes a Gram matrix, or one per output, of a sample or of all rows,
        or products.
    tol : float >= 0, default=0.001
        Stop once the objective is shown to be within this share of f(0) - f of its minimum.
    hessian : {"auto", "matrix", "products"}, default="auto"
        matrix: Gram matrices; products: conjugate gradients, one pass a step; auto: products if
        matrices exceed memory_limit, or without one if there are more than 8192 features.
    memory_limit : int or str or None, default=None
        Memory of a training process, as '512MiB' or in bytes; in jobs the job's memory_limit.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    threshold : float in (0, 1), "balanced" or None, default=None
        The second class is predicted from this probability upwards; balanced: its weighted share of
        the training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 /
        (w_0 + w_1). The figures of stages ignore it.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    theta : float in [0, 1) or None, default=None
        Half width of the band of margins around 1 without loss; none: 0.4.
    mu : float in (0, 1] or None, default=None
        Weight of margins above the band against those below it; none: 0.4.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    hessian_ : str
        "matrix" or "products".
    coefficients_ : ndarray
        (r, n_outputs); for Nystroem features the coefficients of the kernels at ``landmarks_``.
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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

    With the square loss this is ridge regression in one pass. ``nu`` weighs |g|^2 / 2, where f =
    target_center_ + target_scale_ g, so its meaning does not depend on the unit of the targets.

    Parameters
    ----------
    loss : {"huber", "square"}, default="square"
        The loss.
    features : {"nystroem", "landmarks", "linear", "random"}, default="nystroem"
        nystroem: Nystroem features of the kernel at landmarks; landmarks: the kernel at landmarks,
        regularised as plain numbers; linear: the rows themselves, dense or sparse; random: random
        features of the kernel.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="auto"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    n_landmarks : int >= 1, default=1024
        At most this many landmarks.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    nu : float >= 0 or "auto", default="auto"
        Weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06.
    stages : int >= 1, default=10
        At most this many; each makes a Gram matrix, or one per output, of a sample or of all rows,
        or products.
    tol : float >= 0, default=0.001
        Stop once the objective is shown to be within this share of f(0) - f of its minimum.
    hessian : {"auto", "matrix", "products"}, default="auto"
        matrix: Gram matrices; products: conjugate gradients, one pass a step; auto: products if
        matrices exceed memory_limit, or without one if there are more than 8192 features.
    memory_limit : int or str or None, default=None
        Memory of a training process, as '512MiB' or in bytes; in jobs the job's memory_limit.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    delta : float > 0 or None, default=None
        Residual beyond which the loss is linear, in the units of the targets; none: 1.35 standard
        deviations, 95 % as efficient as the square loss for normal noise (Huber 1964).
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    hessian_ : str
        "matrix" or "products".
    coefficients_ : ndarray
        (r, n_outputs); for Nystroem features the coefficients of the kernels at ``landmarks_``.
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    target_center_ : ndarray
        (n_outputs,) mean of the targets for the square loss, otherwise their median or the
        requested quantiles; for quantiles by DSG those of y - target_scale_ g.
    target_scale_ : float
        Standard deviation of the targets for the square loss, otherwise the distance between their
        first and ninth decile divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
    """Linear support vector machine over rows, random features or landmarks, by Pegasos.

    Minimises lam/2 |w|^2 + mean_i s_i l(y_i (<w, phi(x_i)> + b)), with several classes one-vs-rest in the
    same pass over the rows (Shalev-Shwartz, Singer, Srebro 2007; a baseline of Hazan et al. 2011 and Dai et
    al. 2014).

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "squared_hinge"}, default="hinge"
        The loss.
    features : {"linear", "landmarks", "nystroem", "random"}, default="linear"
        linear: the rows themselves, dense or sparse; landmarks: the kernel at landmarks,
        regularised as plain numbers; nystroem: Nystroem features of the kernel at landmarks;
        random: random features of the kernel.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 512.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    lam : float > 0 or "auto", default=0.0001
        Weight of |w|^2 / 2 against the mean loss: larger fits less closely, unlike CSVRG's; auto:
        chosen on held-out rows, or 0.0001.
    batch_size : int >= 1, default=1
        B, rows of a step.
    stages : int >= 1, default=5
        Number of stages; the model is measured after each.
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: one pass, or more if that is less than 1 / lam
        steps (at most 2^14 of them).
    projection : bool, default=True
        Project w on the ball that holds the optimum after every step.
    averaging : int in [0, 8] or None, default=3
        k: the model is the mean of the iterates weighted with step^k; none: the last iterate.
    fit_intercept : bool, default=True
        Learn b, as the weight of a constant feature 1, regularised with the others.
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement within
        each block.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    threshold : float in (0, 1), "balanced" or None, default=None
        The second class is predicted from this probability upwards; balanced: its weighted share of
        the training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 /
        (w_0 + w_1). The figures of stages ignore it.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    theta : float in [0, 1) or None, default=None
        Half width of the band of margins around 1 without loss; none: 0.4.
    mu : float in (0, 1] or None, default=None
        Weight of margins above the band against those below it; none: 0.4.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, for losses with a continuous derivative. Each step
    updates one block of w from all rows. The algorithm is r-RBCD of Table 2 of Dai et al. 2014, or n-RBCD
    with ``features="nystroem"``. Features are computed again for each step and never stored.

    Parameters
    ----------
    loss : {"least_squares", "logistic", "odm", "softmax", "squared_hinge"}, default="logistic"
        The loss.
    features : {"random", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; landmarks: the kernel at landmarks, regularised as
        plain numbers; linear: the rows themselves, dense or sparse; nystroem: Nystroem features of
        the kernel at landmarks.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 512.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    nu : float >= 0, default=1e-06
        Weight of |w|^2 / 2 against the mean loss.
    block_size : int >= 1, default=256
        c, coefficients of a step.
    precondition : bool, default=True
        H_j bounds the block's second derivatives instead of their largest eigenvalue.
    stages : int >= 1, default=30
        At most this many, each with one step per block.
    tol : float >= 0, default=0.0001
        Stop once the objective would fall by less than this share of f(0) - f in all further
        stages, extrapolating the last two.
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every block once a stage, in random order; iid: independent draws of blocks.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    threshold : float in (0, 1), "balanced" or None, default=None
        The second class is predicted from this probability upwards; balanced: its weighted share of
        the training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 /
        (w_0 + w_1). The figures of stages ignore it.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    theta : float in [0, 1) or None, default=None
        Half width of the band of margins around 1 without loss; none: 0.4.
    mu : float in (0, 1] or None, default=None
        Weight of margins above the band against those below it; none: 0.4.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
    """Linear regressor over features of a kernel, by random block coordinate descent.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.

    Parameters
    ----------
    loss : {"huber", "square"}, default="square"
        The loss.
    features : {"random", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; landmarks: the kernel at landmarks, regularised as
        plain numbers; linear: the rows themselves, dense or sparse; nystroem: Nystroem features of
        the kernel at landmarks.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 512.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    nu : float >= 0, default=1e-06
        Weight of |w|^2 / 2 against the mean loss.
    block_size : int >= 1, default=256
        c, coefficients of a step.
    precondition : bool, default=True
        H_j bounds the block's second derivatives instead of their largest eigenvalue.
    stages : int >= 1, default=30
        At most this many, each with one step per block.
    tol : float >= 0, default=0.0001
        Stop once the objective would fall by less than this share of f(0) - f in all further
        stages, extrapolating the last two.
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every block once a stage, in random order; iid: independent draws of blocks.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    delta : float > 0 or None, default=None
        Residual beyond which the loss is linear, in the units of the targets; none: 1.35 standard
        deviations, 95 % as efficient as the square loss for normal noise (Huber 1964).
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    target_center_ : ndarray
        (n_outputs,) mean of the targets for the square loss, otherwise their median or the
        requested quantiles; for quantiles by DSG those of y - target_scale_ g.
    target_scale_ : float
        Standard deviation of the targets for the square loss, otherwise the distance between their
        first and ninth decile divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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

    The features depend only on the parameters and the seed. ``fit`` checks the rows and reads the number of
    columns (and gamma, if a rule is given).

    Parameters
    ----------
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    n_features : int >= 1, default=1024
        Number of features; must be even if features come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    random_state : int in [0, 4294967295], RandomState instance or None, default=0
        Seed of every random choice.
    gamma : float > 0, str, {"median", "scale"} or None, default=None
        Width parameter of the kernel: a number, or a rule that computes it from the rows; none: 1.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.

    Attributes
    ----------
    kernel_ : AbstractKernel
        kernel.
    seed_ : int
        Seed of all draws.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
        """Compute z(X), (n_rows, n_features), in the precision of the rows.

        The result is lazy for Dask arrays, Dask frames and splits.
        """
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
        """Set hyperparameters.

        Raises
        ------
        InputError
            If a name is unknown; the message suggests the right one.
        """
        ...

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
    """Linear classifier over features of a kernel, by stochastic block mirror descent (Dai et al. 2014, Table
    2).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, for any loss. Each step updates one block of w
    from a batch of rows. The algorithm is r-SBMD of Table 2 of Dai et al. 2014, or n-SBMD with
    ``features="nystroem"``.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"}, default="logistic"
        The loss.
    features : {"random", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; landmarks: the kernel at landmarks, regularised as
        plain numbers; linear: the rows themselves, dense or sparse; nystroem: Nystroem features of
        the kernel at landmarks.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 512.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    nu : float >= 0 or "auto", default="auto"
        Weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06.
    batch_size : int >= 1 or None, default=None
        B, rows of a step; none: with a preconditioner 512 or n / 16 if that is less, 4 without.
    block_size : int >= 1, default=512
        Coefficients of a step.
    step_size : float > 0 or None, default=None
        gamma_0; none: from the loss and the features.
    precondition : bool or None, default=None
        Precondition steps by a bound of the block's second derivatives; none: up to 8192 features,
        unless batch_size is below 16.
    stages : int >= 1, default=20
        Number of stages; the model is measured after each.
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: one pass.
    averaging : int in [0, 8] or None, default=3
        k: the model is the mean of the iterates weighted with step^k; none: the last iterate.
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement within
        each block.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    threshold : float in (0, 1), "balanced" or None, default=None
        The second class is predicted from this probability upwards; balanced: its weighted share of
        the training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 /
        (w_0 + w_1). The figures of stages ignore it.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    theta : float in [0, 1) or None, default=None
        Half width of the band of margins around 1 without loss; none: 0.4.
    mu : float in (0, 1] or None, default=None
        Weight of margins above the band against those below it; none: 0.4.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.

    Parameters
    ----------
    loss : {"absolute", "epsilon_insensitive", "huber", "quantile", "square"}, default="square"
        The loss.
    features : {"random", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; landmarks: the kernel at landmarks, regularised as
        plain numbers; linear: the rows themselves, dense or sparse; nystroem: Nystroem features of
        the kernel at landmarks.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 512.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    nu : float >= 0 or "auto", default="auto"
        Weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06.
    batch_size : int >= 1 or None, default=None
        B, rows of a step; none: with a preconditioner 512 or n / 16 if that is less, 4 without.
    block_size : int >= 1, default=512
        Coefficients of a step.
    step_size : float > 0 or None, default=None
        gamma_0; none: from the loss and the features.
    precondition : bool or None, default=None
        Precondition steps by a bound of the block's second derivatives; none: up to 8192 features,
        unless batch_size is below 16.
    stages : int >= 1, default=20
        Number of stages; the model is measured after each.
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: one pass.
    averaging : int in [0, 8] or None, default=3
        k: the model is the mean of the iterates weighted with step^k; none: the last iterate.
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement within
        each block.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    epsilon : float >= 0 or None, default=None
        Largest residual without loss, in the units of the targets; none: 0.1 standard deviations.
    delta : float > 0 or None, default=None
        Residual beyond which the loss is linear, in the units of the targets; none: 1.35 standard
        deviations, 95 % as efficient as the square loss for normal noise (Huber 1964).
    quantiles : float or list of float or None, default=None
        Levels of the quantiles; one output each; none: (0.5,).
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    target_center_ : ndarray
        (n_outputs,) mean of the targets for the square loss, otherwise their median or the
        requested quantiles; for quantiles by DSG those of y - target_scale_ g.
    target_scale_ : float
        Standard deviation of the targets for the square loss, otherwise the distance between their
        first and ninth decile divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
    """Linear classifier over features of a kernel, by dual coordinate ascent (Dai et al. 2014, Table 2).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, by exact steps in the dual variables of single
    rows. It stops when the duality gap is at most ``tol`` times the objective. The algorithm is r-SDCA of Dai
    et al. 2014, n-SDCA with ``features="nystroem"``, or k-SDCA with ``features="kernel"``. In k-SDCA the
    model is a combination of kernels at training rows, and |w| is the norm in the kernel's space. Time and
    communication grow with the number of these rows, at most ``max_support``; the hinge and the
    epsilon-insensitive loss need the fewest.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "squared_hinge"}, default="logistic"
        The loss.
    features : {"random", "kernel", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; kernel: the kernel itself, at the training rows that
        the model needs; landmarks: the kernel at landmarks, regularised as plain numbers; linear:
        the rows themselves, dense or sparse; nystroem: Nystroem features of the kernel at
        landmarks.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    max_support : int >= 1, default=20000
        Most training rows with nonzero coefficients; every process keeps them.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 512.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    nu : float > 0 or "auto", default="auto"
        Weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-05.
    stages : int >= 1, default=20
        At most this many, each two passes over the rows, one with features='kernel'; more if few.
    tol : float >= 0, default=0.001
        Stop once the duality gap is at most this share of f(0) - f.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    threshold : float in (0, 1), "balanced" or None, default=None
        The second class is predicted from this probability upwards; balanced: its weighted share of
        the training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 /
        (w_0 + w_1). The figures of stages ignore it.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    theta : float in [0, 1) or None, default=None
        Half width of the band of margins around 1 without loss; none: 0.4.
    mu : float in (0, 1] or None, default=None
        Weight of margins above the band against those below it; none: 0.4.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.

    Parameters
    ----------
    loss : {"absolute", "epsilon_insensitive", "huber", "square"}, default="square"
        The loss.
    features : {"random", "kernel", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; kernel: the kernel itself, at the training rows that
        the model needs; landmarks: the kernel at landmarks, regularised as plain numbers; linear:
        the rows themselves, dense or sparse; nystroem: Nystroem features of the kernel at
        landmarks.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    max_support : int >= 1, default=20000
        Most training rows with nonzero coefficients; every process keeps them.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 512.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    nu : float > 0 or "auto", default="auto"
        Weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-05.
    stages : int >= 1, default=20
        At most this many, each two passes over the rows, one with features='kernel'; more if few.
    tol : float >= 0, default=0.001
        Stop once the duality gap is at most this share of f(0) - f.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    epsilon : float >= 0 or None, default=None
        Largest residual without loss, in the units of the targets; none: 0.1 standard deviations.
    delta : float > 0 or None, default=None
        Residual beyond which the loss is linear, in the units of the targets; none: 1.35 standard
        deviations, 95 % as efficient as the square loss for normal noise (Huber 1964).
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    target_center_ : ndarray
        (n_outputs,) mean of the targets for the square loss, otherwise their median or the
        requested quantiles; for quantiles by DSG those of y - target_scale_ g.
    target_scale_ : float
        Standard deviation of the targets for the square loss, otherwise the distance between their
        first and ninth decile divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
    """Linear support vector machine that reads single rows and columns (Hazan et al. 2011, Algorithm 1).

    Maximises the margin gamma of <w, x> + b with |w| <= 1, where rows may miss the margin by nu on average,
    in units of the largest row norm. Weights and constant are then scaled to margin 1. Several classes are
    learned one-vs-rest with one common nu. A data set needs a feature-major copy (``distkern shard
    --columns``) unless ``features`` are random; Dask arrays are written to a temporary one. ``rows_read`` and
    ``bytes_read`` count the passes. ``feature_accesses`` counts the entries read in the rounds, without the
    trials of nu.

    Parameters
    ----------
    features : {"linear", "random"}, default="linear"
        linear: the rows themselves, dense or sparse; random: random features of the kernel.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    nu : float in [0, 1] or "auto", default="auto"
        Mean slack of the rows, usually .0003 to .03: about the hinge loss of a good model divided
        by |w| and the largest norm; auto: chosen on held-out rows, or 0.01.
    fit_intercept : bool, default=True
        Learn b in [-1, 1], in units of the largest norm.
    max_rounds : int >= 1, default=20000
        T, rounds.
    max_feature_accesses : float > 0 or None, default=None
        Stop after this many, counted as n_features a row and n_rows a column; none: no limit.
    rows_per_round : int >= 1, default=4
        Rows (times the outputs) of a round; the paper has 1.
    columns_per_round : int >= 1, default=1
        Columns (times the outputs) of a round.
    selection_every : int >= 1, default=16
        Rounds between selections of the rows with slack.
    averaging : int in [0, 8], default=2
        k: the model is the mean of the iterates weighted with round^k; 0: the paper's.
    stages : int >= 1, default=10
        Parts of the run; the model is measured after each.
    validation_fraction : float in [0, 1), default=0.1
        Share of the training rows held out for patience.
    patience : int >= 1 or None, default=5
        Stop after this many stages without fewer held-out mistakes, keeping the best; none: never.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
    """Linear classifier over features of a kernel, by variance-reduced gradients (Li and Poczos 2016, Section
    5).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2 with linear convergence for smooth losses. The
    features z(x) are computed again wherever they are needed and never stored.

    Parameters
    ----------
    loss : {"hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"}, default="logistic"
        The loss.
    features : {"random", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; landmarks: the kernel at landmarks, regularised as
        plain numbers; linear: the rows themselves, dense or sparse; nystroem: Nystroem features of
        the kernel at landmarks.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 512.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    nu : float >= 0 or "auto", default="auto"
        Weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06.
    batch_size : int >= 1 or None, default=None
        B, rows of a step; none: 256, with a preconditioner at least a quarter of the features; at
        most n / 8 and at least 16.
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: two passes, the usual 2 n / B steps.
    step_size : float > 0 or None, default=None
        eta; none: from the loss and the features.
    precondition : bool or None, default=None
        Precondition steps by a bound of the Hessian from a sample of rows; none: up to 8192
        features.
    damping : float >= 0 or None, default=None
        Added to the bound of the Hessian; none: from the batch size.
    stages : int >= 1, default=10
        At most this many; each ends with one pass for the full gradient.
    tol : float >= 0, default=0.001
        Stop once the objective is shown to be within this share of f(0) - f of its minimum, or w
        changes by less than this share of itself in a stage.
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement within
        each block.
    class_weight : dict, "balanced" or None, default=None
        Weight w of each class: its losses count w times, and the class with the largest w p is
        predicted. Probabilities p do not depend on it.
    threshold : float in (0, 1), "balanced" or None, default=None
        The second class is predicted from this probability upwards; balanced: its weighted share of
        the training rows, which raises balanced accuracy; none: 1/2, or with class_weight w_0 /
        (w_0 + w_1). The figures of stages ignore it.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    theta : float in [0, 1) or None, default=None
        Half width of the band of margins around 1 without loss; none: 0.4.
    mu : float in (0, 1] or None, default=None
        Weight of margins above the band against those below it; none: 0.4.
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    threshold_ : float or None
        Probability from which the second of two classes is predicted: the given threshold, or w_0 /
        (w_0 + w_1) with class weights w; None if the sign of the decision value decides.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    classes_ : ndarray
        (n_classes,) label values.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.

    Parameters
    ----------
    loss : {"absolute", "epsilon_insensitive", "huber", "quantile", "square"}, default="square"
        The loss.
    features : {"random", "landmarks", "linear", "nystroem"}, default="random"
        random: random features of the kernel; landmarks: the kernel at landmarks, regularised as
        plain numbers; linear: the rows themselves, dense or sparse; nystroem: Nystroem features of
        the kernel at landmarks.
    kernel : {"arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"}, default="rbf"
        The kernel.
    gamma : float > 0, str or {"median", "scale", "auto"}, default="scale"
        Width parameter of the kernel: a number, or a rule that computes it from the rows; auto:
        chosen on held-out rows, or scale.
    n_features : int >= 1, default=2048
        Random features; even if they come in pairs.
    sampler : {"fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"}, default="monte_carlo"
        How random features are drawn.
    n_landmarks : int >= 1 or None, default=None
        At most this many landmarks; none: 512.
    landmarks : {"coverage", "uniform"}, default="uniform"
        The rule that chooses landmarks.
    nu : float >= 0 or "auto", default="auto"
        Weight of |w|^2 / 2 against the mean loss; auto: chosen on held-out rows, or 1e-06.
    batch_size : int >= 1 or None, default=None
        B, rows of a step; none: 256, with a preconditioner at least a quarter of the features; at
        most n / 8 and at least 16.
    steps_per_stage : int >= 1, float > 0 or None, default=None
        int: rows; float: passes over the rows; none: two passes, the usual 2 n / B steps.
    step_size : float > 0 or None, default=None
        eta; none: from the loss and the features.
    precondition : bool or None, default=None
        Precondition steps by a bound of the Hessian from a sample of rows; none: up to 8192
        features.
    damping : float >= 0 or None, default=None
        Added to the bound of the Hessian; none: from the batch size.
    stages : int >= 1, default=10
        At most this many; each ends with one pass for the full gradient.
    tol : float >= 0, default=0.001
        Stop once the objective is shown to be within this share of f(0) - f of its minimum, or w
        changes by less than this share of itself in a stage.
    order : {"shuffled", "iid"}, default="shuffled"
        shuffled: every row once, then again in another order; iid: draws with replacement within
        each block.
    scale : {"auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"}, default="auto"
        Scaling of each column, fitted on the training rows before all other passes and saved in the
        model; auto: standard if the ranges of most columns differ more than 30-fold, else minmax if
        numbers exceed 100, no range reaches 0.01 or a column is farther from 0 than it is wide
        (sparse rows: maxabs), else none; data sets scaled by shard, and kernels of nonnegative
        numbers, are not scaled; normal: to normal quantiles; ranks: to ranks, both by quantiles of
        2,000 rows.
    metric : {"auto", "diagonal", "interactions", "full"} or None, default=None
        Metric of distances between rows, learned from gradients over 2,000 rows before the first
        pass; diagonal: a weight for each column; interactions: weights that start from the columns
        whose narrow pairs explain the residuals of a wide machine; full: a matrix; none: Euclidean;
        auto: chosen on held-out rows, together with scale if that is auto. scale is then standard,
        normal, ranks or none.
    random_state : int in [0, 4294967295], RandomState instance or None, default=None
        Seed of every random choice.
    epsilon : float >= 0 or None, default=None
        Largest residual without loss, in the units of the targets; none: 0.1 standard deviations.
    delta : float > 0 or None, default=None
        Residual beyond which the loss is linear, in the units of the targets; none: 1.35 standard
        deviations, 95 % as efficient as the square loss for normal noise (Huber 1964).
    quantiles : float or list of float or None, default=None
        Levels of the quantiles; one output each; none: (0.5,).
    degree : int in [0, 2], int >= 1 or None, default=None
        n, the power of the norms; none: 1; or power of the inner product; none: 3.
    coefficients : list of float or None, default=None
        a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>; none: ().
    rate : float > 0 or None, default=None
        The paper's beta; none: 1.0.
    smoothness : float in [0.5, 9.5] or None, default=None
        The paper's nu: processes with this kernel are nu - 1/2 times differentiable; none: 1.5.
    offset : float >= 0, float > 0 or None, default=None
        Added to the inner product; none: 1.0; or the paper's lambda; none: 1.0; or the paper's c;
        none: 1.0.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision in which rows are used; auto: float32 for float32 rows, as data sets store them,
        and from 4,000 rows on, else float64, also if columns that are not centred lie too far from
        0 for float32. partial_fit uses the precision of the first batch.

    Attributes
    ----------
    seed_ : int
        Seed of the random features and of every other random choice.
    gamma_ : float
        Gamma of the kernel; 1 for linear features and for kernels without gamma.
    landmarks_ : Rows
        (n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the
        training rows were sparse; empty unless the features use landmarks.
    model_ : FittedModel
        The fitted model as a value with the other attributes as fields, for ``distkern.runs``.
    width_ : int
        Number of features in a row.
    found_ : dict
        Values chosen for hyperparameters that were "auto", by name.
    coef_ : ndarray
        Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.
    intercept_ : object
        Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``.
    coefficients_ : ndarray
        (size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two
        classes.
    constants_ : ndarray
        (n_outputs,) constants added to the weighted sum.
    n_iter_ : int
        Number of stages of the returned model.
    history_ : History
        :class:`~distkern.model.parts.History`, a list with a dict of figures for each stage.
    importances_ : Explanation or None
        :class:`~distkern.show.explanation.Explanation` of models made by ``distkern train``, or
        None.
    ended_ : str or None
        Why the fit ended: "converged" (a bound shows that the objective is within ``tol`` (f(0) -
        f) of its minimum), "stages used up", "diverged", "stopped early", "stopped by a callback",
        or another stopping rule of the solver: "patience: ...", "settled: ..." or "stuck: ...".
    updates_ : tuple
        One dict for each of the last hundred updates: ``number``, ``rows``, the error on these rows
        ``before`` and ``after``, and ``drift``: how many columns have numbers outside their
        previous ranges, and which have most; None if the ranges are unknown.
    map_ : RowMap or None
        Map of scaled rows before the basis, if ``metric`` or ``scale`` need one, or None.
    mean_weight_ : float
        Mean weight of the rows, by which the weights of the losses are divided.
    class_weights_ : ndarray or None
        (n_classes,) weight of each class, or None.
    class_shares_ : ndarray or None
        (n_classes,) share of each class in the training rows by ``sample_weight``, or None.
    target_center_ : ndarray
        (n_outputs,) mean of the targets for the square loss, otherwise their median or the
        requested quantiles; for quantiles by DSG those of y - target_scale_ g.
    target_scale_ : float
        Standard deviation of the targets for the square loss, otherwise the distance between their
        first and ninth decile divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`.
    n_features_in_ : int
        Number of columns in ``fit``.
    feature_names_in_ : ndarray
        (n_features_in_,) names of the columns, if they had names.
    table_ : Table or None
        Encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or
        None.
    target_name_ : str or None
        Name of the target's column, if the data set was made from a table.
    zero_based_ : bool or None
        Whether indices of svmlight files start at 0, for models fitted on a data set.
    scaling_ : Scaling or None
        Scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``.
        ``coefficients_`` apply to scaled rows. None without scaling.
    dtype_ : dtype or None
        Precision of the training rows, to which rows given to ``predict`` are cast; None for stored
        models without one, which predict rows in their own precision.

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
