"""A process of its own for one method: ``python -m workflows.benchmarks.child '{...}'``.

The answer is the last line that it prints, a JSON object.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl

from workflows.benchmarks.methods import Given, Method, Settings, error
from workflows.benchmarks.registry import method_of
from workflows.benchmarks.rows import Facts, load
from workflows.processes import peak_bytes
from workflows.records import Record


def chosen(method: Method, given: Given, candidates: list[Settings]) -> Record:
    """The candidate of least error on the validation rows, and all errors."""
    errors = []
    for settings in candidates:
        assert method.fit is not None, "programs choose by themselves"
        predict = method.fit(settings, given)
        errors.append(error(given.facts, predict(given.valid.X), given.valid.y))
    return {"settings": candidates[int(np.argmin(errors))], "candidates": candidates, "errors": errors}


def fitted(method: Method, given: Given, settings: Settings, folder: Path) -> Record:
    """A fit, measured on the test rows.

    Returns
    -------
    error ; wall_seconds and cpu_seconds of the fit ; predict_seconds ; peak_bytes of the process when it was
    fitted, and rows_bytes, its peak when it had the rows and nothing else
    """
    base = peak_bytes()
    wall, cpu = time.perf_counter(), _cpu_seconds()
    if method.whole is not None:
        test = load(folder, "test")
        predicted, settings, peak = method.whole(given, test.X)
        wall, cpu, predicting = time.perf_counter() - wall, _cpu_seconds() - cpu, 0.0
    else:
        assert method.fit is not None
        predict = method.fit(settings, given)
        wall, cpu, peak = time.perf_counter() - wall, _cpu_seconds() - cpu, peak_bytes()
        test = load(folder, "test")
        start = time.perf_counter()
        predicted = predict(test.X)
        predicting = time.perf_counter() - start
    return {
        "settings": settings,
        "error": error(given.facts, predicted, test.y),
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "predict_seconds": predicting,
        "peak_bytes": peak,
        "rows_bytes": base,
        "rows": len(given.train.y),
    }


def answer(asked: dict[str, Any]) -> Record:
    """What is asked: the best of some candidates, or a fit."""
    folder = Path(asked["folder"])
    facts = Facts(**json.loads((folder / "facts.json").read_text()))
    method = method_of(asked["method"], asked["adapters"])
    train = load(folder, "train").first(asked["rows"])
    given = Given(facts, train, load(folder, "valid"), asked["threads"])
    with threadpoolctl.threadpool_limits(asked["threads"]):
        if "candidates" in asked:
            return chosen(method, given, asked["candidates"])
        return fitted(method, given, asked["settings"], folder)


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    print(json.dumps(answer(json.loads(sys.argv[1]))))
