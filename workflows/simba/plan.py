"""What is measured for Hazan et al. 2011: curves of every method, trade-off parameter and seed."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import distkern
from distkern.data.ingest import add_columns
from workflows.pool import Question
from workflows.records import Record, Records
from workflows.simba import generate
from workflows.subsets import gathered
from workflows.training import trained

FAMILIES = ("SIMBA, 1 x 1 (the paper's)", "SIMBA, 16 x 16", "Pegasos")
_COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
#: rows and columns of a round of the batched SIMBA, and the share of the rounds that it gets
_BATCH, _ROUNDS_SHARE = 16, 10
#: for the beginning of a curve there is a run of this share of the rounds, or of the passes, too
_SHORT_ROUNDS, _SHORT_PASSES = 10, 50


@dataclass(frozen=True)
class Scale:
    """How much is measured.

    Attributes
    ----------
    rounds : of SIMBA with one row and one column each
    passes : of Pegasos
    stages : of every run, measured after each
    nus, lams : trade-off parameters that are tried
    generated : rows, columns and test rows of the generated set; None for none
    """

    seeds: int = 5
    rounds: int = 20_000
    passes: float = 10.0
    stages: int = 60
    nus: tuple[float, ...] = (0.0005, 0.001, 0.002, 0.004)
    lams: tuple[float, ...] = (1e-3, 1e-4, 1e-5)
    generated: tuple[int, int, int] | None = (1000, 20_000, 4000)

    @classmethod
    def quick(cls, seeds: int) -> Scale:
        """Minutes."""
        return cls(seeds, 20_000, 6.0, 30, (0.002, 0.004), (1e-4, 1e-5), (1000, 10_000, 2000))


@dataclass(frozen=True)
class Curve:
    """One method with one trade-off parameter: jobs whose lines follow one another."""

    family: str
    parameter: str
    algorithm: str
    jobs: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Plan:
    """Questions in two waves: the generated rows, then all runs.

    Attributes
    ----------
    paths : of the data sets that were given
    folder : of the generated one
    """

    paths: Sequence[Path]
    scale: Scale
    folder: Path

    @property
    def sources(self) -> dict[str, Path]:
        """All data sets by name."""
        found = {
            name: self.folder / f"{name}.zarr" if copied else path for name, path, copied in self._given()
        }
        if self.scale.generated is not None:
            rows, features, _ = self.scale.generated
            found[f"generated-{rows}x{features}"] = self.folder / f"generated-{rows}x{features}.zarr"
        return found

    def rows(self) -> list[Question]:
        """The generated set, and copies by columns of data sets that have none."""
        asked = [
            Question(
                f"rows/{name}",
                with_columns,
                {"fingerprint": distkern.open_dataset(path).fingerprint},
                {"source": str(path), "out": str(self.sources[name])},
            )
            for name, path, copied in self._given()
            if copied
        ]
        if self.scale.generated is not None:
            name, path = list(self.sources.items())[-1]
            shape = dict(zip(("rows", "features", "test_rows"), self.scale.generated, strict=True))
            asked.append(Question(f"rows/{name}", generate.made, {**shape, "seed": 0}, {"out": str(path)}))
        return asked

    def _given(self) -> Iterator[tuple[str, Path, bool]]:
        """Names, paths, and whether the copy by columns is missing, which SIMBA reads."""
        for path in self.paths:
            yield path.name.removesuffix(".zarr"), path, not distkern.open_dataset(path).train.has_columns

    def runs(self) -> list[Question]:
        """Curves, and the exact solution of the same machine."""
        asked = []
        for name, path in self.sources.items():
            given = {"data": str(path)}
            of = {"fingerprint": distkern.open_dataset(path).fingerprint}
            asked.append(Question(f"exact/{name}", exact, {**of, "costs": _COSTS}, given))
            for curve in curves(self.scale):
                for seed in range(self.scale.seeds):
                    for number, settings in enumerate(curve.jobs):
                        job = {"algorithm": curve.algorithm, "settings": settings, "seed": seed, **of}
                        asked.append(Question(key(name, curve, number, seed), trained, job, given))
        return asked


def key(name: str, curve: Curve, number: int, seed: int) -> str:
    """The key of a job's record."""
    return f"runs/{name}/{curve.family}/{curve.parameter}/job-{number}/seed-{seed}"


def curves(scale: Scale) -> Iterator[Curve]:
    """All methods with all trade-off parameters."""
    for nu in scale.nus:
        # nothing is held out: as in the paper, the parameter is chosen by the test rows
        own = {"nu": nu, "stages": scale.stages, "patience": "none", "validation_fraction": 0.0}
        for family, batch, rounds in (
            (FAMILIES[0], 1, scale.rounds),
            (FAMILIES[1], _BATCH, scale.rounds // _ROUNDS_SHARE),
        ):
            shape = {**own, "rows_per_round": batch, "columns_per_round": batch}
            numbers = (max(scale.stages, rounds // _SHORT_ROUNDS), rounds)
            jobs = tuple({**shape, "max_rounds": number} for number in numbers)
            yield Curve(family, f"nu = {nu:g}", "simba", jobs)
    for lam in scale.lams:
        jobs = tuple(
            {"lam": lam, "stages": scale.stages, "steps_per_stage": passes / scale.stages}
            for passes in (scale.passes / _SHORT_PASSES, scale.passes)
        )
        yield Curve(FAMILIES[2], f"lam = {lam:g}", "pegasos", jobs)


def points(records: Records, name: str, curve: Curve, seed: int) -> list[dict[str, float]]:
    """Return the lines of a curve, short jobs before long ones; none for failed jobs."""
    found: list[dict[str, float]] = []
    for number in range(len(curve.jobs)):
        record = records.get(key(name, curve, number, seed))
        if record is None or "failed" in record:
            return []
        reached = found[-1]["feature_accesses"] if found else 0.0
        found += [line for line in record["curve"] if line["feature_accesses"] > reached]
    return found


def with_columns(*, fingerprint: str, source: str, out: str) -> Record:
    """Copy a data set, whose own folder is left as it is, and add the copy by columns to it."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(source, out)
    return {"rows": add_columns(out).train.n_rows}


def exact(*, costs: Sequence[float], data: str, fingerprint: str) -> Record:
    """The least test error of scikit-learn's LinearSVC, hinge loss, over ``costs``."""
    from sklearn.svm import LinearSVC

    dataset = distkern.open_dataset(data)
    X, y = gathered(dataset.train)
    fresh, truth = gathered(dataset.test)
    errors = []
    with warnings.catch_warnings():
        # not converged within its iterations, as the error states
        warnings.simplefilter("ignore")
        for cost in costs:
            model = LinearSVC(C=cost, loss="hinge", max_iter=5000, random_state=0).fit(X, y)
            errors.append(float(np.mean(model.predict(fresh) != truth)))
    best = int(np.argmin(errors))
    return {"test_error": errors[best], "C": costs[best], "rows": len(y), "features": X.shape[1]}
