"""``distkern.tune``: the search of ``distkern tune`` for estimators in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from distkern.common.errors import InputError, unknown_name
from distkern.search.tuning.asked import Asked, check_whole
from distkern.search.tuning.record import Candidate, SearchFolder
from distkern.search.tuning.runner import Where
from distkern.search.tuning.search import Ranked, Search
from distkern.search.tuning.space import own_candidates, settings_of
from distkern.storage.dataset import Dataset, Split
from distkern.storage.places import Location, absolute


@dataclass(frozen=True)
class Tuned:
    """What a search found.

    Attributes
    ----------
    estimator : the one that was given with the chosen settings, not fitted
    settings : these settings: of those that chance may have made the best the ones of least work
    metric, value : what the candidates were compared by, and what these have on the held-out rows
    candidates : all of them, the chosen one first, then by their values
    """

    estimator: Any
    settings: dict[str, Any]
    metric: str
    value: float
    candidates: list[Ranked]

    def to_frame(self) -> Any:
        """The candidates as a frame of pandas, in their order: settings, metric, rows, work, seconds."""
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


def tune(
    estimator: Any,
    data: Dataset | Split,
    parameters: Mapping[str, Any] | None = None,
    *,
    method: str | None = None,
    candidates: int | None = None,
    validation: float | int = 0.2,
    metric: str | None = None,
    factor: int = 3,
    folder: Location | None = None,
    jobs: int = 1,
) -> Tuned:
    """Search for hyperparameters on a data set out of core, on the Dask scheduler that is active.

    Parameters
    ----------
    estimator : of this package, whose ``random_state`` (0 if it is None) draws candidates and held-out rows;
        of one that chooses its algorithm the one that it chooses for the data is tuned
    data : a data set, of which the training rows are used alone, or a split
    parameters : hyperparameter -> list of values, or ``{"low": ..., "high": ...}`` with ``"log"`` and
        ``"points"`` where wanted (see :class:`~distkern.search.tuning.asked.Range`); None: those that are
        worth it, but for those that the estimator was given, see
        :func:`~distkern.search.tuning.space.own_candidates`
    method : "grid" tries all combinations, "random" draws some; with "halving" a ``factor``-th goes on from
        rung to rung, to ``factor`` times the rows (Jamieson and Talwalkar 2016; see
        :func:`~distkern.search.choice.rungs_of`); None: "grid", and "halving" without ``parameters``
    candidates : how many are drawn (10 where they must be drawn, 20 without ``parameters``)
    validation : share of the rows that are held out, or a number of folds
    metric : a figure of ``distkern evaluate`` (None: the log loss, or the root mean squared error)
    folder : where finished trials are kept; a search with the same arguments goes on from there
    jobs : trials at a time, each with a share of the workers' memory limit

    Returns
    -------
    what was found; ``found.estimator.fit(data)`` then trains the best one on all rows

    Raises
    ------
    InputError
        If something cannot be tried or compared, or the folder holds another search.
    DistkernError
        If no candidate could be trained.
    """
    split = data.train if isinstance(data, Dataset) else data
    if not isinstance(split, Split):
        raise InputError(
            f"a {type(split).__name__}",
            where="data",
            hint="give open_dataset(path); of arrays make one with write_dataset(X, y, path)",
        )
    check_whole("jobs", jobs, 1)
    asked = Asked(method, candidates, validation, metric, factor, dict(parameters or {}))
    known = {name for name in estimator.hyperparameters if name != "random_state"}
    for name in parameters or ():
        if name not in known:
            raise unknown_name(f"hyperparameter of {type(estimator).__name__}", name, known)
    seed = estimator.random_state
    if seed is not None and not isinstance(seed, int | np.integer):
        raise InputError(f"is a {type(seed).__name__}", where="random_state", hint="give a whole number")
    base = clone(estimator).set_params(random_state=int(seed or 0))
    own, method = parameters is None, asked.way
    if own:
        tried = own_candidates(base, split, method, candidates, base.random_state)
    else:
        settings = settings_of(asked.space, method, candidates, base.random_state)
        tried = [Candidate(number, one, clone(base).set_params(**one)) for number, one in enumerate(settings)]
    kept = SearchFolder(None if folder is None else absolute(folder))
    search = Search(tried, split, method, validation, metric, factor, base.random_state, own, kept)
    ranked = search.run(Where(jobs=jobs))
    best = ranked[0]
    assert best.value is not None
    return Tuned(clone(tried[best.number].estimator), best.settings, search.metric.name, best.value, ranked)
