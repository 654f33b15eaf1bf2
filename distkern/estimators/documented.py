"""Docstrings of estimators: the tables of parameters and attributes, in scikit-learn's form.

Both are made from what is declared (:class:`~distkern.common.parameters.Parameter` and
:class:`~distkern.model.fields.Fitted`), at run time and in the stub that editors read.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from distkern.common.parameters import Parameter
from distkern.model.columns import Columns
from distkern.model.fields import Fitted, fitted_fields
from distkern.model.value import FittedModel

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
    """Name, type and meaning of each fitted attribute of a class: fields of its own kind of model, its
    properties, then fields of all models and of their columns."""
    seen: set[str] = set()
    own: list[tuple[str, str, str]] = []
    common: list[tuple[str, str, str]] = []
    for owner, field, one in _fields_of(kind):
        of_all = issubclass(FittedModel, owner) or owner is Columns
        row = f"{field}_", _field_annotation(owner, field, one), one.help
        (common if of_all else own).append(row)
    for name, annotation, meaning in (*own, *_properties_of(kind), *common):
        if name not in seen:
            seen.add(name)
            yield name, annotation, meaning


def _properties_of(kind: type[Any]) -> Iterator[tuple[str, str, str]]:
    for base in kind.__mro__:
        for name, one in vars(base).items():
            if isinstance(one, property) and name.endswith("_") and not name.startswith("_"):
                told = inspect.getdoc(getattr(kind, name)) or ""
                meaning = " ".join(told.partition("\n\n")[0].split()).removesuffix(".")
                yield name, annotation_of(kind, name), meaning


def _fields_of(kind: type[Any]) -> Iterator[tuple[type[Any], str, Fitted]]:
    """The class that declares each shown field of an estimator's models or columns, the nearest one first;
    its name and what is said of it."""
    for model in (kind.kind, Columns):
        known = fitted_fields(model, getattr(kind, "task", "any"))
        for owner in model.__mro__:
            for field in vars(owner).get("__annotations__", {}):
                if field in known:
                    yield owner, field, known[field]


def _field_annotation(owner: type[Any], field: str, one: Fitted) -> str:
    annotation = str(owner.__annotations__[field])
    # there is no attribute without a value, or all models of the task have one
    is_there = one.task is not None or not one.always
    return annotation.removesuffix(" | None") if is_there else annotation


def annotation_of(kind: type[Any], name: str) -> str:
    """The annotation of a fitted attribute or property of a class, as its source has it."""
    for base in kind.__mro__:
        own = vars(base).get(name)
        if isinstance(own, property) and own.fget is not None:
            return str(own.fget.__annotations__.get("return", "Any"))
    for owner, field, one in _fields_of(kind):
        if f"{field}_" == name:
            return _field_annotation(owner, field, one)
    return "Any"


def home_of(kind: type[Any], name: str) -> str:
    """The module in which an attribute or property of a class is annotated."""
    for base in kind.__mro__:
        if isinstance(vars(base).get(name), property):
            return base.__module__
    for owner, field, _ in _fields_of(kind):
        if f"{field}_" == name:
            return owner.__module__
    return kind.__module__


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
