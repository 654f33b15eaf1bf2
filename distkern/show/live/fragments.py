"""The page's sections and plots: pure functions of a run's history and the cluster."""

from __future__ import annotations

from collections.abc import Mapping

from distkern.core.templates import TEMPLATES
from distkern.core.text import in_bytes, in_number, in_percent, in_time
from distkern.show.live.history import ClusterView, PassView, RunHistory, clock
from distkern.show.page import Axis, Curve, Html, Plot, bar, heading, joined, key, note, table
from distkern.show.page import tiles as tile_row
from distkern.show.passes import pass_sections
from distkern.show.style import STYLES, short_number

#: x axis of the stages' plots -> key of their metrics, and label
POSITIONS = {
    "passes": ("passes", "passes over the data"),
    "seconds": ("seconds", "seconds"),
    "stages": ("stage", "stage"),
}
#: facts drawn beside a run's memory
LIMITS = {
    "memory_limit": "limit of a worker",
    "planned_worker_bytes": "planned peak of a worker",
    "planned_driver_bytes": "planned peak of the driver",
}
_ERRORS = {f"{rows}_error": rows for rows in ("train", "validation", "test")}
_PEAKS = {f"{process}_peak_rss_bytes": process for process in ("worker", "driver")}
#: figures shown elsewhere on the page
_DRAWN = {"stage", "passes", "seconds", "objective", "peak_rss_bytes", *_ERRORS, *_PEAKS}
#: listed after solver-specific figures
_KNOWN = (
    "model_size",
    "training_seconds",
    "feature_accesses",
    "feature_accesses_nonzero",
    "rows_read",
    "bytes_read",
)


def plots(run: RunHistory | None, over: str, quantity: str) -> dict[str, Plot]:
    """Return the page's figures by name, over passes, seconds or stages; "other" shows ``quantity``."""
    key, label = POSITIONS[over]
    x = Axis(label)
    count, size = Axis(from_zero=True), Axis(kind="bytes", from_zero=True)
    words = quantity.replace("_", " ")
    squared = run is not None and run.squared
    shares = "error" if run is None else run.shares
    of_errors = "Root mean squared error" if squared else f"{shares.capitalize()} in percent"

    def curves(kinds: Mapping[str, str], factor: float = 1.0) -> list[Curve]:
        return [] if run is None else _curves(run, key, kinds, factor)

    return {
        "objective": Plot("Objective", x, Axis(kind="log"), curves({"objective": "figure"})),
        "error": Plot(of_errors, x, count, curves(_ERRORS, 1 if squared else 100)),
        "other": Plot(words[:1].upper() + words[1:], x, Axis(), curves({quantity: "figure"})),
        "memory": Plot("Peak memory", x, size, [] if run is None else _memory_curves(run, key)),
    }


def _curves(run: RunHistory, key: str, kinds: Mapping[str, str], factor: float = 1.0) -> list[Curve]:
    """Return curves of the stages' quantities (key -> kind); stages without the quantity are left out."""
    curves = []
    for quantity, kind in kinds.items():
        pairs = [(s[key], factor * s[quantity]) for s in run.stages if key in s and quantity in s]
        x, y = tuple(at for at, _ in pairs), tuple(found for _, found in pairs)
        if x:
            label = quantity.removesuffix("_peak_rss_bytes").replace("_", " ")
            curves.append(Curve(label, x, y, STYLES[kind]))
    return curves


def _memory_curves(run: RunHistory, key: str) -> list[Curve]:
    """Return peaks of the largest worker and of the driver, with the limit and the plan."""
    # a run without workers reports a peak of 0
    curves = [curve for curve in _curves(run, key, _PEAKS) if any(curve.y)]
    places = [stage[key] for stage in run.stages if key in stage]
    for name, label in LIMITS.items():
        limit = run.facts.get(name)
        if isinstance(limit, (int, float)) and limit > 0 and places:
            ends = (min(places), max(places))
            curves.append(Curve(label, ends, (float(limit),) * 2, STYLES["limit"], label))
    return curves


def quantities(run: RunHistory | None) -> list[str]:
    """Return the figures that the menu offers, solver-specific ones first."""
    last = {} if run is None else run.last
    names = dict.fromkeys(["model_size", *(name for name in last if name not in _DRAWN)])
    return [*(name for name in names if name not in _KNOWN), *(name for name in _KNOWN if name in names)]


#: events before the rest is left out
MOST_EVENTS = 60


