"""``distkern.tune``: hyperparameter search from Python, on data sets, arrays and frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from distkern.choose.tuning.record import SearchFolder, TuningCandidate
from distkern.choose.tuning.runner import Where
from distkern.choose.tuning.search import Ranked, Search
from distkern.choose.tuning.space import SearchTable, check_whole, own_candidates, settings_of
from distkern.core.errors import InputError, invalid_value, unknown_name
from distkern.core.parameters import NOTHING, Bytes, Parameter
from distkern.core.python_words import in_python
from distkern.data.dataset import Dataset, Split
from distkern.data.store.atomic import temporary_folder
from distkern.data.store.places import Location, absolute
from distkern.runs.given import in_frame, is_mixed

if TYPE_CHECKING:
    from pandas import DataFrame

_MEMORY_LIMIT = Parameter(None, (Bytes(), NOTHING), "of a trial's process")


@dataclass(frozen=True)
class Tuned:
    """Result of a search.

    Attributes
    ----------
    estimator : the given estimator with the chosen settings, not fitted
    settings : the chosen settings: those with the least work among the ones that chance alone may separate
    metric, value : metric of the search, and its value for these settings on held-out rows
    candidates : all candidates, the chosen one first, then by value
    """

    estimator: Any
    settings: dict[str, Any]
    metric: str
    value: float
    candidates: list[Ranked]

    @property
    def best_params_(self) -> dict[str, Any]:
        """``settings`` under scikit-learn's name."""
        # no best_score_ and best_estimator_: scikit-learn's are negated for losses, and fitted
        return self.settings

    def to_frame(self) -> DataFrame:
        """Return the candidates as a pandas frame: settings, metric, rows, work, seconds."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    **one.settings,
                    self.metric: one.value,
                    "rows": one.n_learned,
                    "work": one.work,
                    "seconds": one.seconds,
                }
                for one in self.candidates
            ]
        )

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return (
            f"<Tuned: {self.metric} {self.value:.4g} with {settings}, of {len(self.candidates)} candidates>"
        )


@in_python
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
    if isinstance(estimator, type):
        raise InputError("is a class", where="estimator", hint=f"give an instance: {estimator.__name__}()")
    if not hasattr(estimator, "hyperparameters"):
        what = f"{type(estimator).__name__} is not an estimator of distkern"
        raise InputError(what, where="estimator", hint="give one, such as distkern.KernelClassifier()")
    if isinstance(data, Dataset | Split) and isinstance(y, Mapping) and parameters is None:
        y, parameters = None, y
    if metric is not None and scoring is not None:
        raise InputError("is given together with metric", where="scoring", hint="give one of them")
    metric = scoring if metric is None else metric
    if metric is not None and not isinstance(metric, str):
        raise InputError(
            f"is a {type(metric).__name__}",
            where="metric" if scoring is None else "scoring",
            hint="give the name of a figure of `distkern evaluate`, or of a score of scikit-learn",
        )
    check_whole("jobs", jobs, 1)
    limit = None if memory_limit is None else _MEMORY_LIMIT.clean("memory_limit", memory_limit)
    if parameters is not None and not isinstance(parameters, Mapping):
        what, hint = f"has type {type(parameters).__name__}", 'give a dict, as {"nu": [1e-2, 1e-6]}'
        raise InputError(what, where="parameters", hint=hint)
    asked = SearchTable(method, candidates, validation, metric, factor, dict(parameters or {}))
    known = {name for name in estimator.hyperparameters if name != "random_state"}
    for name in parameters or ():
        if name not in known:
            raise unknown_name(f"hyperparameter of {type(estimator).__name__}", name, known)
    seed = estimator.random_state
    if seed is not None and not isinstance(seed, int | np.integer):
        raise invalid_value("random_state", seed, "an integer or None")
    base = clone(estimator).set_params(random_state=int(seed or 0))
    own, method = parameters is None, asked.chosen_method
    with ExitStack() as stack:
        split = _split_of(base.task, data, y, sample_weight, groups, stack)
        if own:
            tried = own_candidates(base, split, method, candidates, base.random_state)
        else:
            settings = settings_of(asked.space, method, candidates, base.random_state)
            tried = [
                TuningCandidate(number, one, clone(base).set_params(**one))
                for number, one in enumerate(settings)
            ]
        kept = SearchFolder(None if folder is None else absolute(folder))
        search = Search(tried, split, method, validation, metric, factor, base.random_state, own, kept)
        with _as_scoring(scoring):
            search.metric  # noqa: B018
        ranked = search.run(Where(jobs=jobs, memory_limit=limit))
    best = ranked[0]
    assert best.value is not None
    return Tuned(clone(tried[best.number].estimator), best.settings, search.metric.name, best.value, ranked)


@contextmanager
def _as_scoring(scoring: str | None) -> Iterator[None]:
    """Name ``scoring`` in the refusal of a metric, if that is how it was given."""
    try:
        yield
    except InputError as error:
        if scoring is None or error.where != "metric":
            raise
        end = "" if str(error.hint).endswith("?") else ";"
        hint = f"{error.hint}{end} GridSearchCV of scikit-learn takes any score of rows in memory"
        raise InputError(error.what.replace("metric", "score"), where="scoring", hint=hint) from None


def _split_of(task: Any, data: Any, y: Any, sample_weight: Any, groups: Any, stack: ExitStack) -> Split:
    """Return the rows to search on; other rows than data sets become one, which ``stack`` removes."""
    from distkern.runs.writing import write_dataset

    if isinstance(data, Dataset | Split):
        if not (y is None and sample_weight is None and groups is None):
            raise InputError(
                "a data set has its own labels, weights and groups", where="y", hint="give the data set alone"
            )
        return data.train if isinstance(data, Dataset) else data
    if y is None and task != "none":
        raise InputError("y is missing", where="y", hint="give tune(estimator, X, y, parameters)")
    if isinstance(y, Mapping):
        raise InputError("is a dict", where="y", hint="give tune(estimator, X, y, parameters)")
    data = in_frame(data, None)
    path = stack.enter_context(temporary_folder()) / "rows.zarr"
    # the estimators scale numbers themselves
    scale: Any = None if is_mixed(data) else "none"
    how: dict[str, Any] = {"task": task, "sample_weight": sample_weight, "groups": groups, "scale": scale}
    return write_dataset(data, y, path, **how).train
