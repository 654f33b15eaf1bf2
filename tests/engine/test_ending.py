"""Why a run ended and what its user is told: from figures, and of whole runs."""

import json
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning

import distkern
from distkern.core.errors import DivergenceError
from distkern.engine.ending import ending, explosion
from distkern.solvers.base import Measures, Problem, Trouble
from runs import solver_of
from small import slow_but
from toy import ToySolver


class Solver(ToySolver):
    starts_at_zero = True


def problem(shares=(), weighs_classes=False):
    return Problem(
        (100,),
        2,
        np.dtype(float),
        0,
        n_outputs=1,
        has_test=False,
        class_shares=shares,
        weighs_classes=weighs_classes,
    )


def end(objectives, *, error=0.1, shares=(0.5, 0.5), weighs_classes=False, solver=None, **given):
    history = [{"objective": objective} for objective in objectives]
    measures = Measures(objectives[-1], error, None, 1, {}, **given)
    return ending(solver or Solver(), problem(shares, weighs_classes), measures, history)


def test_what_ends_well():
    assert end([1.0, 0.5, 0.46]).reason == "stages used up"
    assert end([1.0, 0.5, 0.46], converged=True).reason == "converged"
    assert end([1.0, 0.5, 0.46]).warnings == ()
    # one stage cannot be compared with another, and what has converged is not asked
    assert end([1.0, 0.5]).warnings == ()
    assert end([1.0, 0.5, 0.1], converged=True).warnings == ()
    # a fixed point may lie above an earlier stage
    assert end([1.0, 0.3, 0.4]).warnings == ()


def test_what_does_not():
    above = end([1.0, 0.9, 1.3])
    assert above.reason == "diverged"
    assert "ended at 1.3, above the 1 of the zero model" in above.warnings[0]
    falling = end([1.0, 80.0, 40.0])
    assert falling.reason == "stages used up"
    assert "above the 1 of the zero model" in falling.warnings[0]
    (unfinished,) = end([1.0, 0.9, 0.7]).warnings
    assert "67 %" in unfinished
    assert "more stages than 4" in unfinished
    assert end([0.5, 0.4], shortfall="not reached").warnings == ("not reached",)


@pytest.mark.parametrize(
    ("shares", "error", "weighs", "told"),
    [
        ((0.9, 0.1), 0.0995, False, True),
        ((0.9, 0.1), 0.3, False, True),
        ((0.9, 0.1), 0.098, False, False),
        ((0.9, 0.1), 0.3, True, False),
        ((0.9, 0.1), 0.1, True, True),
        ((0.9, 0.1), 0.9, True, True),
        ((0.2, 0.5, 0.3), 0.5, False, True),
        ((0.2, 0.5, 0.3), 0.45, False, False),
        ((), 7.0, False, False),
    ],
)
def test_a_model_that_has_learnt_nothing(shares, error, weighs, told):
    found = end([1.0, 0.5, 0.46], error=error, shares=shares, weighs_classes=weighs)
    assert bool(found.warnings) == told


def test_probabilities_may_be_good_where_one_class_takes_every_row():
    # reweighting would spoil them: only models without probabilities get that advice
    plain, calibrated, searched = Solver(), Solver(), Solver()
    vars(calibrated)["is_calibrated"] = True
    vars(searched)["solver"] = calibrated
    told = {}
    for name, solver in (("plain", plain), ("calibrated", calibrated), ("searched", searched)):
        (told[name],) = end([1.0, 0.5, 0.46], error=0.1, shares=(0.9, 0.1), solver=solver).warnings
    assert "--set class_weight=balanced" in told["plain"]
    assert "class_weight" not in told["calibrated"]
    assert "the training error (10 %) is about that of predicting one class" in told["calibrated"]
    assert told["calibrated"].endswith("for instance --threshold balanced")
    assert told["searched"] == told["calibrated"]
    (of_three,) = end([1.0, 0.5, 0.46], error=0.3, shares=(0.7, 0.2, 0.1), solver=calibrated).warnings
    assert of_three.startswith("one class has nearly every row")
    assert of_three.endswith("compare the log loss with the base rate")


def test_when_a_run_is_stopped():
    def stopped(objective, solver=None, before=(1.0, 0.5)):
        history = [{"objective": value} for value in before]
        return explosion(solver or Solver(), Measures(objective, 0.1, None, 1, {}), history, 2)

    assert stopped(9.9) is None
    assert "10.1 after stage 2, and 1 for the zero model: set a smaller step_size (a tenth of" in stopped(
        10.1
    )
    assert "not a finite number after stage 2" in stopped(np.inf)
    # unknown: it did not start at 0, or there is nothing to compare with
    assert stopped(1e9, ToySolver()) is None
    assert stopped(1e9, before=(0.0, 1.0)) is None
    assert stopped(1e9, before=()) is None
    overshooting = type("Overshooting", (Solver,), {"explosion": np.inf})()
    assert stopped(1e9, overshooting) is None
    assert stopped(np.nan, overshooting) is not None


# --- whole runs -------------------------------------------------------------------------------------------


