"""Whether the workers see the store: asked before a job is submitted."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from distkern.common.errors import InputError
from distkern.jobs.folder import OWN
from distkern.storage.atomic import explain_errors
from distkern.storage.places import Place, place_of


def problem_here(out: str, token: str, data: str) -> str:
    """Runs on a worker: what is wrong with the places there; empty if nothing is.

    Parameters
    ----------
    out : folder of the run
    token : name of a file that the submitter has written there
    data : the data set
    """
    own = place_of(out) / OWN
    if not (own / token).is_file():
        return f"does not see the folder {out} as it is here"
    mine = own / f"{token}-{os.getpid()}"
    try:
        mine.write_text("probe\n", encoding="utf-8")
        mine.unlink()
    except OSError as error:
        return f"cannot write to {out} ({error.strerror})"
    if not place_of(data).exists():
        return f"does not see the data set {data}"
    return ""


def check_store(out: Place, data: str, everywhere: Callable[..., Mapping[str, Any]], where: str) -> None:
    """Refuse places that not every worker can use, before a job that would fail there is submitted.

    Parameters
    ----------
    out : folder of the run; it is made
    data : the data set
    everywhere : calls a function on every worker and returns what each answered, or its exception
    where : option to name in the message

    Raises
    ------
    InputError
        Naming a worker and what it cannot do.
    """
    token = f"probe-{secrets.token_hex(6)}"
    own = out / OWN
    try:
        with explain_errors(out):
            own.mkdir(parents=True, exist_ok=True)
            (own / token).write_text("probe\n", encoding="utf-8")
    except FileNotFoundError as error:
        # file systems that take no new folders (/proc, say) answer so
        raise InputError("cannot be written", where=str(out), hint="choose another place") from error
    try:
        answers = everywhere(problem_here, str(out), token, data)
    finally:
        with suppress(OSError):
            (own / token).unlink()
    for address, answer in sorted(answers.items()):
        if isinstance(answer, InputError):
            raise InputError(
                f"worker {address}: {answer.what}", where=answer.where or where, hint=answer.hint
            ) from answer
        if isinstance(answer, BaseException):
            raise InputError(
                f"worker {address} cannot run distkern ({type(answer).__name__}: {answer})",
                where=where,
                hint="install the same distkern where the workers are started",
            ) from answer
        if answer:
            raise InputError(
                f"worker {address} {answer}",
                where=where,
                hint="use a place that this machine and all workers share, under the same path",
            )
