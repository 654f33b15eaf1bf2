"""Checks of workers: same packages as the driver, same view of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from hashlib import file_digest
from typing import Any, TypeVar

import numpy as np
from distributed import Client, get_worker
from distributed.client import ClosedClientError
from distributed.comm import CommClosedError
from distributed.utils import TimeoutError as DaskTimeoutError

from distkern.core.errors import CorruptDataError, DistkernError, InputError
from distkern.core.version import __version__

Result = TypeVar("Result")

#: errors of a client whose scheduler does not answer or that has given up on it
AWAY = (OSError, DaskTimeoutError, RuntimeError, AttributeError, ClosedClientError)


def versions() -> dict[str, str]:
    """Return the versions of the packages that decide about bits."""
    return {"distkern": __version__, "numpy": np.__version__}


def on_worker(expected: dict[str, str], function: Callable[..., Result], *arguments: Any) -> Result:
    """Call ``function(*arguments)`` on a worker with the driver's packages.

    Workers may join at any time, so every task checks.

    Raises
    ------
    InputError
        Naming the worker, if its packages differ.
    """
    _compare(get_worker().address, versions(), expected)
    return function(*arguments)


def check_workers(client: Client) -> None:
    """Refuse a cluster with a worker with other packages than this process.

    Raises
    ------
    InputError
        Naming the worker.
    """
    expected = versions()
    for address, answer in sorted(client.run(versions, on_error="return").items()):
        # the worker died meanwhile
        if isinstance(answer, CommClosedError | TimeoutError):
            continue
        if isinstance(answer, BaseException):
            problem = f"cannot run distkern ({type(answer).__name__}: {answer})"
            raise _other_packages(address, problem, expected) from answer
        _compare(address, answer, expected)


def _compare(address: str, found: dict[str, str], expected: dict[str, str]) -> None:
    other = [f"{name} {found.get(name)}" for name, version in expected.items() if found.get(name) != version]
    if other:
        raise _other_packages(address, f"has {' and '.join(other)}", expected)


def _other_packages(address: str, problem: str, expected: dict[str, str]) -> InputError:
    needed = " and ".join(f"{name} {version}" for name, version in expected.items())
    return InputError(
        problem,
        where=f"worker {address}",
        hint=f"this run needs workers with {needed}: stop that worker or start it with these versions, and "
        "repeat the command (with --resume if it had begun)",
    )


@contextmanager
def explain_errors(client: Client) -> Iterator[None]:
    """Explain errors of workers with other packages or another view of the data.

    Raises
    ------
    InputError
        Naming these workers.
    """
    try:
        yield
    except CorruptDataError as error:
        here = seen(error.where)
        try:
            answers = client.run(seen, error.where, on_error="ignore")
        except AWAY:
            raise error from None
        blind = sorted(address for address, there in answers.items() if there != here)
        if not blind:
            raise
        raise InputError(
            f"worker {', '.join(blind)} sees other content in this file than this host ({error.what})",
            where=error.where,
            hint="give all workers the same view of the data, or stop these; the data set itself is intact",
        ) from error
    except (DistkernError, OSError, CancelledError):
        # errors of the run itself, or of a lost scheduler
        raise
    except Exception:
        with suppress(*AWAY):
            check_workers(client)
        raise


def seen(path: str | None) -> str:
    """Return a digest of the file at a path, or the name of the error."""
    try:
        with open(path or "", "rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return type(error).__name__