def cluster_line(cluster: ClusterView) -> Html:
    """Return a line on the cluster, of which Dask's own pages show the rest."""
    count, memory = cluster.n_workers, in_bytes(cluster.memory)
    if not count:
        return note(f"{cluster.address}: no workers, runs wait for one", "warn")
    used = f"{memory} of {in_bytes(cluster.memory_limit)}" if cluster.memory_limit else memory
    threads = f"{cluster.n_threads} {'thread' if cluster.n_threads == 1 else 'threads'}"
    workers = f"{count} {'worker' if count == 1 else 'workers'}, {threads}, {used}"
    return note(f"{cluster.address}: {workers}", "quiet")


def now(run: RunHistory | None) -> Html:
    """Return the run's name, its newest figures and the current pass."""
    if run is None:
        return note(
            Html("No run yet. <code>distkern train</code> with this scheduler shows its progress here."),
            "quiet",
        )
    return joined(heading(run.name), tile_row(_figures(run)), pass_line(run))


def _figures(run: RunHistory) -> dict[str, str]:
    """Return the newest figures of a run, errors in percent or as root mean squares."""
    last, in_error = run.last, in_number if run.squared else in_percent
    error = "RMSE" if run.squared else run.shares
    figures = {
        "state": run.state,
        "stage": _stage(run),
        "training left": _left(run),
        "time": in_time(run.seconds),
        f"test {error}": in_error(last.get("test_error")),
        f"train {error}": in_error(last.get("train_error")),
        "objective": in_number(last.get("objective")),
        "passes": in_number(last.get("passes")),
        "size": f"{last['model_size']:,.0f}" if "model_size" in last else "-",
    }
    if run.state != "running":
        del figures["training left"]
    return figures


def _stage(run: RunHistory) -> str:
    """Return the current stage and their number; of a run that is over, the last stage."""
    of, last = run.start.get("stages"), run.last.get("stage")
    if run.state != "running":
        return "-" if last is None else f"{last:.0f}"
    now = run.step.stage if run.step is not None else last
    return "-" if now is None else f"{now:.0f} of {of}" if of else f"{now:.0f}"


def _left(run: RunHistory) -> str:
    left = run.clock.left(run.heard)
    return "-" if left is None else f"about {in_time(left)}"


def pass_line(run: RunHistory) -> Html:
    """Return the current pass: a bar, rows and tasks, rates."""
    step = run.step
    if step is None or run.state != "running":
        return Html()
    stage = f"stage {step.stage}: " if step.stage else ""
    return joined(TEMPLATES.row(stage + step.name, pass_text(step)), bar(step.share))


def pass_text(step: PassView) -> str:
    """Return the progress of a pass as text."""
    if step.finished:
        return f"done in {in_time(step.heard - step.started)}"
    words = f"{step.tasks_done:,} of {step.tasks:,} {'rounds' if step.unit == 'rounds' else 'tasks'}"
    if step.unit == "rows":
        words += f", {step.rows_done:,} of {step.rows:,} rows"
        if step.rows_done:
            words += f", {short_number(step.rows_per_second)} rows/s, {in_bytes(step.bytes_per_second)}/s"
    return words


def where_time_went(run: RunHistory | None) -> Html:
    """Return a table of passes: number, time, speed, and the driver's waiting time."""
    totals = () if run is None else run.passes.totals
    return joined(heading("Where the time went"), pass_sections(totals)) if totals else Html()


def events(run: RunHistory | None) -> Html:
    """Return the events of the run, newest first."""
    if run is None or not run.notes:
        return Html()
    rows = []
    for when, kind, words in reversed(list(run.notes)[-MOST_EVENTS:]):
        shade = "warn" if kind in ("worker lost", "stopped") else ""
        since = TEMPLATES.marked("quiet", in_time(max(when - run.began, 0.0)))
        rows.append((clock(when), since, TEMPLATES.marked(shade, kind), words))
    return joined(heading("Events"), TEMPLATES.boxed("events", table((), rows, "events")))


def legend(run: RunHistory | None) -> Html:
    """Return the key of colours, dashes and markers."""
    if run is None or not run.stages:
        return Html()
    kinds = [
        kind for kind in ("train", "validation", "test") if any(f"{kind}_error" in s for s in run.stages)
    ]
    styles = {f"{kind} error": STYLES[kind] for kind in kinds}
    styles |= {"largest worker": STYLES["worker"], "driver": STYLES["driver"]}
    if any(name in run.facts for name in LIMITS):
        styles["limit and plan"] = STYLES["limit"]
    return note(key(styles), "quiet")
