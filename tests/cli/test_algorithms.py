"""``distkern algorithms``: what there is, read off the registry."""

import json
import subprocess
import sys

import pytest

from distkern.cli.main import main
from distkern.common.registry import members
from distkern.losses import find_loss
from distkern.solvers.base import AbstractSolver
from distkern.solvers.hyperparameters import CHOOSABLE

SOLVERS = members("distkern.solvers", AbstractSolver)


def printed(capsys, *arguments):
    capsys.readouterr()
    assert main(["algorithms", *arguments]) == 0
    return capsys.readouterr().out


def test_lists_every_algorithm_within_80_columns(capsys):
    text = printed(capsys)
    for name in ("auto", *SOLVERS):
        assert f"{name}: " in text
    assert max(len(line) for line in text.splitlines()) <= 80
    facts = json.loads(printed(capsys, "--json"))
    assert set(facts) == {"auto", *SOLVERS}
    assert {*facts.pop("auto")["chooses"]} == {*CHOOSABLE}
    for known in facts.values():
        assert {"what", "paper", "regulariser", "cost of a pass", "memory", "hyperparameters"} <= set(known)
        assert known["what"]
        assert known["paper"]
        for loss in known.get("loss", []):
            assert find_loss(loss).name == loss


@pytest.mark.parametrize("name", ["auto", *SOLVERS])
def test_tells_the_hyperparameters_of_one(name, capsys):
    text = printed(capsys, name)
    assert max(len(line) for line in text.splitlines()) <= 80
    for key, known in json.loads(printed(capsys, name, "--json"))["hyperparameters"].items():
        assert f"\n{key}" in text
        assert known["help"]


def test_an_unknown_one_is_refused_with_the_nearest_name(capsys):
    assert main(["algorithms", "csvgr"]) == 2
    assert "did you mean 'csvrg'?" in capsys.readouterr().err


def test_needs_no_estimator():
    code = (
        "import sys; from distkern.cli.main import main\n"
        "main(['algorithms'])\n"
        "assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, timeout=60)
