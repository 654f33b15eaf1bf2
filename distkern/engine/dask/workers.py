"""Requirements of workers: the driver's packages, and its view of the data."""

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

#: what a client raises whose scheduler does not answer, or that has given up on it and has none any more
AWAY = (OSError, DaskTimeoutError, RuntimeError, AttributeError, ClosedClientError)


def versions() -> dict[str, str]:
    """The packages of this process that decide about bits."""
    return {"distkern": __version__, "numpy": np.__version__}


def on_worker(expected: dict[str, str], function: Callable[..., Result], *arguments: Any) -> Result:
    """``function(*arguments)``, on a worker with the packages of the driver.

    Workers may join at any time, so every task asks.

    Raises
    ------
    InputError
        Naming the worker, if they are not.
    """
    _compare(get_worker().address, versions(), expected)
    return function(*arguments)


def check_workers(client: Client) -> None:
    """Refuse a cluster with a worker whose packages differ from this process's.

    Raises
    ------
    InputError
        Naming the worker.
    """
    expected = versions()
    for address, answer in sorted(client.run(versions, on_error="return").items()):
        # a worker that died meanwhile does no harm
        if isinstance(answer, CommClosedError | TimeoutError):
            continue
        if isinstance(answer, BaseException):
            said = f"cannot run distkern ({type(answer).__name__}: {answer})"
            raise _other_packages(address, said, expected) from answer
        _compare(address, answer, expected)


def _compare(address: str, found: dict[str, str], expected: dict[str, str]) -> None:
    other = [f"{name} {found.get(name)}" for name, version in expected.items() if found.get(name) != version]
    if other:
        raise _other_packages(address, f"has {' and '.join(other)}", expected)


def _other_packages(address: str, said: str, expected: dict[str, str]) -> InputError:
    own = " and ".join(f"{name} {version}" for name, version in expected.items())
    return InputError(
        said,
        where=f"worker {address}",
        hint=f"this run needs workers with {own}: end that one or start it with these, and run this again "
        "(with --resume if it had begun)",
    )


@contextmanager
def explain_errors(client: Client) -> Iterator[None]:
    """Say whether an error occurs on some workers only: by their packages, or by their view of the data.

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
            f"worker {', '.join(blind)} does not see this file as it is here ({error.what})",
            where=error.where,
            hint="let all of them see the data there, or end those that do not; it need not be made again",
        ) from error
    except (DistkernError, OSError, CancelledError):
        # of the run, or of a scheduler that is gone and cannot be asked
        raise
    except Exception:
        with suppress(*AWAY):
            check_workers(client)
        raise


def seen(path: str | None) -> str:
    """What this process finds at a path: a digest of the file's bytes, or why there is none."""
    try:
        with open(path or "", "rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return type(error).__name__
