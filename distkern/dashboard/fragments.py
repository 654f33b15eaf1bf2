"""The page's sections and plots: pure functions of histories and the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from distkern.dashboard.history import ClusterView, PassView, RunHistory, WorkerView, clock
from distkern.monitor.balance import pass_key, pass_sections
from distkern.monitor.page import (
    Axis,
    Curve,
    Html,
    Plot,
    bar,
    heading,
    joined,
    key,
    note,
    square,
    swatch,
    table,
    text,
)
from distkern.monitor.page import tiles as tile_row
from distkern.monitor.style import RUNS, STYLES, WORKERS, Style, short_number
from distkern.monitor.text import in_bytes, in_number, in_percent, in_time

#: what stages can be drawn over -> key of their metrics, and label
POSITIONS = {
    "passes": ("passes", "passes over the data"),
    "seconds": ("seconds", "seconds"),
    "stages": ("stage", "stage"),
}
#: facts of a run that are drawn beside its memory
LIMITS = {
    "memory_limit": "limit of a worker",
    "planned_worker_bytes": "planned peak of a worker",
    "planned_driver_bytes": "planned peak of the driver",
}
_ERRORS = {f"{rows}_error": rows for rows in ("train", "validation", "test")}
_PEAKS = {f"{process}_peak_rss_bytes": process for process in ("worker", "driver")}
#: shown elsewhere on the page, or a count without a curve worth drawing
_DRAWN = {"stage", "passes", "seconds", "objective", "peak_rss_bytes", *_ERRORS, *_PEAKS}
#: what is told last of the rest
_KNOWN = (
    "model_size",
    "training_seconds",
    "feature_accesses",
    "feature_accesses_nonzero",
    "rows_read",
    "bytes_read",
)


def colour_of(run: RunHistory) -> str:
    """The run's colour on the page."""
    return RUNS[run.number % len(RUNS)]


def style_of(run: RunHistory, kind: str, runs: Sequence[RunHistory]) -> Style:
    """The style of a kind of curve; where runs are compared, in the run's colour."""
    return STYLES[kind] if len(runs) == 1 else replace(STYLES[kind], colour=colour_of(run))


def plots(runs: Sequence[RunHistory], over: str, quantity: str) -> dict[str, Plot]:
    """The page's figures by their names, over passes, seconds or stages; one has a chosen quantity."""
    key, label = POSITIONS[over]
    x, seconds = Axis(label), Axis("seconds", from_zero=True)
    count, size = Axis(from_zero=True), Axis(binary=True, from_zero=True)
    words = quantity.replace("_", " ")
    squared = {run.squared for run in runs if run.stages}
    of_errors = "Root mean squared error" if squared == {True} else "Error in percent"
    if len(squared) > 1:
        of_errors = "Error (in percent, or root mean squared)"
    errors = [curve for run in runs for curve in _curves(run, runs, key, _ERRORS, 1 if run.squared else 100)]
    objectives = [curve for run in runs for curve in _curves(run, runs, key, {"objective": "figure"})]
    others = [curve for run in runs for curve in _curves(run, runs, key, {quantity: "figure"})]
    return {
        "objective": Plot("Objective", x, Axis(log=True), objectives),
        "error": Plot(of_errors, x, count, errors),
        "other": Plot(words[:1].upper() + words[1:], x, Axis(), others),
        "memory": Plot(
            "Peak memory", x, size, [curve for run in runs for curve in _memory_curves(run, runs, key)]
        ),
        "rows": Plot("Rows a second", seconds, count, [_rates(run, runs, 0) for run in runs]),
        "bytes": Plot("Bytes a second", seconds, size, [_rates(run, runs, 1) for run in runs]),
    }


