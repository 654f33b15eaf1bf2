"""The exceptions of the package: each names the place, the problem and the remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

#: characters of a part of a message
_LONGEST = 800
#: a problem that starts with a verb continues its place: "a.csv is empty", "nu must be ..."
_VERB = re.compile(
    r"(already exists|belongs|cannot|contains|determines|does|encodes|exists|has|holds|is|must|needs|"
    r"supports|was)\b"
)
#: names in other libraries -> ours; the first valid one is suggested
_SYNONYMS: dict[str, tuple[str, ...]] = {
    word: tuple(ours.split())
    for ours, theirs in {
        "square least_squares": "mse l2 squared squared_error squared_loss ols ridge mean_squared_error rmse",
        "absolute": "mae l1 absolute_error least_absolute_deviation mean_absolute_error lad",
        "huber": "huber_loss smooth_l1 pseudo_huber",
        "quantile": "pinball pinball_loss",
        "epsilon_insensitive cells": "svr",
        "epsilon_insensitive": "epsilon",
        "logistic": "log log_loss logloss binary_crossentropy bernoulli binary binary_logistic",
        "softmax": "cross_entropy crossentropy categorical_crossentropy multinomial multi_logloss",
        "hinge": "hinge_loss",
        "hinge cells": "svm svc",
        "newton": "krr kernel_ridge gp logistic_regression",
        "n_features n_landmarks": "n_components",
        "gamma": "sigma length_scale bandwidth",
        "y": "target targets label labels",
        "path": "out output",
        "squared_hinge": "l2svm linear_svc",
        "rbf": "gaussian gauss squared_exponential se radial",
        "polynomial": "poly polynomial_kernel",
        "chi2": "chi_squared additive_chi2",
        "standard": "std zscore standardize standardise standard_scaler",
        "minmax": "min_max minmax_scaler",
        "normal": "quantile_normal gauss_rank",
        "train": "fit learn",
        "inspect": "info show describe",
        "evaluate": "score eval test measure",
        "shard": "ingest convert prepare",
        "tune": "search optimize optimise hpo",
        "runs": "list",
        "nu lam": "alpha reg_lambda lambda",
        "stages": "max_iter epochs n_epochs",
        "stages candidates": "n_iter",
        "random_state": "seed random_seed",
        "seed": "random_state",
        "workers": "n_jobs",
        "eval_set": "validation_data validation_set eval_data",
        "n_landmarks": "n_centers n_inducing",
        "step_size": "learning_rate lr eta eta0",
        "memory_limit": "max_memory memory",
        "tol": "tolerance",
        "accuracy": "acc",
        "validation": "cv folds n_splits validation_fraction",
        "parameters": "param_grid param_distributions space",
        "candidates": "n_trials",
    }.items()
    for word in theirs.split()
}
#: names in other libraries without a counterpart -> why
_FOREIGN = {
    word: why
    for why, words in {
        "it belongs to trees; leave it out": "num_leaves max_leaves max_leaf_nodes max_depth n_estimators "
        "num_boost_round n_rounds subsample subsample_freq colsample_bytree colsample_bylevel max_bin "
        "feature_fraction bagging_fraction bagging_freq min_child_samples min_child_weight min_data_in_leaf "
        "min_samples_leaf min_samples_split min_split_gain boosting boosting_type tree_method l2_leaf_reg "
        "max_features",
        "it belongs to neural networks; leave it out": "hidden_layer_sizes hidden_units layers activation "
        "dropout optimizer momentum weight_decay",
        "it belongs to nearest neighbours; leave it out": "n_neighbors leaf_size",
        "step sizes are found by themselves; leave it out": "learning_rate learning_rate_init lr eta eta0",
        "memory_limit bounds the memory instead": "cache_size",
    }.items()
    for word in words.split()
}
#: (parameter, value in another library) -> the equivalent here
_OTHER_WAYS = {
    ("kernel", "linear"): "set features='linear' with newton, svrg, sdca, rbcd or sbmd, or use pegasos",
    ("kernel", "precomputed"): "give the rows and the name of a kernel: no matrix of all rows is ever built",
    **{
        ("algorithm", word): f"it has its own estimator, {start}Classifier"
        for word, start in {
            **{word: word.upper() for word in ("csvrg", "avm", "simba", "norma", "sdca", "sbmd", "rbcd")},
            "pegasos": "Pegasos",
        }.items()
    },
}


class DistkernError(Exception):
    """Base of every error the package raises on purpose (command line: exit status 1)."""


class InputError(DistkernError, ValueError):
    """The user's input is wrong (command line: exit status 2, one line on standard error).

    Parameters
    ----------
    what : str
        The problem, one clause without full stop; its subject is ``where`` if it starts with a verb.
    where : str, optional
        File, row, column or option, for instance ``"a.csv, row 7, column 'age'"``.
    hint : str, optional
        The remedy.
    """

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(self._message)

    @property
    def _message(self) -> str:
        # a name in a user's file may be as long as the file
        joint = " " if _VERB.match(self.what) else ": "
        named = self.where is None or self.what.startswith((f"{self.where} ", f"{self.where}="))
        place = "" if named else f"{_shortened(str(self.where))}{joint}"
        remedy = "" if self.hint is None else f"; {_shortened(self.hint)}"
        return f"{place}{_shortened(self.what)}{remedy}"

    def reword(self, words: Callable[[str], str]) -> None:
        """Rewrite its texts, see :mod:`distkern.core.python_words`."""
        self.what = words(self.what)
        self.where, self.hint = (None if one is None else words(one) for one in (self.where, self.hint))
        self.args = (self._message,)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), where=self.where, hint=self.hint), (self.what,)


class Problems(InputError):
    """Several problems with the user's input, one line each.

    Attributes
    ----------
    errors : one per problem
    """

    def __init__(self, errors: Sequence[InputError]) -> None:
        super().__init__(f"{len(errors)} problems")
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join(map(str, self.errors))

    def reword(self, words: Callable[[str], str]) -> None:
        for error in self.errors:
            error.reword(words)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.errors,)


class CorruptDataError(InputError):
    """Stored data differ from what was written: a flipped byte, a missing shard."""


class MemoryBudgetError(InputError):
    """The plan does not fit the memory limit.

    Attributes
    ----------
    of_limit : the problem with a higher limit as the only remedy
    """

    def __init__(
        self, what: str, *, where: str | None = None, hint: str | None = None, of_limit: str | None = None
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.of_limit = what if of_limit is None else of_limit

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), where=self.where, hint=self.hint, of_limit=self.of_limit), (self.what,)


class ClusterError(DistkernError):
    """The cluster failed, not the job: a resumed run may succeed."""


class StoreError(ClusterError):
    """An object store did not answer after several tries: a resumed run may succeed."""


class FencedError(DistkernError):
    """Another driver has taken over the run and now owns its folder."""


class DivergenceError(DistkernError, ArithmeticError):
    """A solver produced non-finite numbers."""


def _shortened(text: str) -> str:
    """Cut out the middle of a text that is too long to read."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 4 :]}"


