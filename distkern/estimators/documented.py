"""Docstrings of estimators: the tables of parameters and attributes, in scikit-learn's form.

Both are made from what is declared (:class:`~distkern.common.parameters.Parameter` and
:class:`~distkern.estimators.declared.Fitted`), at run time and in the stub that editors read.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from distkern.common.parameters import Parameter

#: annotations -> types as docstrings write them
_TYPES = {"NDArray": "ndarray", "Mapping": "dict", "Floats": "ndarray", "Any": "object"}
_WIDTH = 96
_EXAMPLES = "\nExamples\n"


def with_parameters(text: str, parameters: Mapping[str, Parameter]) -> str:
    """The docstring of a class with the table of its hyperparameters, before its examples."""
    table = {name: (one.docstring_type, one.help) for name, one in parameters.items()}
    return _with_table(inspect.cleandoc(text), "Parameters", table)


def with_attributes(kind: type[Any]) -> str:
    """The docstring of a class with the table of its fitted attributes, before its examples."""
    return _with_table(
        kind.__doc__ or "",
        "Attributes",
        {name: (of_type, meaning) for name, of_type, meaning in attributes_of(kind)},
    )


def attributes_of(kind: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of each fitted attribute of a class, its own ones first."""
    seen: set[str] = set()
    for base in kind.__mro__:
        members = {
            **vars(base).get("_own_fitted", {}),
            **{name: one for name, one in vars(base).items() if isinstance(one, property)},
        }
        for name, one in members.items():
            if name in seen or name.startswith("_") or not name.endswith("_"):
                continue
            seen.add(name)
            if isinstance(one, property):
                told = inspect.getdoc(getattr(kind, name)) or ""
                meaning = " ".join(told.partition("\n\n")[0].split()).removesuffix(".")
                yield name, annotation_of(kind, name), meaning
            else:
                yield name, annotation_of(kind, name), one.help


def annotation_of(kind: type[Any], name: str) -> str:
    """The annotation of an attribute or property of a class, as its source has it."""
    for base in kind.__mro__:
        own = vars(base).get(name)
        if isinstance(own, property) and own.fget is not None:
            return str(own.fget.__annotations__.get("return", "Any"))
        if name in vars(base).get("__annotations__", {}):
            return str(base.__annotations__[name])
    return "Any"


def docstring_type(annotation: str) -> str:
    """An annotation as docstrings write it.

    >>> docstring_type("NDArray[np.float64] | None")
    'ndarray or None'
    >>> docstring_type("tuple[dict[str, Any], ...]")
    'tuple'
    """
    plain, n_removed = annotation, 1
    while n_removed:
        plain, n_removed = re.subn(r"\[[^\[\]]*\]", "", plain)
    names = [part.strip().rpartition(".")[2] for part in plain.split("|")]
    return " or ".join(_TYPES.get(name, name) for name in names)


def _with_table(text: str, title: str, table: Mapping[str, tuple[str, str]]) -> str:
    lines = []
    for name, (of_type, meaning) in table.items():
        written = docstring_type(of_type) if title == "Attributes" else of_type
        lines.append(f"{name} : {written}")
        lines += textwrap.wrap(
            meaning, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False
        )
    before, mark, examples = text.partition(_EXAMPLES)
    listed = "\n".join(lines)
    return f"{before.rstrip()}\n\n{title}\n{'-' * len(title)}\n{listed}\n{mark}{examples}"
