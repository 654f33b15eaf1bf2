"""Kernel machines trained out of core on Dask.

The public names are imported when they are first used: worker processes import parts of this package and must
not pay for scikit-learn. Every estimator in ``distkern/estimators/`` is public. Type checkers and editors see
``__init__.pyi``, which ``python tests/stub.py`` writes.
"""

from __future__ import annotations

from importlib import import_module

from distkern.core.version import __version__ as __version__

#: public names beside the estimators -> where they are defined
_HOMES = {
    "Dataset": "distkern.data.dataset",
    "InputError": "distkern.core.errors",
    "export": "distkern.model.export.onnx",
    "kernel_matrix": "distkern.maths.kernels",
    "load_model": "distkern.runs.algorithms",
    "open_dataset": "distkern.data.dataset",
    "tune": "distkern.choose.tuning.tune",
    "write_dataset": "distkern.runs.writing",
}
#: commands without a function of that name -> what does the same in Python
_COMMANDS = {
    "shard": "write_dataset(X, y, path)",
    "train": "KernelClassifier().fit(X, y)",
    "predict": "load_model(path).predict(X)",
    "evaluate": "load_model(path).score(X, y)",
    "update": "load_model(path).update(X, y)",
    "explain": "load_model(path).explain(X, y)",
}


def __getattr__(name: str) -> object:
    value: object = None
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name[:1].isupper():
        from distkern.runs.algorithms import estimators

        value = estimators().get(name)
    elif name == "__all__":
        value = __dir__()
    if value is None:
        hint = f"; write distkern.{_COMMANDS[name]}" if name in _COMMANDS else ""
        if not hint and name[:1] != "_":
            from distkern.core.errors import nearest

            close = nearest(name, __dir__())
            hint = f"; did you mean {close!r}?" if close else ""
        raise AttributeError(f"module 'distkern' has no attribute {name!r}{hint}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from distkern.runs.algorithms import estimators

    return sorted(["__version__", *_HOMES, *estimators()])
