"""Messages with Python's names of options: ``overwrite=True`` for ``--overwrite`` of the command line.

Code below the public functions names options as on the command line, where most readers type them. Only
:func:`in_python`, around the public functions, translates.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from distkern.core.errors import InputError, nearest

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_PACKAGE = "distkern."
#: options of the command line with another name or value in Python
_FLAGS = {
    "overwrite": "overwrite=True",
    "columns": "columns=True",
    "shuffle": "shuffle=True",
    "no-shuffle": "shuffle=False",
    "sparse": "sparse=True",
    "dense": "sparse=False",
    "day-first": "day_first=True",
    "month-first": "day_first=False",
    "out": "path",
    "target": "y",
    "target COLUMN": "another y",
    "weight": "sample_weight",
    "group": "groups",
    "data OLD.zarr NEW.zarr": "old=",
}
#: options followed by a value -> how Python writes the value
_VALUES: dict[str, Callable[[str], str]] = {
    "scale": repr,
    "task": repr,
    "impute": repr,
    "positive": repr,
    "seed": str,
    "test-fraction": str,
    "rows-per-shard": str,
    "memory-limit": repr,
    "threshold": lambda word: _literal(word),
}
_COMMANDS = re.compile(r"(`[^`]*`)")
_TABLE = re.compile(r"\{(\w+ = [^{}]*)\}")
_CHOSEN = re.compile(r"--algorithm (\w+) --set ([a-z_]+)=(\.\.\.|[\w.]+)")
_SETTING = re.compile(r"--set ([a-z_]+)=(\.\.\.|[\w.]+)")
_VALUE = re.compile(
    rf"--({'|'.join(_VALUES)}) (none|minmax|maxabs|standard|unit|ball|mean|median|flag|classification|"
    r"regression|balanced|\d[\w.]*)(?!\w)"
)
#: an option followed by a column name, as opposed to a word of the sentence
_COLUMN = re.compile(
    r"--(drop|text|id|positive) (?:'([^']+)'|([^\s'(),;]+))(?= uses| makes| leaves| keeps|[),;]|$)"
)
_CATEGORIES = re.compile(r"--categorical (?:'([^']+)'|([^\s=]+))=(onehot|target|signs|drop)")
_FLAG = re.compile(rf"--({'|'.join(map(re.escape, sorted(_FLAGS, key=len, reverse=True)))})(?![\w-])")
#: words of a job file, in the accepted values of a message
_WORD = re.compile(r"(?<=be )(true)\b|(?<=, |r )(none|false)(?=$|, got| or )|(?<=, )(true)(?=, false)")
_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")
_OTHER = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


def in_python_words(text: str) -> str:
    """Return a message with Python's names of options; commands in backticks are kept.

    >>> in_python_words("give --overwrite or another --out; fewer landmarks (--set n_landmarks=...)")
    'give overwrite=True or another path; fewer landmarks (n_landmarks=...)'
    >>> in_python_words("give --scale none, or run `distkern shard a.csv --out a.zarr`")
    "give scale='none', or run `distkern shard a.csv --out a.zarr`"
    >>> in_python_words("choose a threshold, for instance --threshold balanced")
    "choose a threshold, for instance threshold='balanced'"
    >>> in_python_words("give a list of values, or {low = 0.1, high = 10.0, log = true}")
    "give a list of values, or {'low': 0.1, 'high': 10.0, 'log': True}"
    >>> in_python_words("--text notes uses its words, --categorical notes=target keeps it as categories")
    "text=['notes'] uses its words, categorical={'notes': 'target'} keeps it as categories"
    >>> in_python_words("--text 'my notes' uses its words, --categorical 'my notes'=target keeps it")
    "text=['my notes'] uses its words, categorical={'my notes': 'target'} keeps it"
    >>> in_python_words("fewer landmarks (--algorithm newton --set n_landmarks=96)")
    "fewer landmarks (algorithm='newton', settings={'n_landmarks': 96})"
    >>> in_python_words("use a number > 0 or none")
    'use a number > 0 or None'
    >>> in_python_words("--threshold must be a number, 'balanced' or none, got 2")
    "threshold must be a number, 'balanced' or None, got 2"
    >>> in_python_words("projection must be true, false or 'span', got 2")
    "projection must be True, False or 'span', got 2"
    """
    parts = _COMMANDS.split(text)
    return "".join(part if part.startswith("`") else _translated(part) for part in parts)


def _translated(text: str) -> str:
    text = _TABLE.sub(lambda found: _dict(found[1]), text)
    text = _CHOSEN.sub(
        lambda found: f"algorithm={found[1]!r}, settings={{{found[2]!r}: {_literal(found[3])}}}", text
    )
    text = _SETTING.sub(lambda found: f"{found[1]}={_literal(found[2])}", text)
    text = _VALUE.sub(lambda found: f"{_name(found[1])}={_VALUES[found[1]](found[2])}", text)
    text = _CATEGORIES.sub(lambda found: f"categorical={{{(found[1] or found[2])!r}: {found[3]!r}}}", text)
    text = _COLUMN.sub(lambda found: f"{found[1]}={_listed(found[1], found[2] or found[3])}", text)
    text = _FLAG.sub(lambda found: _FLAGS[found[1]], text)
    text = _OTHER.sub(lambda found: _name(found[1]), text)
    return _WORD.sub(lambda found: found[0].capitalize(), text)


def _dict(table: str) -> str:
    """Return the content of an inline table of TOML as a dict."""
    items = (item.partition(" = ") for item in table.split(", "))
    words = {"true": "True", "false": "False"}
    return f"{{{', '.join(f'{key!r}: {words.get(value, value)}' for key, _, value in items)}}}"


def _listed(option: str, name: str) -> str:
    return repr([name] if option in ("drop", "text") else name)


def _name(option: str) -> str:
    return option.replace("-", "_")


def _literal(word: str) -> str:
    return word if word == "..." or word[0].isdigit() else repr(word)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn in Python's words, at the line outside the package that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(in_python_words(text), category, stacklevel=level)


def _instead(name: str, function: Callable[..., object], args: tuple[object, ...]) -> str:
    """Return what to write for an unknown argument: another name, or a hyperparameter of the estimator."""
    if near := nearest(name, inspect.signature(function).parameters):
        return f"; did you mean {near!r}?"
    if near := nearest(name, getattr(args[0] if args else None, "hyperparameters", ())):
        return f"; it is a hyperparameter: {type(args[0]).__name__}({near}=...)"
    return ""


def in_python(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a public function: its errors name Python's parameters."""

    @functools.wraps(function)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except InputError as error:
            error.reword(in_python_words)
            raise
        except TypeError as error:
            # nothing was called: the arguments do not fit
            unknown = _UNEXPECTED.search(str(error))
            if error.__traceback__ is None or error.__traceback__.tb_next is not None or unknown is None:
                raise
            # the user's class, not the one that defines the method
            owner, is_method, _ = function.__qualname__.partition(".")
            what = str(error).replace(owner, type(args[0]).__name__) if is_method and args else str(error)
            raise TypeError(f"{what}{_instead(unknown[1], function, args)}") from None

    return wrapped
