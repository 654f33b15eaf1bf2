"""Certificates for schedulers at tls:// addresses, and the reason why one of them turns somebody away."""

from __future__ import annotations

import ssl
from pathlib import Path

import dask

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
