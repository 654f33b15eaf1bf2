"""A search on the command line: candidates of a job, progress, messages, page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from distkern.choose.tuning.record import SearchFolder, Task, Trial, TuningCandidate, in_words
from distkern.choose.tuning.runner import Watcher, Where
from distkern.choose.tuning.search import Ranked, Search
from distkern.choose.tuning.space import SearchTable, own_candidates, place_of, settings_of
from distkern.cli.job import Job, make_estimator, prepare
from distkern.core.errors import InputError
from distkern.core.text import in_number, in_percent, in_time, magnitude
from distkern.data.store.atomic import write_text_atomic
from distkern.data.store.places import Place
from distkern.engine.events import Event, Listener
from distkern.runs.folder import check_folder

if TYPE_CHECKING:
    from distkern.data.dataset import Dataset
    from distkern.runs.evaluation import Evaluation

#: key of a job's description: number of candidates tried at a time
JOBS = "jobs"
#: shares of rows, which are shown as percentages
_SHARES = ("error", "accuracy", "balanced_accuracy")


def search_folder(job: Job) -> Place:
    """Return the folder of a job's trials."""
    return job.model_folder / "tune"


def search_of(job: Job, dataset: Dataset) -> Search:
    """Return the search of a job, or its algorithm's default search, with all settings checked.

    Raises
    ------
    InputError
        If a hyperparameter cannot have one of its values.
    """
    asked = job.search or SearchTable()
    for name in asked.params:
        if name in job.params:
            raise InputError(
                "is both set and searched",
                where=f"hyperparameter {name!r}",
                hint="leave it out of [params] and --set, or out of [search.params]",
            )
    method = asked.chosen_method
    try:
        if asked.params:
            settings = settings_of(asked.space, method, asked.candidates, job.seed)
            jobs = [job.model_copy(update={"params": {**job.params, **one}}) for one in settings]
        else:
            candidates = own_candidates(
                make_estimator(job), dataset.train, method, asked.candidates, job.seed, job.params
            )
    except InputError as error:
        if error.where not in (*(one.name for one in fields(SearchTable)), *asked.params):
            raise
        raise InputError(error.what, where=place_of(error), hint=error.hint) from None
    if asked.params:
        made = zip(settings, map(make_estimator, jobs), strict=True)
        candidates = [TuningCandidate(number, *one) for number, one in enumerate(made)]
    search = Search(
        candidates,
        dataset.train,
        method,
        asked.validation,
        asked.metric,
        asked.factor,
        job.seed,
        not asked.params,
        SearchFolder(None if job.out is None else search_folder(job)),
    )
    try:
        # an impossible metric is refused before anything runs
        assert search.metric
    except InputError as error:
        raise InputError(error.what, where=place_of(error), hint=error.hint) from None
    return search


def job_of(job: Job, estimator: Any) -> Job:
    """Return the job that trains an estimator of a search."""
    params = {name: getattr(estimator, name) for name in estimator.changed() if name != "random_state"}
    algorithm = estimator.name.removesuffix("_regressor")
    return job.model_copy(update={"algorithm": algorithm, "params": params, "search": None})


def in_metric(name: str, value: float | None) -> str:
    """Return a value of a metric as text."""
    return in_percent(value) if name in _SHARES else in_number(value)


def in_difference(one: Ranked) -> str:
    """Return the mean loss of a candidate minus that of the best, with its standard error."""
    if one.apart is None:
        return "-"
    return f"{one.apart[0]:.2g}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{one.apart[1]:.1g}"


def compared_on(search: Search, best: Ranked) -> str:
    """Describe the rows on which candidates were compared."""
    rows = f"{best.trials[-1].n_held_out:,} held-out rows"
    return f"{search.validation} folds of {rows}" if isinstance(search.validation, int) else rows


def within_chance(ranked: Sequence[Ranked]) -> str:
    """Return a sentence on candidates indistinguishable from the best; empty if there are none."""
    near = sum(one.is_near for one in ranked)
    if near < 2:
        return ""
    by_work = min(ranked, key=lambda one: one.work if one.is_near else math.inf).work
    which = "the cheapest was" if ranked[0].work <= 1.5 * by_work else "the default settings were"
    return f"{near} candidates are within 2 standard errors of the best; {which} chosen"


