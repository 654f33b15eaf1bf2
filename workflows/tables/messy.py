"""Take a messy table from the file to predictions with no option except the target.

    python -m workflows.tables.messy --out figures --rows 200000

writes training and test rows of :mod:`workflows.tables.typed` as an American and as a European file, and
processes each in three ways: by the commands ``shard``, ``train`` and ``predict``, as a pandas frame and as a
Dask frame, read with the delimiter only. LightGBM learns from the cleaned columns and searches as in
:mod:`workflows.defaults.beside`. All are scored on the same test rows. Records in OUT/records are kept.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import dask.config
import dask.dataframe
import numpy as np
import pandas
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score

import distkern as dk
from workflows import report
from workflows.averages import failed
from workflows.defaults.systems import boosted
from workflows.pool import Question, answer
from workflows.processes import distkern
from workflows.records import Record, Records
from workflows.tables.typed import LABEL, STYLES, Style, cleaned, customers, write

Array = NDArray[Any]

_TITLE = "A messy table from the file to predictions"
_PEER = "LightGBM on cleaned columns"
_KNOWN = "the true probabilities"
#: wanted: at least this share of the peer's area under ROC
_SHARE = 0.98
_SEEDS = {"train": 0, "test": 1}


def by_commands(folder: Path, style: Style, limit: float) -> Array:
    """Return probabilities of the test rows by the commands of a user."""
    data, model, out = (folder / name for name in ("data.zarr", "model", "predictions.csv"))
    train, test = (folder / f"{name}.csv" for name in _SEEDS)
    for words in (
        ["shard", train, "--target", LABEL, "--out", data],
        ["train", "--data", data, "--out", model],
        ["predict", model, test, "--proba", "--out", out],
    ):
        found, _ = distkern(*map(str, words), threads=0, limit=limit)
        if "failed" in found:
            raise RuntimeError(f"{words[0]}: {found['failed']}")
    return pandas.read_csv(out).iloc[:, -1].to_numpy()


def by_pandas(folder: Path, style: Style, limit: float) -> Array:
    """Chances of the test rows, by frames as pandas reads them."""
    train, test = (pandas.read_csv(folder / f"{name}.csv", **_reading(style)) for name in _SEEDS)
    model = dk.KernelClassifier(random_state=0).fit(train.drop(columns=LABEL), train[LABEL])
    return model.predict_proba(test.drop(columns=LABEL))[:, 1]


def by_dask(folder: Path, style: Style, limit: float) -> Array:
    """Chances of the test rows, by Dask frames, read as texts: Dask would guess by the first rows."""
    train, test = (
        dask.dataframe.read_csv(folder / f"{name}.csv", dtype=str, blocksize="8MB", **_reading(style))
        for name in _SEEDS
    )
    model = dk.KernelClassifier(random_state=0).fit(train.drop(columns=LABEL), train[LABEL])
    return np.asarray(model.predict_proba(test.drop(columns=LABEL)))[:, 1]


def by_peer(rows: dict[str, int]) -> Array:
    """Return probabilities of the test rows by LightGBM on cleaned columns."""
    train, test = (customers(rows[name], seed) for name, seed in _SEEDS.items())
    model = boosted(cleaned(train.frame, train.frame), train.label, 0, is_real=False)
    return model.predict_proba(cleaned(test.frame, train.frame))[:, 1]


def _reading(style: Style) -> dict[str, str]:
    return {"sep": style.delimiter, "decimal": style.decimal}


_WAYS: dict[str, Callable[[Path, Style, float], Array]] = {
    "commands": by_commands,
    "pandas": by_pandas,
    "Dask": by_dask,
}


def measured(*, way: str, style: str, rows: dict[str, int], folder: str, limit: float) -> Record:
    """Scores on the test rows, by one way or by LightGBM.

    Parameters
    ----------
    folder : in which files are written, and removed
    limit : seconds of a command, at most
    """
    truth = customers(rows["test"], _SEEDS["test"])
    if way == _KNOWN:
        chances = truth.chances
    elif way == _PEER:
        chances = by_peer(rows)
    else:
        place = Path(folder) / f"{style}-{way}"
        place.mkdir(parents=True, exist_ok=True)
        for name, seed in _SEEDS.items():
            write(place / f"{name}.csv", rows[name], seed, STYLES[style])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            chances = _WAYS[way](place, STYLES[style], limit)
        shutil.rmtree(place)
    return {
        "AUC": float(roc_auc_score(truth.label, chances)),
        "log loss": float(log_loss(truth.label, chances)),
    }


def questions(rows: dict[str, int], folder: Path, limit: float) -> Iterator[Question]:
    """All ways of all files, and what they are compared with."""
    for style in STYLES:
        for way in _WAYS:
            asked = {"way": way, "style": style, "rows": rows}
            given = {"folder": str(folder), "limit": limit}
            yield Question(f"{style}/{way}", measured, asked, given)
    for peer in (_PEER, _KNOWN):
        asked = {"way": peer, "style": "", "rows": rows}
        yield Question(peer, measured, asked, {"folder": str(folder), "limit": limit})


def table(records: Records) -> report.Table:
    """Scores of every way, and whether its area is near enough to LightGBM's."""
    found = {key: record for key, record in records.under("") if "failed" not in record}
    wanted = _SHARE * found[_PEER]["AUC"] if _PEER in found else None
    rows = [
        (
            key.replace("/", ", "),
            f"{record['AUC']:.4f}",
            f"{record['log loss']:.4f}",
            ""
            if wanted is None or key in (_PEER, _KNOWN)
            else ("yes" if record["AUC"] >= wanted else "**no**"),
        )
        for key, record in found.items()
    ]
    words = f"Within 2 %: at least {_SHARE:g} of LightGBM's area under ROC."
    return report.Table("Scores on the test rows", words, ("way", "AUC", "log loss", "within 2 %"), rows)


@click.command(help=__doc__)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for records and report.")
@click.option(
    "--rows", default=200_000, show_default=True, help="Training rows; there are a quarter as many test rows."
)
@click.option("--limit", default=3600.0, show_default=True, help="Seconds of a command, at most.")
@click.option("--note", default="", help="Remark on the machine for the report, such as 'one busy core'.")
def main(out: Path, rows: int, limit: float, note: str) -> None:
    """Run missing measurements and write the report."""
    records, sizes = Records(out / "records"), {"train": rows, "test": rows // 4}
    answer(records, list(questions(sizes, out / "files", limit)), 1, click.echo, fresh=True)
    words = (
        f"{report.made()}{note and f' ({note})'}.\n\n{rows:,} training rows and {rows // 4:,} test "
        "rows; about one in fifty is positive. No option is given except the target; frames are "
        "read with the delimiter and the decimal mark. LightGBM gets numbers and categories."
    )
    parts = [(table(records), ()), failed(records)]
    for path in report.write(_TITLE, words, [one for one in parts if one[0].rows], out / "report"):
        click.echo(f"written: {path}")


if __name__ == "__main__":
    main()