def _curves(
    run: RunHistory, runs: Sequence[RunHistory], key: str, kinds: Mapping[str, str], factor: float = 1.0
) -> list[Curve]:
    """Quantities of the stages (key -> kind); stages that lack one, or their position, are left out."""
    curves = []
    for quantity, kind in kinds.items():
        pairs = [(s[key], factor * s[quantity]) for s in run.stages if key in s and quantity in s]
        x, y = tuple(at for at, _ in pairs), tuple(found for _, found in pairs)
        if x:
            label = f"{run.told} {quantity.removesuffix('_peak_rss_bytes').replace('_', ' ')}"
            curves.append(Curve(label, x, y, style_of(run, kind, runs)))
    return curves


def _memory_curves(run: RunHistory, runs: Sequence[RunHistory], key: str) -> list[Curve]:
    """Peaks of the largest worker and of the driver, and what limit and plan allow."""
    # without workers their peak is 0
    curves = [curve for curve in _curves(run, runs, key, _PEAKS) if any(curve.y)]
    places = [stage[key] for stage in run.stages if key in stage]
    for name, label in LIMITS.items():
        limit = run.facts.get(name)
        if isinstance(limit, (int, float)) and limit > 0 and places:
            ends = (min(places), max(places))
            curves.append(Curve(label, ends, (float(limit),) * 2, style_of(run, "limit", runs), label))
    return curves


def _rates(run: RunHistory, runs: Sequence[RunHistory], quantity: int) -> Curve:
    """Rows (0) or bytes (1) a second over the seconds of the run."""
    times, values = run.rates.rates(quantity)
    return Curve(run.told, times, values, replace(style_of(run, "figure", runs), marker=""))


def quantities(runs: Sequence[RunHistory]) -> list[str]:
    """Figures of the stages that can be drawn beside the fixed plots, the solver's own first."""
    names = dict.fromkeys(["model_size", *(name for run in runs for name in run.last if name not in _DRAWN)])
    return [*(name for name in names if name not in _KNOWN), *(name for name in _KNOWN if name in names)]


#: lines of a table before the rest is summed up
MOST_WORKERS, MOST_EVENTS = 40, 60
#: columns that a page has room for in its ordinary type
MOST_WIDE_COLUMNS = 7
_UNCOUNTED = "rounds have no tasks to count: a worker answers them from the rows it keeps"


def coarse_age(seconds: float) -> str:
    """How long ago, in steps that do not change with every glance."""
    if seconds < 10:
        return "just now"
    if seconds < 60:
        return f"{int(seconds // 10) * 10} s ago"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    return f"{int(seconds // 3600)} h ago" if seconds < 172800 else f"{int(seconds // 86400)} days ago"


def run_label(run: RunHistory, now: float) -> str:
    """The run in the list: its name, state, stage and how long since it was heard."""
    stage = run.last.get("stage")
    of = run.start.get("stages")
    age = coarse_age(now - run.received)
    if run.state != "running":
        parts = [f"{run.state} {age}"]
    else:
        parts = [run.state if age == "just now" else f"{run.state}, last heard {age}"]
    if stage is not None:
        # one that has finished is not short of stages: it may have converged before
        short = of and run.state != "finished"
        parts.append(f"stage {stage:.0f}" + (f" of {of}" if short else ""))
    if run.seconds > 0:
        # a number and its unit stay on one line
        parts.append(in_time(run.seconds).replace(" ", "\u00a0"))
    return f"{run.told}\n{', '.join(parts)}"


def cluster_line(cluster: ClusterView) -> Html:
    """The cluster in a line."""
    threads = sum(worker.threads for worker in cluster.workers)
    memory = sum(worker.memory for worker in cluster.workers)
    limit = sum(worker.memory_limit for worker in cluster.workers)
    count = len(cluster.workers)
    kept = f"{in_bytes(memory)} of {in_bytes(limit)}" if limit else in_bytes(memory)
    workers = f"{count} {'worker' if count == 1 else 'workers'}, {threads} threads, {kept}"
    return note(f"{cluster.address}: {workers if count else 'no workers'}", "quiet")


