"""How far a reader walks, see walks.py: settings are looked at once, and nothing low asks an estimator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from walks import of_ours

#: most calls of Parameter.clean, frames of ours on the deepest stack, and files of ours entered
MOST = {
    "fit": (15, 21, 56),
    "predict, first": (1, 15, 21),
    "predict, second": (0, 11, 15),
    "evaluate": (3, 15, 37),
    "train": (32, 27, 99),
}


@pytest.fixture(scope="module")
def found():
    """Of each walk its figures, and the calls of methods from below into estimators or commands."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, str(Path(__file__).with_name("walks.py")), "--json"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_a_service_imports_no_solver(found):
    """A new process that loads models and predicts a row with each."""
    modules = found["service"]
    for room in (
        "solvers",
        "passes",
        "choose",
        "engine",
        "show",
        "runs.fitting",
        "runs.data",
        "data.dataset",
    ):
        assert [one for one in modules if f"{one}.".startswith(f"distkern.{room}.")] == []
    assert "dask" not in modules
    assert len(of_ours(modules)) <= 55


@pytest.mark.parametrize("walk", MOST)
def test_settings_are_looked_at_once_and_walks_are_short(found, walk):
    cleaned, depth, files = MOST[walk]
    figures = found["walks"][walk]
    assert figures["cleaned"] <= cleaned
    assert figures["depth"] <= depth
    assert figures["files"] <= files


@pytest.mark.parametrize("walk", MOST)
def test_nothing_low_calls_an_estimator_or_a_command(found, walk):
    """Listeners of events hear of them, and functions that a command hands over are called."""
    assert found["walks"][walk]["asked"] == []
