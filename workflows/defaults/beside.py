"""What is chosen with nothing set beside boosted trees with a search of their own, by proper scores::

    python -m workflows.defaults.beside --data a9a.zarr --data covtype.zarr --positives 0.02 --seeds 3

LightGBM tries 15, 63 and 255 leaves with rates of .05 and .1, each until 30 rounds have not lowered the loss
of a fifth of the rows, and keeps the best of the six. Both learn from the same rows in one thread, which the
seed draws, and are measured on the same test rows: log loss, AUC, share of errors and expected calibration
error of ten bins; of real targets the root mean squared error. CPU seconds are those of the whole fit with
its search.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import dask
import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

import distkern
from workflows.subsets import gathered

Array = NDArray[Any]

#: of the boosted trees
_LEAVES, _RATES, _MOST_ROUNDS, _PATIENCE = (15, 63, 255), (0.05, 0.1), 2000, 30
_TEST_ROWS, _BINS = 20_000, 10
_COLUMNS = ("log loss", "AUC", "error", "calibration", "RMSE", "CPU s")


def boosted(X: Array, y: Array, seed: int, *, is_real: bool) -> Any:
    """The best of six LightGBM models on rows that are held out of their own."""
    import lightgbm

    kind = lightgbm.LGBMRegressor if is_real else lightgbm.LGBMClassifier
    shares = None if is_real else y
    rows, asked, targets, truth = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=shares)
    models = []
    for leaves in _LEAVES:
        for rate in _RATES:
            model = kind(
                n_estimators=_MOST_ROUNDS,
                num_leaves=leaves,
                learning_rate=rate,
                n_jobs=1,
                verbose=-1,
                random_state=seed,
            )
            patience = lightgbm.early_stopping(_PATIENCE, verbose=False)
            models.append(model.fit(rows, targets, eval_set=[(asked, truth)], callbacks=[patience]))
    return min(models, key=lambda model: next(iter(model.best_score_["valid_0"].values())))


def chosen(X: Array, y: Array, seed: int, *, is_real: bool) -> Any:
    """The machine that the package chooses."""
    kind = distkern.KernelRegressor if is_real else distkern.KernelClassifier
    return kind(random_state=seed).fit(X, y)


def figures(model: Any, X: Array, y: Array, *, is_real: bool) -> dict[str, float]:
    """What a model achieves on test rows."""
    if is_real:
        return {"RMSE": float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))}
    chances = model.predict_proba(X)
    right = model.classes_[chances.argmax(axis=1)] == y
    found = {
        "log loss": float(log_loss(y, chances, labels=model.classes_)),
        "error": float(np.mean(model.predict(X) != y)),
        "calibration": calibration_error(chances.max(axis=1), right),
    }
    if chances.shape[1] == 2:
        found["AUC"] = float(roc_auc_score(y, chances[:, 1]))
    return found


def calibration_error(chances: Array, right: Array) -> float:
    """sum_b |mean of the chances - share that is right| n_b / n over ten bins b of equal width."""
    bins = np.minimum((chances * _BINS).astype(int), _BINS - 1)
    apart = [abs(float((chances - right)[bins == number].sum())) for number in range(_BINS)]
    return sum(apart) / len(chances)


def rare(X: Array, y: Array, share: float, seed: int) -> tuple[Array, Array]:
    """Rows of two classes of which so few have the second label."""
    generator, positive = np.random.default_rng(seed), y == np.unique(y)[1]
    others = np.flatnonzero(~positive)
    n_positive = round(len(others) * share / (1.0 - share))
    kept = generator.permutation(np.flatnonzero(positive))[:n_positive]
    numbers = generator.permutation(np.concatenate([others, kept]))
    return X[numbers], y[numbers]


def compared(path: Path, rows: int, seeds: int, positives: float | None) -> Iterator[dict[str, Any]]:
    """The figures of both for every seed."""
    dataset = distkern.open_dataset(path)
    is_real = dataset.task == "regression"
    (X, y), (asked, truth) = gathered(dataset.train), gathered(dataset.test)
    few = np.random.default_rng(9).permutation(len(truth))[:_TEST_ROWS]
    if positives is not None:
        asked, truth = rare(asked, truth, positives, 9)
        few = few[few < len(truth)]
    for seed in range(seeds):
        given, targets = (X, y) if positives is None else rare(X, y, positives, seed)
        drawn = np.random.default_rng(seed).permutation(len(targets))[:rows]
        for name, fit in (("distkern", chosen), ("LightGBM", boosted)):
            with warnings.catch_warnings(), dask.config.set(scheduler="synchronous"):
                warnings.simplefilter("ignore")
                start = time.process_time()
                model = fit(given[drawn], targets[drawn], seed, is_real=is_real)
                seconds = time.process_time() - start
                found = figures(model, asked[few], truth[few], is_real=is_real)
            told = getattr(model, "algorithm_", "")
            yield {"data": dataset.path.name, "who": name, "chosen": told, **found, "CPU s": seconds}


def table(records: list[dict[str, Any]]) -> str:
    """Mean and standard deviation over the seeds, a line for each data set and model, as Markdown."""
    names = [name for name in _COLUMNS if any(name in record for record in records)]
    lines = ["| data | model | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for data, who in dict.fromkeys((record["data"], record["who"]) for record in records):
        mine = [record for record in records if (record["data"], record["who"]) == (data, who)]
        cells = []
        for name in names:
            values = [record[name] for record in mine if name in record]
            cells.append(f"{np.mean(values):.4g} +- {np.std(values):.2g}" if values else "")
        told = ", ".join(dict.fromkeys(record["chosen"] for record in mine if record["chosen"]))
        lines.append(f"| {data} | {who}{f' ({told})' if told else ''} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


@click.command()
@click.option("--data", "paths", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--rows", default=50_000, show_default=True, help="Training rows that a seed draws, at most.")
@click.option("--seeds", default=3, show_default=True)
@click.option("--positives", type=float, help="Share of the rows with the second of two labels.")
def main(paths: tuple[Path, ...], rows: int, seeds: int, positives: float | None) -> None:
    """Compare both on data sets with test rows."""
    records: list[dict[str, Any]] = []
    for path in paths:
        for record in compared(path, rows, seeds, positives):
            records.append(record)
            shown = {name: value for name, value in record.items() if isinstance(value, float)}
            click.echo(
                f"{record['data']} {record['who']} " + ", ".join(f"{k} {v:.4g}" for k, v in shown.items())
            )
    click.echo(table(records))


if __name__ == "__main__":
    main()
