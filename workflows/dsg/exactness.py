"""How near each method comes to the minimum of one and the same objective (Table 2's methods).

Every method minimises mean max(0, 1 - y z(x)' w)^2 + nu/2 |w|^2 over the same random or Nystroem features, of
the same seed. The minimum is that of scikit-learn's LinearSVC, which is given the features themselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import distkern
from distkern.bases.landmarks import LandmarkBasis
from distkern.bases.nystroem import NystroemBasis
from workflows.pool import Question
from workflows.records import Record
from workflows.subsets import Subset, gathered
from workflows.training import trained

#: weight of |w|^2 / 2
NU = 1e-2
#: the exact solution over the features that RBCD draws
OF_RBCD = "r-LIBLINEAR, features of RBCD"
#: relative distance to the minimum that is to be reached
NEAR = 1e-3
_FIXED = {"loss": "squared_hinge", "gamma": "median", "nu": NU}


def features(rank: int) -> dict[str, dict[str, Any]]:
    """Of the r- and n- forms."""
    return {
        "r": {"features": "random", "n_features": rank},
        "n": {"features": "nystroem", "n_landmarks": rank},
    }


def methods(quick: bool, rank: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """Algorithm and settings; Newton's method is not in the paper."""
    passes = 30 if quick else 20
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for letter, own in features(rank).items():
        given = {**_FIXED, **own}
        pegasos = {name: value for name, value in given.items() if name != "nu"} | {"lam": NU}
        steps = {"batch_size": 4, "stages": passes}
        drawn = {**steps, "steps_per_stage": 1.0}
        found |= {
            f"{letter}-Newton": ("newton", {**given, "stages": 20, "tol": 1e-12}),
            f"{letter}-SDCA": ("sdca", {**given, "stages": passes, "tol": 1e-5}),
            f"{letter}-RBCD": ("rbcd", {**given, "block_size": rank // 2, "stages": passes, "tol": 1e-6}),
            f"{letter}-SBMD": ("sbmd", {**given, **drawn, "block_size": rank // 2}),
            f"{letter}-NORMA": ("norma", {**given, **steps}),
            f"{letter}-Pegasos": ("pegasos", {**pegasos, **drawn, "fit_intercept": False}),
        }
    return found


def liblinear(*, data: str, algorithm: str, settings: dict[str, Any], seed: int, fingerprint: str) -> Record:
    """The objective that LinearSVC finds: C times the sum of losses + |w|^2 / 2, over the features "
    "themselves."""
    from sklearn.svm import LinearSVC

    train = distkern.open_dataset(data).train
    kind = distkern.RBCDClassifier if algorithm == "rbcd" else distkern.NewtonClassifier
    # one stage: it is there for its features
    basis = kind(random_state=seed, **{**settings, "stages": 1}).fit(train).basis(np.float64)
    if isinstance(basis, LandmarkBasis):
        basis = NystroemBasis(basis.kernel, basis.landmarks)
    X, codes = gathered(train)
    z, y = np.asarray(basis.values(X.astype(float))), np.where(codes > 0, 1.0, -1.0)
    machine = LinearSVC(
        C=1.0 / (NU * len(y)), loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-8
    )
    w = machine.fit(z, y).coef_[0]
    losses = np.maximum(0.0, 1.0 - y * (z @ w)) ** 2
    return {"objective": float(losses.mean() + 0.5 * NU * w @ w)}


def reference(name: str) -> str:
    """Whose objective is the minimum for a method; blocks of random features are draws of RBCD's own."""
    return OF_RBCD if name == "r-RBCD" else f"{name[0]}-LIBLINEAR"


def questions(data: Subset, seeds: int, quick: bool, jobs: Path) -> list[Question]:
    """All runs on one data set of two classes."""
    rank = 64 if quick else 256
    asked = []
    for seed in range(seeds):
        for name, (algorithm, settings) in methods(quick, rank).items():
            key = f"exactness/{data.name}/{name}/{seed}"
            fixed = {"algorithm": algorithm, "settings": settings, "seed": seed}
            fixed["fingerprint"] = data.fingerprint
            given = {"data": data.path, "job": str(jobs / f"{key}.toml")}
            asked.append(Question(key, trained, fixed, given))
        every = methods(quick, rank)
        for key, name in (("r-LIBLINEAR", "r-Newton"), ("n-LIBLINEAR", "n-Newton"), (OF_RBCD, "r-RBCD")):
            algorithm, settings = every[name]
            fixed = {"algorithm": algorithm, "settings": settings, "seed": seed}
            fixed["fingerprint"] = data.fingerprint
            asked.append(
                Question(f"exactness/{data.name}/{key}/{seed}", liblinear, fixed, {"data": data.path})
            )
    return asked