def beside_defaults(search: Search, ranked: Sequence[Ranked]) -> str:
    """Return a sentence on the algorithm's default settings; empty if the search did not try them."""
    own = next((one for one in ranked if one.number == 0), None) if search.own_space else None
    if own is None or own.value is None:
        return ""
    if own is ranked[0]:
        return "the default settings are the best"
    value = f"the default settings have {search.metric.name} {in_metric(search.metric.name, own.value)}"
    return value if own.apart is None else f"{value}, worse by {in_difference(own)}"


def at_an_end(ranked: Sequence[Ranked]) -> list[str]:
    """Describe hyperparameters whose best value is the smallest or largest of several, and what to do."""
    found = []
    best = ranked[0].settings
    for name, value in best.items():
        tried = {one.settings[name] for one in ranked if is_number(one.settings[name])}
        if not is_number(value) or len(tried) < 3 or value not in (min(tried), max(tried)):
            continue
        found.append(
            f"{name}={value:g} is the {'smallest' if value == min(tried) else 'largest'} value tried: "
            "a wider range, in the table [search.params] of a job file, may contain a better value"
        )
    return found


def in_trials(search: Search) -> str:
    """Return the number of trials of a search, in words."""
    return "1 trial" if search.n_trials == 1 else f"{search.n_trials} trials"


def is_number(value: Any) -> bool:
    """Return whether a value of a hyperparameter is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def trial_words(
    search: Search, candidate: TuningCandidate, trial: Trial, n_done: int, n_all: int
) -> Sequence[str]:
    """Return a line on a finished trial, and one on why it failed."""
    metric = search.metric.name
    value = "failed" if trial.value is None else f"{metric} {in_metric(metric, trial.value)}"
    line = (
        f"{n_done:>{len(str(n_all))}} of {n_all}: {value} after {in_time(trial.seconds)} on "
        f"{trial.n_learned:,} rows: {in_words(candidate.settings)}"
    )
    return [line, f"  {trial.failed}"] if trial.failed else [line]


def candidate_table(
    search: Search, ranked: Sequence[Ranked]
) -> tuple[dict[str, str], Sequence[Sequence[str]]]:
    """Return column names with their meanings, and a row per candidate; differing hyperparameters first."""
    metric, searched = search.metric.name, differing([one.settings for one in ranked])
    header = {
        **dict.fromkeys(searched, "hyperparameter"),
        metric: "on held-out rows, averaged over the folds",
        "worse by": "mean loss minus the best mean loss on the same held-out rows, with standard error",
        "rows": "training rows of its last trial",
        "work": "rows times functions of its last trials",
        "trials": "",
        "time": "of all its trials",
        "stages": "of its last trial",
        "ended": "why its last trial ended",
    }
    rows = [
        (
            *(setting_word(one.settings[name]) if name in one.settings else "-" for name in searched),
            in_metric(metric, one.value),
            in_difference(one),
            f"{one.n_learned:,}",
            magnitude(one.work, 2, math.inf),
            str(len(one.trials)),
            # in one unit, so that a reader can sort the column
            f"{one.seconds:,.1f} s",
            "-" if one.trials[-1].n_stages is None else str(one.trials[-1].n_stages),
            one.failed or (one.trials[-1].ended or "-").partition(":")[0],
        )
        for one in ranked
    ]
    return header, rows


def setting_word(value: Any) -> str:
    """Return a value of a hyperparameter as text."""
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def differing(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return names of settings that differ between candidates; of one candidate all."""
    names = list(dict.fromkeys(name for one in settings for name in one))
    several = [name for name in names if len({str(one.get(name)) for one in settings}) > 1]
    return several or names


def chosen_words(search: Search, ranked: Sequence[Ranked]) -> str:
    """Return a line on the best candidate, its score and the cost of the search."""
    metric, best = search.metric.name, ranked[0]
    seconds = sum(one.seconds for one in ranked)
    return (
        f"chosen: {in_words(best.settings)} ({metric} {in_metric(metric, best.value)} on "
        f"{compared_on(search, best)}; {in_trials(search)}, {in_time(seconds)})"
    )


