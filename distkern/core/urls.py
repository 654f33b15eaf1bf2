"""URLs: recognised, checked, and shown without secrets."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

from distkern.core.errors import InputError

#: scheme://user:password@ or scheme://:password@
_PASSWORD = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@'\"]*:)[^@/\s'\"]+@")
#: scheme://user@, where the user may be a token
_USER = re.compile(r"\b([a-zA-Z][a-zA-Z0-9+.-]*)://([^/\s:@'\"]+)@")
#: protocols with a public user name: an account or a container
_LOGINS = {"sftp", "ssh", "ftp", "smb", "hdfs", "webhdfs", "abfs", "abfss", "wasb", "wasbs"}
#: the query of a URL, which may hold a signature
_QUERY = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s?'\"]*)\?[^\s'\"]+")
#: environment variables with secrets that libraries might repeat in messages
_SECRETS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_CONNECTION_STRING",
)
_SHORTEST_SECRET = 8

#: protocol -> the extra of this package that brings its driver
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
_LOCAL = ("file://", "local://")


def is_url(text: str) -> bool:
    """Whether a text is a URL rather than a path."""
    return "://" in text


def local_path(url: str) -> str | None:
    """Return the absolute path of a ``file://`` URL, ``%20`` decoded; None for other URLs."""
    for prefix in _LOCAL:
        if url.startswith(prefix):
            return os.path.abspath(unquote(url.removeprefix(prefix)))
    return None


def protocol(url: str) -> str:
    """Return the scheme of a URL, the first of a chained one (``a::b://``)."""
    return url.partition("://")[0].partition("::")[0]


def redact_urls(text: str) -> str:
    """Replace passwords, tokens and queries of URLs, and keys in the environment, by stars."""
    text = _QUERY.sub(r"\1?***", _PASSWORD.sub(r"\1***@", text))
    text = _USER.sub(lambda user: f"{user[1]}://***@" if _may_be_token(user) else user[0], text)
    for name in _SECRETS:
        value = os.environ.get(name, "")
        if len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    return text


def _may_be_token(user: re.Match[str]) -> bool:
    return user[1].lower() not in _LOGINS


def refuse_password(url: str) -> None:
    """Refuse a URL with a password, or with a user name that may be a token: models, records and logs store
    URLs.

    Raises :class:`InputError`, naming the environment as the place for passwords.
    """
    has_token = any(map(_may_be_token, _USER.finditer(url)))
    if has_token or _PASSWORD.search(url):
        secret = "a user name, which may be a token," if has_token else "a password,"
        raise InputError(
            f"contains {secret} and URLs are stored in models and logs",
            where=redact_urls(url),
            hint="leave it out and give it in the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "say, or fsspec's configuration), on every worker too",
        )


def no_driver(url: str, error: Exception) -> InputError:
    """Return the error for a protocol that is unknown or whose driver is not installed."""
    name = protocol(url)
    extra = _EXTRAS.get(name)
    if extra is None:
        reason = " ".join(str(error).split()).rstrip(".")
        return InputError(
            f"there is no driver for {name}:// ({redact_urls(reason)})",
            where=redact_urls(url),
            hint="check the URL, or install the package that fsspec needs for it",
        )
    return InputError(
        f"there is no driver for {name}://",
        where=redact_urls(url),
        hint=f"install it with `pip install 'distkern[{extra}]'`, on every worker too",
    )
