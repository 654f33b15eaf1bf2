"""``distkern tune``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.data.store.places import Place

if TYPE_CHECKING:
    from distkern.choose.tuning.search import Ranked, Search
    from distkern.cli.job import Job

#: candidates printed; the page has all
_MOST_ROWS = 12


@click.command(cls=options.JobCommand)
@options.job
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Candidates to train at the same time, each with a share of the workers' memory. Does not change "
    "the result.",
)
@options.dashboard
@options.as_json
def tune(
    job_file: Place | None,
    settings: tuple[str, ...],
    jobs: int,
    dashboard: bool | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Search for good hyperparameters and train with the best ones.

    The job's table [search] names the hyperparameters and their values. Without it, the search covers the
    algorithm's default ranges by successive halving. Candidates are trained on part of the training rows and
    compared on the rest; the best one is measured on the test rows at the end. All trials are kept in M/tune:
    the same command continues an interrupted search, and M/tune/report.html shows its results.

    \b
    Examples: `distkern tune --data covtype.zarr --algorithm newton --out m`, or
    `distkern tune job.toml`, with
      algorithm = "csvrg"
      data = "covtype.zarr"
      out = "m"
      [search]
      method = "halving"       # or grid, or random with candidates = 20
      validation = 0.2         # share of held-out rows, or a number of folds
      metric = "auc"           # or log_loss, error, rmse, ...
      [search.params]
      gamma = [0.5, 2.0, 8.0]
      lam = {low = 1.0, high = 1e4, log = true, points = 5}
    """
    from distkern.cli.job import prepare, resolve_job

    job = resolve_job(job_file, flags, settings)
    _, dataset = prepare(job)

    from distkern.choose.tuning.record import in_words
    from distkern.choose.tuning.runner import Where
    from distkern.cli import tuning
    from distkern.cli.train import driving, has_dashboard
    from distkern.show.terminal import Terminal

    tuning.check_search_folder(job)
    search = tuning.search_of(job, dataset)
    tuned = tuning.job_of(job, search.candidates[0].estimator)
    if tuned.algorithm != job.algorithm:
        click.echo(f"{job.algorithm} chooses {tuned.algorithm} with {in_words(tuned.params)}", err=True)
    where = Where(job.scheduler, job.workers, job.memory_limit, has_dashboard(job, dashboard), jobs)
    with driving(job.model_folder, resume=True) as guards, Terminal(since=options.began()) as terminal:
        reporter = tuning.SearchReporter(search, (*guards, terminal))
        ranked = tuning.searched(job, dataset, search, where, reporter)
        terminal.clear()
        terminal.begin("training the best candidate on all training rows")
        history, test = tuning.train_best(
            job, dataset, search, ranked, listeners=[*guards, terminal], dashboard=dashboard
        )
    if as_json:
        click.echo(json.dumps(_facts(job, search, ranked, history[-1], test)))
    else:
        _show(job, search, ranked, history[-1], test)


def _facts(
    job: Job, search: Search, ranked: list[Ranked], last: dict[str, Any], test: float | None
) -> dict[str, Any]:
    return {
        "model": job.out,
        "metric": search.metric.name,
        "settings": ranked[0].settings,
        "value": ranked[0].value,
        "test_value": test,
        "candidates": [
            {
                "candidate": one.number,
                "settings": one.settings,
                "value": one.value,
                "difference": None if one.apart is None else one.apart[0],
                "standard_error": None if one.apart is None else one.apart[1],
                "rows": one.n_learned,
                "work": one.work,
                "trials": len(one.trials),
                "seconds": round(one.seconds, 4),
                "failed": one.failed,
            }
            for one in ranked
        ],
        **last,
    }


def _show(job: Job, search: Search, ranked: list[Ranked], last: dict[str, Any], value: float | None) -> None:
    from distkern.cli import tuning
    from distkern.cli.tables import by_parts, console, fitting, is_narrow, picked, table, wrapped
    from distkern.core.text import error_name, in_error

    metric = search.metric.name
    header, rows = tuning.candidate_table(search, ranked[:_MOST_ROWS])
    names = [name for name in header if name not in ("trials", "stages", "ended")]
    cells = picked(list(header), rows, names)
    names, cells = fitting(names, cells, ("work", "rows", "time", "worse by"))
    if is_narrow([*names, "*"], [[*row, "*"] for row in cells]):
        marked = [[*row, "" if place else "*"] for place, row in enumerate(cells)]
        console().print(table([*names, ""], marked))
    else:
        # too many hyperparameters for one table
        searched = names[: names.index(metric)]
        figures = [name for name in header if name in (metric, "worse by", "rows", "time")]
        for some in (figures, searched):
            several = enumerate(picked(list(header), rows, some), 1)
            numbered = [[f"{place}{'*' * (place == 1)}", *row] for place, row in several]
            for part in by_parts("", some, numbered):
                console().print(part)
    if len(ranked) > _MOST_ROWS:
        click.echo(f"the best {_MOST_ROWS} of {len(ranked)}; the page has all")
    click.echo(wrapped(f"* {tuning.chosen_words(search, ranked)}"))
    for text in (tuning.beside_defaults(search, ranked), tuning.within_chance(ranked)):
        if text:
            click.echo(wrapped(text))
    for text in tuning.at_an_end(ranked):
        click.echo(wrapped(text))
    test = (
        f", test {error_name(last)} {in_error(last, 'test_error')}" if last["test_error"] is not None else ""
    )
    if value is not None and metric not in ("error", error_name(last)):
        test += f", test {metric} {tuning.in_metric(metric, value)}"
    trained = f"trained on all training rows: train {error_name(last)} {in_error(last, 'train_error')}{test}"
    click.echo(wrapped(trained))
    click.echo(f"model in {job.out}, all trials in {tuning.search_folder(job) / 'report.html'}")
