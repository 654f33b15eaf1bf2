"""Neural nets beside DSG: the jointly trained one where there is a PyTorch, and what is said where not."""

import click.testing
import numpy as np
import pytest

import distkern as dk
from distkern.data.ingest import write_dataset
from workflows.dsg import __main__ as command
from workflows.dsg import convolutional, nets
from workflows.records import Records
from workflows.subsets import Subset, gathered


def a_subset(path="", n_features=64):
    about = "many images"
    return Subset("pictures", str(path), "f", 600, 200, n_features, n_classes=2, about=about)


@pytest.fixture
def crosses(tmp_path):
    """8 x 8 pixels with a bar somewhere, across or upright: no pixel by itself tells which."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 800)
    images = 0.1 * generator.standard_normal((800, 8, 8))
    for image, upright in zip(images, y, strict=True):
        at, start = generator.integers(0, 8), generator.integers(0, 4)
        (image.T if upright else image)[at, start : start + 5] += 1
    path = tmp_path / "crosses.zarr"
    rows = 100 * images.reshape(800, 64)
    write_dataset(
        iter([(rows[:600], y[:600])]), path, iter([(rows[600:], y[600:])]), scale="none", shuffle=False
    )
    return path


def test_the_joint_net_learns_and_leaves_its_features(crosses, tmp_path):
    torch = pytest.importorskip("torch")
    asked = {"data": str(crosses), "seed": 0, "passes": 6, "fingerprint": ""}
    record = convolutional.joint_net(**asked, features=str(tmp_path / "features.zarr"))
    errors = [point["test_error"] for point in record["curve"]]
    assert len(errors) == 6
    assert errors[-1] < 0.03
    # 5 x 5 weights and a bias for each filter; 2 x 2 x 32 numbers are left
    expected = (25 + 1) * 16 + (25 * 16 + 1) * 32 + (128 + 1) * 128 + (128 + 1) * 2
    assert (record["parameters"], record["columns"]) == (expected, 128)
    made = dk.open_dataset(tmp_path / "features.zarr")
    assert made.fingerprint == record["fingerprint"]
    assert (made.train.n_rows, made.test.n_rows) == (600, 200)
    # they are of these rows: what is linear in them tells the classes apart
    (X, y), (fresh, truth) = gathered(made.train), gathered(made.test)
    assert X.min() >= 0
    w = np.linalg.lstsq(np.c_[X, np.ones(600)], 2.0 * y - 1, rcond=None)[0]
    assert np.mean((np.c_[fresh, np.ones(200)] @ w > 0) != truth) < 0.05
    torch.manual_seed(7)
    again = convolutional.joint_net(**asked, features=str(tmp_path / "again.zarr"))
    assert [point["test_error"] for point in again["curve"]] == errors
    assert again["fingerprint"] == record["fingerprint"]
    other = convolutional.joint_net(**{**asked, "seed": 1}, features=str(tmp_path / "other.zarr"))
    assert other["fingerprint"] != record["fingerprint"]


def test_all_that_is_compared_with_the_joint_net_is_one_record(crosses, tmp_path):
    pytest.importorskip("torch")
    data, records = a_subset(crosses), Records(tmp_path / "records")
    for question in nets.questions(data, 1, True, tmp_path, joint=True):
        records.put(question.key, {"asked": question.asked, **question.answer()})
    table, (plot,) = nets.compared(records, data)
    names = [nets.JOINT, nets.FIXED, *nets.machines(data), nets.NET_OF_PIXELS]
    assert [row[0] for row in table.rows] == names
    assert list(plot.lines) == names
    errors = {row[0]: float(row[1]) for row in table.rows}
    assert errors[nets.JOINT] < 3
    assert errors["DSG on its features"] < 5
    assert "trained by Adam in 10 passes" in table.text


@pytest.mark.parametrize("columns", [54, 9, 1])
def test_columns_that_are_no_square_images_are_refused(columns):
    with pytest.raises(ValueError, match=f"covtype has {columns} columns, .* square images: 16, 64, 784"):
        convolutional.side_of(columns, "covtype")
    assert convolutional.side_of(784, "mnist") == 28


def run(tmp_path, *arguments):
    given = ["--out", str(tmp_path / "out"), "--quick", "--seeds=1", "--rows=256", "--part=nets", *arguments]
    return click.testing.CliRunner().invoke(command.main, given)


def test_the_command_refuses_other_data_and_says_what_is_left_out(tmp_path, crosses, monkeypatch):
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((400, 10))
    for name, y in (("columns", rows[:, 0] > 0), ("targets", rows[:, 0])):
        task = "regression" if name == "targets" else "classification"
        y = y if name == "targets" else y.astype(int)
        write_dataset(iter([(rows, y)]), tmp_path / f"{name}.zarr", test_fraction=0.3, task=task)
    refused = run(tmp_path, "--images", str(tmp_path / "columns.zarr"))
    assert refused.exit_code == 2
    assert "columns has 10 columns, and a convolutional net wants" in refused.output
    refused = run(tmp_path, "--images", str(tmp_path / "targets.zarr"))
    assert refused.exit_code == 2
    assert "targets has real targets" in refused.output
    asked = []
    monkeypatch.setattr(command, "answer", lambda records, questions, *more: asked.extend(questions))
    left_out = run(tmp_path, "--data", str(crosses))
    assert "nets: left out, for --images names no data set" in left_out.output
    assert not asked
    monkeypatch.setattr(convolutional, "is_installed", lambda: False)
    skipped = run(tmp_path, "--data", str(crosses), "--images", str(crosses))
    assert "joint net skipped, torch is not installed (pip install 'distkern[torch]')" in skipped.output
    assert [question.key for question in asked] == [
        "nets/crosses/DSG on pixels/0",
        f"nets/crosses/{nets.NET_OF_PIXELS}/0",
    ]


def test_without_the_joint_net_the_report_says_so(tmp_path):
    records, data = Records(tmp_path), a_subset()
    curve = [{"cpu_seconds": t, "test_error": 0.4 / t} for t in (1.0, 2.0, 4.0)]
    for name in ("DSG on pixels", nets.NET_OF_PIXELS):
        records.put(f"nets/pictures/{name}/0", {"asked": {}, "curve": curve})
    table, (plot,) = nets.compared(records, data)
    assert [row[:4] for row in table.rows] == [
        ("DSG on pixels", "10.0", "10.0", "4.0"),
        (nets.NET_OF_PIXELS, "10.0", "10.0", "4.0"),
    ]
    assert "are left out: PyTorch was not installed (`pip install 'distkern[torch]'`)" in table.text
    assert plot.lines["DSG on pixels"] == [(2.0, pytest.approx(20.0)), (4.0, pytest.approx(10.0))]


def test_settings_are_ones_that_dsg_takes():
    for settings in nets.machines(a_subset()).values():
        dk.DSGClassifier(**settings).check_parameters()
