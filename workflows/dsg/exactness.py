"""Measure how close each method of Table 2 comes to the minimum of a common objective.

Every r- or n- form minimises mean max(0, 1 - y z(x)' w)^2 + nu/2 |w|^2 over the same random or Nystroem
features, of the same seed; the k- forms the same with the kernel itself, and the hinge loss with the paper's
nu = 1/n for Forest. The minimum is that of scikit-learn's LinearSVC, which is given the features themselves,
or rows of a factor of the kernel matrix. If there are too many rows for a factor, the dual variables of
k-SDCA certify it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

import distkern
from distkern.data.scaling import Preparation
from distkern.maths.bases.landmarks import LandmarkBasis, NystroemBasis
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
_CLASSES = {
    "newton": distkern.NewtonClassifier,
    "rbcd": distkern.RBCDClassifier,
    "sdca": distkern.SDCAClassifier,
}
_FIXED = {"loss": "squared_hinge", "gamma": "median", "nu": NU}
#: rows up to which a kernel matrix is factorised, and the kernel itself run with more seeds than one
MOST_EXACT = 8192
#: added to the diagonal of a kernel matrix of float64
_RIDGE = 1e-10
#: of the k- forms' names
OF_HINGE = ", hinge"


def features(rank: int) -> dict[str, dict[str, Any]]:
    """Settings of the r- and n- forms."""
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
            f"{letter}-SBMD": ("sbmd", {**given, **drawn, "block_size": rank // 2, "precondition": False}),
            f"{letter}-NORMA": ("norma", {**given, **steps, "step_decay": 1.0}),
            f"{letter}-Pegasos": ("pegasos", {**pegasos, **drawn, "fit_intercept": False}),
        }
    return found


def kernels(quick: bool, n_rows: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """The k- forms, where rows may all be in the model."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    passes = 4 if quick else 2
    for suffix, objective, tol in (
        ("", _FIXED, 1e-4),
        (OF_HINGE, {**_FIXED, "loss": "hinge", "nu": 1.0 / n_rows}, NEAR),
    ):
        own = {**objective, "features": "kernel"}
        norma = {**own, "batch_size": 4, "step_decay": 1.0, "stages": passes}
        found[f"k-SDCA{suffix}"] = ("sdca", {**own, "max_support": n_rows, "stages": 50, "tol": tol})
        if not suffix:
            found["k-NORMA, truncated"] = ("norma", {**norma, "max_support": n_rows // 4})
        found[f"k-NORMA{suffix}"] = ("norma", {**norma, "max_support": n_rows})
    return found


def liblinear(*, data: str, algorithm: str, settings: dict[str, Any], seed: int, fingerprint: str) -> Record:
    """The objective that LinearSVC finds over the features themselves, for K = L L' over the rows of L."""
    train = distkern.open_dataset(data).train
    # one stage, for its features or the width of its kernel
    model = _CLASSES[algorithm](random_state=seed, **{**settings, "stages": 1}).fit(train)
    X, codes = gathered(train)
    # rows of a subset are as they came; a model may have chosen to scale them
    X = np.asarray(Preparation(scaling=model.scaling_, dtype=np.dtype(float)).apply_rows(X))
    y = np.where(codes > 0, 1.0, -1.0)
    if settings["features"] == "kernel":
        K = distkern.kernel_matrix(X, gamma=model.gamma_)
        # equal rows make it singular
        K[np.diag_indices_from(K)] += _RIDGE
        z = scipy.linalg.cholesky(K, lower=True, overwrite_a=True)
    else:
        basis = model.basis(np.float64)
        if isinstance(basis, LandmarkBasis):
            basis = NystroemBasis(basis.kernel, basis.landmarks)
        z = np.asarray(basis.values(X))
    return {"objective": _least(z, y, settings["loss"], settings["nu"])}


def _least(z: np.ndarray, y: np.ndarray, loss: str, nu: float) -> float:
    """LinearSVC minimises C times the sum of losses + |w|^2 / 2."""
    from sklearn.svm import LinearSVC

    hinge = loss == "hinge"
    machine = LinearSVC(
        C=1.0 / (nu * len(y)),
        loss=loss,
        # the hinge loss is minimised by its dual alone
        dual=hinge,
        fit_intercept=False,
        tol=1e-6 if hinge else 1e-8,
        max_iter=20_000,
        random_state=0,
    )
    w = machine.fit(z, y).coef_[0]
    losses = np.maximum(0.0, 1.0 - y * (z @ w)) ** (1 if hinge else 2)
    return float(losses.mean() + 0.5 * nu * w @ w)


def reference(name: str) -> str:
    """Whose objective is the minimum for a method; blocks of random features are draws of RBCD's own."""
    if name.startswith("k-"):
        return f"k-LIBLINEAR{OF_HINGE if name.endswith(OF_HINGE) else ''}"
    return OF_RBCD if name == "r-RBCD" else f"{name[0]}-LIBLINEAR"


def questions(data: Subset, seeds: int, quick: bool, jobs: Path) -> list[Question]:
    """All runs on one data set of two classes."""
    every = methods(quick, 64 if quick else 256)
    solved = {"r-LIBLINEAR": every["r-Newton"], "n-LIBLINEAR": every["n-Newton"], OF_RBCD: every["r-RBCD"]}
    asked = []
    for seed in range(seeds):
        own, exact = every, solved
        if seed == 0 or data.n_rows <= MOST_EXACT:
            own = {**every, **kernels(quick, data.n_rows)}
        if data.n_rows <= MOST_EXACT:
            exact = solved | {reference(name): own[name] for name in ("k-SDCA", f"k-SDCA{OF_HINGE}")}
        for name, (algorithm, settings) in {**own, **exact}.items():
            key = f"exactness/{data.name}/{name}/{seed}"
            fixed = {"algorithm": algorithm, "settings": settings, "seed": seed}
            fixed["fingerprint"] = data.fingerprint
            if name in exact:
                asked.append(Question(key, liblinear, fixed, {"data": data.path}))
            else:
                given = {"data": data.path, "job": str(jobs / f"{key}.toml")}
                asked.append(Question(key, trained, fixed, given))
    return asked
