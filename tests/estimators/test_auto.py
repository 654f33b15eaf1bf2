"""Estimators that choose the algorithm: their choice, its reason, and the fitted machine."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from distkern import CellClassifier, KernelClassifier, KernelRegressor, load_model
from distkern.choose.folds import MachineSetting, TriedMachine
from distkern.choose.ladder import _is_worth
from distkern.choose.machines import Kernel, SampleRows
from distkern.cli.main import main
from distkern.core import processes
from distkern.core.common_parameters import CHOOSABLE
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.engine import executors
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.drive import Interrupted
from distkern.engine.events import CHOOSING, CHOOSING_ANNOUNCED
from distkern.engine.executors import local
from distkern.estimators.arena import Arena
from distkern.estimators.auto import ChoosingRecipe
from distkern.estimators.sample import FoldedSample, drawn_shares
from distkern.maths.maps.mapping import MapChoice
from distkern.runs.data import from_arrays
from distkern.runs.sources import ArraySource
from runs import plan, posed_problem, train
from small import chosen, recipe_for


def rows(n_rows=200, n_columns=3):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, n_columns)).astype(np.float32)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def test_the_chosen_machine_equals_a_direct_fit():
    X, y = rows()
    given = {"probability": False, "class_weight": "balanced", "random_state": 0}
    model = KernelClassifier(search=None, **given).fit(X, y)
    assert (model.algorithm_, model.chosen_because_) == ("cells", "of 3 dense columns")
    assert type(model.machine_) is CellClassifier
    alone = CellClassifier(search=None, **given).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    np.testing.assert_array_equal(model.class_weights_, alone.class_weights_)
    assert hasattr(model, "metric_importances_") == hasattr(alone, "metric_importances_")
    assert model.history_[-1]["notes"][0] == "algorithm: cells, because of 3 dense columns"
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize(
    "algorithm",
    ["cells", "newton", *(pytest.param(name, marks=pytest.mark.slow) for name in ("svrg", "dsg"))],
)
def test_a_named_algorithm_is_fitted(algorithm, tmp_path):
    X, y = rows()
    model = KernelClassifier(algorithm=algorithm, search=None, random_state=0).fit(X, y)
    assert (model.algorithm_, model.chosen_because_) == (algorithm, "it was requested")
    assert model.recipe().choosing_bytes(from_arrays(X, y, None, model.task)) == (0, False)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.algorithm == algorithm
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def curved(n_rows):
    """Two columns with noisy labels: positive rows, one in five, form a ring."""
    generator = np.random.default_rng(3)
    X = generator.normal(size=(n_rows, 2)).astype(np.float32)
    return X, (generator.random(n_rows) < ring(X)).astype(int)


def ring(X):
    return 1 / (1 + np.exp(np.minimum(6 * np.abs(np.square(X).sum(axis=1) - 2) - 2, 9)))


@pytest.mark.slow
def test_noisy_rows_of_a_smooth_function_get_kernels_at_landmarks():
    X, y = curved(3000)
    model = KernelClassifier(random_state=0).fit(X, y)
    assert model.algorithm_ == "newton"
    assert model.chosen_because_.endswith(
        ("log loss on held-out rows is the lowest", "on the same held-out rows")
    )
    candidates = model.history_[-1]["candidates"]
    assert candidates[0]["name"] == "the class shares"
    assert candidates[0]["loss"] == pytest.approx(log_loss(y, np.full(len(y), y.mean())))
    assert (candidates[1]["name"], candidates[1]["n_functions"]) == ("linear", 2)
    scores = [one["loss"] for one in candidates[1:]]
    # the last candidate is the delivered machine
    assert candidates[-1]["n_functions"] == 1024
    assert scores[-1] < scores[0] - 0.05
    assert scores[1] < scores[0] - 0.05
    test, truth = curved(5000)
    best = log_loss(truth, np.column_stack([1 - ring(test), ring(test)]))
    assert log_loss(truth, model.predict_proba(test)) < best + 0.03


@pytest.mark.parametrize(
    ("target", "noise", "n_rows", "expected"),
    [
        (lambda X: X[:, 0] ** 2 + X[:, 1], 2.0, 1000, 384),
        (lambda X: np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2, 0.1, 1300, 1024),
    ],
    ids=["a parabola", "waves"],
)
def test_few_centres_are_kept_where_more_gain_nothing(target, noise, n_rows, expected):
    generator = np.random.default_rng(0)
    X = generator.uniform(-2, 2, size=(n_rows, 4))
    y = target(X) + noise * generator.normal(size=n_rows)
    model = KernelRegressor(random_state=0).fit(X, y)
    assert model.machine_.n_landmarks == model.history_[-1]["candidates"][-1]["n_functions"] == expected
    assert model.held_out_score_ < 3 * noise**2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("task", ["classes", "real targets"])
def test_rows_that_resemble_few_others_get_cells(task, seed):
    """Five rows of each of 3,000 people, whose own effect no other rows tell."""
    generator = np.random.default_rng(seed)
    people, columns = np.repeat(np.arange(3000), 5), generator.normal(size=(3000, 6))
    effects = generator.normal(size=3000)
    rows = columns[people] + 0.02 * generator.normal(size=(15000, 6))
    is_test = generator.random(15000) < 0.2
    kind = KernelClassifier if task == "classes" else KernelRegressor
    targets = (
        effects[people] > 0 if task == "classes" else effects[people] + 0.3 * generator.normal(size=15000)
    )
    model = kind(random_state=seed).fit(rows[~is_test], targets[~is_test])
    assert model.algorithm_ == "cells"
    # constants score a half and nothing
    assert model.score(rows[is_test], targets[is_test]) > (0.9 if task == "classes" else 0.7)


@pytest.mark.slow
def test_fine_structure_of_many_rows_gets_exact_machines():
    generator = np.random.default_rng(0)
    X = generator.uniform(0, 20, size=(20_000, 2)).astype(np.float32)
    y = (np.floor(X).sum(axis=1) % 2).astype(int)
    found, because = chosen(KernelClassifier(random_state=0), X, y)
    assert found == "cells"
    assert because.endswith(("log loss on held-out rows is the lowest", "on the same held-out rows"))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_linear_targets_get_a_linear_machine(task):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 6)).astype(np.float32)
    # overlapping classes, and real targets
    y = X @ np.arange(1.0, 7.0) + 10 * generator.logistic(size=600)
    model = KernelClassifier(random_state=0) if task == "classification" else KernelRegressor(random_state=0)
    recipe = recipe_for(model, X, (y > 0).astype(int) if task == "classification" else y)
    assert recipe.name.startswith("newton")
    assert recipe.settings.given["features"] == "linear"


@pytest.mark.slow
def test_rare_positives_are_ranked_and_have_probabilities():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(5000, 4)).astype(np.float32)
    chances = 1 / (1 + np.exp(5.2 - X[:, 0] - X[:, 1]))
    y = (generator.random(5000) < chances).astype(int)
    assert 0.01 < y.mean() < 0.03
    model = KernelClassifier(random_state=0).fit(X[:3000], y[:3000])
    found = model.predict_proba(X[3000:])[:, 1]
    assert roc_auc_score(y[3000:], found) > roc_auc_score(y[3000:], chances[3000:]) - 0.05
    assert abs(found.mean() - y[3000:].mean()) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 3])
def test_noise_scores_as_noise_even_with_copied_rows(copies):
    generator = np.random.default_rng(0)
    X = np.tile(generator.normal(size=(400, 4)), (copies, 1))
    y = np.tile(generator.integers(0, 2, 400), copies)
    model = KernelClassifier(random_state=0)
    # the same number of rows in both cases, so that none are merged
    X, y = np.vstack([X] * (3 // copies)), np.tile(y, 3 // copies)
    _, problem = posed_problem(model, from_arrays(X, y, None, model.task))
    assert problem.candidates[-1].loss > 0.68
    recipe = recipe_for(model, X, y)
    assert recipe.chosen.held_out[0] > 0.68
    assert recipe.name == "newton"


@pytest.mark.slow
def test_probabilities_of_several_classes_are_calibrated():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(9000, 2))
    chances = np.exp(np.column_stack([2 * X[:, 0], 2 * np.sin(2 * X[:, 1]), np.square(X[:, 1]) - 1]))
    chances /= chances.sum(axis=1, keepdims=True)
    y = (generator.random((9000, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    model = KernelClassifier(random_state=0).fit(X[:1000], y[:1000])
    found = model.predict_proba(X[1000:])
    assert (model.algorithm_, model.machine_.loss) == ("newton", "softmax")
    confidence = found.max(axis=1)
    bins = np.minimum((10 * confidence).astype(int), 9)
    gaps = np.bincount(bins, confidence - (found.argmax(axis=1) == y[1000:]))
    # sigmoids fitted one by one reach 0.04
    assert np.abs(gaps).sum() / 8000 < 0.02


def test_the_held_out_score_belongs_to_the_delivered_machine(tmp_path):
    X, y = curved(300)
    model = KernelClassifier(random_state=0).fit(X, y)
    score = (model.held_out_score_, model.held_out_error_)
    assert 0 < score[0] < 0.69
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert (loaded.held_out_score_, loaded.held_out_error_) == score
    loaded.update(X[:20], y[:20], old=(X, y))
    assert (loaded.held_out_score_, loaded.held_out_error_) == (None, None)
    other = KernelClassifier(settings={"n_landmarks": 16}, random_state=0).fit(X, y)
    assert (other.held_out_score_, other.held_out_error_) == (None, None)


@pytest.mark.parametrize(
    ("kind", "given", "ridge", "expected"),
    [
        (KernelRegressor, {}, 1e-5, "float64"),
        (KernelRegressor, {}, 1e-2, None),
        (KernelRegressor, {"dtype": "float32"}, 1e-5, None),
        (KernelClassifier, {}, 1e-5, None),
    ],
)
def test_smooth_machines_of_real_targets_train_in_double_precision(kind, given, ridge, expected):
    """Rounding in single precision would lose what the sample's machines, in double precision, have."""
    X, y = rows()
    setting = MachineSetting("centres", MapChoice("none"), Kernel("rbf"), ridge)
    recipe = kind(**given).recipe()
    settings = recipe._settings(setting, from_arrays(X, y, None, recipe.task))
    assert settings.get("dtype") == expected


