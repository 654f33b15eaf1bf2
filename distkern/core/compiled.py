"""Loops compiled by numba, cached on disk between runs where a cache folder is writable.

A cache entry is found by the name of the function and a digest of all bytecode that goes into it and of its
argument types. Entries of other code are thus never used: neither those of an older version of this package
nor those of a loss that was edited since. numba reads all entries of a name before it looks up its own, and
fails if one is damaged or refers to a class that no longer exists. The loop is then compiled under another
name.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import types
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from distkern.core.processes import new_lock

#: held while numba is imported
_importing = new_lock()

#: sums may be reordered, so that they use vector registers; NaN and infinity keep their meaning
_FAST_MATH = {"reassoc", "contract", "nsz", "arcp"}


@cache
def load_numba() -> Any:
    """Return numba, with the packages that extend it.

    numba imports its extensions when it first compiles, submodule first. pydata's ``sparse`` is one, which
    ``import dask.array`` imports too, package first. Two threads that do so at once deadlock in Python's
    import locks: one of them sees a partially initialised module. So extensions are imported here, package
    first.
    """
    with _importing:
        for point in entry_points(group="numba_extensions"):
            # numba warns of an extension that cannot be imported
            with suppress(Exception):
                import_module(point.module.partition(".")[0])
        numba: Any = import_module("numba")
        import_module("numba.core.entrypoints").init_all()
        return numba


def array_type(dtype: DTypeLike, n_dimensions: int, *, writable: bool = False) -> Any:
    """Return numba's type of a C-contiguous array; unless ``writable``, it may be read-only memory."""
    numba = load_numba()

    scalar = numba.from_dtype(np.dtype(dtype))
    return numba.types.Array(scalar, n_dimensions, "C", readonly=not writable)


def argument_types(text: str, **names: Any) -> tuple[Any, ...]:
    """Return numba's types of arguments, for :func:`compile_loop`.

    ``f8`` is a number, ``f8[:, :]`` a C-contiguous array to read and ``f8[:]!`` one to write. Dtypes are
    NumPy's names and those of ``names``, which may also be numba types.
    """
    numba = load_numba()

    found = []
    for word, dimensions, written in re.findall(r"(\w+)(\[[:, ]+\])?(!?)", text):
        kind = names.get(word, word)
        if dimensions:
            kind = array_type(kind, dimensions.count(":"), writable=bool(written))
        elif not isinstance(kind, numba.types.Type):
            kind = numba.from_dtype(np.dtype(kind))
        found.append(kind)
    return tuple(found)


def tuple_type(members: type[tuple[Any, ...]], text: str, **names: Any) -> Any:
    """Return numba's type of a named tuple; ``text`` is as in :func:`argument_types`, with writable
    arrays.
    """
    numba = load_numba()

    return numba.types.NamedTuple(argument_types(text, **names), members)


def parameters_type(number: int) -> Any:
    """Return numba's type of the parameters of a loss."""
    numba = load_numba()

    return numba.types.UniTuple(numba.float64, number)


def derivative(prediction: Any, target: Any, parameters: Any) -> Any:
    """Stand in for a loss's derivative, which :func:`compile_loop` inserts."""
    raise NotImplementedError


def compile_loop(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    *,
    helpers: dict[str, Callable[..., Any]] | None = None,
    exact: bool = False,
) -> Callable[..., Any]:
    """Compile ``function`` for arguments of exactly these numba types.

    Parameters
    ----------
    function : module-level function in numba's subset of Python
    arguments : numba type of each argument
    helpers : functions of that subset that ``function`` calls by these global names
    exact : keep the order of every sum
    """
    numba = load_numba()

    helpers = helpers or {}
    namespace = {name: _compiled_helper(helper) for name, helper in helpers.items()}
    # a copy, because numba names cache entries after the function and looks globals up in its module
    copy = types.FunctionType(function.__code__, {**function.__globals__, **namespace}, function.__name__)
    copy.__module__ = function.__module__
    # only Python calls it, never C
    options = {"nogil": True, "no_cfunc_wrapper": True, "fastmath": False if exact else _FAST_MATH}
    if all(map(_is_self_contained, helpers.values())):
        digest = _digest(arguments, function, *helpers.values())
        for attempt in ("", "_again"):
            copy.__qualname__ = f"{function.__qualname__}_{digest}{attempt}"
            try:
                loop: Callable[..., Any] = numba.njit(arguments, cache=True, **options)(copy)
                return loop
            except (RuntimeError, OSError):
                break  # neither the package's folder nor the user's cache folder is writable
            except Exception:
                continue  # an unreadable entry; code that does not compile fails below
    compiled: Callable[..., Any] = numba.njit(arguments, **options)(copy)
    return compiled


@cache
def _compiled_helper(function: Callable[..., Any]) -> Any:
    """Compile a helper once for all loops that call it."""
    numba = load_numba()

    return numba.njit(no_cfunc_wrapper=True, no_cpython_wrapper=True)(function)


def _is_self_contained(function: Callable[..., Any]) -> bool:
    """Whether the bytecode determines the function, apart from NumPy and the standard library."""
    code = function.__code__
    if function.__closure__ or function.__defaults__ or any(map(inspect.iscode, code.co_consts)):
        return False
    used = [function.__globals__[name] for name in code.co_names if name in function.__globals__]
    return all(inspect.ismodule(value) and value.__name__ in ("numpy", "math") for value in used)


def _digest(arguments: tuple[Any, ...], *functions: Callable[..., Any]) -> str:
    digest = hashlib.sha256()
    for kind in arguments:
        members = getattr(kind, "instance_class", kind.__class__)
        digest.update(f"{kind!r} {members.__module__}.{members.__qualname__}".encode())
    for function in functions:
        code = function.__code__
        digest.update(code.co_code)
        digest.update(repr((code.co_consts, code.co_names, code.co_varnames)).encode())
    return digest.hexdigest()[:16]