def synonym(name: str, known: Iterable[str]) -> str | None:
    """Return the known name of what another library calls ``name``."""
    ours = _SYNONYMS.get(name.lower().replace("-", "_"), ())
    return next((one for one in ours if one in known), None)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` probably means: another library's synonym or a close spelling."""
    names = sorted(known)
    # "c" is no misspelling of "nu", but "C" in another case
    in_case = [one for one in names if one.lower() == name.lower()]
    longer = [one for one in names if len(name) >= 3 and one.startswith(name)]
    close = [one for one in difflib.get_close_matches(name, names) if _is_near(name, one)]
    # a misspelt name of another library
    theirs = difflib.get_close_matches(name.lower(), _SYNONYMS, n=3, cutoff=0.8)
    guesses = in_case or close or longer or [o for t in theirs for o in _SYNONYMS[t] if o in names]
    return synonym(name, names) or next(iter(guesses), None)


def _is_near(name: str, other: str) -> bool:
    """Whether names are alike beyond the prefix of counts: n_estimators is not n_features."""
    both = (name, other)
    if not all(one.startswith("n_") for one in both):
        return True
    counted, known = (one.removeprefix("n_") for one in both)
    return difflib.SequenceMatcher(None, counted, known).ratio() >= 0.6


def invalid_value(name: str | None, value: object, accepted: str, hint: str | None = None) -> InputError:
    """Return the error for a value that a parameter or option does not accept.

    >>> print(invalid_value("nu", -1, "a positive number"))
    nu must be a positive number, got -1
    """
    return InputError(f"must be {accepted}, got {_shortened(repr(value))}", where=name, hint=hint)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for a name that is not in ``known``, with the nearest known one."""
    names = sorted(known)
    close = nearest(name, names)
    hint = f"use one of {', '.join(names)}" if close is None else f"did you mean {close!r}?"
    return InputError(f"unknown {kind} {name!r}", hint=foreign(name, names) or hint)


def belongs_to(algorithms: Sequence[str]) -> str:
    """Return the hint for a hyperparameter of other algorithms."""
    which = "one of them" if len(algorithms) > 1 else "that algorithm"
    return f"it belongs to {', '.join(algorithms)}: leave it out, or use {which}"


def foreign(name: str, known: Iterable[str]) -> str | None:
    """Return why another library's name has no counterpart among the known ones, or None."""
    return None if synonym(name, known) else _FOREIGN.get(name.lower().replace("-", "_"))


def other_way(parameter: str, word: object) -> str | None:
    """Return the equivalent of a parameter's value in another library, or None."""
    return _OTHER_WAYS.get((parameter, word)) if isinstance(word, str) else None
