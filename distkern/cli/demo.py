"""``distkern demo``: from raw rows to an evaluated model, on more data than the workers' memory."""

from __future__ import annotations

import math
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkern.cli import options
from distkern.cli.shard import telling
from distkern.core.errors import InputError

if TYPE_CHECKING:
    from distkern.data.dataset import Dataset
    from distkern.show.terminal import Terminal

_ROW_BYTES = 64 * 4
#: a sensible model of the digits in a minute; the user's own data gets the algorithm's defaults
_DIGITS = {"loss": "odm", "kernel": "rbf", "gamma": 0.5, "lam": 6400.0, "n_landmarks": 512, "stages": 2}
_TEST_SHARE = 0.01
#: 1 MiB: the features of some blocks, 512 a row, are on their way to the driver at any time
_ROWS_PER_SHARD = 4_096
#: memory of a worker for digits, and for other rows, which have more candidates
_LIMIT, _LIMIT_OF_OTHERS = 256 * 2**20, 512 * 2**20
#: most rows and bytes that `auto` trains its second model on, and most rows that it predicts: takes seconds
_CHOSEN_ROWS, _CHOSEN_BYTES, _ASKED_ROWS = 8_192, 64 * 2**20, 8_192


@click.command()
@click.option(
    "--rows",
    type=click.IntRange(min=1000),
    help="Training rows to make (default: enough to exceed the memory limit of all workers together).",
)
@options.memory_limit(help="Memory of one worker [256MiB, or with --data 512MiB].")
@click.option("--workers", type=click.IntRange(min=1), default=2, show_default=True, help="Worker processes.")
@click.option(
    "--out", default="distkern-demo", show_default=True, metavar="DIR", help="Where everything goes."
)
@click.option("--data", metavar="FILE", help="Train on this file of yours instead of digits.")
@click.option("--target", metavar="COLUMN", help="With --data: the column of the labels.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of all choices."
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
    a few thousand of the same rows. Needs no network.

    \b
    Example:
      distkern demo
      distkern demo --data my.csv --target label --out my-demo
    """
    if data is not None and rows is not None:
        raise InputError("does not go with --data", where="--rows", hint="leave one of them out")
    if data is None and target is not None:
        raise InputError("goes with --data only", where="--target", hint="add --data FILE")
    folder = Path(out)
    resume = _prepare(folder / "model", overwrite)
    try:
        limit = memory_limit or (_LIMIT if data is None else _LIMIT_OF_OTHERS)
        lines = _run(folder, rows, limit, workers, data, target, seed, overwrite, resume)
    except KeyboardInterrupt as interrupt:
        again = "run the same command again, it goes on where it stopped"
        if overwrite:
            again += " (without --overwrite)"
        raise KeyboardInterrupt(f"interrupted: {again}") from interrupt
    for line in lines:
        click.echo(line)


def _run(
    folder: Path,
    rows: int | None,
    memory_limit: int,
    workers: int,
    data: str | None,
    target: str | None,
    seed: int,
    overwrite: bool,
    resume: bool,
) -> list[str]:
    from distkern.cli.job import Job
    from distkern.cli.supervision import driving
    from distkern.cli.training import run_job
    from distkern.show.terminal import Terminal

    started = time.monotonic()
    path = folder / ("digits.zarr" if data is None else f"{_stem(data)}.zarr")
    with Terminal() as terminal:
        if data is None:
            wanted = rows if rows is not None else _rows_beyond(workers * memory_limit)
            dataset = _digits(path, wanted, seed, overwrite, terminal)
        else:
            dataset = _own(path, data, target, seed, overwrite, terminal)
        job = Job(
            algorithm="csvrg",
            data=str(path),
            out=str(folder / "model"),
            seed=seed,
            scheduler="local",
            workers=workers,
            memory_limit=memory_limit,
            params=_DIGITS if data is None else {},
        )
        with driving(job.model_folder, resume) as guards:
            model, history = run_job(job, dataset, listeners=(*guards, terminal), resume=resume)
        measured = _evaluate(model, dataset, job)
        choice = _choice(dataset, job, terminal)
    return summary(job, dataset, measured, history, choice, time.monotonic() - started)


def summary(
    job: Any,
    dataset: Dataset,
    measured: dict[str, Any],
    history: list[dict[str, Any]],
    choice: list[str],
    seconds: float,
) -> list[str]:
    """The closing lines of the demo."""
    from distkern.cli.training import memory_line
    from distkern.core.text import in_bytes, in_percent, in_time

    features = dataset.n_rows * dataset.n_features * 4
    limit = job.workers * job.memory_limit
    against = "more than" if features > limit else "which fits in"
    of = "test" if dataset.test is not None else "training"
    commands = [f"distkern inspect {job.out}"]
    if dataset.test is not None:
        commands.append(
            f"distkern predict {job.out} --data {job.data} --out {Path(job.out).parent / 'predictions.csv'}"
        )
    commands.append(
        f"distkern train --data {job.data} --algorithm csvrg --set n_landmarks=1024 --out "
        f"{Path(job.out).parent / 'larger'}"
    )
    commands.append(f"distkern train --data {job.data} --out {Path(job.out).parent / 'chosen'}")
    return [
        "",
        f"{dataset.n_rows:,} rows, {in_bytes(features)} of features: {against} the {in_bytes(limit)}",
        f"that {job.workers} workers may use, {in_bytes(job.memory_limit)} each",
        f"csvrg: {of} error {in_percent(measured['error'])} on {measured['n']:,} rows"
        + (" made from images not used in training" if Path(job.data).name == "digits.zarr" else ""),
        memory_line(history, job.memory_limit),
        *choice,
        f"{in_time(seconds)} in all",
        f"model {job.out}, report {Path(job.out) / 'report.html'}",
        "next:",
        *(f"  {command}" for command in commands),
    ]


def _choice(dataset: Dataset, job: Any, terminal: Terminal) -> list[str]:
    """Lines about the model that `auto` chooses for some of the rows."""
    from distkern.core.text import in_percent, in_time
    from distkern.engine.executors import open_executor
    from distkern.estimators.auto import KernelClassifier

    train, started = dataset.train, time.monotonic()
    n_rows = min(train.n_rows, _CHOSEN_ROWS, max(1, _CHOSEN_BYTES // (8 * train.row_numbers)))
    labels, source = train.labels, dataset.test if dataset.test is not None else train
    assert labels is not None
    if len(set(labels[:n_rows].tolist())) < 2:
        return []
    terminal.line(f"now `auto` chooses a model for {n_rows:,} of these rows")
    model = KernelClassifier(search="quick", random_state=job.seed)
    with open_executor("threads", workers=job.workers) as executor:
        model.fit_with(train[:n_rows], labels[:n_rows], executor=executor, listeners=(terminal,))
    seconds, asked = time.monotonic() - started, source.labels
    assert asked is not None
    error = 1.0 - model.score(source[:_ASKED_ROWS], asked[:_ASKED_ROWS])
    return [
        f"chosen: {model.algorithm_}, because {model.chosen_because_}: error {in_percent(error)}, "
        f"learned from {n_rows:,} rows in {in_time(seconds)}"
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


def _evaluate(model: Any, dataset: Dataset, job: Any) -> dict[str, Any]:
    from distkern.runs.run import evaluate

    source = dataset.test if dataset.test is not None else dataset.train
    measured: dict[str, Any] = evaluate(model, source, scheduler="threads", workers=job.workers)
    return measured


def _rows_beyond(n_bytes: int) -> int:
    """The next multiple of 100,000 rows whose size exceeds ``n_bytes`` by at least a twentieth."""
    return math.ceil(1.05 * n_bytes / _ROW_BYTES / 100_000) * 100_000


def _digits(path: Path, rows: int, seed: int, overwrite: bool, terminal: Terminal) -> Dataset:
    from distkern.data.digits import VirtualDigits
    from distkern.data.ingest import write_dataset

    kept = _reuse(path, overwrite, terminal)
    if kept is not None:
        if kept.n_rows != rows:
            raise InputError(
                f"holds {kept.n_rows:,} rows, not {rows:,}",
                where=str(path),
                hint="add --overwrite, or give another --out",
            )
        return kept
    digits = VirtualDigits(seed=seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal.line(f"making {rows:,} virtual digits in {path}")
    dataset = write_dataset(
        digits.chunks(rows),
        path,
        test_chunks=digits.chunks(max(1000, int(_TEST_SHARE * rows)), "test"),
        scale="none",
        rows_per_shard=_ROWS_PER_SHARD,
        seed=seed,
        overwrite=overwrite,
        progress=telling(terminal, rows),
    )
    terminal.clear()
    return dataset


def _own(
    path: Path, file: str, target: str | None, seed: int, overwrite: bool, terminal: Terminal
) -> Dataset:
    from distkern.data.ingest import shard

    kept = _reuse(path, overwrite, terminal)
    if kept is not None:
        return kept
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal.line(f"sharding {file} to {path}, a tenth of its rows for the test")
    dataset = shard(
        [file],
        path,
        test_fraction=0.1,
        target=target,
        scale="minmax",
        seed=seed,
        overwrite=overwrite,
        progress=telling(terminal),
    )
    terminal.clear()
    return dataset


def _reuse(path: Path, overwrite: bool, terminal: Terminal) -> Dataset | None:
    if overwrite or not path.exists():
        return None
    from distkern.data.dataset import open_dataset

    dataset = open_dataset(path)
    terminal.line(f"using the data set {path} of an earlier run; --overwrite makes it again")
    return dataset


def _stem(file: str) -> str:
    name = file.rstrip("/").rpartition("/")[2]
    return name.partition(".")[0] or "data"
