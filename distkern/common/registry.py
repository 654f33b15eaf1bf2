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
def _files(package: str) -> tuple[str, ...]:
    """Names of the modules that may hold members."""
    folder = importlib.import_module(package)
    names = (module.name for module in pkgutil.iter_modules(folder.__path__))
    return tuple(name for name in names if not name.startswith("_"))


@cache
def _in_file(package: str, file: str) -> dict[str, type]:
    """The members that a module holds, by name."""
    module = importlib.import_module(f"{package}.{file}")
    found: dict[str, type] = {}
    for member in vars(module).values():
        own = inspect.isclass(member) and member.__module__ == module.__name__
        name = vars(member).get("name") if own else None
        if isinstance(name, str) and not inspect.isabstract(member):
            found[name] = member
    return found


def members(package: str, base: type[Member]) -> dict[str, type[Member]]:
    """Every concrete subclass of ``base`` with a class attribute ``name``, in ``package``'s modules.

    Dropping a file with such a class into the folder is all it takes to add one.
    """
    found: dict[str, type[Member]] = {}
    for file in _files(package):
        for name, kind in _in_file(package, file).items():
            if name in found:
                raise RuntimeError(f"{package}: two members are named {name!r}")
            if issubclass(kind, base):
                found[name] = kind
    return dict(sorted(found.items()))


def lookup(package: str, base: type[Member], name: str) -> type[Member] | None:
    """The member called ``name``, if there is one.

    A file whose own name is a part of that name is read first, the longest such name before others, and the
    rest of the folder only where it is in none of them.
    """
    for file in sorted(_files(package), key=lambda file: -len(file) if file in name else 0):
        kind = _in_file(package, file).get(name)
        if kind is not None and issubclass(kind, base):
            return kind
    return None


def find(package: str, base: type[Member], name: str) -> type[Member]:
    """The member called ``name``; an :class:`InputError` with the nearest name if there is none."""
    kind = lookup(package, base, name)
    if kind is None:
        raise unknown_name(package.rpartition(".")[2].rstrip("s"), name, members(package, base))
    return kind
