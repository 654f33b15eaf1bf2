"""DSG, UDSG and CDSG, each at its best step (Figures 1 and 2, Table 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflows.pool import Question
from workflows.records import Records
from workflows.subsets import Subset
from workflows.training import trained

VARIANTS = {"DSG": "dsg", "UDSG": "udsg", "CDSG": "cdsg"}
SVRG = "SVRG, 4F features"
#: times the steps of DSG, within the same features at most: half of the steps, or more, are in old blocks
LONGER = {"udsg": 2}
#: first steps; each variant uses the one with the lowest final objective of seed 0
STEPS = (0.25, 0.5, 1.0, 2.0)
#: weight of |f|^2 / 2 and, of one batch, rows and rows for a feature: the paper's for CIFAR-10
WEIGHT, _BATCH, _ROWS_PER_FEATURE = 1e-5, 4096, 16


def loss_of(data: Subset) -> str:
    """The paper's: multi-class logistic regression, and ridge regression."""
    return {0: "square", 2: "logistic"}.get(data.n_classes, "softmax")


def shape(data: Subset) -> tuple[int, int]:
    """Rows of a batch and features of a block: the paper's 4,096 and 256, or fewer of few rows."""
    batch = min(_BATCH, 2 ** int(math.log2(data.n_rows / 8)))
    return batch, batch // _ROWS_PER_FEATURE


def settings(data: Subset, variant: str, step: float, n_steps: int, gamma: str, loss: str) -> dict[str, Any]:
    """A job."""
    batch, block = shape(data)
    rows = batch * n_steps * LONGER.get(variant, 1)
    return {
        "loss": loss,
        "gamma": gamma,
        "nu": WEIGHT,
        "variant": variant,
        "step_size": step,
        "batch_size": batch,
        "block_size": block,
        "n_features": block * n_steps,
        "damping": 1e-4,
        "stages": 16,
        "steps_per_stage": rows // 16,
    }


def key(data: Subset, loss: str, name: str, step: float, seed: int) -> str:
    """The key of a run's record."""
    return f"variants/{data.name}/{loss}/{name}/{step:g}/{seed}"


def runs(
    data: Subset,
    loss: str,
    steps: Mapping[str, Sequence[float]],
    seeds: Sequence[int],
    n_steps: int,
    gamma: str,
    jobs: Path,
) -> list[Question]:
    """Questions of every variant and step."""
    asked = []
    for name, variant in VARIANTS.items():
        for step in steps.get(name, ()):
            for seed in seeds:
                own = key(data, loss, name, step, seed)
                job = settings(data, variant, step, n_steps, gamma, loss)
                fixed = {"algorithm": "dsg", "settings": job, "seed": seed, "fingerprint": data.fingerprint}
                given = {"data": data.path, "job": str(jobs / f"{own}.toml")}
                asked.append(Question(own, trained, fixed, given))
    return asked


def best_steps(records: Records, data: Subset, loss: str) -> dict[str, Sequence[float]]:
    """The step of least objective at the end of seed 0, for each variant."""
    found: dict[str, Sequence[float]] = {}
    for name in VARIANTS:
        ends = {}
        for step in STEPS:
            one = records.get(key(data, loss, name, step, 0))
            if one is not None and "failed" not in one:
                ends[step] = one["curve"][-1]["objective"]
        if ends:
            found[name] = (min(ends, key=lambda step: ends[step]),)
    return found


def svrg(data: Subset, seeds: int, gamma: str, jobs: Path) -> list[Question]:
    """The paper's comparison over features that are few and fixed: 4F of them."""
    _, block = shape(data)
    own = {"loss": loss_of(data), "gamma": gamma, "nu": WEIGHT, "features": "random", "n_features": 4 * block}
    asked = []
    for seed in range(seeds):
        name = f"svrg/{data.name}/{seed}"
        fixed = {"algorithm": "svrg", "settings": {**own, "stages": 10}, "seed": seed}
        given = {"data": data.path, "job": str(jobs / f"{name}.toml")}
        asked.append(Question(name, trained, {**fixed, "fingerprint": data.fingerprint}, given))
    return asked
