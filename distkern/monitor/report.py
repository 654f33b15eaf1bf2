"""``report.html``: a run on one page that needs neither network nor scripts."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distkern.monitor.plots import Line, line_plot
from distkern.monitor.recorder import PassTotal
from distkern.monitor.text import in_bytes, in_number, in_percent, in_time
from distkern.storage.atomic import write_text_atomic

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1f23; --quiet: #5d6670; --rule: #d5dae0; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7eaee; --quiet: #a0a9b4; --rule: #3a424c; --paper: #14171b; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.2rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
h1 { font-size: 1.45rem; margin: 0 0 .2rem; } h2 { font-size: 1.05rem; margin: 1.8rem 0 .5rem; }
p { margin: .3rem 0; } .quiet { color: var(--quiet); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); gap: 1rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .6rem;
  margin: 1rem 0; }
.tile { border: 1px solid var(--rule); border-radius: .4rem; padding: .5rem .7rem; }
.tile b { display: block; font-size: 1.15rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .28rem .7rem .28rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { font-weight: 600; } td { overflow-wrap: anywhere; }
table.numbers th, table.numbers td { text-align: right; white-space: nowrap; }
table.numbers th:first-child, table.numbers td:first-child { text-align: left; padding-left: 0; }
table.facts th { width: 12rem; font-weight: 400; color: var(--quiet); }
svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: var(--quiet); }
svg .title { font-weight: 600; fill: var(--ink); } svg .grid { stroke: var(--rule); stroke-width: 1; }
@media print { body { max-width: none; padding: 0; } h2, table, svg { break-inside: avoid; } }
"""


def write_report(
    path: str | os.PathLike[str],
    facts: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    passes: Sequence[PassTotal] = (),
) -> None:
    """Write a run's report, whole or not at all.

    Parameters
    ----------
    path : the HTML file
    facts : "title" and "summary" are texts, "headline" a mapping shown large; every other key is the heading
        of a table and its value the mapping of names to values in it
    history : the lines of ``metrics.jsonl``, one per stage
    passes : what the passes of the run took
    """
    write_text_atomic(Path(path), render(facts, history, passes))


def render(
    facts: Mapping[str, Any], history: Sequence[Mapping[str, Any]], passes: Sequence[PassTotal] = ()
) -> str:
    """The HTML of :func:`write_report`."""
    title = html.escape(str(facts.get("title", "distkern run")))
    body = [f"<h1>{title}</h1>"]
    if facts.get("summary"):
        body.append(f'<p class="quiet">{html.escape(str(facts["summary"]))}</p>')
    if facts.get("headline"):
        tiles = "".join(
            f'<div class="tile"><span class="quiet">{html.escape(str(name))}</span>'
            f"<b>{_text(value)}</b></div>"
            for name, value in facts["headline"].items()
        )
        body.append(f'<div class="tiles">{tiles}</div>')
    if history:
        body += ["<h2>Stages</h2>", f'<div class="figures">{_figures(history)}</div>', _stage_table(history)]
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
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def gap_ratios(objectives: Sequence[float | None]) -> list[float | None]:
    """The factor by which each stage shrank the distance to the best objective of the run.

    (F_s - F_best) / (F_(s-1) - F_best); None for the first stage, from the best stage on, and where a value
    is missing. The optimum itself is unknown, so late ratios are smaller than the true ones.
    """
    known = [value for value in objectives if value is not None]
    best = min(known, default=0.0)
    ratios: list[float | None] = [None] * len(objectives)
    for stage in range(1, len(objectives)):
        before, after = objectives[stage - 1], objectives[stage]
        if before is None or after is None:
            continue
        if after == best or before == best:
            break
        ratios[stage] = (after - best) / (before - best)
    return ratios


def _figures(history: Sequence[Mapping[str, Any]]) -> str:
    passes = [float(metrics["passes"]) for metrics in history]
    errors = [
        Line(label, [metrics.get(name) for metrics in history])
        for label, name in (("train", "train_error"), ("test", "test_error"))
        if any(metrics.get(name) is not None for metrics in history)
    ]
    percent = [Line(line.label, [None if e is None else 100 * e for e in line.values]) for line in errors]
    objective = Line("objective", [metrics.get("objective") for metrics in history])
    return line_plot("Objective", "passes over the data", passes, [objective], log=True) + line_plot(
        "Error in percent", "passes over the data", passes, percent
    )


def _stage_table(history: Sequence[Mapping[str, Any]]) -> str:
    ratios = gap_ratios([metrics.get("objective") for metrics in history])
    header = (
        "stage",
        "passes",
        "time",
        "objective",
        "gap ratio",
        "change",
        "train error",
        "test error",
        "model size",
        "read",
        "worker",
        "driver",
    )
    rows = [
        (
            str(metrics["stage"]),
            in_number(metrics["passes"]),
            in_time(metrics["seconds"]),
            in_number(metrics.get("objective")),
            in_number(None if ratio is None else round(ratio, 4)),
            "-" if metrics.get("change") is None else f"{metrics['change']:.3g}",
            in_percent(metrics.get("train_error")),
            in_percent(metrics.get("test_error")),
            f"{metrics['model_size']:,}" if metrics.get("model_size") is not None else "-",
            in_bytes(metrics.get("bytes_read") or 0),
            in_bytes(metrics["worker_peak_rss_bytes"]) if metrics.get("worker_peak_rss_bytes") else "-",
            in_bytes(metrics.get("driver_peak_rss_bytes") or metrics.get("peak_rss_bytes") or 0),
        )
        for metrics, ratio in zip(history, ratios, strict=True)
    ]
    note = (
        '<p class="quiet">Gap ratio: (F<sub>s</sub> - F<sub>end</sub>)/(F<sub>s-1</sub> - F<sub>end</sub>), '
        "the share of the distance to this run's best objective that a stage left; it tends to a constant "
        "below 1 where convergence is linear. Change: |w<sub>s</sub> - w<sub>s-1</sub>| / |w<sub>s</sub>|, "
        "what the solver compares with <code>tol</code>. Worker, driver: the largest resident size so far "
        "of any one worker and of the driver.</p>"
    )
    return _table(header, rows) + note


def _pass_table(passes: Sequence[PassTotal]) -> str:
    header = ("pass", "times", "time", "rows/s", "read", "seconds of all processes", "how")
    rows = [
        (
            total.name,
            str(total.times),
            in_time(total.seconds),
            f"{total.rows / total.seconds:,.0f}" if total.seconds > 0 else "-",
            in_bytes(total.bytes),
            ", ".join(f"{part} {seconds:.1f}" for part, seconds in total.split_seconds.items()) or "-",
            total.mode,
        )
        for total in passes
    ]
    return _table(header, rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="scroll"><table class="numbers"><tr>{head}</tr>{body}</table></div>'


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return html.escape("-" if value is None else str(value))
    return f"{value:,}" if isinstance(value, int) else in_number(value)
