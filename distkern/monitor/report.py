"""``report.html``: a run on one page that needs neither network nor scripts."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from distkern.monitor.balance import PASS_HEADER, key, pass_row, verdict
from distkern.monitor.importance import importance_table
from distkern.monitor.look import ELEMENTS, FONT, VARIABLES, table, tiles
from distkern.monitor.recorder import PassTotal
from distkern.monitor.stages import stage_figures, stage_table
from distkern.monitor.text import in_number
from distkern.storage.atomic import write_text_atomic
from distkern.storage.places import Location

_STYLE = (
    VARIABLES
    + f"""
body {{ margin: 0 auto; max-width: 62rem; padding: 1.2rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 {FONT}; }}
"""
    + ELEMENTS
    + """
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr));
  gap: 1rem; margin-bottom: 1rem; }
table.matrix { width: auto; } table.matrix td, table.matrix th { text-align: right; padding: .28rem .5rem;
  border: 1px solid var(--paper); overflow-wrap: normal; }
table.matrix.dense td, table.matrix.dense th { padding: .2rem .25rem; }
.scroll + .scroll { margin-top: 1rem; }
table.facts th { width: 12rem; font-weight: 400; color: var(--quiet); }
.note { margin: .15rem 0; }
table.bars th { font-weight: 400; width: 12rem; overflow-wrap: anywhere; }
table.bars td { white-space: nowrap; } table.bars td:nth-child(2) { text-align: right; width: 5rem; }
table.bars td, table.bars th { border: 0; padding-top: .1rem; padding-bottom: .1rem; vertical-align: middle; }
.bar { display: block; height: .8rem; min-width: 1px; background: var(--bar); border-radius: .15rem; }
svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: var(--quiet); }
svg .title { font-weight: 600; fill: var(--ink); } svg .grid { stroke: var(--rule); stroke-width: 1; }
@media (max-width: 30rem) {
  body { padding: .8rem; } table.facts th, table.bars th { width: 8rem; } svg text { font-size: 14px; }
}
@media print { body { max-width: none; padding: 0; } h2, table, svg { break-inside: avoid; }
  .scroll { overflow: visible; background: none; } table.numbers { font-size: .7rem; } }
"""
)


def write_report(
    path: Location,
    facts: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    passes: Sequence[PassTotal] = (),
    parts: Sequence[str] = (),
) -> None:
    """Write a run's report, whole or not at all.

    Parameters
    ----------
    path : the HTML file
    facts : "title" and "summary" are texts, "headline" a mapping shown large, "importances" columns with a
        number and its text, and "importances are" what they are or why there are none; every other key is the
        heading of a table and its value the mapping of names to values in it
    history : the lines of ``metrics.jsonl``, one per stage; the last one's notes and warnings are shown
    passes : what the passes of the run took
    parts : HTML of what the model makes of the test rows
    """
    write_text_atomic(path, render(facts, history, passes, parts))


def render(
    facts: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    passes: Sequence[PassTotal] = (),
    parts: Sequence[str] = (),
) -> str:
    """The HTML of :func:`write_report`."""
    title = html.escape(str(facts.get("title", "distkern run")))
    body = [f"<h1>{title}</h1>"]
    if facts.get("summary"):
        body.append(f'<p class="quiet">{html.escape(str(facts["summary"]))}</p>')
    if facts.get("headline"):
        headline = {str(name): _text(value) for name, value in facts["headline"].items()}
        body.append(tiles(headline))
    if history:
        told = history[-1]
        body += [f'<p class="note">{html.escape(note)}</p>' for note in told.get("notes", ())]
        body += [
            f'<p class="note warn">warning: {html.escape(warning)}</p>'
            for warning in told.get("warnings", ())
        ]
        body += [
            "<h2>Stages</h2>",
            f'<div class="figures">{stage_figures(history)}</div>',
            stage_table(history),
        ]
    body += parts
    if "importances" in facts:
        table = importance_table(facts["importances"], facts["importances are"])
        body += ["<h2>Feature importance</h2>", table]
    if passes:
        body += ["<h2>Where the time went</h2>", _pass_table(passes)]
    for heading, values in facts.items():
        if heading in ("title", "summary", "headline") or not isinstance(values, Mapping):
            continue
        rows = "".join(
            f'<tr><th scope="row">{html.escape(str(name))}</th><td>{_text(value)}</td></tr>'
            for name, value in values.items()
        )
        body += [f"<h2>{html.escape(str(heading))}</h2>", f'<table class="facts">{rows}</table>']
    return whole_page(title, body)


def whole_page(title: str, body: Iterable[str]) -> str:
    """A page of these parts, which needs nothing else; all are HTML already."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _pass_table(passes: Sequence[PassTotal]) -> str:
    rows = [(*pass_row(total, "{:,.0f}".format), html.escape(total.mode)) for total in passes]
    shown = table({**PASS_HEADER, "how": "who did what"}, rows)
    return f'<p class="quiet">{verdict(passes)}</p>{shown}<p class="quiet">{key(passes)}</p>'


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return html.escape("-" if value is None else str(value))
    return f"{value:,}" if isinstance(value, int) else in_number(value)