def test_settings_override_the_choice():
    X, y = curved(300)
    given = {"n_landmarks": 64, "nu": 1e-3}
    model = KernelClassifier(search="quick", settings=given, random_state=0).fit(X, y)
    assert (model.algorithm_, len(model.machine_.landmarks_), model.machine_.nu) == ("newton", 64, 1e-3)
    _, problem = posed_problem(model, from_arrays(X, y, None, model.task))
    # the note reports the trained settings
    assert "n_landmarks=64" in problem.notes[0]
    assert "nu=0.001," in problem.notes[0]
    with pytest.raises(InputError, match="is no hyperparameter of newton, which was chosen"):
        KernelClassifier(settings={"max_cell_rows": 64}, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="n_landmarks"):
        KernelClassifier(settings={"n_landmarks": -1}, random_state=0).fit(X, y)


@pytest.mark.parametrize("kind", [KernelClassifier, CellClassifier])
def test_a_plan_keeps_what_was_chosen_for_its_run(kind, tmp_path, monkeypatch):
    data = write_dataset([curved(300)], tmp_path / "d.zarr", scale="none")
    planned = plan(kind(random_state=0), data.train)
    monkeypatch.setattr(Arena, "of", None)
    model = train(planned.recipe, data.train, scheduler="synchronous")
    assert model.score(data.train) > 0.6
    with pytest.raises(TypeError):
        kind(random_state=0).fit(data.train)


