"""The exceptions of the package: every one says where, what, and how to correct it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence

#: characters of a part of a message
_LONGEST = 800
#: words of other libraries -> ours
_SYNONYMS = {
    **dict.fromkeys(
        ("mse", "l2", "squared", "squared_error", "squared_loss", "ols", "ridge"), "least_squares"
    ),
    **dict.fromkeys(("mae", "l1", "absolute_error", "least_absolute_deviation"), "absolute"),
    **dict.fromkeys(("log", "log_loss", "logloss", "binary_crossentropy", "bernoulli"), "logistic"),
    **dict.fromkeys(("cross_entropy", "crossentropy", "multinomial", "multi_logloss"), "softmax"),
    **dict.fromkeys(("svm", "svc", "hinge_loss"), "hinge"),
    **dict.fromkeys(("gaussian", "gauss", "squared_exponential", "se"), "rbf"),
    **dict.fromkeys(("poly", "polynomial_kernel"), "polynomial"),
    **dict.fromkeys(("fit", "learn"), "train"),
    **dict.fromkeys(("info", "show", "describe"), "inspect"),
    **dict.fromkeys(("score", "eval", "test", "measure"), "evaluate"),
    **dict.fromkeys(("ingest", "convert", "prepare"), "shard"),
    **dict.fromkeys(("search", "optimize", "optimise", "hpo"), "tune"),
    "list": "runs",
}


class DistkernError(Exception):
    """Base of every error the package raises on purpose (command line: exit status 1)."""


class InputError(DistkernError, ValueError):
    """The user's input is wrong (command line: exit status 2, one line on standard error).

    Parameters
    ----------
    what : str
        What is wrong, one clause, no full stop.
    where : str, optional
        File, row, column or option where it is wrong, for instance ``"a.csv, row 7, column 'age'"``.
    hint : str, optional
        What the user can do about it.
    """

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(self._message)

    @property
    def _message(self) -> str:
        # a name in a user's file may be as long as the file
        place = "" if self.where is None else f"{_shortened(self.where)}: "
        remedy = "" if self.hint is None else f"; {_shortened(self.hint)}"
        return f"{place}{_shortened(self.what)}{remedy}"

    def reword(self, words: Callable[[str], str]) -> None:
        """Exchange its words, see :mod:`distkern.common.python_words`."""
        self.what = words(self.what)
        self.where, self.hint = (None if one is None else words(one) for one in (self.where, self.hint))
        self.args = (self._message,)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.where, self.hint)


class Problems(InputError):
    """Several things are wrong with the user's input: a line for each.

    Attributes
    ----------
    errors : one for each thing
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
    """Stored data that no longer is what was written: a flipped byte, a missing shard."""


class MemoryBudgetError(InputError):
    """The plan does not fit the memory limit."""


class ClusterError(DistkernError):
    """The cluster failed and not the job: a resumed run may succeed."""


class StoreError(ClusterError):
    """A store of objects does not answer, after several tries: a resumed run may succeed."""


class FencedError(DistkernError):
    """Another driver has taken the run over: what lies in its folder is that driver's now."""


class DivergenceError(DistkernError, ArithmeticError):
    """A solver left the finite numbers."""


def _shortened(text: str) -> str:
    """The text, or its beginning and its end where it is too long to be read."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 4 :]}"


def _rebuild(kind: type[InputError], what: str, where: str | None, hint: str | None) -> InputError:
    return kind(what, where=where, hint=hint)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The one of ``known`` that a name is likely to mean: the same in another library, or nearly spelt so."""
    names = sorted(known)
    same = _SYNONYMS.get(name.lower().replace("-", "_"))
    # "c" is no misspelling of "nu", but "C" in another case
    in_case = [one for one in names if one.lower() == name.lower()]
    guesses = [same] if same in names else in_case or difflib.get_close_matches(name, names, n=1)
    return next(iter(guesses), None)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not one of ``known``, with the nearest right one."""
    names = sorted(known)
    close = nearest(name, names)
    hint = f"use one of: {', '.join(names)}" if close is None else f"did you mean {close!r}?"
    return InputError(f"unknown {kind} {name!r}", hint=hint)
