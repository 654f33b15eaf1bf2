"""The page of a search: the chosen candidate, plots of all trials, a sortable table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.choose.tuning.space import Drawable, Range, SearchTable
from distkern.cli.tuning import (
    at_an_end,
    beside_defaults,
    candidate_table,
    compared_on,
    in_metric,
    is_number,
    setting_word,
    within_chance,
)
from distkern.core.text import in_percent, in_time
from distkern.show.page import Axis, Curve, Plot, Plots, Section, heading, note, page, table, tiles
from distkern.show.style import STYLES, Style

if TYPE_CHECKING:
    from distkern.choose.tuning.search import Ranked, Search
    from distkern.cli.job import Job
    from distkern.data.dataset import Dataset

#: ratio of a hyperparameter's extreme values from which its axis is logarithmic
_WIDE = 20.0
#: ratio of losses from which their axis is logarithmic
_SEVERAL = 2.5
#: number of values from which axes leave out far ones, and interquartile ranges that count as far
_FEW, _FAR = 6, 3.0
#: colours of rungs
_RUNGS = ("limit", "validation", "train", "figure")
_OTHERS = STYLES["limit"]
#: columns that fit a page in ordinary type
_MOST_WIDE = 8


def tuning_page(
    job: Job, dataset: Dataset, search: Search, ranked: Sequence[Ranked], test: float | None = None
) -> str:
    """Return the HTML of a finished search; ``test`` is the metric on the test rows."""
    metric, best = search.metric.name, ranked[0]
    named = _words(metric)
    cells = {f"{named}, held-out rows": in_metric(metric, best.value)}
    if test is not None:
        cells[f"{named}, test rows"] = in_metric(metric, test)
    cells |= {name: setting_word(value) for name, value in best.settings.items()}
    cells["time of all trials"] = in_time(sum(one.seconds for one in ranked))
    meanings, rows = candidate_table(search, ranked)
    header = {named if name == metric else name: meaning for name, meaning in meanings.items()}
    body: list[Section] = [
        note(_how(search, best), "quiet"),
        tiles(cells),
        note(_sentence(beside_defaults(search, ranked))),
        note(_sentence(within_chance(ranked))),
        *(note(f"{words}.") for words in at_an_end(ranked)),
        Plots(_plots(job, search, ranked)),
        note(_beyond(search, ranked), "quiet"),
        heading("Candidates"),
        table(
            header, rows, "numbers dense" if len(header) > _MOST_WIDE else "numbers", chosen=0, sortable=True
        ),
    ]
    return page(f"{job.algorithm} on {dataset.path.name}: {len(ranked)} candidates", body)


def _words(metric: str) -> str:
    return metric.replace("_", " ")


def _sentence(words: str) -> str:
    """Return a line of the terminal as a sentence; empty for an empty one."""
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _how(search: Search, best: Ranked) -> str:
    rungs = ", then ".join(
        f"{rung.n_candidates} candidates on {in_percent(rung.share)}" for rung in search.rungs[:-1]
    )
    last = f"{search.rungs[-1].n_candidates} on all"
    how = f"{search.method}: {rungs}, then {last} of the rows" if rungs else search.method
    compared = f"compared on {compared_on(search, best)} of the training rows, seed {search.seed}"
    return f"{how[:1].upper()}{how[1:]}; {compared}"


def _plots(job: Job, search: Search, ranked: Sequence[Ranked]) -> list[Plot]:
    """Return plots of the metric against each hyperparameter, the rows of the rungs, and seconds."""
    metric = _words(search.metric.name)
    losses = [value for one in ranked for _, value in _values(one)]
    ends = _ends(losses, ranked[0].value)
    # losses of trials on few rows are several times the best, whose differences count
    several = search.metric.is_loss and ends is None and 0 < _SEVERAL * min(losses, default=0) < max(losses)
    up = Axis(metric, kind="log" if several else "number", ends=ends)
    plots = []
    for name in ranked[0].settings:
        values = {one.number: one.settings[name] for one in sorted(ranked, key=lambda one: one.number)}
        if len({*map(str, values.values())}) < 2:
            continue
        axis = _axis(name, list(values.values()), job, search)
        places = {number: _place(value, axis) for number, value in values.items()}
        points = [(one, rung, places[one.number], value) for one in ranked for rung, value in _values(one)]
        plots.append(Plot(f"{metric} by {name}", axis, up, _dots(search, ranked, points)))
    if len(search.rungs) > 1:
        lines = []
        for one in reversed(ranked):
            found = _values(one)
            rows = [next(trial.n_learned for trial in one.trials if trial.rung == rung) for rung, _ in found]
            label, style = ("chosen", STYLES["chosen"]) if one is ranked[0] else ("others", _OTHERS)
            lines.append(Curve(label, rows, [value for _, value in found], style))
        plots.append(Plot(f"{metric} by rows", Axis("training rows"), up, lines))
    timed = [(one, one.rung, one.seconds, one.value) for one in ranked if one.value is not None]
    by_time = _dots(search, ranked, timed)
    plots.append(Plot(f"{metric} by time", Axis("seconds of its trials"), up, by_time))
    return plots


def _ends(values: Sequence[float], best: float | None) -> tuple[float, float] | None:
    """Return the ends of an axis that leave out far values, but never the best; None if all values fit.

    A value is far if it lies more than three interquartile ranges beyond a quartile.
    """
    if len(values) < _FEW or best is None:
        return None
    low, high = np.quantile(values, (0.25, 0.75))
    apart = _FAR * (high - low)
    inside = [value for value in values if low - apart <= value <= high + apart] + [best]
    if min(inside) == min(values) and max(inside) == max(values):
        return None
    margin = 0.05 * (max(inside) - min(inside)) or abs(best) or 1.0
    return min(inside) - margin, max(inside) + margin


def _beyond(search: Search, ranked: Sequence[Ranked]) -> str:
    """Return a sentence on values that the plots leave out; empty if there are none."""
    values = [value for one in ranked for _, value in _values(one)]
    ends = _ends(values, ranked[0].value)
    n_out = 0 if ends is None else sum(not ends[0] <= value <= ends[1] for value in values)
    if not n_out:
        return ""
    trials = "1 trial lies" if n_out == 1 else f"{n_out} trials lie"
    return f"{trials} far beyond the axes of {_words(search.metric.name)}; the table has all candidates."


def _axis(name: str, values: Sequence[Any], job: Job, search: Search) -> Axis:
    """Return the axis of a hyperparameter: numbers, logarithmic if searched so, or words in their order."""
    asked = (job.search or SearchTable()).space.get(name)
    if not all(is_number(value) for value in values):
        declared = [] if asked is None or isinstance(asked, Drawable) else list(asked)
        known = search.candidates[0].estimator.hyperparameters.get(name)
        numbers = sorted(value for value in values if is_number(value))
        # rules with a divisor stand together, by width
        rules = {str(value).partition("/")[0] for value in values if "/" in str(value)}
        words = [] if known is None else [word for word in known.words if word not in rules]
        order = [*declared, *words, *numbers, *sorted(values, key=_width)]
        tried = set(map(setting_word, values))
        return Axis(name, words=tuple(dict.fromkeys(w for w in map(setting_word, order) if w in tried)))
    if isinstance(asked, Range):
        return Axis(name, kind="log" if asked.log else "number")
    is_wide = min(values) > 0 and max(values) / min(values) >= _WIDE
    return Axis(name, kind="log" if is_wide else "number")


def _width(value: Any) -> float:
    """Return the place of a rule with a divisor among its kind: median/0.5 is half as wide as median/0.25."""
    _, slash, divisor = str(value).partition("/")
    return float(divisor) if slash and divisor.replace(".", "", 1).isdigit() else 1.0


def _place(value: Any, axis: Axis) -> float:
    return float(axis.words.index(setting_word(value)) if axis.words else value)


def _values(one: Ranked) -> list[tuple[int, float]]:
    """Return rungs and the metric there, averaged over the folds."""
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
    """Return a point per candidate and rung in the rung's colour; the chosen candidate stands out."""
    curves = []
    for number, rung in enumerate(search.rungs):
        label = f"{100 * rung.share:.3g} % of the rows" if len(search.rungs) > 1 else "candidates"
        style = Style(_RUNGS[-1 - (len(search.rungs) - 1 - number) % len(_RUNGS)], "")
        dots = [(x, y) for one, at, x, y in points if at == number and one is not ranked[0]]
        curves.append(Curve(label, [x for x, _ in dots], [y for _, y in dots], style))
    dots = [(x, y) for one, _, x, y in points if one is ranked[0]]
    style = Style(STYLES["chosen"].colour, "", STYLES["chosen"].marker)
    return [*curves, Curve("chosen", [x for x, _ in dots], [y for _, y in dots], style)]
