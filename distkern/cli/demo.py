"""``distkern demo``: from raw rows to an evaluated model, on more data than the workers' memory."""

from __future__ import annotations

import math
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.cli.shard import progress_on
from distkern.core.errors import InputError, MemoryBudgetError
from distkern.core.text import in_bytes, in_percent, in_time

if TYPE_CHECKING:
    from distkern.data.dataset import Dataset
    from distkern.show.terminal import Terminal

_ROW_BYTES = 64 * 4
#: a good model of the digits within a minute; a user's file gets the algorithm's defaults
_DIGITS = {"loss": "odm", "kernel": "rbf", "gamma": 0.5, "lam": 6400.0, "n_landmarks": 512, "stages": 2}
_TEST_SHARE = 0.01
#: 1 MiB: kernel features of several blocks, 512 per row, travel to the driver at any time
_ROWS_PER_SHARD = 4_096
#: memory of a worker for digits, and for a user's file, for which more candidates are tried
_LIMIT, _LIMIT_OF_OTHERS = 256 * 2**20, 512 * 2**20
#: limits of the second model, which `auto` chooses: training rows, their bytes, predicted rows
_CHOSEN_ROWS, _CHOSEN_BYTES, _PREDICTED_ROWS = 8_192, 64 * 2**20, 8_192


@click.command()
@click.option(
    "--rows",
    type=click.IntRange(min=1000),
    metavar="N",
    help="Training rows to generate.  [default: more than fit in the memory of all workers together]",
)
@options.memory_limit(help="Memory of one worker.  [default: 256MiB, with --data 512MiB]")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    default=2,
    show_default=True,
    help="Worker processes.",
)
@click.option(
    "--out",
    default="distkern-demo",
    show_default=True,
    metavar="DIR",
    help="Folder of data, model and report.",
)
@click.option("--data", metavar="FILE", help="Train on this file of yours instead of digits.")
@click.option("--target", metavar="COLUMN", help="With --data: the column with the labels.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="N",
    default=0,
    show_default=True,
    help="Seed of all choices.",
)
@click.option("--overwrite", is_flag=True, help="Replace the data set and the model in DIR.")
def demo(
    rows: int | None,
    memory_limit: int | None,
    workers: int,
    out: str,
    data: str | None,
    target: str | None,
    seed: int,
    overwrite: bool,
) -> None:
    """Train on more rows than fit in memory, on generated digits.

    Makes virtual examples of scikit-learn's handwritten digits, streams them to shards, trains CSVRG+ODM on
    worker processes and evaluates the model on images that it has never seen. Then `auto` chooses a model for
    a few thousand of these rows. Needs no network.

    \b
    Example:
      distkern demo
      distkern demo --data my.csv --target label --out my-demo
    """
    if data is not None and rows is not None:
        raise InputError("does not go with --data", where="--rows", hint="leave one of them out")
    if data is None and target is not None:
        raise InputError("needs --data", where="--target", hint="add --data FILE")
    from distkern.cli.job import Job
    from distkern.cli.train import driving, run_job
    from distkern.runs.run import evaluate
    from distkern.show.terminal import Terminal

    folder, started = Path(out), time.monotonic()
    name = "digits" if data is None else data.rstrip("/").rpartition("/")[2].partition(".")[0] or "data"
    job = Job(
        algorithm="csvrg",
        data=str(folder / f"{name}.zarr"),
        out=str(folder / "model"),
        seed=seed,
        scheduler="local",
        workers=workers,
        memory_limit=memory_limit or (_LIMIT if data is None else _LIMIT_OF_OTHERS),
        params=_DIGITS if data is None else {},
    )
    resume = _prepare(folder / "model", overwrite)
    try:
        with Terminal() as terminal:
            dataset = _dataset(job, rows, data, target, overwrite, terminal)
            with driving(job.model_folder, resume) as guards:
                model, history = run_job(job, dataset, listeners=(*guards, terminal), resume=resume)
            source = dataset.train if dataset.test is None else dataset.test
            measured = evaluate(model, source, scheduler="threads", workers=workers)
            choice = _choice(dataset, job, terminal)
    except MemoryBudgetError as error:
        # the demo takes neither hyperparameters nor sizes of shards
        raise MemoryBudgetError(error.of_limit, where=error.where) from error
    except KeyboardInterrupt as interrupt:
        again = "run the same command again to continue"
        if overwrite:
            again += " (without --overwrite)"
        raise KeyboardInterrupt(f"interrupted: {again}") from interrupt
    for line in summary(job, dataset, measured, history, choice, time.monotonic() - started):
        click.echo(line)