def sharp(n_rows=2000):
    """Rows that are hardly alike for a kernel with gamma = 30."""
    return make_classification(n_rows, 20, n_informative=10, random_state=0)


@pytest.mark.parametrize(
    ("kind", "steps"), [(distkern.CSVRGClassifier, None), (distkern.AVMClassifier, 2000)]
)
def test_a_run_far_above_the_model_0_is_stopped_with_the_hint(kind, steps):
    model = kind(gamma=30.0, lam=1e5, n_landmarks=64, projection=True, random_state=0)
    model.set_params(steps_per_stage=steps)
    with pytest.raises(
        DivergenceError, match=r"after stage 1, and 1e\+05 for the zero model: set a smaller lam"
    ):
        model.fit(*sharp())


def test_a_run_that_ends_above_the_model_0_says_so(tmp_path):
    X, y = make_moons(400, noise=0.1, random_state=0)
    model = distkern.PegasosClassifier(scale="none", random_state=0)
    with pytest.warns(ConvergenceWarning, match="above the 1 of the zero model: scale the features"):
        model.fit(100 * X, y)
    assert model.ended_ == "stages used up"
    model.save(tmp_path / "m")
    assert distkern.load_model(tmp_path / "m").ended_ == model.ended_
    assert json.loads((tmp_path / "m" / "model.json").read_text())["ended"] == model.ended_


def test_a_model_of_one_class_says_so():
    X, y = make_moons(400, noise=0.1, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"error \(50 %\) is .* one class .*: scale the features"):
        distkern.PegasosClassifier(scale="none", random_state=0).fit(1e-3 * X, y)
    X, y = make_classification(
        2000, 20, n_informative=5, weights=[0.97], flip_y=0, class_sep=0.5, random_state=0
    )
    for kind in (distkern.CSVRGClassifier, distkern.AVMClassifier):
        with pytest.warns(ConvergenceWarning, match="set a larger lam than 1, give class_weight='balanced'"):
            kind(lam=1.0, n_landmarks=128, random_state=0).fit(X, y)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", slow_but(["CSVRG", "AVM", "SVRG", "Pegasos"], "Pegasos"))
def test_ordinary_runs_with_the_defaults_warn_of_nothing(name, seed):
    kind = getattr(distkern, f"{name}Classifier")
    small = {"n_features": 128} if name == "SVRG" else {} if name == "Pegasos" else {"n_landmarks": 128}
    problems = [
        make_moons(500, noise=0.1, random_state=seed),
        make_classification(1000, 10, n_informative=6, n_classes=3, random_state=seed),
        make_classification(1000, 10, n_informative=6, weights=[0.8], random_state=seed),
    ]
    for X, y in problems:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = kind(random_state=seed, **small).fit(X / np.abs(X).max(), y)
        assert model.ended_.split(":")[0] in ("converged", "settled", "stages used up")
        assert model.history_[-1]["ended"] == model.ended_
        assert all("ended" not in line for line in model.history_[:-1])


def test_converged_is_what_the_tolerance_says():
    X, y = make_moons(300, noise=0.1, random_state=0)
    given = {"n_landmarks": 50, "lam": 4.0, "random_state": 0}
    model = distkern.CSVRGClassifier(stages=30, **given).fit(X, y)
    assert model.ended_ == "converged"
    assert model.n_iter_ < 30
    first, last = model.history_[0], model.history_[-1]
    assert last["bound"] <= model.tol * (first["objective"] - last["objective"])
    assert distkern.CSVRGClassifier(stages=1, **given).fit(X, y).ended_ == "stages used up"


def test_what_ends_by_another_rule_says_which():
    """The fixed point of gradients at the nearest landmarks is no minimum, whatever w changes by."""
    X, y = make_moons(300, noise=0.1, random_state=0)
    model = distkern.CSVRGClassifier(n_landmarks=50, lam=4.0, projection=True, stages=30, random_state=0)
    assert model.fit(X, y).ended_ == "settled: w changes by less than 0.01 of itself in a stage"
    assert model.history_[-1]["change"] <= model.tol
    assert model.history_[-1]["ended"] == model.ended_


def test_solvers_name_their_own_hyperparameters():
    for kind in (distkern.CSVRGClassifier, distkern.AVMClassifier, distkern.PegasosClassifier):
        solver = solver_of(kind(lam=7.0))
        assert all("7" in solver.hint(trouble) for trouble in Trouble)
    assert "stages" in solver_of(distkern.SVRGClassifier()).hint(Trouble.UNFINISHED)
    # it has no step_size
    assert solver_of(distkern.NewtonClassifier()).hint(Trouble.DIVERGED) == "set a larger nu"


def test_weighted_rows_are_compared_with_one_class_by_their_weights():
    X, y = np.random.default_rng(0).random((200, 3)), np.arange(200) % 2
    model = distkern.PegasosClassifier(random_state=0, features="linear")
    with pytest.warns(ConvergenceWarning, match=r"of predicting one class for all rows \(10 %\)"):
        model.fit(X, y, sample_weight=np.where(y == 1, 9.0, 1.0))
