"""The look of pages: colours, type, tables and tiles, light and dark."""

from __future__ import annotations

from dataclasses import dataclass

from distkern.core.text import magnitude


@dataclass(frozen=True)
class Style:
    """The style of a curve. Dashes and markers distinguish curves without colour too.

    Attributes
    ----------
    colour : name of a colour of :data:`PALETTE`
    dash : "solid", "dashed", "dotted", or empty for points without a line
    marker : "circle", "square", "triangle", "diamond", or empty for a line without points
    """

    colour: str
    dash: str = "solid"
    marker: str = "circle"

    @property
    def css(self) -> str:
        """The colour in a style sheet, which follows the reader's light or dark scheme."""
        return f"var(--{self.colour})"


#: name -> colour on light and on dark paper; the contrast is at least 4.5:1 (rules are fainter)
PALETTE = {
    "ink": ("#1c1f23", "#e7eaee"),
    "quiet": ("#59626c", "#a0a9b4"),
    "warn": ("#a8391a", "#f08a63"),
    "bar": ("#13737d", "#3fb0ba"),
    "train": ("#2f6fb7", "#6aa5e8"),
    "test": ("#b04a11", "#f08a4b"),
    "validation": ("#3d7a20", "#7cc257"),
    "worker": ("#7d4fb5", "#b79be0"),
    "driver": ("#b02d73", "#ee7fb5"),
    "figure": ("#13737d", "#3fb0ba"),
    "limit": ("#626c76", "#98a2ad"),
    "chosen": ("#75650c", "#d4bf45"),
    "other": ("#8d5a3b", "#d0a080"),
}
#: light and dark paper, and rules on them
PAPER, RULE = ("#ffffff", "#14171b"), ("#d5dae0", "#3a424c")
#: colours of compared curves
COMPARED = ("train", "test", "validation", "figure", "chosen", "other")
#: most columns of a table that have names on narrow screens
MOST_COLUMNS = 61
#: kind of a curve -> its style on every page
STYLES = {
    "train": Style("train"),
    "test": Style("test", "dashed", "square"),
    "validation": Style("validation", "dotted", "triangle"),
    "worker": Style("worker"),
    "driver": Style("driver", "dashed", "square"),
    "figure": Style("figure"),
    "limit": Style("limit", "dotted", ""),
    "chosen": Style("chosen", "solid", "diamond"),
}


def _variables(paper: int, shade: str) -> str:
    colours = {**PALETTE, "paper": PAPER, "rule": RULE}
    return "".join(f"--{name}: {pair[paper]}; " for name, pair in colours.items()) + f"--shade: {shade};"


VARIABLES = f"""
:root {{ color-scheme: light dark; {_variables(0, "#0004")} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(1, "#fff5")} }} }}
"""

FONT = 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif'

