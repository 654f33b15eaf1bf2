"""The exceptions of the package: every one says where, what, and how to mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DistkernError(Exception):
    """Base of every error the package raises on purpose (command line: exit status 1)."""


class InputError(DistkernError, ValueError):
    """The user's input is wrong (command line: exit status 2, one line on standard error).

    Parameters
    ----------
    what : str
        What is wrong, one clause, no full stop.
    where : str, optional
        File, row, column or option where it is wrong, for instance ``"a.csv, row 7, column 'age'"``.
    mend : str, optional
        What the user can do about it.
    """

    def __init__(self, what: str, *, where: str | None = None, mend: str | None = None) -> None:
        self.what = what
        self.where = where
        self.mend = mend
        message = what if where is None else f"{where}: {what}"
        super().__init__(message if mend is None else f"{message}; {mend}")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.where, self.mend)


class CorruptDataError(InputError):
    """Stored data that no longer is what was written: a flipped byte, a missing shard."""


class MemoryBudgetError(InputError):
    """The plan does not fit the memory limit."""


class ClusterError(DistkernError):
    """The cluster failed and not the job: a resumed run may succeed."""


class StoreError(ClusterError):
    """A store of objects does not answer, after several tries: a resumed run may succeed."""


class FencedError(DistkernError):
    """Another driver has taken the run over: what lies in its folder is that driver's now."""


class DivergenceError(DistkernError, ArithmeticError):
    """A solver left the finite numbers."""


def _rebuild(kind: type[InputError], what: str, where: str | None, mend: str | None) -> InputError:
    return kind(what, where=where, mend=mend)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not one of ``known``, with the nearest right one."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    mend = f"did you mean {close[0]!r}?" if close else f"use one of: {', '.join(names)}"
    return InputError(f"unknown {kind} {name!r}", mend=mend)
