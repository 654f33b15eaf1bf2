"""Find the members of a family (losses, kernels, solvers, formats) by looking into its folder."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from typing import TypeVar

from distkern.common.errors import unknown_name

Member = TypeVar("Member")


@cache
def _members(package: str) -> dict[str, type]:
    folder = importlib.import_module(package)
    found: dict[str, type] = {}
    for module_info in pkgutil.iter_modules(folder.__path__):
        if module_info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{package}.{module_info.name}")
        for member in vars(module).values():
            own = inspect.isclass(member) and member.__module__ == module.__name__
            name = vars(member).get("name") if own else None
            if not isinstance(name, str) or inspect.isabstract(member):
                continue
            if name in found:
                raise RuntimeError(f"{package}: two members are named {name!r}")
            found[name] = member
    return dict(sorted(found.items()))


def members(package: str, base: type[Member]) -> dict[str, type[Member]]:
    """Every concrete subclass of ``base`` with a class attribute ``name``, in ``package``'s modules.

    Dropping a file with such a class into the folder is all it takes to add one.
    """
    return {name: kind for name, kind in _members(package).items() if issubclass(kind, base)}


def find(package: str, base: type[Member], name: str) -> type[Member]:
    """The member called ``name``; an :class:`InputError` with the nearest name if there is none."""
    known = members(package, base)
    if name not in known:
        raise unknown_name(package.rpartition(".")[2].rstrip("s"), name, known)
    return known[name]
