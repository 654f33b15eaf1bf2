"""The page that ``distkern tune`` writes: a table and plots of what was tried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from distkern.cli.tuning import at_an_end, candidate_table, compared_on, in_metric, within_chance
from distkern.monitor.page import Axis, Curve, Plot, Plots, Section, heading, note, page, table, tiles
from distkern.monitor.style import STYLES, Style
from distkern.monitor.text import in_percent, in_time
from distkern.search.tuning.search import Ranked, Search

if TYPE_CHECKING:
    from distkern.cli.job import Job
    from distkern.storage.dataset import Dataset

#: ratio of a hyperparameter's values from which on its axis is logarithmic
_WIDE = 20.0
#: colours of rungs: the more rows, the darker
_RUNGS = ("#8cc9cf", "#4da6af", "#17808a", "#0d5158")
_OTHERS = Style(STYLES["limit"].colour)


def tuning_page(
    job: Job, dataset: Dataset, search: Search, ranked: Sequence[Ranked], test: float | None = None
) -> str:
    """The HTML of a search that is over, the best candidate first; ``test``: the metric on the test rows."""
    metric, best = search.metric.name, ranked[0]
    cells = {f"{metric}, held-out rows": in_metric(metric, best.value)}
    if test is not None:
        cells[f"{metric}, test rows"] = in_metric(metric, test)
    cells |= {name: _word(value) for name, value in best.settings.items()}
    cells["time of all trials"] = in_time(sum(one.seconds for one in ranked))
    body: list[Section] = [
        note(_how(search, best), "quiet"),
        tiles(cells),
        *(note(f"{words}: a wider range may hold a better one") for words in at_an_end(ranked)),
        note(within_chance(ranked)),
        Plots(_plots(search, ranked)),
        heading("Candidates"),
        table(*candidate_table(search, ranked)),
    ]
    return page(f"{job.algorithm} on {dataset.path.name}: {len(ranked)} candidates", body)


def _how(search: Search, best: Ranked) -> str:
    rungs = ", then ".join(
        f"{rung.n_candidates} candidates on {in_percent(rung.share)}" for rung in search.rungs[:-1]
    )
    last = f"{search.rungs[-1].n_candidates} on all"
    how = f"{search.method}: {rungs}, then {last} of the rows" if rungs else search.method
    return f"{how}; compared on {compared_on(search, best)} of the training rows, seed {search.seed}"


def _plots(search: Search, ranked: Sequence[Ranked]) -> list[Plot]:
    """The metric over each hyperparameter, over the rows of the rungs, and over seconds."""
    metric = search.metric.name
    plots = []
    for name in ranked[0].settings:
        values = {one.number: one.settings[name] for one in sorted(ranked, key=lambda one: one.number)}
        if len({*map(str, values.values())}) < 2:
            continue
        axis = _axis(name, list(values.values()))
        places = {number: _place(value, axis) for number, value in values.items()}
        points = [(one, rung, places[one.number], value) for one in ranked for rung, value in _values(one)]
        plots.append(Plot(f"{metric} by {name}", axis, Axis(), _dots(search, ranked, points)))
    if len(search.rungs) > 1:
        lines = []
        for one in reversed(ranked):
            found = _values(one)
            rows = [next(trial.n_learned for trial in one.trials if trial.rung == rung) for rung, _ in found]
            label, style = ("chosen", STYLES["chosen"]) if one is ranked[0] else ("others", _OTHERS)
            lines.append(Curve(label, rows, [value for _, value in found], style))
        plots.append(Plot(f"{metric} by rows", Axis("rows learned from"), Axis(), lines))
    timed = [(one, one.rung, one.seconds, one.value) for one in ranked if one.value is not None]
    by_time = _dots(search, ranked, timed)
    plots.append(Plot(f"{metric} by time", Axis("seconds of its trials"), Axis(), by_time))
    return plots


def _axis(name: str, values: Sequence[Any]) -> Axis:
    """That of a hyperparameter: of numbers, or of words in the order in which they were tried."""
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return Axis(name, words=tuple(dict.fromkeys(map(_word, values))))
    is_wide = min(values) > 0 and max(values) / min(values) >= _WIDE
    return Axis(name, log=is_wide)


def _place(value: Any, axis: Axis) -> float:
    return float(axis.words.index(_word(value)) if axis.words else value)


def _values(one: Ranked) -> list[tuple[int, float]]:
    """Rungs and the metric there, averaged over the folds."""
    found: dict[int, list[float | None]] = {}
    for trial in one.trials:
        found.setdefault(trial.rung, []).append(trial.value)
    return [
        (rung, math.fsum(value for value in values if value is not None) / len(values))
        for rung, values in found.items()
        if None not in values
    ]


def _dots(
    search: Search, ranked: Sequence[Ranked], points: Sequence[tuple[Ranked, int, float, float]]
) -> list[Curve]:
    """A point for each candidate in each rung, in the colour of the rung; the chosen one's stand out."""
    curves = []
    for number, rung in enumerate(search.rungs):
        label = f"{100 * rung.share:.3g} % of the rows" if len(search.rungs) > 1 else "candidates"
        style = Style(_RUNGS[-1 - (len(search.rungs) - 1 - number) % len(_RUNGS)], "")
        own = [(x, y) for one, at, x, y in points if at == number and one is not ranked[0]]
        curves.append(Curve(label, [x for x, _ in own], [y for _, y in own], style))
    own = [(x, y) for one, _, x, y in points if one is ranked[0]]
    style = Style(STYLES["chosen"].colour, "", STYLES["chosen"].marker)
    return [*curves, Curve("chosen", [x for x, _ in own], [y for _, y in own], style)]


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