ELEMENTS = """
* { box-sizing: border-box; }
h1 { font-size: 1.45rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 1.8rem 0 .5rem; } h2:first-child { margin-top: .4rem; }
p { margin: .3rem 0; } .quiet { color: var(--quiet); } .warn { color: var(--warn); }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; }
.tile { border: 1px solid var(--rule); border-radius: .4rem; padding: .45rem .6rem; display: flex;
  flex: 1 1 7.2rem; flex-direction: column; justify-content: space-between; }
.tile .quiet { font-size: .85rem; line-height: 1.3; }
.tile b { font-size: 1.08rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
/* a shade at an edge beyond which the table goes on; paper that moves with the table covers it elsewhere */
.scroll { overflow-x: auto;
  background: linear-gradient(to right, var(--paper) 40%, transparent) left / 2.4rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 40%, transparent) right / 2.4rem 100% no-repeat local,
    linear-gradient(to right, var(--shade), transparent) left / .9rem 100% no-repeat scroll,
    linear-gradient(to left, var(--shade), transparent) right / .9rem 100% no-repeat scroll; }
.scroll + .scroll { margin-top: 1rem; } p + .scroll { margin-top: .6rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .28rem .7rem .28rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { font-weight: 600; } td { overflow-wrap: anywhere; }
table.numbers th, table.numbers td { text-align: right; white-space: nowrap; }
table.numbers th:first-child, table.numbers td:first-child { text-align: left; white-space: normal;
  overflow-wrap: break-word; }
table.numbers :is(th, td):first-child, table.matrix td:first-child { position: sticky; left: 0;
  background: var(--paper); }
table.numbers tr th { white-space: normal; vertical-align: bottom; }
table.dense { font-size: .78rem; } table.dense th, table.dense td { padding-right: .45rem; }
th[title] { cursor: help; text-decoration: underline dotted var(--quiet); text-underline-offset: .2em; }
table.named td:first-child { min-width: 7.5rem; }
table.facts td:first-child, table.bars td:first-child { width: 12rem; color: var(--quiet); }
table.bars td { white-space: nowrap; border: 0; padding-top: .1rem; padding-bottom: .1rem;
  vertical-align: middle; }
table.bars td:first-child { white-space: normal; }
table.bars td:nth-child(2) { text-align: right; width: 5rem; }
table.scores td:last-child { width: 40%; } tr.chosen td { font-weight: 600; }
tr.chosen td:first-child::before { content: "◆\\00a0"; color: var(--chosen); }
th[data-sort] { cursor: pointer; } th[data-sort]::after { content: "\\00a0↕"; color: var(--quiet); }
table.matrix { width: auto; } table.matrix td { padding: 1px; border: 0; }
table.matrix td:first-child, table.matrix th { padding: .2rem .4rem; font-weight: 600; border: 0; }
table.matrix th:not(:first-child) { text-align: center; }
table.matrix td:first-child { min-width: 7rem; overflow-wrap: break-word; }
/* names of many classes stand upright, as a turned page shows them */
table.matrix.dense th:not(:first-child) { writing-mode: vertical-rl; transform: rotate(180deg);
  text-align: left; white-space: nowrap; max-height: 12rem; overflow: hidden; text-overflow: ellipsis; }
table.matrix.dense th:first-child { vertical-align: bottom; white-space: nowrap; }
.cell { display: block; min-width: 1.3rem; white-space: nowrap; padding: .2rem .4rem; text-align: center;
  color: var(--ink); }
.steps { display: inline-flex; } .dense .cell { padding: .15rem .2rem; }
.cell.none { color: var(--quiet); }
.events { max-height: 22rem; overflow-y: auto; }
table.events td:nth-child(-n+3) { white-space: nowrap; width: 1%; padding-right: 1rem; }
.bar { height: .7rem; min-width: 6.5rem; border: 1px solid var(--rule); border-radius: .2rem;
  overflow: hidden; margin-top: .15rem; }
.bars .bar { border: 0; margin: 0; }
.bar i { display: block; height: 100%; min-width: 1px; background: var(--bar); }
.bar { position: relative; } .bar .spread { position: absolute; top: .3rem; height: .1rem;
  background: var(--ink); }
.swatch { display: inline-block; width: 1.4rem; height: 0; border-top: 3px solid; vertical-align: middle;
  margin-right: .4rem; }
.dashed { border-top-style: dashed; } .dotted { border-top-style: dotted; }
.item { margin-right: .9rem; white-space: nowrap; }
.row { display: flex; flex-wrap: wrap; gap: .1rem 1rem; align-items: baseline; margin-top: .8rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr));
  gap: .6rem 1rem; margin-bottom: 1rem; }
.figures > * { min-width: 0; } figure { margin: 0; } figcaption { font-size: .85rem; padding-left: 3.6rem; }
@media (max-width: 30rem) {
  table.facts td:first-child, table.bars td:first-child { width: 8rem; }
  table.bars { font-size: .82rem; } .bars .bar { min-width: 3rem; }
  table.numbers { font-size: .82rem; } table.numbers th, table.numbers td { padding-right: .4rem; }
  table.events td:nth-child(2) { display: none; } figcaption { padding-left: 0; }
  /* each row of a wide table: its first cell, then the others with their names, as many as fit */
  table.stacks, table.stacks tbody { display: block; }
  table.stacks tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(4.8rem, 1fr));
    gap: .1rem .5rem; padding: .4rem 0; border-bottom: 1px solid var(--rule); }
  table.stacks tr:has(th) { display: none; } table.stacks tr:has(th[data-sort]) {
    display: flex; flex-wrap: wrap; gap: .2rem .9rem; }
  table.stacks th[data-sort] { white-space: nowrap; }
  table.stacks tr:has(th[data-sort]) ~ tr { grid-template-columns: repeat(auto-fill, minmax(6.8rem, 1fr)); }
  table.stacks :is(th, td) { border: 0; padding: 0; text-align: left; white-space: normal; display: flex;
    flex-direction: column; justify-content: flex-end; min-width: 0; }
  table.stacks th { display: block; }
  table.stacks td:first-child { grid-column: 1 / -1; font-weight: 600; position: static; display: block; }
  table.stacks td::before { color: var(--quiet); font-size: .75rem; font-weight: 400; line-height: 1.2; }
  table.stacks td:first-child::before { content: var(--column-1) " "; font-size: inherit; }
  table.stacks .bar { min-width: 0; width: 100%; }
  /* each true class, and the classes that its rows were predicted as */
  table.matrix.stacks td:has(.none) { display: none; }
  table.matrix.stacks td:first-child { padding-left: 0; } table.matrix.stacks .cell { text-align: left; }
  table.matrix.stacks td:first-child::before { content: ""; }
  table.matrix.stacks td:first-child::after { content: ", predicted as"; font-weight: 400;
    color: var(--quiet); }
  table.stacks tr.chosen td:first-child::before { content: "◆\\00a0" var(--column-1) " "; }
}
@media print { h2, table, figure { break-inside: avoid; }
  .scroll { overflow: visible; background: none; } table.numbers { font-size: .7rem; } }
"""
_NAMED = (
    f"td:nth-child({at})::before {{ content: var(--column-{at}); }}" for at in range(2, MOST_COLUMNS + 1)
)
ELEMENTS += f"@media (max-width: 30rem) {{ table.stacks {{ {' '.join(_NAMED)} }} }}\n"


def short_number(value: float) -> str:
    """Return four digits with a magnitude: ``short_number(1234567) == "1.235M"``."""
    return magnitude(value, 4, 1e4)