def summary(
    job: Any,
    dataset: Dataset,
    measured: dict[str, Any],
    history: list[dict[str, Any]],
    choice: list[str],
    seconds: float,
) -> list[str]:
    """Return the closing lines of the demo."""
    from distkern.cli.facts import memory_line

    features = dataset.n_rows * dataset.n_features * 4
    limit = job.workers * job.memory_limit
    against = "more than" if features > limit else "which fit in"
    of = "test" if dataset.test is not None else "training"
    commands = [f"distkern inspect {job.out}"]
    if dataset.test is not None:
        commands.append(
            f"distkern predict {job.out} --data {job.data} --out {Path(job.out).parent / 'predictions.csv'}"
        )
    commands.append(
        f"distkern train --data {job.data} --algorithm newton --out {Path(job.out).parent / 'newton'}"
    )
    commands.append(f"distkern train --data {job.data} --out {Path(job.out).parent / 'chosen'}")
    return [
        "",
        f"{dataset.n_rows:,} rows, {in_bytes(features)} of features, {against} the {in_bytes(limit)}",
        f"of {job.workers} workers ({in_bytes(job.memory_limit)} each)",
        f"csvrg: {of} error {in_percent(measured['error'])} on {measured['n']:,} rows"
        + (" made from images not used in training" if Path(job.data).name == "digits.zarr" else ""),
        memory_line(history, job.memory_limit),
        *choice,
        f"{in_time(seconds)} in total",
        f"model {job.out}, report {Path(job.out) / 'report.html'}",
        "next:",
        *(f"  {command}" for command in commands),
    ]


def _choice(dataset: Dataset, job: Any, terminal: Terminal) -> list[str]:
    """Return a line about the model that `auto` chooses for some of the rows."""
    from distkern.engine.executors import open_executor
    from distkern.estimators.auto import KernelClassifier

    train, started = dataset.train, time.monotonic()
    n_rows = min(train.n_rows, _CHOSEN_ROWS, max(1, _CHOSEN_BYTES // (8 * train.row_numbers)))
    labels, source = train.labels, dataset.test if dataset.test is not None else train
    assert labels is not None
    if len(set(labels[:n_rows].tolist())) < 2:
        return []
    terminal.line(f"choosing a model with `auto` for {n_rows:,} of these rows")
    model = KernelClassifier(search="quick", random_state=job.seed)
    with open_executor("threads", workers=job.workers) as executor:
        model.fit_with(train[:n_rows], labels[:n_rows], executor=executor, listeners=(terminal,))
    seconds, targets = time.monotonic() - started, source.labels
    assert targets is not None
    error = 1.0 - model.score(source[:_PREDICTED_ROWS], targets[:_PREDICTED_ROWS])
    of = "training" if dataset.test is None else "test"
    return [
        f"auto, on {n_rows:,} of these rows: {model.algorithm_}, {of} error {in_percent(error)}, after "
        f"{in_time(seconds)}"
    ]


def _prepare(model: Path, overwrite: bool) -> bool:
    """Make room for the model; return whether an unfinished run can be continued."""
    from distkern.jobs.folder import JobFolder
    from distkern.runs.folder import check_folder, refuse_foreign

    finished, unfinished = (model / "model.json").exists(), (model / "checkpoints").is_dir()
    if finished and not overwrite:
        raise InputError(
            "holds a finished model", where=str(model), hint="add --overwrite, or give another --out"
        )
    JobFolder(model).refuse_if_driven()
    if (finished or unfinished) and overwrite:
        refuse_foreign(model, "move them away, or give another --out", hidden=True)
        shutil.rmtree(model)
        return False
    check_folder(model, resume=unfinished)
    return unfinished


def _rows_beyond(n_bytes: int) -> int:
    """Return the next multiple of 100,000 rows that exceeds ``n_bytes`` by at least 5 %."""
    return math.ceil(1.05 * n_bytes / _ROW_BYTES / 100_000) * 100_000


def _dataset(
    job: Any, rows: int | None, file: str | None, target: str | None, overwrite: bool, terminal: Terminal
) -> Dataset:
    """Return the data set of an earlier run, or a new one of digits or of a file."""
    from distkern.data.dataset import open_dataset
    from distkern.data.digits import VirtualDigits
    from distkern.data.ingest import shard, write_dataset

    path = Path(job.data)
    if file is None and rows is None:
        rows = _rows_beyond(job.workers * job.memory_limit)
    if path.exists() and not overwrite:
        dataset = open_dataset(path)
        terminal.line(f"using the data set {path} of an earlier run; --overwrite replaces it")
        if rows is not None and dataset.n_rows != rows:
            raise InputError(
                f"holds {dataset.n_rows:,} rows, not {rows:,}",
                where=str(path),
                hint="add --overwrite, or give another --out",
            )
        return dataset
    path.parent.mkdir(parents=True, exist_ok=True)
    how: dict[str, Any] = {"seed": job.seed, "overwrite": overwrite, "progress": progress_on(terminal, rows)}
    if rows is None:
        terminal.line(f"sharding {file} to {path}, with a tenth of its rows as test rows")
        dataset = shard([str(file)], path, test_fraction=0.1, target=target, scale="minmax", **how)
    else:
        terminal.line(f"generating {rows:,} virtual digits in {path}")
        digits = VirtualDigits(seed=job.seed)
        test = digits.chunks(max(1000, int(_TEST_SHARE * rows)), "test")
        how |= {"test_chunks": test, "scale": "none", "rows_per_shard": _ROWS_PER_SHARD}
        dataset = write_dataset(digits.chunks(rows), path, **how)
    terminal.clear()
    return dataset
