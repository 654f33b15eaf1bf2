"""The data sets of :mod:`workflows.defaults.beside`: a folder's, published ones, and generated ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from workflows.defaults import messy, suite, synthetic

Array = NDArray[Any]

TEST_ROWS = 20_000
#: of the test rows that are drawn, the same for all seeds of the fits
_TEST_SEED = 9


@dataclass(frozen=True)
class Rows:
    """Rows to learn from and test rows of a set.

    Attributes
    ----------
    X, fresh : arrays, sparse matrices or frames, whose rows are those of the targets ``y`` and ``truth``
    is_real : targets are numbers, not classes
    cleaned : the same as boosted trees are given them, where that differs
    fresh_numbers : which rows of the set are the test rows; None if they are the same with all seeds
    """

    X: Any
    y: Array
    fresh: Any
    truth: Array
    is_real: bool
    cleaned: tuple[Any, Any] | None = None
    fresh_numbers: Array | None = None

    @property
    def numbers(self) -> Array:
        """Return what identifies test rows for all seeds."""
        return np.arange(len(self.truth)) if self.fresh_numbers is None else self.fresh_numbers


@dataclass(frozen=True)
class Set:
    """A data set, as a question names it.

    Attributes
    ----------
    path : of the ``.zarr``, or of a suite's table; "" of a generated one
    positives : share of rows with the second of two labels that is drawn, of training and of test rows
    fingerprint : of the rows, or of the program that generates them
    task, split : of a suite's table, see :mod:`workflows.defaults.suite`
    most_rows : training rows of a suite's table
    """

    name: str
    path: str
    positives: float | None
    fingerprint: str
    task: str = ""
    split: str = ""
    most_rows: int | None = None

    def rows(self, seed: int) -> Rows:
        """All rows, of a suite's table on the sides that the seed draws.

        Of a set whose positives are few, those that the seed draws.
        """
        if self.task:
            return self._of_table(seed)
        if not self.path:
            return _GENERATED[self.name]()
        import distkern
        from workflows.subsets import gathered

        dataset = distkern.open_dataset(self.path)
        (X, y), (fresh, truth) = gathered(dataset.train), gathered(dataset.test)
        if self.positives is not None:
            X, y = rare(X, y, self.positives, seed)
            fresh, truth = rare(fresh, truth, self.positives, _TEST_SEED)
        few = np.random.default_rng(_TEST_SEED).permutation(len(truth))[:TEST_ROWS]
        return Rows(X, y, fresh[few], truth[few], dataset.task == "regression")

    def _of_table(self, seed: int) -> Rows:
        frame, y = suite.read(Path(self.path), self.task)
        train, test = suite.sides(frame, y, seed, self.task, self.split)
        test = np.sort(np.random.default_rng(_TEST_SEED).permutation(test)[:TEST_ROWS])
        kind, _, column = self.split.partition(" ")
        if kind == "group":
            frame = frame.drop(columns=column)
        is_real = self.task == suite.REGRESSION
        return Rows(frame.iloc[train], y[train], frame.iloc[test], y[test], is_real, fresh_numbers=test)


@dataclass(frozen=True)
class _Published:
    """Files of a folder and how :func:`distkern.data.ingest.shard` reads them."""

    source: str
    test: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


_COVTYPE = "covtype.csv.gz"
_PUBLISHED = {
    "a9a": _Published("a9a.svm.gz", "a9a.t.svm.gz"),
    "ijcnn1": _Published("ijcnn1.svm.gz", "ijcnn1.t.svm.gz"),
    "letter": _Published("letter.csv.gz", None, {"target": "letter", "test_fraction": 0.25}),
    "mnist": _Published("mnist_train.npz", "mnist_test.npz", {"target": "y"}),
    "covtype": _Published(
        _COVTYPE, None, {"target": "cover_type", "test_fraction": 0.1, "positive": "2", "sparse": False}
    ),
    "covtype7": _Published(_COVTYPE, None, {"target": "cover_type", "test_fraction": 0.1, "sparse": False}),
    "20news": _Published("20news_binary.svm.xz", "20news_binary.t.svm.xz"),
    "cadata": _Published(
        "cadata.csv.gz", None, {"target": "median_value", "test_fraction": 0.25, "task": "regression"}
    ),
    "kin40k": _Published(
        "kin40k_train.parquet", "kin40k_test.parquet", {"target": "y", "task": "regression"}
    ),
}
#: of which published set, and the share of its second label
_RARE = {"covtype-rare": ("covtype", 0.02), "a9a-rare": ("a9a", 0.02)}


def _messy() -> Rows:
    train, test = messy.messy(60_000, 0), messy.messy(TEST_ROWS, 1)
    cleaned = messy.cleaned(train.frame, train.frame), messy.cleaned(test.frame, train.frame)
    return Rows(train.frame, train.label, test.frame, test.label, False, cleaned)


def _skewed() -> Rows:
    return Rows(*synthetic.skewed(40_000, 0), *synthetic.skewed(TEST_ROWS, 1), True)


def _small() -> Rows:
    return Rows(*synthetic.small(3000, 0), *synthetic.small(TEST_ROWS, 1), False)


_GENERATED: dict[str, Callable[[], Rows]] = {"messy": _messy, "skewed": _skewed, "small": _small}
_PROGRAMS = {"messy": messy, "skewed": synthetic, "small": synthetic}

NAMES = (*_PUBLISHED, *_RARE, *_GENERATED)


def named(name: str, files: Path | None, folder: Path) -> Set:
    """Return a set of the list; files of a published one become a ``.zarr`` in the folder once.

    Values are as published: nothing is scaled.
    """
    if name in _GENERATED:
        program = Path(str(_PROGRAMS[name].__file__)).read_bytes()
        return Set(name, "", None, hashlib.sha256(program).hexdigest()[:16])
    import distkern
    from distkern.data.ingest import shard

    source, positives = _RARE.get(name, (name, None))
    out, published = folder / f"{source}.zarr", _PUBLISHED[source]
    if not out.exists():
        if files is None:
            raise click.UsageError(f"{name}: give the folder of {published.source} as --files")
        folder.mkdir(parents=True, exist_ok=True)
        test = None if published.test is None else files / published.test
        shard(files / published.source, out, test=test, scale="none", **published.options)
    return Set(name, str(out), positives, distkern.open_dataset(out).fingerprint)


def of_suite(folder: Path, names: Sequence[str] = (), half: int | None = None) -> list[Set]:
    """Return tables of a folder by name, from one half of the suite or both, the smallest first."""
    index = suite.listed(folder)
    unknown = [name for name in names if name not in set(index["name"])]
    if unknown:
        raise click.UsageError(f"{folder / suite.INDEX} does not list {', '.join(unknown)}")
    wanted = set(names or index["name"])
    if half is not None:
        wanted &= suite.half(list(index["name"]), half)
    found = []
    for row in index.to_dict("records"):
        name = row["name"]
        if name not in wanted:
            continue
        path, most = suite.file_of(folder, name), round((1.0 - suite.TEST_SHARE) * int(row["rows"]))
        mark = suite.fingerprint(path)
        found.append(Set(name, str(path), None, mark, row["task"], row.get("split", ""), most))
    return found


def given(text: str) -> Set:
    """A set of the user's with test rows: ``PATH.zarr``, or ``PATH.zarr:0.02`` for so few positives."""
    import distkern

    path, _, share = text.rpartition(":") if not Path(text).exists() else (text, "", "")
    try:
        positives = float(share) if share else None
    except ValueError:
        path = ""
    if not path or not Path(path).exists():
        raise click.BadParameter(f"{text}: there is no such data set", param_hint="--data")
    dataset = distkern.open_dataset(path)
    if dataset.test is None:
        raise click.BadParameter(f"{text}: it has no test rows", param_hint="--data")
    name = Path(path).name.removesuffix(".zarr") + (f"-{share}" if share else "")
    return Set(name, path, positives, dataset.fingerprint)


def rare(X: Any, y: Array, share: float, seed: int) -> tuple[Any, Array]:
    """Return rows of two classes with this share of the second label."""
    generator, positive = np.random.default_rng(seed), y == np.unique(y)[1]
    others = np.flatnonzero(~positive)
    n_positive = round(len(others) * share / (1.0 - share))
    kept = generator.permutation(np.flatnonzero(positive))[:n_positive]
    numbers = generator.permutation(np.concatenate([others, kept]))
    return X[numbers], y[numbers]