def now(runs: Sequence[RunHistory]) -> Html:
    """Where the chosen runs are: tiles for one, a table for several, and the pass of each."""
    if not runs:
        words = Html(
            "No run has been heard of yet. <code>distkern train</code> with this scheduler shows up here."
        )
        return note(words, "quiet")
    figures = tiles(runs[0]) if len(runs) == 1 else comparison(runs)
    return joined(figures, *(pass_line(run, named=len(runs) > 1) for run in runs))


def _figures(run: RunHistory) -> dict[str, str]:
    """The newest figures of a run, errors in percent or as roots of mean squares."""
    last, in_error = run.last, in_number if run.squared else in_percent
    return {
        "test error": in_error(last.get("test_error")),
        "train error": in_error(last.get("train_error")),
        "objective": in_number(last.get("objective")),
        "stage": f"{last['stage']:.0f}" if "stage" in last else "-",
        "passes": in_number(last.get("passes")),
        "time": in_time(run.seconds),
        "size": f"{last['model_size']:,.0f}" if "model_size" in last else "-",
    }


def tiles(run: RunHistory) -> Html:
    """The newest figures of one run."""
    return joined(heading(run.told), tile_row(_figures(run)))


def comparison(runs: Sequence[RunHistory]) -> Html:
    """The newest figures of several runs, side by side."""
    meanings = {
        "test error": "of the rows that were not trained on",
        "train error": "of the rows that were trained on",
        "passes": "how often all rows were read",
        "size": "of the model",
    }
    header = {name: meanings.get(name, "") for name in ("run", "state", *_figures(runs[0]))}
    rows = [(joined(swatch(colour_of(run)), run.told), run.state, *_figures(run).values()) for run in runs]
    return _table(header, rows)


def pass_line(run: RunHistory, *, named: bool) -> Html:
    """The pass under way: a bar, rows and tasks, rates; a strip of its tasks by worker."""
    step = run.step
    if step is None or run.state != "running":
        return Html()
    name = swatch(colour_of(run)) if named else ""
    stage = f"stage {step.stage}: " if step.stage else ""
    begun, told = joined(name, stage + step.name), text(pass_text(step))
    head = Html(f'<div class="row"><span>{begun}</span><span class="quiet">{told}</span></div>')
    return joined(head, bar(step.share, *([colour_of(run)] if named else [])), strip(run, step))


def pass_text(step: PassView) -> str:
    """The progress of a pass as text."""
    if step.finished:
        return f"done in {in_time(step.heard - step.started)}"
    words = f"{step.tasks_done:,} of {step.tasks:,} {'rounds' if step.unit == 'rounds' else 'tasks'}"
    if step.unit == "rows":
        words += f", {step.rows_done:,} of {step.rows:,} rows"
        if step.rows_done:
            words += f", {short_number(step.rows_per_second)} rows/s, {in_bytes(step.bytes_per_second)}/s"
    return words


def strip(run: RunHistory, step: PassView) -> Html:
    """The tasks of a pass along the data, each in the colour of the worker that did it."""
    if not run.tasks.done or run.tasks.name != step.name.replace(" ", "-") or step.tasks < 2:
        return Html()
    order = {worker: place for place, worker in enumerate(run.tasks.by_worker)}
    cells = "".join(
        f'<i style="background:{worker_colour(order.get(worker, 0))};opacity:{0.25 + 0.75 * share:.2f}"></i>'
        if share
        else "<i></i>"
        for share, worker in run.tasks.cells(step.tasks)
    )
    return Html(f'<div class="strip" title="tasks along the data, by worker">{cells}</div>')


def worker_colour(place: int) -> str:
    """Workers have shades of a colour that no run has."""
    return WORKERS[place % len(WORKERS)]


