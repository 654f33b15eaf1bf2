"""Whether a Dask scheduler answers at an address: a client of something else would wait without end."""

from __future__ import annotations

import socket
import ssl
import time
from pathlib import Path

import dask
from distributed.comm import parse_host_port

from distkern.common.errors import InputError

_CA, _CERT, _KEY = (f"distributed.comm.tls.{name}" for name in ("ca-file", "client.cert", "client.key"))
#: what a handshake runs into where the other end talks in the open
_NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST")


def use_certificates(ca: str | None, cert: str | None, key: str | None) -> None:
    """Present these to tls:// schedulers; what is None stays as Dask is configured.

    Parameters
    ----------
    ca : file of the authority's certificate
    cert, key : files of one's own certificate and of its key (None: the key is in the certificate's file)

    Raises
    ------
    InputError
        If a file is none of that kind, or the key is missing or not the certificate's.
    """
    given = {_CA: ca, _CERT: cert, _KEY: key}
    dask.config.set({name: value for name, value in given.items() if value is not None})
    _context()


def tls_context(address: str) -> ssl.SSLContext:
    """What to shake hands with at a ``tls://`` address.

    Raises
    ------
    InputError
        If there is no certificate to show there, or its files do not do.
    """
    if not dask.config.get(_CA, None) or not dask.config.get(_CERT, None):
        raise _no_way_in(address, "it takes members of a team only, and no certificate was given")
    return _context()


def refused(address: str, error: ssl.SSLError) -> InputError:
    """The error for a handshake that went wrong, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _no_way_in(address, f"its certificate is not the authority's: {error.verify_message}")
    if error.reason in _NOT_TLS:
        return InputError(
            "this scheduler does not speak TLS",
            where=f"--scheduler {address}",
            mend=f"give tcp://{address.removeprefix('tls://')}",
        )
    reason = (error.reason or str(error)).replace("_", " ").lower()
    return _no_way_in(address, f"it does not take this certificate: {reason}")


def _no_way_in(address: str, reason: str) -> InputError:
    return InputError(
        f"no way into this scheduler: {reason}",
        where=f"--scheduler {address}",
        mend="give --tls-ca, --tls-cert and --tls-key, or set DASK_CONFIG to settings that name them",
    )


def _context() -> ssl.SSLContext:
    """What the client connects with, made as Dask makes it; refuses files that do not do."""
    ca, cert, key = (dask.config.get(name, None) for name in (_CA, _CERT, _KEY))
    if key and not cert:
        raise InputError("has no certificate", where="--tls-key", mend="give --tls-cert FILE with it")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    for option, file in (("--tls-ca", ca), ("--tls-cert", cert)):
        if not file:
            continue
        try:
            if option == "--tls-ca":
                context.load_verify_locations(file)
            else:
                context.load_cert_chain(file, key)
        except ssl.SSLError as error:
            if option == "--tls-cert" and not key and _has_no_key(file):
                raise InputError(
                    f"{file}: holds a certificate and no key",
                    where=option,
                    mend="give --tls-key FILE with it",
                ) from None
            reason = (error.reason or "not a PEM file").replace("_", " ").lower()
            raise InputError(
                f"{file}: {reason}",
                where=option,
                mend="give PEM files: the authority's certificate, one's own, and the key that belongs to it",
            ) from None
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}", where=option, mend="give a file to read") from None
    return context


def _has_no_key(file: str) -> bool:
    content = Path(file).read_bytes()
    return b"BEGIN CERTIFICATE" in content and b"PRIVATE KEY" not in content


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
