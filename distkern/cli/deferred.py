"""Third-party modules that load on first use instead of on import.

scikit-learn imports scipy.stats and pandas for a few functions that commands rarely call: 0.8 s of processor
time before a command begins. The command line defers both. The standard library's LazyLoader does not help,
since it loads a module as soon as another file imports it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from threading import RLock
from types import ModuleType
from typing import Any

_SELDOM_USED = ("pandas", "scipy.stats")
_LOADING = RLock()


class _Deferred(ModuleType):
    """Stands for a module, and loads it on the first access to an attribute."""

    def __getattr__(self, name: str) -> Any:
        with _LOADING:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            return getattr(import_module(self.__name__), name)


def defer_imports() -> None:
    """Defer the import of these modules in this process unless they are loaded already."""
    for name in _SELDOM_USED:
        if name not in sys.modules:
            deferred = _Deferred(name)
            # Bokeh asks whether there is pandas, which a module says by its specification
            deferred.__spec__ = ModuleSpec(name, None)
            sys.modules[name] = deferred
