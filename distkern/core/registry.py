"""Find the members of a family (losses, kernels, solvers, formats) in its folder."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from distkern.core.errors import unknown_name

Member = TypeVar("Member")


@cache
def _files(package: str) -> tuple[str, ...]:
    """Return the names of the modules that may hold members, including those in subfolders."""
    folder, found = importlib.import_module(package), []
    for module in pkgutil.iter_modules(folder.__path__):
        if module.ispkg and not module.name.startswith("_"):
            found += [f"{module.name}.{name}" for name in _files(f"{package}.{module.name}")]
        elif not module.name.startswith("_"):
            found.append(module.name)
    return tuple(found)


@cache
def _in_file(package: str, file: str) -> tuple[type, ...]:
    """Return the concrete classes of a module."""
    module = importlib.import_module(f"{package}.{file}")
    kinds = [kind for kind in vars(module).values() if inspect.isclass(kind)]
    own = [kind for kind in kinds if kind.__module__ == module.__name__]
    for kind in own:
        if inspect.isabstract(kind) and member_name(kind) is not None:
            lacking = ", ".join(sorted(vars(kind)["__abstractmethods__"]))
            raise RuntimeError(f"{module.__name__}: {kind.__name__} has a name but lacks {lacking}")
    return tuple(kind for kind in own if not inspect.isabstract(kind))


def member_name(kind: type) -> str | None:
    """Return the class attribute ``name`` that a class itself declares, or None."""
    name = vars(kind).get("name")
    return name if isinstance(name, str) else None


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
        file
        for file in files
        if file.rpartition(".")[2].replace("_", "").removesuffix("s") in name.replace("_", "").lower()
    ]
    yield from sorted(alike, key=len, reverse=True)
    others = [file for file in files if file not in alike]
    yield from sorted(others, key=lambda file: not _mentions(package, file, name))


def _mentions(package: str, file: str, name: str) -> bool:
    """Whether the text of a module defines a class of that name, or quotes the name."""
    found = find_spec(f"{package}.{file}")
    path = Path((found and found.origin) or "")
    text = path.read_text(encoding="utf-8") if path.suffix == ".py" and path.is_file() else ""
    return f'"{name}"' in text or f"class {name}(" in text


@dataclass(frozen=True, eq=False)
class Family(Mapping[str, type[Member]]):
    """The members of a package by name: concrete classes with a class attribute ``name``.

    Adding a file with such a class to the folder adds a member. Estimators have their names from their
    solvers.

    Attributes
    ----------
    package : package of the members; files that begin with an underscore are skipped
    base : common base class
    name_of : returns the name of a class, or None for other classes
    which : further condition on members
    """

    package: str
    base: type[Member]
    name_of: Callable[[type], str | None] = member_name
    which: Callable[[type[Any]], bool] | None = None

    # mappings compare by items and have no hash
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def where(self, which: Callable[[type[Any]], bool]) -> Family[Member]:
        """Return the members that also satisfy ``which``."""
        return replace(self, which=lambda kind: self.has(kind) and which(kind))

    def has(self, kind: type) -> bool:
        """Whether a class is a member."""
        return issubclass(kind, self.base) and (self.which is None or self.which(kind))

    def __iter__(self) -> Iterator[str]:
        """Iterate over all names, sorted; this imports every file of the package."""
        return iter(_part(self))

    def __len__(self) -> int:
        return len(_part(self))

    def __getitem__(self, name: str) -> type[Member]:
        """Return the member called ``name``; KeyError if there is none.

        Files are searched until one has it: first those whose own name is part of ``name``, the longest first
        (ignoring capitals, underscores and a plural s), then those whose text mentions it, then the others.
        """
        kind = _lookup(self.package, name, self.name_of)
        if kind is None or not self.has(kind):
            raise KeyError(name)
        return kind

    def find(self, name: str) -> type[Member]:
        """Return the member called ``name``; :class:`InputError` with the nearest name if there is none."""
        kind = self.get(name)
        if kind is None:
            family = self.package.rpartition(".")[2]
            one = family.removesuffix("es" if family.endswith("sses") else "s")
            raise unknown_name(one, name, list(self))
        return kind


@cache
def _part(family: Family[Any]) -> list[str]:
    known = _members(family.package, family.name_of)
    return [name for name, kind in known.items() if family.has(kind)]


def class_name(kind: type) -> str | None:
    """Return the name of a class, or None if it begins with Abstract; see :class:`Family`."""
    return None if kind.__name__.startswith("Abstract") else kind.__name__
