"""The members that the architecture's page adds are complete: a file each, and all that finds them does."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons

import distkern
from distkern.core import registry
from distkern.core.errors import InputError
from distkern.data.ingest import shard
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.runs.algorithms import algorithm
from pages import blocks

PAGE = Path(distkern.__file__).parent / "ARCHITECTURE.md"
#: file -> the member whose contract tests run on it
CONTRACTS = {
    "test_every_loss.py": "smoothed_hinge",
    "test_every_kernel.py": "inverse_quadratic",
    "test_every_solver.py": "heavy_ball",
    "test_every_objective.py": "heavy_ball",
    "test_every_outline.py": "heavy_ball",
    "test_every_update.py": "heavy_ball",
    "test_every_probability.py": "heavy_ball",
    "test_every_format.py": "json_lines",
    "test_every_column.py": "compass",
}


def files():
    """The blocks of Python by the file that their first line names."""
    found = [re.match(r"# (\S+)\n", block.text) for block in blocks(PAGE, "python")]
    assert all(found), "the first line of a block is a comment that names its file"
    return {match[1]: match.string for match in found if match}


@pytest.fixture
def added(tmp_path, monkeypatch):
    """The package with these files in its folders, as long as the test runs."""
    modules = {}
    for file, text in files().items():
        package, _, name = file.removesuffix(".py").replace("/", ".").rpartition(".")
        if package.startswith("distkern."):
            folder = tmp_path / package
            folder.mkdir(exist_ok=True)
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
            modules[f"{package}.{name}"] = importlib.import_module(package), folder
    for module, folder in modules.values():
        monkeypatch.setattr(module, "__path__", [*module.__path__, str(folder)])
    caches = registry._files, registry._members, registry._lookup, registry._part
    for cache in caches:
        cache.cache_clear()
    yield
    for name, (module, _) in modules.items():
        sys.modules.pop(name, None)
        vars(module).pop(name.rpartition(".")[2], None)
    for cache in (*caches, registry._in_file):
        cache.cache_clear()


@pytest.mark.usefixtures("added")
def test_the_loss_and_the_kernel_are_found_and_trained_with():
    loss, f, step = find_loss("smoothed_hinge")(), np.linspace(-2, 2, 41)[:, None] + 0.01, 1e-6
    y = np.ones_like(f)
    slopes = (loss.row_values(f + step, y) - loss.row_values(f - step, y)) / (2 * step)
    np.testing.assert_allclose(loss.row_slopes(f, y)[:, 0], slopes, atol=1e-8)
    kernel = find_kernel("inverse_quadratic")(gamma=2.0)
    assert kernel.closed_form(np.zeros((1, 2)), np.ones((1, 2)))[0, 0] == 1 / 5
    X, y = make_moons(300, noise=0.1, random_state=0)

    # a class asks once which losses and kernels there are; that of the package may have asked before
    class Anew(distkern.NewtonClassifier, solver="newton"):
        """The classifier."""

    settings = {"loss": "smoothed_hinge", "features": "nystroem", "kernel": "inverse_quadratic", "gamma": 4.0}
    model = Anew(**settings, nu=1e-4, n_landmarks=64, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95


@pytest.mark.usefixtures("added")
def test_the_solver_is_an_algorithm_with_an_estimator():
    kind = algorithm("heavy_ball")
    assert kind.__name__ == "HeavyBallClassifier"
    X, y = make_moons(300, noise=0.1, random_state=0)
    assert kind(gamma=4.0, nu=1e-5, n_features=256, random_state=0).fit(X, y).score(X, y) > 0.95


@pytest.mark.usefixtures("added")
def test_the_format_is_read(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("[0.5, 1, 0]\n[2, -3, 1]\n[4, 5, 1]\n")
    data = shard(file, tmp_path / "rows.zarr", shuffle=False, scale="none")
    block = data.train.reader(0)()
    np.testing.assert_array_equal(block.features, np.array([[0.5, 1], [2, -3], [4, 5]], np.float32))
    assert data.classes[block.targets].tolist() == [0, 1, 1]


@pytest.mark.usefixtures("added")
def test_the_kind_of_column_is_found_saved_and_read_again(tmp_path):
    points = ["N", "E", "", "SSW"] * 10
    file = tmp_path / "wind.csv"
    file.write_text("".join(["wind,y\n", *(f"{point},{at % 2}\n" for at, point in enumerate(points))]))
    data = shard(file, tmp_path / "wind.zarr", shuffle=False, scale="none")
    assert data.feature_names == ("wind sin", "wind cos")
    turns = 2 * np.pi * np.array([0, 4, np.nan, 9]) / 16
    expected = np.nan_to_num(np.stack([np.sin(turns), np.cos(turns)], axis=1))
    np.testing.assert_allclose(data.train.reader(0)().features[:4], expected, atol=1e-7)
    again = distkern.open_dataset(tmp_path / "wind.zarr").table
    assert again == data.table
    assert again.columns[0].kind == "compass"
    file.write_text("wind,y\n" + "N,0\nE,1\n" * 10 + "up,0\n")
    with pytest.raises(InputError, match="'up' is not a point of the compass"):
        shard(file, tmp_path / "up.zarr")


@pytest.mark.slow
def test_contracts_hold_of_them_in_a_copy_of_the_package(repository, tmp_path):
    for name in ("distkern", "tests", "pyproject.toml"):
        copy = shutil.copytree if (repository / name).is_dir() else shutil.copy
        copy(repository / name, tmp_path / name)
    for file, text in files().items():
        place = tmp_path / file
        before = place.read_text(encoding="utf-8") if place.exists() else ""
        place.write_text(before + text, encoding="utf-8")
    tests = [f"tests/contracts/{name}" for name in CONTRACTS]
    # those of losses and kernels as a whole: some list what else there is
    words = [*CONTRACTS.values(), "test_every_loss", "test_every_kernel"]
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", *tests, "-k", " or ".join(words)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:]
    listed = subprocess.run(
        [*command, "--collect-only"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert [word for word in CONTRACTS.values() if word not in listed.stdout] == []
