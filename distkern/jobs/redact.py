"""Passwords stay out of records and logs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from distkern.common.urls import redact_urls

#: name=value, of a query or a line of settings, where the name says that the value is secret
_NAMED = re.compile(
    r"(?i)\b((?:[a-z0-9_]*_)?(?:password|passwd|secret|token|api_?key|secret_?key))=[^\s&'\"]+"
)
_SECRET_KEY = re.compile(r"(?i)(password|passwd|secret|token|api_?key|credential|storage_options|^environ)")


def redact(value: Any) -> Any:
    """A value of JSON without secrets: in URLs, after ``password=`` and its like, under such keys."""
    if isinstance(value, str):
        return _NAMED.sub(r"\1=***", redact_urls(value))
    if isinstance(value, Mapping):
        return {
            str(name): "***" if _SECRET_KEY.search(str(name)) and inner else redact(inner)
            for name, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redact(inner) for inner in value]
    return value
