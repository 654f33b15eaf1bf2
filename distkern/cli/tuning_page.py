"""The page that ``distkern tune`` writes: a table and plots of what was tried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from distkern.cli.tuning import at_an_end, compared_on, in_difference, in_metric, within_chance
from distkern.monitor.look import table, tiles
from distkern.monitor.plots import Line, line_plot
from distkern.monitor.report import whole_page
from distkern.monitor.text import in_percent, in_time
from distkern.tuning.record import in_words
from distkern.tuning.search import Ranked, Search

if TYPE_CHECKING:
    from distkern.cli.job import Job
    from distkern.storage.dataset import Dataset

#: of a hyperparameter, the ratio of its values from which on its axis is logarithmic
_WIDE = 20.0
#: colours of rungs, in turns
_STYLES = 3
_KEY = (
    "A dot is a candidate in a rung, and its colour says in which: those of the first rung are blue. By "
    "rows, the line of the best one is not broken."
)


def tuning_page(job: Job, dataset: Dataset, search: Search, ranked: Sequence[Ranked]) -> str:
    """The HTML of a search that is over, the best candidate first."""
    metric = search.metric.name
    title = f"{job.algorithm} on {dataset.path.name}: {len(ranked)} candidates"
    best = ranked[0]
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="quiet">{escape(_how(search, best))}</p>',
        tiles(
            {
                f"{metric}, held-out rows": in_metric(metric, best.value),
                **{name: escape(_text(value)) for name, value in best.settings.items()},
                "time of all trials": in_time(sum(one.seconds for one in ranked)),
            }
        ),
        *(
            f'<p class="note">{escape(text)}: a wider range may hold a better one</p>'
            for text in at_an_end(ranked)
        ),
        *([f'<p class="note">{escape(chance)}</p>'] if (chance := within_chance(ranked)) else []),
        f'<div class="figures">{"".join(_plots(search, ranked))}</div>',
        *([f'<p class="quiet">{_KEY}</p>'] if len(search.rungs) > 1 else []),
        "<h2>Candidates</h2>",
        _table(search, ranked),
    ]
    return whole_page(escape(title), body)


def _how(search: Search, best: Ranked) -> str:
    rungs = ", then ".join(
        f"{rung.n_candidates} candidates on {in_percent(rung.share)}" for rung in search.rungs[:-1]
    )
    last = f"{search.rungs[-1].n_candidates} on all"
    how = f"{search.method}: {rungs}, then {last} of the rows" if rungs else search.method
    return f"{how}; compared on {compared_on(search, best)} of the training rows, seed {search.seed}"


def _plots(search: Search, ranked: Sequence[Ranked]) -> list[str]:
    """The metric over each hyperparameter that is a number, over the rows of the rungs, and over seconds."""
    metric = search.metric.name
    plots = []
    for name in ranked[0].settings:
        points = [
            (float(one.settings[name]), value, rung)
            for one in ranked
            if isinstance(one.settings[name], int | float) and not isinstance(one.settings[name], bool)
            for rung, value in _values(search, one)
        ]
        values = [x for x, _, _ in points]
        if len(set(values)) < 2:
            continue
        is_wide = min(values) > 0 and max(values) / min(values) >= _WIDE
        label = f"log10 of {name}" if is_wide else name
        plots.append(_dots(metric, f"{metric} by {name}", label, points, is_wide))
    if len(search.rungs) > 1:
        lines = [
            Line(
                "",
                [value for _, value in _values(search, one)],
                [float(_rows(search, one, rung)) for rung, _ in _values(search, one)],
                0 if one is ranked[0] else 1,
            )
            for one in reversed(ranked)
            if _values(search, one)
        ]
        plots.append(line_plot(f"{metric} by rows", "rows learned from", (), lines))
    timed = [(one.seconds, one.value, one.rung) for one in ranked if one.value is not None]
    plots.append(_dots(metric, f"{metric} by time", "seconds of its trials", timed, False))
    return plots


def _values(search: Search, one: Ranked) -> list[tuple[int, float]]:
    """Rungs and the metric there, averaged over the folds."""
    found: dict[int, list[float | None]] = {}
    for trial in one.trials:
        found.setdefault(trial.rung, []).append(trial.value)
    return [
        (rung, math.fsum(value for value in values if value is not None) / len(values))
        for rung, values in found.items()
        if None not in values
    ]


def _rows(search: Search, one: Ranked, rung: int) -> int:
    return next(trial.n_learned for trial in one.trials if trial.rung == rung)


def _dots(
    metric: str, title: str, label: str, points: Sequence[tuple[float, float, int]], is_log: bool
) -> str:
    """A dot for each candidate in each rung, in the colour of the rung."""
    if not points:
        return ""
    places = [math.log10(x) if is_log else x for x, _, _ in points]
    lines = [
        Line("", [value], [place], rung % _STYLES)
        for place, (_, value, rung) in zip(places, points, strict=True)
    ]
    return line_plot(title, label, (), lines)


def _table(search: Search, ranked: Sequence[Ranked]) -> str:
    metric = search.metric.name
    header = {
        "candidate": "in the order of their numbers",
        metric: "on held-out rows, averaged over the folds",
        "worse by": "mean loss of the same held-out rows less that of the best value, and its standard error",
        "rows": "that it learned from, in its last trial",
        "work": "of its last trials: rows looked at times functions",
        "trials": "",
        "time": "of all its trials",
        "stages": "of its last trial",
        "ended": "why its last trial did",
    }
    rows = [
        (
            escape(in_words(one.settings)),
            in_metric(metric, one.value),
            in_difference(one),
            f"{one.n_learned:,}",
            f"{one.work:.2g}",
            str(len(one.trials)),
            in_time(one.seconds),
            "-" if one.trials[-1].n_stages is None else str(one.trials[-1].n_stages),
            escape(one.failed or one.trials[-1].ended or "-"),
        )
        for one in ranked
    ]
    return table(header, rows)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
