"""Numbers for people, the same in the terminal and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def in_bytes(size: float) -> str:
    """Bytes in binary units: ``in_bytes(1536) == "1.5 KiB"``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def in_percent(share: float | None) -> str:
    """A share as a percentage with two decimals, or a dash for None."""
    return "-" if share is None else f"{100 * share:.2f} %"


def in_error(metrics: Mapping[str, Any], name: str) -> str:
    """An error of a line of metrics: a share of rows; of real targets a number, see :func:`error_name`."""
    if "error" not in metrics:
        return in_percent(metrics.get(name))
    return in_number(metrics.get(name.replace("error", "rmse"), metrics.get(name)))


def error_name(metrics: Mapping[str, Any]) -> str:
    """What :func:`in_error` gives: of real targets the root mean squared error, or the mean squared one."""
    if "error" not in metrics:
        return "error"
    return "rmse" if "train_rmse" in metrics else "mse"


def in_number(value: float | None) -> str:
    """A real number with six significant digits, or a dash for None."""
    return "-" if value is None else f"{value:.6g}"


def in_time(seconds: float) -> str:
    """A duration: ``in_time(75) == "1 min 15 s"``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
