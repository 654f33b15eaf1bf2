"""Writes ``distkern/__init__.pyi``: what type checkers and editors know of the package.

Classes have their whole docstrings, constructors, fitted attributes, and the methods for users with the
types that they return. Run ``python tests/stub.py`` after a change of docstrings, hyperparameters or public
names.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import distkern
from distkern.estimators.base import AbstractClassifier, AbstractRegressor
from distkern.estimators.declared import METHODS, annotation_of, attributes_of, home_of
from distkern.estimators.estimator import AbstractEstimator
from distkern.runs.algorithms import estimators

PATH = Path(distkern.__file__).with_suffix(".pyi")

_HEAD = '''"""The public names of distkern, as type checkers and editors see them.

Written by ``python tests/stub.py``: change the docstrings and hyperparameters, not this file.
"""
'''

#: lazy rows give lazy answers, rows in memory arrays
_LAZY = '''
class _Lazy(Protocol):
    """A Dask array or Dask frame."""

    def __dask_graph__(self) -> Any: ...

'''
_LOADED = '''
class _Loaded(_Classifier):
    """A fitted estimator of any class: regressors lack what classifiers alone have."""
'''
#: methods whose answer is lazy where the rows are, with the type that it has otherwise
_ANSWERS = dict.fromkeys(
    ("predict", "predict_proba", "decision_function", "score_samples", "log_ratio", "transform"),
    "NDArray[Any]",
)
#: methods of scikit-learn, which has no types
_SKLEARNS = {
    "fit_predict": "(self, X: Any, y: Any = None, **kwargs: Any) -> NDArray[Any]",
    "fit_transform": "(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[Any]",
    "get_params": "(self, deep: bool = True) -> dict[str, Any]",
    "set_params": "(self, **params: Any) -> Self",
    "get_feature_names_out": "(self, input_features: Any = None) -> NDArray[Any]",
    "get_metadata_routing": "(self) -> Any",
}
_BASES = {"_Model": AbstractEstimator, "_Classifier": AbstractClassifier, "_Regressor": AbstractRegressor}


class _Names:
    """The names that the stub uses, with the modules that they are imported from."""

    def __init__(self) -> None:
        self.homes: dict[str, str] = {}

    def learn(self, annotation: str, module: str) -> str:
        """An annotation of a module, whose names are imported from now on."""
        for node in ast.walk(ast.parse(annotation, mode="eval")):
            if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
                self.homes[node.id] = _homes_in(module)[node.id]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                known = _homes_in(module)
                if node.value in known:
                    self.homes[node.value] = known[node.value]
        return annotation

    @property
    def imports(self) -> list[str]:
        own = {name: home for name, home in self.homes.items() if name not in _ALL_PUBLIC}
        return [
            f"import {home} as {name}" if home == "numpy" else f"from {home} import {name}"
            for name, home in own.items()
        ]


_ALL_PUBLIC = {*distkern._HOMES, *estimators()}


@cache
def _homes_in(module: str) -> dict[str, str]:
    """Where the names of a module come from, also those that are imported for type checkers alone."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    homes = {
        name: module
        for name, value in vars(importlib.import_module(module)).items()
        if getattr(value, "__module__", module) == module
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            homes |= {alias.asname or alias.name: node.module for alias in node.names}
        elif isinstance(node, ast.Import):
            homes |= {alias.asname: alias.name for alias in node.names if alias.asname}
    return homes


def text() -> str:
    """The whole file."""
    names = _Names()
    names.homes = {
        "Literal": "typing",
        "overload": "typing",
        "Protocol": "typing",
        "Self": "typing",
        "Any": "typing",
        "NDArray": "numpy.typing",
        "Sequence": "collections.abc",
        "RandomState": "numpy.random",
        "Split": "distkern.data.dataset",
    }
    sklearns = ("BaseEstimator", "ClassifierMixin", "OutlierMixin", "RegressorMixin", "TransformerMixin")
    names.homes |= dict.fromkeys(sklearns, "sklearn.base")
    bases = [_class(name, kind, names) for name, kind in _BASES.items()]
    classes = [_class(name, kind, names) for name, kind in estimators().items()]
    functions = [_function(name, home, names) for name, home in distkern._HOMES.items() if name.islower()]
    kept = {name: home for name, home in distkern._HOMES.items() if not name.islower()}
    imports = [f"from {home} import {name} as {name}" for name, home in kept.items()]
    listed = "".join(f'    "{name}",\n' for name in distkern.__all__)
    parts = [
        _HEAD,
        "\n".join(sorted([*imports, *names.imports])),
        f"\n__version__: str\n\n__all__ = [\n{listed}]",
        _LAZY,
        *functions,
        *bases,
        _LOADED,
        *classes,
    ]
    return "\n".join(parts)


