"""Certificates for schedulers at tls:// addresses, and the reason why one of them turns somebody away."""

from __future__ import annotations

import socket
import ssl

import dask

from distkern.core.errors import InputError

_CA, _CERT, _KEY = (
    f"distributed.comm.tls.{name}" for name in ("ca-file", "client.cert", "client.key")
)  # fmt: skip
_SECONDS = 5.0


def use_certificates(ca: str | None, cert: str | None, key: str | None) -> None:
    """Present these to tls:// schedulers; what is None stays as Dask is configured.

    Parameters
    ----------
    ca : file of the authority's certificate
    cert, key : files of one's own certificate and of its key (None: the key is in the certificate's file)

    Raises
    ------
    InputError
        If a file is none of that kind, or the key is not the certificate's.
    """
    given = {_CA: ca, _CERT: cert, _KEY: key}
    dask.config.set({name: value for name, value in given.items() if value is not None})
    _context()


def why_refused(address: str) -> str | None:
    """What goes wrong in the handshake with a tls:// address, in words; None if nothing does."""
    host, _, port = address.removeprefix("tls://").rpartition(":")
    if not dask.config.get(_CA, None) or not dask.config.get(_CERT, None):
        return "it takes members of a team only, and no certificate was given"
    context = _context()
    try:
        with (
            socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS) as plain,
            context.wrap_socket(plain) as wrapped,
        ):
            # a server of TLS 1.3 judges a client's certificate after the client's handshake is over
            wrapped.settimeout(_SECONDS)
            wrapped.recv(1)
    except ssl.SSLCertVerificationError as error:
        return f"its certificate is not the authority's: {error.verify_message}"
    except ssl.SSLError as error:
        return f"it does not take this certificate: {(error.reason or str(error)).replace('_', ' ').lower()}"
    except TimeoutError:
        return None
    except OSError as error:
        return str(error)
    return None


def _context() -> ssl.SSLContext:
    """What the client connects with, made as Dask makes it; refuses files that do not do."""
    ca, cert, key = (dask.config.get(name, None) for name in (_CA, _CERT, _KEY))
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
            reason = (error.reason or "not a PEM file").replace("_", " ").lower()
            raise InputError(
                f"{file}: {reason}", where=option,
                mend="give PEM files: the authority's certificate, one's own, and the key that belongs to it",
            ) from None  # fmt: skip
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}", where=option, mend="give a file to read") from None
    return context
