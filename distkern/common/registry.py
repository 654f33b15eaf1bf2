"""Find the members of a family (losses, kernels, solvers, formats) by looking into its folder."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
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
def _in_file(package: str, file: str) -> tuple[type, ...]:
    """The concrete classes that a module holds."""
    module = importlib.import_module(f"{package}.{file}")
    kinds = [kind for kind in vars(module).values() if inspect.isclass(kind)]
    own = [kind for kind in kinds if kind.__module__ == module.__name__]
    for kind in own:
        if inspect.isabstract(kind) and _name_of(kind) is not None:
            lacking = ", ".join(sorted(vars(kind)["__abstractmethods__"]))
            raise RuntimeError(f"{module.__name__}: {kind.__name__} has a name and lacks {lacking}")
    return tuple(kind for kind in own if not inspect.isabstract(kind))


def _name_of(kind: type) -> str | None:
    name = vars(kind).get("name")
    return name if isinstance(name, str) else None


def _class_name_of(kind: type) -> str | None:
    return None if kind.__name__.startswith("Abstract") else kind.__name__


@cache
def _members(package: str, name_of: Callable[[type], str | None]) -> dict[str, type]:
    found: dict[str, type] = {}
    for file in _files(package):
        for kind in _in_file(package, file):
            name = name_of(kind)
            if name in found:
                raise RuntimeError(f"{package}: two members are named {name!r}")
            if name is not None:
                found[name] = kind
    return dict(sorted(found.items()))


@cache
def _lookup(package: str, name: str, name_of: Callable[[type], str | None]) -> type | None:
    for file in _in_order(package, name):
        for kind in _in_file(package, file):
            if name_of(kind) == name:
                return kind
    return None


def _in_order(package: str, name: str) -> Iterator[str]:
    files = _files(package)
    alike = [
        file for file in files if file.replace("_", "").removesuffix("s") in name.replace("_", "").lower()
    ]
    yield from sorted(alike, key=len, reverse=True)
    others = [file for file in files if file not in alike]
    yield from sorted(others, key=lambda file: not _says(package, file, name))


def _says(package: str, file: str, name: str) -> bool:
    """Whether the text of a module has a class of that name, or the name in quotation marks."""
    found = find_spec(f"{package}.{file}")
    path = Path((found and found.origin) or "")
    text = path.read_text(encoding="utf-8") if path.suffix == ".py" and path.is_file() else ""
    return f'"{name}"' in text or f"class {name}(" in text


def members(package: str, base: type[Member]) -> dict[str, type[Member]]:
    """Every concrete subclass of ``base`` with a class attribute ``name``, in ``package``'s modules.

    Dropping a file with such a class into the folder is all it takes to add one.
    """
    known = _members(package, _name_of)
    return {name: kind for name, kind in known.items() if issubclass(kind, base)}


def classes(package: str, base: type[Member]) -> dict[str, type[Member]]:
    """The concrete subclasses of ``base`` in ``package``'s modules, by the names of the classes.

    A class whose name begins with Abstract is not concrete.
    """
    known = _members(package, _class_name_of)
    return {name: kind for name, kind in known.items() if issubclass(kind, base)}


def lookup(package: str, base: type[Member], name: str) -> type[Member] | None:
    """The member called ``name``, if there is one.

    A file whose own name is a part of that name is loaded first, the longest such name before others
    (capitals, underscores and a plural's s do not count), then those whose text has the name, and the rest of
    the folder only where it is in none of them.
    """
    kind = _lookup(package, name, _name_of)
    return kind if kind is not None and issubclass(kind, base) else None


def lookup_class(package: str, base: type[Member], name: str) -> type[Member] | None:
    """The one of :func:`classes` that is called ``name``, as :func:`lookup` looks for it."""
    kind = _lookup(package, name, _class_name_of)
    return kind if kind is not None and issubclass(kind, base) else None


def find(package: str, base: type[Member], name: str) -> type[Member]:
    """The member called ``name``; an :class:`InputError` with the nearest name if there is none."""
    kind = lookup(package, base, name)
    if kind is None:
        family = package.rpartition(".")[2]
        one = family.removesuffix("es" if family.endswith("sses") else "s")
        raise unknown_name(one, name, members(package, base))
    return kind
