"""What is measured for Tan et al. 2019: data sets in orders by seed, settings, and questions by key."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import distkern
from workflows.csvrg import exact, machines
from workflows.csvrg.paper import TABLE_2
from workflows.pool import Question
from workflows.records import Record, Records
from workflows.training import trained

#: of data sets that are not the paper's
LANDMARKS = 256
#: at the least diameter of Figure 1, on a sample
MOST_LANDMARKS = 400
#: name in the report -> algorithm, the search of its settings, and further settings
METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "CSVRG+ODM, coverage, nearest": ("csvrg", "nearest", {"landmarks": "coverage", "projection": True}),
    "CSVRG+ODM, coverage, span": ("csvrg", "span", {"landmarks": "coverage", "projection": "span"}),
    "CSVRG+ODM, uniform, nearest": ("csvrg", "nearest", {"landmarks": "uniform", "projection": True}),
    "CSVRG+ODM, uniform, span": ("csvrg", "span", {"landmarks": "uniform", "projection": "span"}),
    "AVM, coverage": ("avm", "avm", {"landmarks": "coverage"}),
}
#: landmarks in a search: the paper's rule for the paper's machines
SEARCHED = {
    "nearest": ("csvrg", {"landmarks": "coverage", "projection": True}),
    "span": ("csvrg", {"landmarks": "uniform", "projection": "span"}),
    "avm": ("avm", {"landmarks": "coverage"}),
}
#: machines of Figure 1
OF_DIAMETERS = ("CSVRG+ODM, coverage, nearest", "CSVRG+ODM, coverage, span")
#: keys used from a job file
_OF_JOBS = ("gamma", "lam", "theta", "mu", "stages", "loss")


@dataclass(frozen=True)
class Scale:
    """The size of the measurements.

    Attributes
    ----------
    rows, test_rows : of each data set, at most
    exact_rows : of the exact machines, the first so many
    search_rows, candidates, folds : of the search for settings; 1 fold holds out a fifth of the rows
    job_settings : those of the job files beside this one, where there is one for the data set
    diameters : of Figure 1
    """

    seeds: int = 5
    rows: int = 500_000
    test_rows: int = 200_000
    exact_rows: int = 10_000
    search_rows: int = 10_000
    candidates: int = 60
    folds: int = 5
    job_settings: bool = False
    diameters: int = 6

    @classmethod
    def quick(cls, seeds: int) -> Scale:
        """Minutes."""
        return cls(seeds, 20_000, 20_000, 4000, 2000, 8, 1, True, 5)


@dataclass(frozen=True)
class Source:
    """A data set as it was given."""

    path: Path

    @property
    def name(self) -> str:
        """Without its folder."""
        return self.path.name.removesuffix(".zarr")

    @property
    def landmarks(self) -> dict[str, int]:
        """How many, by algorithm."""
        known = TABLE_2.get(self.name)
        if known is None:
            return {"csvrg": LANDMARKS, "avm": LANDMARKS}
        return {"csvrg": known.landmarks, "avm": known.avm_landmarks}


@dataclass(frozen=True)
class Plan:
    """Questions in three waves: rows, settings, comparisons.

    Attributes
    ----------
    sources : data sets
    folder : of the rows in the orders of the seeds
    """

    sources: Sequence[Source]
    scale: Scale
    folder: Path

    def rows(self) -> list[Question]:
        """Data sets in the order of each seed."""
        return [
            Question(
                f"rows/{source.name}/seed-{seed}",
                machines.reordered,
                {
                    "seed": seed,
                    "rows": self.scale.rows,
                    "test_rows": self.scale.test_rows,
                    "of": distkern.open_dataset(source.path).fingerprint,
                },
                {"source": str(source.path), "out": str(self._path(source, seed))},
            )
            for source in self.sources
            for seed in range(self.scale.seeds)
        ]

    def settings(self, records: Records) -> list[Question]:
        """Searches, where no job file has been asked for, and the diameters of Figure 1."""
        scale, asked = self.scale, []
        for source in self.sources:
            given = self._given(source, records)
            for name, (algorithm, own) in SEARCHED.items():
                if self._job(source, algorithm) is None:
                    searched = {
                        "algorithm": algorithm,
                        "settings": {**own, "n_landmarks": source.landmarks[algorithm]},
                        "rows": scale.search_rows,
                        "candidates": scale.candidates,
                        "folds": scale.folds,
                    }
                    asked.append(
                        self._question(f"search/{source.name}/{name}", machines.searched, searched, given)
                    )
            for method, (_, candidates, _) in exact.METHODS.items():
                least = min(scale.exact_rows, exact.SEARCH_ROWS)
                own = {
                    "method": method,
                    "candidates": candidates,
                    "rows": least,
                    "folds": max(3, scale.folds),
                }
                asked.append(
                    self._question(f"exact-search/{source.name}/{method}", exact.searched, own, given)
                )
            own = {"number": scale.diameters, "most": MOST_LANDMARKS}
            asked.append(self._question(f"diameters/{source.name}", machines.diameters, own, given))
        return asked

    def fits(self, records: Records) -> list[Question]:
        """What is compared; nothing of data sets whose settings could not be chosen."""
        asked: list[Question] = []
        for source in self.sources:
            for seed in range(self.scale.seeds):
                given = self._given(source, records, seed)
                for method, (algorithm, _, _) in METHODS.items():
                    landmarks = {"n_landmarks": source.landmarks[algorithm]}
                    asked += self._fit("table", source, method, seed, landmarks, given, records)
                for method in exact.METHODS:
                    chosen = records.get(f"exact-search/{source.name}/{method}") or {}
                    if "settings" in chosen:
                        own = {
                            "method": method,
                            "settings": chosen["settings"],
                            "rows": self.scale.exact_rows,
                        }
                        key = f"exact/{source.name}/{method}/seed-{seed}"
                        asked.append(self._question(key, exact.fitted, {**own, "seed": seed}, given))
                found = records.get(f"diameters/{source.name}") or {}
                for diameter in found.get("diameters", []):
                    for method in OF_DIAMETERS:
                        prefix, own = f"diameter/{diameter:.4g}", {"diameter": diameter}
                        asked += self._fit(prefix, source, method, seed, own, given, records)
        return asked

    def chosen(self, source: Source, search: str, records: Records) -> dict[str, Any] | None:
        """Settings of the job file, or of the search."""
        algorithm = SEARCHED[search][0]
        job = self._job(source, algorithm)
        if job is not None:
            return job
        return (records.get(f"search/{source.name}/{search}") or {}).get("settings")

    def _fit(
        self,
        prefix: str,
        source: Source,
        method: str,
        seed: int,
        landmarks: Mapping[str, Any],
        given: Mapping[str, Any],
        records: Records,
    ) -> list[Question]:
        algorithm, search, own = METHODS[method]
        chosen = self.chosen(source, search, records)
        if chosen is None:
            return []
        asked = {
            "algorithm": algorithm,
            "settings": {**chosen, **own, **landmarks},
            "seed": seed,
            "fingerprint": given["fingerprint"],
        }
        key = f"{prefix}/{source.name}/{method.replace(', ', '-')}/seed-{seed}"
        return [Question(key, trained, asked, {"data": given["data"]})]

    def _question(self, key: str, function: Any, own: Record, given: Mapping[str, Any]) -> Question:
        asked = {**own, "fingerprint": given["fingerprint"]}
        return Question(key, function, asked, {"data": given["data"]})

    def _given(self, source: Source, records: Records, seed: int = 0) -> dict[str, Any]:
        made = records.get(f"rows/{source.name}/seed-{seed}") or {}
        return {"data": str(self._path(source, seed)), "fingerprint": made.get("fingerprint", "")}

    def _path(self, source: Source, seed: int) -> Path:
        return self.folder / f"{source.name}-{self.scale.rows}-{seed}.zarr"

    def _job(self, source: Source, algorithm: str) -> dict[str, Any] | None:
        suffix = "" if algorithm == "csvrg" else f"-{algorithm}"
        path = Path(__file__).with_name(f"{source.name}{suffix}.toml")
        if not self.scale.job_settings or not path.exists():
            return None
        params = tomllib.loads(path.read_text())["params"]
        return {name: params[name] for name in _OF_JOBS if name in params}


def accuracies(records: Records, prefix: str, number: int) -> list[float]:
    """Return accuracies in % of the successful seeds."""
    found = [records.get(f"{prefix}/seed-{seed}") for seed in range(number)]
    return [100 * (1 - error) for one in found if one is not None and math.isfinite(error := error_of(one))]


def error_of(record: Record) -> float:
    """Return the test error of the last stage; NaN for a failed run."""
    if "failed" in record:
        return math.nan
    return float(record["curve"][-1]["test_error"] if "curve" in record else record["test_error"])


def size_of(record: Record) -> float:
    """Return the number of landmarks, or of rows with a coefficient; NaN without any."""
    if "failed" in record:
        return math.nan
    size = record["curve"][-1]["model_size"] if "curve" in record else record["model_size"]
    return math.nan if size is None else float(size)
