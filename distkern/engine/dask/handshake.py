"""Whether a Dask scheduler answers at an address: a client of something else would wait without end."""

from __future__ import annotations

import socket
import ssl
import time

from distributed.comm import parse_host_port

from distkern.common.errors import InputError
from distkern.engine.dask.certificates import refused, tls_context

#: a scheduler that is being started has so many seconds
PATIENCE = 20.0
#: seconds between two tries, and for each
_PAUSE, _TRY = 0.3, 5.0
_MEND = "start one with `dask scheduler` and workers with `dask worker ADDRESS`"


def greet(address: str, patience: float = PATIENCE) -> None:
    """Return when a Dask scheduler answers at a ``tcp://`` or ``tls://`` address; others are not asked.

    Both ends of Dask's connections speak first: whoever is silent, or answers otherwise, is no scheduler.

    Raises
    ------
    InputError
        If nobody answers for ``patience`` seconds, or who answers does not let this process in; the message
        says why.
    """
    scheme, _, rest = address.partition("://")
    if scheme not in ("tcp", "tls"):
        return
    where = f"--scheduler {address}"
    try:
        host, port = parse_host_port(rest)
    except ValueError as error:
        raise InputError(str(error), where=where, mend=f"give {scheme}://HOST:PORT") from None
    if not 0 < port < 2**16:
        raise InputError(f"there is no port {port}", where=where, mend="give one from 1 to 65535")
    context = tls_context(address) if scheme == "tls" else None
    until = time.monotonic() + patience
    while True:
        try:
            with socket.create_connection((host, port), timeout=_TRY) as plain:
                _listen(plain, context, address, max(1.0, until - time.monotonic()))
            return
        except OSError as error:
            unknown = isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME
            if unknown or time.monotonic() > until:
                said = error.strerror or str(error) or type(error).__name__
                raise InputError(f"no Dask scheduler answers ({said})", where=where, mend=_MEND) from error
        time.sleep(_PAUSE)


def _listen(plain: socket.socket, context: ssl.SSLContext | None, address: str, seconds: float) -> None:
    """Return when the other end begins as Dask does; refuse it if it begins otherwise or not at all."""
    try:
        # a socket that was wrapped is closed with its wrapping
        with plain if context is None else context.wrap_socket(plain) as talking:
            # a server of TLS 1.3 judges a client's certificate after the client's handshake is over
            if _says_something(talking, min(seconds, _TRY)):
                return
            if context is None and _speaks_tls(address):
                raise InputError(
                    "this scheduler takes tls:// only",
                    where=f"--scheduler {address}",
                    mend=f"give tls://{address.removeprefix('tcp://')}, --tls-ca, --tls-cert and --tls-key",
                )
            # a scheduler may be too busy to greet
            if _says_something(talking, max(0.1, seconds - 2 * _TRY)):
                return
    except ssl.SSLError as error:
        raise refused(address, error) from error
    raise InputError(
        "something answers there, but no Dask scheduler (its dashboard, perhaps?)",
        where=f"--scheduler {address}",
        mend="give the address that `dask scheduler` prints, often port 8786",
    )


def _says_something(talking: socket.socket, seconds: float) -> bool:
    """Whether a first byte comes in time; :class:`ConnectionResetError` if the other end hangs up."""
    talking.settimeout(seconds)
    try:
        if talking.recv(1):
            return True
    except TimeoutError:
        return False
    raise ConnectionResetError("it hung up")


def _speaks_tls(address: str) -> bool:
    """Whether a silent address answers to the first word of TLS, if only to refuse."""
    anyone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(parse_host_port(address.partition("://")[2]), timeout=_TRY) as plain,
            anyone.wrap_socket(plain),
        ):
            return True
    except ssl.SSLError as error:
        return error.reason is not None and "ALERT" in error.reason
    except OSError:
        return False
