"""Check that a Dask scheduler answers: a client of anything else would wait forever."""

from __future__ import annotations

import socket
import ssl
import time

import dask
from distributed.comm import parse_host_port

from distkern.core.errors import InputError

_CA, _CERT, _KEY = (f"distributed.comm.tls.{name}" for name in ("ca-file", "client.cert", "client.key"))
#: seconds for a scheduler to start
PATIENCE = 20.0
#: seconds between tries, and for each
_PAUSE, _TRY = 0.3, 5.0
_START = "start one with `dask scheduler` and workers with `dask worker ADDRESS`"
_CERTIFICATES = "give --tls-ca, --tls-cert and --tls-key, or set DASK_CONFIG to settings that name them"


def use_certificates(ca: str | None, cert: str | None, key: str | None) -> None:
    """Use certificates for tls:// schedulers; None keeps Dask's configuration.

    Parameters
    ----------
    ca : file of the authority's certificate
    cert, key : files of the client's certificate and key (None: the key is in the certificate's file)

    Raises
    ------
    InputError
        If a file is not of its kind, or the key is missing or does not match.
    """
    given = {_CA: ca, _CERT: cert, _KEY: key}
    dask.config.set({name: value for name, value in given.items() if value is not None})
    _context()


def _context() -> ssl.SSLContext:
    """Return the client's TLS context, as Dask makes it."""
    ca, cert, key = (dask.config.get(name, None) for name in (_CA, _CERT, _KEY))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    try:
        if ca:
            context.load_verify_locations(ca)
        if cert or key:
            context.load_cert_chain(cert or "", key)
    except OSError as error:
        raise InputError(
            f"these files cannot be used ({error.strerror or error})",
            where="--tls-ca, --tls-cert, --tls-key",
            hint="give PEM files: the authority's certificate, your certificate, and its key",
        ) from None
    return context


def greet(address: str, patience: float = PATIENCE) -> None:
    """Wait until a Dask scheduler answers at a ``tcp://`` or ``tls://`` address; ignore other addresses.

    Both ends of Dask's connections send a greeting, so a silent server is not a scheduler.

    Raises
    ------
    InputError
        If no scheduler answers for ``patience`` seconds, or a certificate is refused.
    """
    scheme, _, rest = address.partition("://")
    if scheme not in ("tcp", "tls"):
        return
    where = f"--scheduler {address}"
    context = None
    if scheme == "tls":
        if not dask.config.get(_CA, None) or not dask.config.get(_CERT, None):
            raise InputError("no certificate was given", where=where, hint=_CERTIFICATES)
        context = _context()
    until = time.monotonic() + patience
    while True:
        try:
            host, port = parse_host_port(rest)
            with socket.create_connection((host, port), timeout=_TRY) as plain:
                # a scheduler may be busy, and TLS 1.3 verifies certificates after the handshake
                plain.settimeout(max(1.0, until - time.monotonic()))
                with plain if context is None else context.wrap_socket(plain) as talking:
                    if talking.recv(1):
                        return
            raise ConnectionResetError("it closed the connection")
        except ssl.SSLError as error:
            raise InputError(
                f"the TLS connection failed ({error.reason or error})", where=where, hint=_CERTIFICATES
            ) from error
        except (OSError, ValueError) as error:
            # a scheduler may still be starting, but a wrong address stays wrong
            if isinstance(error, (ValueError, socket.gaierror)) or time.monotonic() > until:
                reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
                raise InputError(f"no Dask scheduler answers ({reason})", where=where, hint=_START) from error
        time.sleep(_PAUSE)
