"""fsspec's file systems: opened on demand, retried after network errors, with explained errors."""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from distkern.core import interrupts
from distkern.core.errors import DistkernError, InputError, StoreError
from distkern.core.urls import no_driver, redact_urls

Result = TypeVar("Result")

_LOG = logging.getLogger("distkern")

#: seconds between tries; drivers try again by themselves as well
PAUSES = (0.25, 0.5, 1.0, 2.0, 4.0)
#: seconds after which there is no further try, as each try may wait for an unresponsive host
PATIENCE = 60.0

_OF_THE_NETWORK = {
    errno.ECONNRESET,
    errno.ECONNREFUSED,
    errno.ECONNABORTED,
    errno.EPIPE,
    errno.ETIMEDOUT,
    errno.EBUSY,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.EHOSTDOWN,
    errno.ENETDOWN,
    errno.ENOTCONN,
    errno.EAGAIN,
    errno.EIO,
}
#: packages that talk to stores; what they raise need not be an OSError
_DRIVERS = ("botocore", "aiobotocore", "aiohttp", "s3fs", "gcsfs", "adlfs", "azure", "fsspec", "urllib3")
_CREDENTIALS = {
    "NoCredentialsError",
    "PartialCredentialsError",
    "TokenRetrievalError",
    "DefaultCredentialsError",
}
#: HTTP status: a conditional put found an existing object
_PRECONDITION = 412
#: HTTP status: timed out, in conflict with another request, too early, too many requests
_TRY_LATER = (408, 409, 425, 429)
_DENIED = (errno.EACCES, errno.EPERM)


def open_file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, without a cache of listings, and the path in it.

    Settings of a store (endpoint, keys) come from the environment and fsspec's configuration. Raises
    :class:`InputError` if there is no driver for the protocol, naming what to install.
    """
    import fsspec

    try:
        file_system, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except (ImportError, ValueError) as error:
        raise no_driver(url, error) from error
    return file_system, str(path)


def ask(url: str, question: Callable[[Any, str], Result]) -> Result:
    """Return ``question(file system, path)``, called again a few times after network errors.

    :class:`FileNotFoundError`, :class:`FileExistsError` and :class:`IsADirectoryError` are answers. Raises
    :class:`StoreError` if the store does not answer any of these tries; and :class:`InputError` if it denies
    access, or needs credentials.
    """
    started = time.monotonic()
    for tried, pause in enumerate((*PAUSES, None), start=1):
        try:
            return question(*open_file_system(url))
        except (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, DistkernError):
            raise
        except Exception as error:
            if _status(error) == _PRECONDITION:
                raise FileExistsError(redact_urls(url)) from error
            refused = _refused(url, error)
            if refused is not None:
                raise refused from error
            if not _is_transient(error):
                raise
            if pause is None or time.monotonic() - started > PATIENCE:
                tries = "one try" if tried == 1 else f"{tried} tries"
                raise StoreError(
                    f"{redact_urls(url)}: the store does not answer after {tries} "
                    f"({_reason(error)}); once it does, run the same command again, a training with --resume"
                ) from error
            if tried == 1:
                _LOG.warning(
                    "%s: the store does not answer (%s); asking again", redact_urls(url), _reason(error)
                )
        interrupts.check()
        time.sleep(pause)
    raise AssertionError("the last try returns or raises")


def _refused(url: str, error: Exception) -> InputError | None:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & _CREDENTIALS:
        return InputError(
            "the store needs credentials",
            where=redact_urls(url),
            hint="set them in the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, say), on every "
            "worker too",
        )
    if isinstance(error, PermissionError) or getattr(error, "errno", None) in _DENIED:
        return InputError(
            f"access is denied ({_reason(error)})",
            where=redact_urls(url),
            hint="check the credentials in the environment, here and on every worker",
        )
    if isinstance(error, ValueError) and "endpoint" in str(error).lower():
        return InputError(
            f"the store's address is not valid ({_reason(error)})",
            where=redact_urls(url),
            hint="set AWS_ENDPOINT_URL to http://HOST:PORT or https://HOST, or leave it unset",
        )
    status = _status(error)
    if status is not None and status < 500 and status not in _TRY_LATER:
        return InputError(
            f"the store refuses ({_reason(error)})", where=redact_urls(url), hint="check the URL"
        )
    return None


def _status(error: BaseException | None) -> int | None:
    """Return the HTTP status behind an error or its cause."""
    while error is not None:
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            if status is not None:
                return int(status)
        status = getattr(error, "status", None)
        if isinstance(status, int):
            return status
        error = error.__cause__
    return None


def _is_transient(error: BaseException) -> bool:
    """Whether a retry may help: refused, reset or timed-out connections, and status 500 to 599."""
    status = _status(error)
    if status is not None:
        return status >= 500 or status in _TRY_LATER
    if isinstance(error, (ConnectionError, TimeoutError)):
        return True
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _OF_THE_NETWORK
    return isinstance(error, OSError) or type(error).__module__.partition(".")[0] in _DRIVERS


def _reason(error: BaseException) -> str:
    return redact_urls(" ".join(str(error).split()).rstrip(".") or type(error).__name__)
