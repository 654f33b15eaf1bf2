"""Data sets for the comparisons of the papers, cut from any sharded one."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import scipy.sparse as sp

import distkern
from distkern.core.sparse import SparseRows
from distkern.data.ingest import write_dataset


@dataclass(frozen=True)
class Subset:
    """A data set in a folder of the workflow.

    Attributes
    ----------
    name : name of the source, with the selected classes
    path : of the ``.zarr``
    about : description for the report
    """

    name: str
    path: str
    fingerprint: str
    n_rows: int
    n_test: int
    n_features: int
    n_classes: int
    about: str


def parse(text: str) -> tuple[Path, tuple[str, ...]]:
    """Parse ``PATH.zarr`` or ``PATH.zarr:8,6`` into the path and the selected classes."""
    path, _, labels = text.rpartition(":") if not Path(text).exists() else (text, "", "")
    if not path or not Path(path).exists():
        raise click.BadParameter(f"{text}: there is no such data set", param_hint="--data")
    return Path(path), tuple(label for label in labels.split(",") if label)


def subset(text: str, folder: Path, n_rows: int, n_test: int, components: int, most_features: int) -> Subset:
    """Draw rows of a data set from all its shards, if they are missing.

    Parameters
    ----------
    text : ``PATH.zarr``; ``PATH.zarr:8,6`` for rows of these classes, ``PATH.zarr:2`` for one and the rest
    n_rows, n_test : at most
    components : principal components that are taken where there are more than ``most_features`` columns
    """
    source, labels = parse(text)
    name = "-".join([source.name.removesuffix(".zarr"), *labels])
    out = folder / f"{name}-{n_rows}-{components}.zarr"
    facts = out.with_suffix(".json")
    if facts.exists():
        return Subset(**json.loads(facts.read_text()))
    dataset = distkern.open_dataset(source)
    if dataset.test is None:
        raise click.UsageError(f"{source}: it has no test rows; shard it with --test or --test-fraction")
    kind = "regression" if dataset.task == "regression" else "classification"
    X, y = _of_classes(dataset.train, labels, n_rows, dataset)
    fresh, truth = _of_classes(dataset.test, labels, n_test, dataset)
    about = f"{len(y):,} of {dataset.train.n_rows:,} training rows, {len(truth):,} test rows"
    about += f", {X.shape[1]} columns"
    if labels:
        about += f", class {labels[0]} against " + (labels[1] if len(labels) > 1 else "the rest")
    if X.shape[1] > most_features:
        X, fresh = _reduced(X, fresh, components)
        about += f", by principal components {components}"
    folder.mkdir(parents=True, exist_ok=True)
    made = write_dataset(
        iter([(X, y)]), out, iter([(fresh, truth)]), scale="none", task=kind, overwrite=True, seed=0
    )
    n_classes = 0 if kind == "regression" else len(np.unique(y))
    found = Subset(name, str(out), made.fingerprint, len(y), len(truth), X.shape[1], n_classes, about)
    facts.write_text(json.dumps(asdict(found)))
    return found


def gathered(split: Any, most_rows: int | None = None) -> tuple[Any, np.ndarray]:
    """Return rows of a split, dense or CSR, and their targets: all, or drawn evenly from every shard."""
    features, targets, generator = [], [], np.random.default_rng(0)
    share = 1.0 if most_rows is None else min(1.0, most_rows / split.n_rows)
    for index in range(split.n_blocks):
        block = split.reader(index)()
        rows = len(block.targets)
        kept = (
            slice(None) if share == 1.0 else np.sort(generator.permutation(rows)[: math.ceil(share * rows)])
        )
        features.append(plain(block.features)[kept])
        targets.append(block.targets[kept])
    stacked = sp.vstack(features).tocsr() if sp.issparse(features[0]) else np.concatenate(features)
    return stacked[:most_rows], np.concatenate(targets)[:most_rows]


def plain(rows: Any) -> Any:
    """Rows as numpy or SciPy has them."""
    if isinstance(rows, SparseRows):
        return sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=rows.shape)
    return np.asarray(rows)


def _of_classes(
    split: Any, labels: Sequence[str], most_rows: int, dataset: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and targets; of classes that were asked for 1 for the first and 0 for others."""
    X, y = gathered(split, None if labels else most_rows)
    if labels:
        known = [str(one) for one in np.asarray(dataset.classes).tolist()]
        unknown = [label for label in labels if label not in known]
        if unknown:
            raise click.UsageError(f"there is no class {unknown[0]}; there are {', '.join(known)}")
        codes = [known.index(label) for label in labels]
        mine = np.flatnonzero(np.isin(y, codes)) if len(codes) > 1 else np.arange(len(y))
        drawn = np.random.default_rng(0).permutation(mine)[:most_rows]
        X, y = X[drawn], (y[drawn] == codes[0]).astype(int)
    return X, y


def _reduced(X: Any, fresh: Any, components: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.decomposition import PCA, TruncatedSVD

    kind = TruncatedSVD if sp.issparse(X) else PCA
    made = kind(components, random_state=0).fit(X)
    first, second = (made.transform(part).astype(np.float32) for part in (X, fresh))
    return first, second


def digits(folder: Path, n_rows: int, n_test: int, classes: Sequence[int] | None = None) -> Subset:
    """Virtual handwritten digits, of all classes or two of them, where no data set is given."""
    from distkern.data.digits import VirtualDigits

    name = "digits" if classes is None else "digits-" + "-".join(map(str, classes))
    out = folder / f"{name}-{n_rows}.zarr"
    facts = out.with_suffix(".json")
    if facts.exists():
        return Subset(**json.loads(facts.read_text()))
    source = VirtualDigits(seed=0)
    made, parts = 10 if classes is None else len(classes), {}
    for split, most in (("train", n_rows), ("test", n_test)):
        X, y = _joined(source.chunks(math.ceil(most * 12 / made), split))
        if classes is not None:
            kept = np.isin(y, classes)
            X, y = X[kept], (y[kept] == classes[0]).astype(int)
        parts[split] = X[:most], y[:most]
    folder.mkdir(parents=True, exist_ok=True)
    rows, test = iter([parts["train"]]), iter([parts["test"]])
    dataset = write_dataset(rows, out, test, scale="none", overwrite=True, seed=0)
    X, y = parts["train"]
    n_test = len(parts["test"][1])
    about = (
        f"virtual handwritten digits, {len(y):,} training rows, {n_test:,} test rows, {X.shape[1]} columns"
    )
    if classes is not None:
        about += f", {classes[0]} against {classes[1]}"
    found = Subset(name, str(out), dataset.fingerprint, len(y), n_test, X.shape[1], made, about)
    facts.write_text(json.dumps(asdict(found)))
    return found


def _joined(chunks: Any) -> tuple[np.ndarray, np.ndarray]:
    parts = list(chunks)
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])
