"""Feature importances of a model, largest first, as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from distkern.monitor.text import in_percent

#: columns that are shown
MOST = 20


def importances_of(model: Any) -> list[tuple[str, float]]:
    """Columns and their shares, largest first, of a model that has ``feature_importances_``; else none.

    Columns without names are counted from 1; of a table they are the features that its columns became.
    """
    shares = getattr(model, "feature_importances_", None)
    if shares is None:
        return []
    names = getattr(model, "feature_names_in_", None) if model.table_ is None else model.table_.features
    if names is None:
        names = [f"column {place + 1}" for place in range(len(shares))]
    pairs = [(str(name), float(share)) for name, share in zip(names, shares, strict=True)]
    return sorted(pairs, key=lambda pair: -pair[1])


def importance_table(importances: Sequence[tuple[str, float]]) -> str:
    """Bars of the largest, the longest as wide as there is room for."""
    shown, rest = importances[:MOST], importances[MOST:]
    largest = max(shown[0][1], 1e-300)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{in_percent(share)}</td>'
        f'<td><span class="bar" style="width:{100 * share / largest:.1f}%"></span></td></tr>'
        for name, share in shown
    )
    others = (
        f" The other {len(rest):,} have {in_percent(sum(share for _, share in rest))} together."
        if rest
        else ""
    )
    return (
        f'<table class="bars">{rows}</table><p class="quiet">How much each column counts in the model; all '
        f"add up to 100&nbsp;%.{others}</p>"
    )
