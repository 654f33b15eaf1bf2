"""Records of several seeds: their means and spreads, as texts and as curves with bands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from workflows.curves import Band, Points
from workflows.records import Record, Records
from workflows.report import Section, Table, spread

Seeds = list[Record]


def by_name(records: Records, prefix: str, names: Iterable[str]) -> dict[str, Seeds]:
    """Return the successful records of ``PREFIX/NAME/SEED``, for names that have any."""
    found = {
        name: [one for _, one in records.under(f"{prefix}/{name}") if "failed" not in one] for name in names
    }
    return {name: seeds for name, seeds in found.items() if seeds}


def failed(records: Records) -> Section:
    """Every run that failed, which no mean has in it."""
    rows = [(key, str(one["failed"])) for key, one in records.under("") if "failed" in one]
    words = "Runs that ended with a message: they are in no mean, and no step is chosen that made one."
    return Table("What failed", words, ("run", "what it said"), rows), ()


def of_seeds(n_seeds: int) -> str:
    """What the figures of a report are of."""
    if n_seeds == 1:
        return "seed 0 alone"
    return f"seeds 0 to {n_seeds - 1}, mean ± standard deviation, bands from the minimum to the maximum"


def text(values: Sequence[float], scale: float = 1.0, significant: int = 3) -> str:
    """Return mean and standard deviation, with ``significant`` digits of the mean; empty without values."""
    known = [scale * value for value in values if math.isfinite(value)]
    if not known:
        return ""
    size = abs(float(np.mean(known)))
    if size and size < 1e-3:
        mean = f"{np.mean(known):.{significant - 1}e}"
        return mean if len(known) < 2 else f"{mean} ± {np.std(known, ddof=1):.0e}"
    digits = max(0, significant - 1 - math.floor(math.log10(size * (1 + 1e-9)))) if size else significant
    return spread(known, min(digits, 6))


def curves(
    found: Mapping[str, Seeds],
    x: Callable[[Mapping[str, float]], float],
    y: Callable[[Mapping[str, float]], float],
) -> tuple[dict[str, Points], dict[str, Band]]:
    """Means of the seeds' curves, point by point, and their least and greatest values.

    The first point of each, before any step, is left out, and what has no x above 0.
    """
    lines: dict[str, Points] = {}
    bands: dict[str, Band] = {}
    for name, seeds in found.items():
        every = [[(x(point), y(point)) for point in one["curve"][1:]] for one in seeds]
        length = min(len(line) for line in every)
        if not length:
            continue
        table = np.array([line[:length] for line in every], dtype=float)
        across, up = table[:, :, 0].mean(0), table[:, :, 1]
        kept = np.flatnonzero((across > 0) & np.isfinite(up).all(0))
        if not len(kept):
            continue
        lines[name] = [(float(across[at]), float(up[:, at].mean())) for at in kept]
        bands[name] = [(float(across[at]), float(up[:, at].min()), float(up[:, at].max())) for at in kept]
    return lines, bands


def is_wide(lines: Mapping[str, Points]) -> bool:
    """Whether values differ so much that they want a logarithmic axis."""
    values = [y for line in lines.values() for _, y in line]
    return bool(values) and min(values) > 0 and max(values) > 5 * min(values)
