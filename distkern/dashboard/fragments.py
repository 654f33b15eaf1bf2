"""The page's texts and tables, as HTML: pure functions of histories and the cluster."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from distkern.dashboard.history import PassView, RunHistory
from distkern.dashboard.series import LIMITS, colour_of
from distkern.dashboard.state import ClusterView, WorkerView
from distkern.monitor.balance import PASS_HEADER, key, pass_row, verdict
from distkern.monitor.look import COLOURS, short_number, table
from distkern.monitor.look import tiles as tile_row
from distkern.monitor.text import in_bytes, in_number, in_percent, in_time

#: lines of a table before the rest is summed up
MOST_WORKERS, MOST_EVENTS = 40, 60
#: columns that a page has room for in its ordinary type
MOST_WIDE_COLUMNS = 7
_UNCOUNTED = "rounds have no tasks to count: a worker answers them from the rows it keeps"


def name_of(run: RunHistory) -> str:
    """A run in a few words, with the time of its start where another run has the same name."""
    return f"{run.name} ({_clock(run.began)})" if run.alike else run.name


def _clock(when: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(when))


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
    return f"{name_of(run)}\n{', '.join(parts)}"


def cluster_line(cluster: ClusterView) -> str:
    """The cluster in a line."""
    threads = sum(worker.threads for worker in cluster.workers)
    memory = sum(worker.memory for worker in cluster.workers)
    limit = sum(worker.memory_limit for worker in cluster.workers)
    count = len(cluster.workers)
    kept = f"{in_bytes(memory)} of {in_bytes(limit)}" if limit else in_bytes(memory)
    workers = f"{count} {'worker' if count == 1 else 'workers'}, {threads} threads, {kept}"
    return f'<span class="quiet">{escape(cluster.address)}: {workers if count else "no workers"}</span>'


def now(runs: Sequence[RunHistory]) -> str:
    """Where the chosen runs are: tiles for one, a table for several, and the pass of each."""
    if not runs:
        return (
            '<p class="quiet">No run has been heard of yet. <code>distkern train</code> with this scheduler '
            "shows up here.</p>"
        )
    figures = tiles(runs[0]) if len(runs) == 1 else comparison(runs)
    return figures + "".join(pass_line(run, named=len(runs) > 1) for run in runs)


def error_text(run: RunHistory, name: str) -> str:
    """An error of the newest stage, in percent or as a mean square."""
    value = run.last.get(name)
    return in_number(value) if run.squared else in_percent(value)


def tiles(run: RunHistory) -> str:
    """The newest figures of one run."""
    last = run.last
    cells = {
        "objective": in_number(last.get("objective")),
        "held-out error": error_text(run, "test_error"),
        "train error": error_text(run, "train_error"),
        "model size": f"{last['model_size']:,.0f}" if "model_size" in last else "-",
        "passes": in_number(last.get("passes")),
        "time": in_time(run.seconds),
    }
    heading = f'<h2><span class="swatch" style="color:{colour_of(run)}"></span>{escape(name_of(run))}</h2>'
    return heading + tile_row(cells)


def comparison(runs: Sequence[RunHistory]) -> str:
    """The newest figures of several runs, side by side."""
    header = {
        "run": "",
        "state": "",
        "held-out error": "of the rows that were not trained on",
        "train error": "of the rows that were trained on",
        "objective": "",
        "stage": "",
        "passes": "how often all rows were read",
        "time": "",
        "size": "of the model",
    }
    rows = []
    for run in runs:
        last = run.last
        rows.append(
            (
                f'<span class="swatch" style="color:{colour_of(run)}"></span>{escape(name_of(run))}',
                run.state,
                error_text(run, "test_error"),
                error_text(run, "train_error"),
                in_number(last.get("objective")),
                f"{last['stage']:.0f}" if "stage" in last else "-",
                in_number(last.get("passes")),
                in_time(run.seconds),
                f"{last['model_size']:,.0f}" if "model_size" in last else "-",
            )
        )
    return _table(header, rows)


def pass_line(run: RunHistory, *, named: bool) -> str:
    """The pass under way: a bar, rows and tasks, rates, time left; a strip of its tasks by worker."""
    step = run.step
    if step is None or run.state != "running":
        return ""
    name = f'<span class="swatch" style="color:{colour_of(run)}"></span>' if named else ""
    stage = f"stage {step.stage}: " if step.stage else ""
    head = (
        f'<div class="row"><span>{name}{escape(stage + step.name)}</span>'
        f'<span class="quiet">{pass_text(step)}</span></div>'
    )
    share = 100 * min(step.share, 1.0)
    bar = f'<div class="bar"><i style="width:{share:.1f}%;background:{colour_of(run)}"></i></div>'
    return f'<div class="run">{head}{bar}{strip(run, step)}</div>'


def pass_text(step: PassView) -> str:
    """How far a pass is, in numbers."""
    if step.finished:
        return f"done in {in_time(step.heard - step.started)}"
    text = f"{step.tasks_done:,} of {step.tasks:,} {'rounds' if step.unit == 'rounds' else 'tasks'}"
    if step.unit == "rows":
        text += f", {step.rows_done:,} of {step.rows:,} rows"
        if step.seconds_left is not None:
            text += f", {short_number(step.rows_per_second)} rows/s, {in_bytes(step.bytes_per_second)}/s"
    left = step.seconds_left
    return text if left is None else f"{text}, {in_time(left)} left"


def strip(run: RunHistory, step: PassView) -> str:
    """The tasks of a pass along the data, each in the colour of the worker that did it."""
    if not run.tasks.done or run.tasks.name != step.name.replace(" ", "-") or step.tasks < 2:
        return ""
    order = {worker: place for place, worker in enumerate(run.tasks.by_worker)}
    cells = "".join(
        f'<i style="background:{worker_colour(order.get(worker, 0))};opacity:{0.25 + 0.75 * share:.2f}"></i>'
        if share
        else "<i></i>"
        for share, worker in run.tasks.cells(step.tasks)
    )
    return f'<div class="strip" title="tasks along the data, by worker">{cells}</div>'


def worker_colour(place: int) -> str:
    """Workers' colours start where runs' colours end, so that the two are not taken for each other."""
    return COLOURS[-1 - place % len(COLOURS)]


def workers(cluster: ClusterView, runs: Sequence[RunHistory]) -> str:
    """The workers: what they did of the chosen runs, what they hold against their limits."""
    if not cluster.workers:
        return '<h2>Workers</h2><p class="warn">The scheduler has no workers; runs wait for one.</p>'
    order: dict[str, int] = {}
    for run in runs[:1]:
        order = {worker: place for place, worker in enumerate(run.tasks.by_worker)}
    # a run that has finished has no pass under way; where all have, it is the last pass of each
    current = [run for run in runs if run.state == "running"] or runs
    counted = [run for run in current if run.step is not None and run.step.unit != "rounds"]
    rows = []
    for worker in cluster.workers[:MOST_WORKERS]:
        swatch = (
            f'<span class="key" style="background:{worker_colour(order[worker.address])}"></span>'
            if worker.address in order
            else ""
        )
        rows.append(
            (
                f'<span class="item">{swatch}{escape(worker.address)}</span>',
                _memory(worker),
                f"{worker.cpu:.0f} %",
                str(worker.processing),
                f"{sum(run.tasks.now_by_worker.get(worker.address, 0) for run in counted):,}"
                if counted
                else "-",
                f"{sum(run.tasks.by_worker.get(worker.address, 0) for run in runs):,}",
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
    rest = f'<p class="quiet">and {more:,} more workers</p>' if more > 0 else ""
    return f"<h2>Workers</h2>{_table(header, rows)}{rest}"


def _memory(worker: WorkerView) -> str:
    if not worker.memory_limit:
        return in_bytes(worker.memory)
    share = worker.memory / worker.memory_limit
    colour = "var(--warn)" if share > 0.9 else "var(--bar)"
    style = f"width:{100 * min(share, 1.0):.0f}%;background:{colour}"
    bar = f'<div class="bar memory"><i style="{style}"></i></div>'
    return f"{in_bytes(worker.memory)} of {in_bytes(worker.memory_limit)}{bar}"


def where_time_went(runs: Sequence[RunHistory]) -> str:
    """Passes by name: how often, how long, how fast, and who waited for whom."""
    blocks = []
    for run in runs:
        totals = run.passes.totals
        if not totals:
            continue
        swatch = f'<span class="swatch" style="color:{colour_of(run)}"></span>'
        title = f'<p class="whose">{swatch}{escape(name_of(run))}</p>' if len(runs) > 1 else ""
        sentence = f'<p class="quiet">{verdict(totals)}</p>'
        blocks.append(title + sentence + _table(PASS_HEADER, map(pass_row, totals)))
    if not blocks:
        return ""
    meanings = key(total for run in runs for total in run.passes.totals)
    return f'<h2>Who waited for whom</h2>{"".join(blocks)}<p class="quiet">{meanings}</p>'


def events(runs: Sequence[RunHistory]) -> str:
    """What happened, newest first."""
    notes = sorted(
        ((when, kind, text, run) for run in runs for when, kind, text in run.notes), key=lambda n: n[0]
    )
    if not notes:
        return ""
    rows = []
    for when, kind, text, run in reversed(notes[-MOST_EVENTS:]):
        shade = "warn" if kind in ("worker lost", "stopped") else ""
        swatch = f'<span class="key" style="background:{colour_of(run)}"></span>' if len(runs) > 1 else ""
        rows.append(
            f'<tr><td>{swatch}{_clock(when)}</td><td class="quiet">{in_time(max(when - run.began, 0.0))}</td>'
            f'<td class="{shade}">{escape(kind)}</td><td>{escape(text)}</td></tr>'
        )
    return f'<h2>Events</h2><div class="scroll events"><table>{"".join(rows)}</table></div>'


def legend(runs: Sequence[RunHistory]) -> str:
    """What the dashes mean; colours are those of the list of runs."""
    if not any(run.stages for run in runs):
        return ""
    keys = [("solid", "held-out error, largest worker"), ("dashed", "train error, driver")]
    dotted = (
        ["validation error"] if any("validation_error" in stage for r in runs for stage in r.stages) else []
    )
    dotted += ["limit and plan"] if any(name in run.facts for run in runs for name in LIMITS) else []
    if dotted:
        keys.append(("dotted", ", ".join(dotted)))
    return (
        '<p class="quiet">'
        + " &nbsp; ".join(f'<span class="swatch {dash}"></span>{text}' for dash, text in keys)
        + "</p>"
    )


def _table(header: Mapping[str, str], rows: Iterable[Sequence[str]]) -> str:
    return table(header, rows, "named", *(("dense",) if len(header) > MOST_WIDE_COLUMNS else ()))