def workers(cluster: ClusterView, runs: Sequence[RunHistory]) -> Html:
    """The workers: what they did of the chosen runs, what they hold against their limits."""
    title = heading("Workers")
    if not cluster.workers:
        return joined(title, note("The scheduler has no workers; runs wait for one.", "warn"))
    order = {worker: place for run in runs[:1] for place, worker in enumerate(run.tasks.by_worker)}
    # a run that has finished has no pass under way; where all have, it is the last pass of each
    current = [run for run in runs if run.state == "running"] or runs
    counted = [run for run in current if run.step is not None and run.step.unit != "rounds"]
    rows = []
    for worker in cluster.workers[:MOST_WORKERS]:
        mark = square(worker_colour(order[worker.address])) if worker.address in order else ""
        of_pass = sum(run.tasks.now_by_worker.get(worker.address, 0) for run in counted)
        of_runs = sum(run.tasks.by_worker.get(worker.address, 0) for run in runs)
        rows.append(
            (
                joined(mark, worker.address),
                _memory(worker),
                f"{worker.cpu:.0f} %",
                str(worker.processing),
                f"{of_pass:,}" if counted else "-",
                f"{of_runs:,}",
            )
        )
    header = {
        "worker": "",
        "memory": "resident now, of the worker's limit",
        "CPU": "share of one core",
        "under way": "tasks of everybody",
        "tasks\u00a0of this\u00a0pass": f"of the runs shown; {_UNCOUNTED}",
        "tasks\u00a0of the\u00a0runs": f"of the runs shown; {_UNCOUNTED}",
    }
    more = len(cluster.workers) - len(rows)
    return joined(
        title, _table(header, rows), note(f"and {more:,} more workers" if more > 0 else "", "quiet")
    )


def _memory(worker: WorkerView) -> Html:
    if not worker.memory_limit:
        return text(in_bytes(worker.memory))
    share = worker.memory / worker.memory_limit
    filled = bar(share, "var(--warn)" if share > 0.9 else STYLES["worker"].colour)
    return joined(f"{in_bytes(worker.memory)} of {in_bytes(worker.memory_limit)}", filled)


def where_time_went(runs: Sequence[RunHistory]) -> Html:
    """Passes by name: how often, how long, how fast, and who waited for whom."""
    told = [run for run in runs if run.passes.totals]
    if not told:
        return Html()
    blocks = []
    for run in told:
        if len(runs) > 1:
            blocks.append(note(joined(swatch(colour_of(run)), run.told)))
        blocks.append(pass_sections(run.passes.totals))
    meanings = pass_key(total for run in told for total in run.passes.totals)
    return joined(heading("Who waited for whom"), *blocks, meanings)


def events(runs: Sequence[RunHistory]) -> Html:
    """The events of the chosen runs, newest first."""
    notes = sorted(
        ((when, kind, words, run) for run in runs for when, kind, words in run.notes), key=lambda n: n[0]
    )
    if not notes:
        return Html()
    rows = []
    for when, kind, words, run in reversed(notes[-MOST_EVENTS:]):
        shade = "warn" if kind in ("worker lost", "stopped") else ""
        since = Html(f'<span class="quiet">{in_time(max(when - run.began, 0.0))}</span>')
        at = joined(square(colour_of(run)) if len(runs) > 1 else "", clock(when))
        rows.append((at, since, Html(f'<span class="{shade}">{text(kind)}</span>'), words))
    return joined(heading("Events"), Html('<div class="events">'), table((), rows, "events"), Html("</div>"))


def legend(runs: Sequence[RunHistory]) -> Html:
    """The key of dashes and markers, and of colours unless runs are compared."""
    stages = [stage for run in runs for stage in run.stages]
    if not stages:
        return Html()
    kinds = [kind for kind in ("train", "validation", "test") if any(f"{kind}_error" in s for s in stages)]
    styles = {f"{kind} error": STYLES[kind] for kind in kinds}
    styles |= {"largest worker": STYLES["worker"], "driver": STYLES["driver"]}
    if any(name in run.facts for run in runs for name in LIMITS):
        styles["limit and plan"] = STYLES["limit"]
    return note(key(styles, coloured=len(runs) == 1), "quiet")


def _table(header: Mapping[str, str], rows: Iterable[Sequence[object]]) -> Html:
    return table(header, rows, "numbers named dense" if len(header) > MOST_WIDE_COLUMNS else "numbers named")
