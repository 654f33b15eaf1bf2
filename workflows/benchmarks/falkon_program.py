"""Falkon, as a program for ``--adapter``, run by the Python of an environment that has Falkon and torch::

    echo '#!/bin/sh' > falkon
    echo 'exec ENVIRONMENT/bin/python -P workflows/benchmarks/falkon_program.py "$1"' >> falkon
    chmod +x falkon
    python -m workflows.benchmarks --out figures --data covtype.zarr --adapter falkon=$PWD/falkon

Falkon (Rudi, Carratino and Rosasco 2017): ridge regression at 1,024 centres in single precision, on the CPU;
classes are columns of -1 and 1. Width and penalty are those of least error on the validation rows, of models
of the first 20,000 training rows.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

#: as :mod:`workflows.benchmarks` gives its own methods, which an environment of Falkon need not have
_CENTRES, _CHOOSING = 1024, 20_000
_WIDTHS, _PENALTIES = (1.0, 4.0, 16.0), (1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)


def fitted(X: Any, Y: Any, gamma: float, penalty: float, seed: int = 0) -> Any:
    """A model of rows (n, d) and targets (n, k)."""
    import falkon

    options = falkon.FalkonOptions(use_cpu=True, keops_active="no")
    kernel = falkon.kernels.GaussianKernel(sigma=(2.0 * gamma) ** -0.5, opt=options)
    centres = min(_CENTRES, len(X))
    model = falkon.Falkon(
        kernel=kernel, penalty=penalty, M=centres, seed=seed, error_every=None, options=options
    )
    return model.fit(X, Y)


def main(folder: Path) -> None:
    """Choose, fit, predict."""
    import torch

    task = json.loads((folder / "task.json").read_text())
    torch.set_num_threads(task["threads"])
    is_real = task["task"] == "regression"
    mean, scale = 0.0, 1.0

    def rows(name: str) -> Any:
        return torch.from_numpy(np.load(folder / f"{name}.npy"))

    y = np.load(folder / "train_y.npy")
    if is_real:
        mean, scale = float(y.mean()), float(y.std())
        targets = ((y - mean) / scale)[:, None]
    else:
        targets = np.where(y[:, None] == np.arange(task["n_classes"]), 1.0, -1.0)
    X, Y = rows("train"), torch.from_numpy(targets.astype(np.float32))

    def answers(model: Any, name: str) -> np.ndarray:
        scores = model.predict(rows(name)).numpy()
        return scores[:, 0] * scale + mean if is_real else scores.argmax(axis=1)

    valid, best = np.load(folder / "valid_y.npy"), (np.inf, 0.0, 0.0)
    for width, penalty in itertools.product(_WIDTHS, _PENALTIES):
        gamma = task["gamma"] * width
        try:
            found = answers(fitted(X[:_CHOOSING], Y[:_CHOOSING], gamma, penalty), "valid")
        except RuntimeError:
            # a matrix that is not positive definite in single precision
            continue
        error = float(np.mean((found - valid) ** 2 if is_real else found != valid))
        best = min(best, (error, gamma, penalty))
    if not np.isfinite(best[0]):
        raise SystemExit("no width and penalty has a matrix that is positive definite in single precision")
    _, gamma, penalty = best
    start, cpu = time.perf_counter(), time.process_time()
    model = fitted(X, Y, gamma, penalty)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    np.save(folder / "predictions.npy", answers(model, "test"))
    settings = {"gamma": gamma, "penalty": penalty, "centres": _CENTRES}
    settings |= {"fit_seconds": round(seconds, 2), "fit_cpu_seconds": round(cpu_seconds, 2)}
    (folder / "settings.json").write_text(json.dumps(settings))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