def searched(job: Job, dataset: Dataset, search: Search, where: Where, watcher: Watcher) -> list[Ranked]:
    """Run the missing trials, write the page and return the candidates, the best first."""
    from distkern.cli.tuning_page import tuning_page

    ranked = search.run(where, watcher)
    write_text_atomic(search_folder(job) / "report.html", tuning_page(job, dataset, search, ranked))
    return ranked


def train_best(
    job: Job, dataset: Dataset, search: Search, ranked: Sequence[Ranked], **given: Any
) -> tuple[list[dict[str, Any]], float | None]:
    """Train the best settings with :func:`~distkern.cli.train.run_job`, continuing an interrupted run.

    Returns the lines of ``metrics.jsonl`` and the search metric on the test rows, None if not measured.
    """
    from distkern.cli.train import run_job
    from distkern.cli.tuning_page import tuning_page

    begun = any((job.model_folder / name).exists() for name in ("checkpoints", "model.json"))
    best = job_of(job, search.candidates[ranked[0].number].estimator)
    metric = search.metric
    found: dict[str, Evaluation] = {}
    how: dict[str, Any] = {"evaluations": found, "compared": metric.name}
    _, history = run_job(best, dataset, resume=begun, **how, **given)
    if not found:
        return history, None
    measured = metric.value(found["test"].figures)
    value = measured if math.isfinite(measured) else None
    content = tuning_page(job, dataset, search, ranked, value)
    write_text_atomic(search_folder(job) / "report.html", content)
    return history, value


def check_search_folder(job: Job) -> None:
    """Refuse a folder with a model or unfinished run that no search made."""
    check_folder(job.model_folder, resume=(search_folder(job) / "search.json").exists())


def tune_described(description: dict[str, Any], listeners: Sequence[Listener], resume: bool) -> None:
    """Run the search of a :class:`~distkern.cli.job.Job`, given by its fields, then train, on a worker.

    Started trials and fits are continued.
    """
    fields = dict(description)
    jobs = int(fields.pop(JOBS))
    job = Job(**fields)
    _, dataset = prepare(job)
    search = search_of(job, dataset)
    reporter = SearchReporter(search, listeners)
    where = Where(None, job.workers, job.memory_limit, jobs=jobs)
    ranked = searched(job, dataset, search, where, reporter)
    reporter.say(chosen_words(search, ranked))
    train_best(job, dataset, search, ranked, listeners=listeners, on_cluster=True)


class SearchReporter(Watcher):
    """Reports a search to the listeners of a run: each trial is a message and counts as a checkpoint.

    Checkpoints and lost workers are passed on. At all other events, a cancelled job stops and a terminal
    shows the progress of the search.
    """

    def __init__(self, search: Search, listeners: Sequence[Listener]) -> None:
        self._search, self._listeners, self._done = search, listeners, 0
        self._trial = ""

    def say(self, text: str) -> None:
        """Write a line to the log or the terminal."""
        self._emit(Event("message", {"text": text}))

    def began(self, candidate: TuningCandidate, task: Task) -> None:
        self._trial = in_words(candidate.settings)
        self._emit(Event("pass_started", {**self._at(), "bytes": 0, "unit": "tasks"}))

    def finished(self, candidate: TuningCandidate, trial: Trial, n_done: int, n_all: int) -> None:
        self._done = n_done
        for line in trial_words(self._search, candidate, trial, n_done, n_all):
            self.say(line)
        path = str(self._search.folder.place)
        self._emit(Event("checkpoint_saved", {"stage": 0, "path": path, "seconds": 0.0}))

    def resumed(self, n_found: int) -> None:
        self._done = n_found
        self.say(f"{n_found} earlier trials are reused")

    def listeners(self, candidate: TuningCandidate, task: Task) -> Sequence[Listener]:
        def hear(event: Event) -> None:
            if event.kind in ("checkpoint_saved", "worker_lost"):
                self._emit(event)
            else:
                self.poll()

        return (hear,)

    def poll(self) -> None:
        if self._trial:
            self._emit(Event("pass_progress", {**self._at(), "rows_done": 0, "bytes_done": 0}))

    def _at(self) -> dict[str, Any]:
        n_trials = self._search.n_trials
        name = f"trial {min(self._done + 1, n_trials)} of {n_trials}: {self._trial}"
        return {"name": name, "stage": 0, "tasks": n_trials, "tasks_done": self._done, "rows": 0}

    def _emit(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)
