"""Compare any program that follows this convention.

``--adapter falkon=/path/to/program`` adds the method ``falkon``. The program is run as

    program FOLDER

with files of rows in FOLDER: ``train.npy`` (n, d) float32 and ``train_y.npy`` (n,) codes of classes
0 .. k - 1 or real targets, ``valid.npy`` and ``valid_y.npy``, ``test.npy``, and ``task.json`` with "task"
("classification" or "regression"), "n_classes", "threads" and "gamma" (1 / the median squared distance of two
rows). It writes ``predictions.npy`` there, (n_test,) codes or targets for the rows of ``test.npy``, and
``settings.json``, an object that says with which settings. It chooses these by itself, on the validation
rows. Its time is that of the whole program, its memory the peak of its largest process.
"""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from workflows.benchmarks.methods import Facts, Given, Method, Settings


def adapted(name: str, program: str) -> Method:
    """The method that a program is."""
    return Method(name, "numpy", lambda facts: [{}], None, whole=partial(answered, program))


def answered(program: str, given: Given, X: np.ndarray) -> tuple[np.ndarray, Settings, int]:
    """Predictions for X, the settings that the program chose, and the peak of its memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, rows in (("train", given.train), ("valid", given.valid)):
            np.save(folder / f"{part}.npy", rows.X)
            np.save(folder / f"{part}_y.npy", rows.y)
        np.save(folder / "test.npy", X)
        facts: Facts = given.facts
        task = {"task": facts.task, "n_classes": facts.n_classes, "gamma": facts.gamma}
        (folder / "task.json").write_text(json.dumps({**task, "threads": given.threads}))
        subprocess.run([program, name], check=True)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        return np.load(folder / "predictions.npy"), json.loads((folder / "settings.json").read_text()), peak