def _class(name: str, kind: type[Any], names: _Names) -> str:
    base = next((one for one, of in reversed(_BASES.items()) if issubclass(kind, of) and of is not kind), "")
    above: type[Any] | None = _BASES.get(base)
    parents = [base] if base else []
    mixins = [one for one in kind.__mro__ if one.__module__ == "sklearn.base"]
    shown = ("BaseEstimator", "ClassifierMixin", "OutlierMixin", "RegressorMixin", "TransformerMixin")
    theirs = [] if above is None else [one.__name__ for one in above.__mro__]
    parents += [one.__name__ for one in mixins if one.__name__ in shown and one.__name__ not in theirs]
    # scikit-learn has no types
    ignored = "" if parents == [base] else "  # type: ignore[misc]"
    lines = [f"class {name}({', '.join(parents)}):{ignored}"]
    if name not in _BASES:
        lines += [_doc(kind), ""]
    for attribute, annotation, _ in attributes_of(kind):
        if above is None or annotation != annotation_of(above, attribute):
            names.learn(annotation, home_of(kind, attribute))
            lines.append(f"    {attribute}: {annotation}")
    if name not in _BASES:
        hyperparameters = kind.hyperparameters.items()
        lines += [f"    {one}: {parameter.annotation}" for one, parameter in hyperparameters]
        given = "".join(
            f"        {one}: {parameter.annotation} = {parameter.default!r},\n"
            for one, parameter in hyperparameters
        )
        lines.append(f"\n    def __init__(\n        self,\n        *,\n{given}    ) -> None: ...")
    for method in METHODS:
        own = inspect.getattr_static(kind, method, None)
        if own is None or isinstance(own, property) or method.endswith("_request"):
            continue
        if above is None or own is not inspect.getattr_static(above, method, None):
            lines.append(_method(kind, method, names))
    return "\n".join(lines) + "\n"


def _method(kind: type[Any], name: str, names: _Names) -> str:
    own = inspect.getattr_static(kind, name)
    function = getattr(own, "fn", own)
    documentation = _doc(function, "        ")
    if name in _SKLEARNS:
        return f"\n    def {name}{_SKLEARNS[name]}:\n{documentation}\n        ..."
    signature = inspect.signature(function)
    _learn_all(signature, function.__module__, names)
    if name not in _ANSWERS:
        return f"\n    def {name}{_written(signature)}:\n{documentation}\n        ..."
    answer = _ANSWERS[name]
    if "return_std" in signature.parameters:
        answer = "Any"
    # data.test may be None
    lazy = _written(signature.replace(return_annotation="Any")).replace("X: Any", "X: _Lazy | Split | None")
    eager = _written(signature.replace(return_annotation=answer))
    return (
        f"\n    @overload\n    def {name}{lazy}:\n{documentation}\n        ...\n"
        f"\n    @overload\n    def {name}{eager}: ..."
    )


def _learn_all(signature: inspect.Signature, module: str, names: _Names) -> None:
    for annotation in (
        *(one.annotation for one in signature.parameters.values()),
        signature.return_annotation,
    ):
        if annotation is not inspect.Parameter.empty:
            names.learn(str(annotation), module)


def _written(signature: inspect.Signature) -> str:
    """A signature with its annotations as the source has them, a long one with a line for each parameter."""
    given = []
    for name, one in signature.parameters.items():
        if one.kind is one.KEYWORD_ONLY and "*" not in given:
            given.append("*")
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        annotation = "" if one.annotation is one.empty else f": {one.annotation}"
        default = "" if one.default is one.empty else f"{' = ' if annotation else '='}{one.default!r}"
        given.append(f"{stars}{name}{annotation}{default}")
    returned = "Any" if signature.return_annotation is signature.empty else signature.return_annotation
    listed = ", ".join(given)
    if len(listed) > 80:
        listed = "".join(f"\n        {one}," for one in given) + "\n    "
    return f"({listed}) -> {returned}"


def _function(name: str, home: str, names: _Names) -> str:
    function = getattr(importlib.import_module(home), name)
    signature = inspect.signature(function)
    _learn_all(signature, function.__module__, names)
    returned = "_Loaded" if name == "load_model" else str(signature.return_annotation)
    written = _written(signature.replace(return_annotation=returned))
    return f"def {name}{written}:\n{_doc(function, '    ')}\n    ...\n"


def _doc(of: Any, indent: str = "    ") -> str:
    """Its docstring as a literal of that indentation."""
    lines = textwrap.indent((inspect.getdoc(of) or "").strip(), indent).lstrip()
    lines = lines.replace("\\", "\\\\")
    end = f"\n{indent}" if "\n" in lines else ""
    return f'{indent}"""{lines}{end}"""'


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