@pytest.mark.parametrize("task", ["classes", pytest.param("real", marks=pytest.mark.slow)])
def test_rows_of_very_different_sizes_are_fitted(task):
    X = np.random.default_rng(0).normal(size=(700, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) if task == "classes" else np.tanh(X[:, 0])
    X = np.sinh(20.0 * X)
    kind = KernelClassifier if task == "classes" else KernelRegressor
    assert kind(random_state=0).fit(X[:500], y[:500]).score(X[500:], y[500:]) > 0.8


def test_smaller_machines_replace_cells_that_exceed_the_limit():
    X, y = rows(20_000, 50)
    found = {}
    for limit in (4096, 600, 420, 340, 64):
        model = KernelClassifier(search=None, memory_limit=limit * 2**20)
        recipe = recipe_for(model, X, y)
        found[limit] = (recipe.name, recipe.settings.given.get("max_cell_rows"))
        assert recipe.chosen.because == (
            "cells does not fit the memory limit"
            if found[limit] != ("cells", "auto")
            else "of 50 dense columns"
        )
    assert found[4096] == ("cells", "auto")
    # the process and its rows count
    assert found[600] == ("cells", 4000)
    assert found[420] == ("cells", 2000)
    assert found[340][0] in ("svrg", "dsg")
    # if nothing fits, the plan of the first candidate reports the missing memory
    assert found[64] == ("cells", "auto")


def test_a_replacement_keeps_its_settings_when_saved(tmp_path, monkeypatch):
    X, y = rows(500, 10)
    monkeypatch.setattr(
        ChoosingRecipe, "_fits", lambda self, candidate, *_, has_test: candidate.name == "svrg"
    )
    model = KernelClassifier(memory_limit=2**30, random_state=0).fit(X, y)
    assert (model.algorithm_, model.machine_.loss) == ("svrg", "logistic")
    assert model.chosen_because_.endswith("does not fit the memory limit")
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").machine_.get_params() == model.machine_.get_params()


@pytest.mark.slow
def test_the_best_machine_over_centres_replaces_cells_that_do_not_fit(monkeypatch):
    X = np.random.default_rng(0).uniform(0.0, 20.0, (8000, 2)).astype(np.float32)
    y = np.floor(X).sum(axis=1) % 2
    monkeypatch.setattr(
        ChoosingRecipe, "_fits", lambda self, candidate, *_, has_test: candidate.name != "cells"
    )
    model = KernelClassifier(memory_limit=2**30, random_state=0)
    found, because = chosen(model, X, y)
    assert found == "newton"
    assert because.startswith("cells")
    assert because.endswith("does not fit the memory limit")
    recipe = recipe_for(model, X, y)
    assert recipe.settings.given["gamma"].startswith("median/")
    assert len(recipe.candidates) == 7


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    X, y = rows(600)
    path = tmp_path_factory.mktemp("data") / "d.zarr"
    write_dataset([(X, y)], path, test_fraction=0.2, rows_per_shard=100)
    return path


def test_plan_says_what_it_chose_and_where_its_peak_is(data, capsys, monkeypatch):
    monkeypatch.setattr(processes, "memory_bytes", lambda: 2**20)
    job = ["plan", "--data", str(data), "--scheduler", "synchronous", "--set", "search=quick"]
    assert main([*job, "--json"]) == 0
    captured = capsys.readouterr()
    planned, said = json.loads(captured.out), captured.err.splitlines()
    assert planned["passes"][0]["name"] == CHOOSING
    assert planned["driver_bytes"] == max(step["driver_bytes"] for step in planned["passes"])
    assert planned["algorithm"] in CHOOSABLE
    assert planned["notes"][0].startswith(f"algorithm: {planned['algorithm']} with ")
    assert CHOOSING_ANNOUNCED in said
    assert set(planned["notes"]) < set(said)
    assert "this machine has 1.0 MiB" in said[-1]


def test_train_reports_the_choice_and_its_reason_everywhere(data, tmp_path, capsys):
    job = ["--data", str(data), "--scheduler", "synchronous", "--set", "search=none"]
    assert main(["plan", *job, "--json"]) == 0
    passes = [step["name"] for step in json.loads(capsys.readouterr().out)["passes"]]
    solving = ["sample", "count", "move", "solve", "calibrate", "calibrate rarest", "held-out"]
    assert passes == [*solving, "evaluate", "importances"]
    assert main(["train", *job, "--out", str(tmp_path / "m")]) == 0
    line = "algorithm: cells, because of 3 dense columns"
    assert line in capsys.readouterr().err.splitlines()
    assert json.loads((tmp_path / "m" / "metrics.jsonl").read_text().splitlines()[-1])["notes"][0] == line
    assert line in (tmp_path / "m" / "report.html").read_text()
    assert main(["inspect", str(tmp_path / "m")]) == 0
    assert "because of 3 dense columns" in " ".join(capsys.readouterr().out.split())
    assert main(["evaluate", str(tmp_path / "m"), "--data", str(data), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] > 0.8


def test_a_resumed_run_has_the_same_bits(data, tmp_path):
    from distkern.data.dataset import open_dataset

    train = open_dataset(data).train

    def interrupt(event):
        if event.kind == "checkpoint_saved" and event["stage"] == 1:
            raise KeyboardInterrupt

    whole = KernelClassifier(search=None, random_state=0).fit(train)
    folder = tmp_path / "checkpoints"
    with pytest.raises(Interrupted):
        KernelClassifier(search=None, random_state=0).fit_with(
            train, listeners=[interrupt], checkpoints=folder
        )
    assert CheckpointFolder(folder, {}).stages()
    # another limit with the same choice is the same job
    model = KernelClassifier(search=None, memory_limit=2**33, random_state=0)
    model.fit_with(train, checkpoints=folder, resume=True)
    X, _ = rows(600)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize("kind", [KernelClassifier, KernelRegressor])
def test_n_jobs_sets_the_threads_and_changes_no_bit(kind, monkeypatch):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 3))
    y = X[:, 0] * X[:, 1] if kind is KernelRegressor else (X[:, 0] * X[:, 1] > 0).astype(int)
    opened = []

    open_executor = executors.open_executor

    def spy(scheduler=None, **how):
        opened.append((scheduler, how.get("workers")))
        return open_executor(scheduler, **how)

    monkeypatch.setattr(executors, "open_executor", spy)
    monkeypatch.setattr(local, "available_cores", lambda: 4)
    fits = [
        kind(algorithm="newton", settings={"n_landmarks": 32}, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (None, 1, 3, -1, -2, -9)
    ]
    assert opened == [("synchronous", None), *(("threads", workers) for workers in (1, 3, 4, 3, 1))]
    assert len({model.coefficients_.tobytes() for model in fits}) == 1
    assert "n_jobs" not in fits[2].stored_params()
    with pytest.raises(InputError, match="n_jobs must be an integer >= 1"):
        kind(n_jobs=0).fit(X, y)


@pytest.mark.parametrize("arguments", [["--n_jobs", "2"], ["--n-jobs=2"], ["-j", "2"], ["--set", "n_jobs=2"]])
def test_the_command_line_points_to_workers(arguments, capsys):
    assert main(["train", "--data", "d.zarr", "--out", "m", *arguments]) == 2
    assert "--workers" in capsys.readouterr().err


def test_an_oversampled_class_raises_the_gain_required_of_exact_machines():
    """Cells have fewer rows of a rare class than the sample, so a small gain there is not enough."""
    weights = np.r_[np.full(50, 0.05), np.full(50, 1.95)]
    rows = SampleRows(np.zeros((100, 1)), np.zeros((100, 1)), np.repeat([0, 1], 50), weights)
    assert rows.oversampling == pytest.approx(20.0)
    assert replace(rows, weights=np.ones(100)).oversampling == 1.0
    assert replace(rows, codes=None).oversampling == 1.0
    losses = np.random.default_rng(0).random(100)
    exact, few = (TriedMachine(None, losses * factor) for factor in (0.97, 1.0))
    assert _is_worth(exact, few)
    assert not _is_worth(exact, few, 0.01 * np.sqrt(20.0))


@pytest.mark.parametrize("copies", [1, 4])
def test_rare_classes_are_oversampled_and_weigh_less(copies):
    generator = np.random.default_rng(0)
    X = np.repeat(generator.normal(size=(100_000 // copies, 2)), copies, axis=0).astype(np.float32)
    y = (np.arange(len(X)) // copies % 50 == 0).astype(np.int32)
    sample = FoldedSample.of(ArraySource(X, y, None), np.array([0, 1]), 0, np.array([0.98, 0.02]))
    assert 8000 < sample.rows.n_rows <= 10_000
    positive = sample.rows.targets == 1
    # half of the 200 that an even sample has, and half of all 2,000
    assert 1090 < positive.sum() < 1120
    weights = sample.rows.weights
    assert weights[positive].sum() / weights.sum() == pytest.approx(0.02, rel=0.02)
    assert sample.tells
    for learned, held_out in sample.parts():
        kept = sample.rows.features
        assert not {tuple(row) for row in kept[learned]} & {tuple(row) for row in kept[held_out]}
        shares = [positive[part].mean() for part in (learned, held_out)]
        assert shares[0] == pytest.approx(shares[1], rel=0.1)


def test_sampling_rates_follow_class_shares_and_available_rows():
    np.testing.assert_allclose(drawn_shares(1.0, np.array([0.9, 0.1]), 100), 1.0)
    np.testing.assert_allclose(drawn_shares(0.1, None, 100), [0.1])
    # half proportional, 180 and 20 rows; half equal, 100 rows of each class
    found = drawn_shares(0.2, np.array([0.9, 0.1]), 1000) * [900, 100]
    np.testing.assert_allclose(found, [90 + 50, 10 + 50])
