"""What the report and the dashboard's page look like: colours, type, tables and tiles, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from distkern.monitor.text import in_bytes, magnitude

#: dark enough on white, light enough on black; told apart in grey by dashes, never by colour alone
COLOURS = ("#2f6fb7", "#c2571a", "#4c8c2b", "#8a5cc2", "#b8327a", "#8a7a1e")
#: text and rules of figures that are drawn for both papers
FIGURE_TEXT, FIGURE_RULE = "#818b95", "#88919b"

VARIABLES = """
:root { color-scheme: light dark; --ink: #1c1f23; --quiet: #5d6670; --rule: #d5dae0; --paper: #ffffff;
  --bar: #2f6fb7; --warn: #b3401c; --shade: #0004; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7eaee; --quiet: #a0a9b4; --rule: #3a424c; --paper: #14171b;
    --bar: #5b93d1; --warn: #e0754f; --shade: #fff5; }
}
"""

FONT = 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif'

ELEMENTS = """
* { box-sizing: border-box; }
h1 { font-size: 1.45rem; margin: 0 0 .2rem; } h2 { font-size: 1.05rem; margin: 1.8rem 0 .5rem; }
p { margin: .3rem 0; } .quiet { color: var(--quiet); } .warn { color: var(--warn); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .6rem;
  margin: 1rem 0; }
.tile { border: 1px solid var(--rule); border-radius: .4rem; padding: .5rem .7rem; }
.tile b { display: block; font-size: 1.15rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
/* a shade at an edge beyond which the table goes on; paper that moves with the table covers it elsewhere */
.scroll { overflow-x: auto;
  background: linear-gradient(to right, var(--paper) 40%, transparent) left / 2.4rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 40%, transparent) right / 2.4rem 100% no-repeat local,
    linear-gradient(to right, var(--shade), transparent) left / .9rem 100% no-repeat scroll,
    linear-gradient(to left, var(--shade), transparent) right / .9rem 100% no-repeat scroll; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .28rem .7rem .28rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { font-weight: 600; } td { overflow-wrap: anywhere; }
table.numbers th, table.numbers td { text-align: right; white-space: nowrap; }
table.numbers th:first-child, table.numbers td:first-child, table.numbers .text { text-align: left; }
table.numbers th:first-child, table.numbers td:first-child { padding-left: 0; position: sticky; left: 0;
  background: var(--paper); white-space: normal; overflow-wrap: break-word; }
table.numbers tr th { white-space: normal; vertical-align: bottom; }
table.dense { font-size: .78rem; } table.dense th, table.dense td { padding-right: .45rem; }
th[title] { cursor: help; text-decoration: underline dotted var(--quiet); text-underline-offset: .2em; }
table.named td:first-child { min-width: 7.5rem; }
.parts { white-space: normal; overflow-wrap: break-word; }
.split { display: flex; height: .7rem; min-width: 8rem; border-radius: .2rem;
  overflow: hidden; margin-top: .3rem; }
.split i { display: block; min-width: 1px; }
.key { display: inline-block; width: .7rem; height: .7rem; border-radius: .15rem; margin-right: .35rem; }
.item { margin-right: .9rem; white-space: nowrap; }
"""


def tiles(cells: Mapping[str, str]) -> str:
    """Figures shown large, as HTML: names, and texts that are HTML already."""
    boxes = "".join(
        f'<div class="tile"><span class="quiet">{escape(name)}</span><b>{text}</b></div>'
        for name, text in cells.items()
    )
    return f'<div class="tiles">{boxes}</div>'


def table(header: Mapping[str, str], rows: Iterable[Sequence[str]], *kinds: str) -> str:
    """A table of numbers whose first column is text, as HTML; cells are HTML already.

    ``header``: what stands above a column -> what it means, where that needs saying
    """
    titles = {name: f' title="{escape(meaning)}"' if meaning else "" for name, meaning in header.items()}
    head = "".join(f'<th scope="col"{title}>{escape(name)}</th>' for name, title in titles.items())
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    kind = " ".join(("numbers", *kinds))
    return f'<div class="scroll"><table class="{kind}"><tr>{head}</tr>{body}</table></div>'


def short_number(value: float) -> str:
    """Four digits and a magnitude for axes and tiles: ``short_number(1234567) == "1.235M"``."""
    return magnitude(value, 4, 1e4)


def axis_number(value: float) -> str:
    """Six digits and a magnitude, for ticks that lie close together."""
    return magnitude(value, 6, 1e6)


def short_bytes(size: float) -> str:
    """Bytes on an axis: ``short_bytes(2**20) == "1 MiB"``."""
    return in_bytes(size).replace(".0 ", " ")
