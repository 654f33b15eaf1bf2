"""Modules of other packages that are loaded when something of them is used, and not when they are imported.

scikit-learn imports all of scipy.stats and of pandas for a few functions that commands hardly call: 0.8 s of
processor time before a command begins. In a process of the command line both are deferred. The LazyLoader of
the standard library does not do: it loads a module as soon as another file imports it.
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
    """In the place of a module, which it loads when an attribute is asked for."""

    def __getattr__(self, name: str) -> Any:
        with _LOADING:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            return getattr(import_module(self.__name__), name)


def defer_imports() -> None:
    """Have this process load those modules when they are used, unless they are loaded already."""
    for name in _SELDOM_USED:
        if name not in sys.modules:
            deferred = _Deferred(name)
            # Bokeh asks whether there is pandas, which a module says by its specification
            deferred.__spec__ = ModuleSpec(name, None)
            sys.modules[name] = deferred
