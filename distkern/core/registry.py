"""Find the members of a family (losses, kernels, solvers, formats) by looking into its folder."""

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
    """Names of the modules that may hold members, in folders within the package too."""
    folder, found = importlib.import_module(package), []
    for module in pkgutil.iter_modules(folder.__path__):
        if module.ispkg and not module.name.startswith("_"):
            found += [f"{module.name}.{name}" for name in _files(f"{package}.{module.name}")]
        elif not module.name.startswith("_"):
            found.append(module.name)
    return tuple(found)


@cache
def _in_file(package: str, file: str) -> tuple[type, ...]:
    """The concrete classes that a module holds."""
    module = importlib.import_module(f"{package}.{file}")
    kinds = [kind for kind in vars(module).values() if inspect.isclass(kind)]
    own = [kind for kind in kinds if kind.__module__ == module.__name__]
    for kind in own:
        if inspect.isabstract(kind) and member_name(kind) is not None:
            lacking = ", ".join(sorted(vars(kind)["__abstractmethods__"]))
            raise RuntimeError(f"{module.__name__}: {kind.__name__} has a name and lacks {lacking}")
    return tuple(kind for kind in own if not inspect.isabstract(kind))


def member_name(kind: type) -> str | None:
    """The class attribute ``name`` of a class itself, if it has one."""
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
    yield from sorted(others, key=lambda file: not _says(package, file, name))


def _says(package: str, file: str, name: str) -> bool:
    """Whether the text of a module has a class of that name, or the name in quotation marks."""
    found = find_spec(f"{package}.{file}")
    path = Path((found and found.origin) or "")
    text = path.read_text(encoding="utf-8") if path.suffix == ".py" and path.is_file() else ""
    return f'"{name}"' in text or f"class {name}(" in text


@dataclass(frozen=True, eq=False)
class Family(Mapping[str, type[Member]]):
    """The members of a package by their names: concrete classes in its files with a class attribute ``name``,
    which estimators have from their solvers.

    Dropping a file with such a class into the folder is all it takes to add one.

    Attributes
    ----------
    package : whose files, but those that begin with an underscore, hold the members
    base : a class that all of them have
    name_of : the name of a class; None of what is no member
    which : what else holds of them
    """

    package: str
    base: type[Member]
    name_of: Callable[[type], str | None] = member_name
    which: Callable[[type[Any]], bool] | None = None

    # a mapping is equal to others of the same items and has no hash
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def where(self, which: Callable[[type[Any]], bool]) -> Family[Member]:
        """The members that satisfy ``which`` as well."""
        return replace(self, which=lambda kind: self.has(kind) and which(kind))

    def has(self, kind: type) -> bool:
        """Whether a class is one of them."""
        return issubclass(kind, self.base) and (self.which is None or self.which(kind))

    def __iter__(self) -> Iterator[str]:
        """All names, sorted; every file of the package is imported."""
        return iter(_part(self))

    def __len__(self) -> int:
        return len(_part(self))

    def __getitem__(self, name: str) -> type[Member]:
        """The member called ``name``; KeyError if there is none.

        A file whose own name is a part of that name is loaded first, the longest such name before others
        (capitals, underscores and a plural's s do not count), then those whose text has the name, and the
        rest of the folder only where it is in none of them.
        """
        kind = _lookup(self.package, name, self.name_of)
        if kind is None or not self.has(kind):
            raise KeyError(name)
        return kind

    def find(self, name: str) -> type[Member]:
        """The member called ``name``; an :class:`InputError` with the nearest name if there is none."""
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
    """The name of a concrete class, as those whose name begins with Abstract are not; see :class:`Family`."""
    return None if kind.__name__.startswith("Abstract") else kind.__name__
