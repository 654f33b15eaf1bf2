"""How much columns matter to a model, as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

#: columns that are shown
MOST = 20


def importance_table(importances: Sequence[tuple[str, float, str]], told: str) -> str:
    """Bars of the largest numbers, the longest as wide as there is room for, with their texts.

    Parameters
    ----------
    importances : columns, their numbers and the texts of these, the largest first; negative ones get no bar
    told : what the numbers are, or why there are none
    """
    told = f"{told[:1].upper()}{told[1:]}."
    if not importances:
        return f'<p class="quiet">{html.escape(told)}</p>'
    shown, rest = importances[:MOST], importances[MOST:]
    largest = max(shown[0][1], 1e-300)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{text}</td>'
        f'<td><span class="bar" style="width:{100 * max(number, 0.0) / largest:.1f}%"></span></td></tr>'
        for name, number, text in shown
    )
    others = f" None of the other {len(rest):,} costs more than {rest[0][2]}." if rest else ""
    return f'<p class="quiet">{html.escape(told)}{others}</p><table class="bars">{rows}</table>'
