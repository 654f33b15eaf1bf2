"""Make one fit of :mod:`workflows.defaults.beside` in its own process::

    python -m workflows.defaults.fits '{"name": "yeast3", "system": "distkern", ...}'

prints the record as one line of JSON.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflows.defaults import scores
from workflows.defaults.sets import Set
from workflows.defaults.systems import LIGHTGBM, OURS, SYSTEMS
from workflows.pool import Question
from workflows.processes import at_most, peak_bytes
from workflows.records import Record
from workflows.work import Work

Array = NDArray[Any]

#: what :mod:`workflows.defaults.verdicts` compares a system with first
THEIRS = LIGHTGBM
#: of what a model has for each test row, what pairs are made of
_KEPT = ("squared", "loss", "wrong", "score", "positive")
#: CPU seconds, beyond the limit of a fit, after which a process that does not end by itself is killed
_GRACE = 60.0
_LONGEST = 500


def measured(
    *,
    name: str,
    system: str,
    tag: str,
    seed: int,
    state: int,
    rows: int,
    positives: float | None,
    task: str,
    split: str,
    fingerprint: str,
    path: str,
    out: str,
    limit: float,
) -> Record:
    """Fit to rows drawn by the seed, and score on test rows that all systems share.

    Parameters
    ----------
    tag : of the package's version; "" of other systems
    seed, state : of the rows, and of the fit
    path : of the ``.zarr`` or the table; "" of a generated set
    out : of what is kept for each test row, see :func:`kept_at`
    limit : CPU seconds of the fit, at most

    Returns
    -------
    cpu_seconds : user and system seconds of the fit with its search, without import_seconds and
        compile_seconds, which are told apart; predict_seconds, wall_seconds and peak_bytes
    loss, loss_error : mean of the test rows, log loss or squared error, and its standard error
    constant : loss of the training rows' shares, or of their mean
    told, told_error, told_by : what the fit says of itself on rows that it did not learn from
    chosen, because, machine, compared : the package's algorithm, and losses that its choice compared (of
        real targets in units of their variance); remedied, columns that it refused as they are
    error, calibration, AUC, classes (share, mean probability, standard error of their difference)
    """
    one = Set(name, path, positives, fingerprint, task, split)
    table = one.rows(seed)
    X, fresh = table.cleaned if system != OURS and table.cleaned is not None else (table.X, table.fresh)
    numbers = np.random.default_rng(seed).permutation(len(table.y))[:rows]
    X, y = _taken(X, numbers), table.y[numbers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wall, work = time.perf_counter(), Work(compiles=system == OURS)
        with at_most(limit), work:
            model = SYSTEMS[system](X, y, state, is_real=table.is_real)
        wall, start = time.perf_counter() - wall, time.process_time()
        by_row = scores.by_row(model, fresh, table.truth, is_real=table.is_real)
        predicting = time.process_time() - start
    kept = {key: by_row[key] for key in _KEPT if key in by_row} | {"row": table.numbers}
    _keep(kept_at(Path(out), name, run_of(seed, state), label(system, tag)), kept)
    return {
        "cpu_seconds": work.seconds,
        "import_seconds": work.imports,
        "compile_seconds": work.compiles,
        "predict_seconds": predicting,
        "wall_seconds": wall,
        "peak_bytes": peak_bytes(),
        "train_rows": len(y),
        "test_rows": len(table.truth),
        "columns": int(X.shape[1]),
        "is_real": table.is_real,
        **scores.figures(by_row),
        "constant": scores.constant(y, table.truth, is_real=table.is_real),
        **_said(model, y, is_real=table.is_real),
    }


def label(system: str, tag: str) -> str:
    """The name of a system's records: peers do not depend on the package's version."""
    return f"{system}@{tag}" if system == OURS and tag else system


def run_of(seed: int, state: int) -> str:
    """The name of a split and of another state of the fit, if it is another."""
    return str(seed) if seed == state else f"{seed}-{state}"


def kept_at(out: Path, name: str, run: str, who: str) -> Path:
    """Where the losses of each test row lie."""
    return out / "rows" / name / run / f"{who}.npz"


def _said(model: Any, y: Array, *, is_real: bool) -> Record:
    """What a model says of itself."""
    rounds = getattr(model, "rounds", None)
    if not hasattr(model, "algorithm_"):
        return {} if rounds is None else {"rounds": rounds}
    history = getattr(model, "history_", ())
    every = ((one["name"], one["loss"]) for line in history for one in line.get("candidates", ()))
    compared = list(dict.fromkeys(every))
    found: Record = {
        "chosen": model.algorithm_,
        "because": model.chosen_because_,
        "machine": " ".join(repr(model.machine_).split())[:_LONGEST],
        "compared": compared,
        "remedied": getattr(model, "remedied_", []),
    }
    unit = float(np.var(y)) if is_real else 1.0
    return found | _told(model, [unit * loss for _, loss in compared if math.isfinite(loss)])


def _told(model: Any, losses: Sequence[float]) -> Record:
    """The model's score on rows that it did not learn from, or the least loss that its choice compared."""
    score = getattr(model, "held_out_score_", None)
    if score is not None:
        error = getattr(model, "held_out_error_", None)
        if isinstance(score, Mapping):
            score, error = score["score"], score.get("error")
        elif isinstance(score, tuple):
            score, error = score[:2]
        return {
            "told": float(score),
            "told_error": None if error is None else float(error),
            "told_by": "held_out_score_",
        }
    return {"told": min(losses), "told_error": None, "told_by": "candidates"} if losses else {}


def _taken(X: Any, numbers: Array) -> Any:
    return X.iloc[numbers] if hasattr(X, "iloc") else X[numbers]


def _keep(path: Path, arrays: dict[str, Array]) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    os.replace(partial, path)


def main(text: str) -> None:
    """Answer a question, and print the answer."""
    given = json.loads(text)
    # compiled loops that do not return to Python see no signal
    seconds = math.ceil(time.process_time() + given["limit"] + _GRACE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
    print(json.dumps(Question("", measured, given).answer()))


if __name__ == "__main__":
    main(sys.argv[1])
