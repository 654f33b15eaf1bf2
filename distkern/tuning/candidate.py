"""Settings that are tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Candidate:
    """Settings that are tried, and the estimator that has them, not fitted."""

    number: int
    settings: dict[str, Any]
    estimator: Any


def in_words(settings: dict[str, Any]) -> str:
    """Settings as they are given on a command line: ``gamma=4 lam=64``."""
    return " ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in settings.items()
    )
