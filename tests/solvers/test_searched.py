"""Hyperparameters chosen on a sample: the choice, its record, and equal results everywhere."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from distkern import (
    AVMClassifier,
    CSVRGClassifier,
    DSGClassifier,
    DSGRegressor,
    NewtonClassifier,
    NewtonRegressor,
    NORMAClassifier,
    PegasosClassifier,
    SBMDClassifier,
    SDCAClassifier,
    SDCARegressor,
    SIMBAClassifier,
    SVRGClassifier,
    load_model,
)
from distkern.choose.values import losses_of, outline_of_most, run_alone, sizes_of, work_of
from distkern.core.choices import Choices, value_of, with_values
from distkern.core.scores import log_losses
from distkern.core.sparse import SparseRows
from distkern.core.types import Block
from distkern.data.ingest import write_dataset
from distkern.data.store.parts import ArrayParts
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.drive import Driver, Interrupted
from distkern.engine.events import EventLog
from distkern.engine.executors import open_executor
from distkern.maths.losses.classes import SquaredHinge
from distkern.runs.data import from_arrays
from distkern.solvers.avm import AVM
from distkern.solvers.hyperparameters import SEARCHED_LAM, SEARCHED_NU
from distkern.solvers.risk import Risk
from runs import interrupted_after, outlines_of, plan, posed_problem, solver_of, train
from small import slow_but, taken

#: those that search by themselves, and those that do where it is asked for
BY_DEFAULT = [
    AVMClassifier,
    CSVRGClassifier,
    NewtonClassifier,
    NORMAClassifier,
    SDCAClassifier,
    SVRGClassifier,
]
ASKED = {
    PegasosClassifier: {"features": "random", "n_features": 256, "lam": "auto", "gamma": "auto"},
    DSGClassifier: {"n_features": 512, "block_size": 128, "batch_size": 512, "nu": "auto", "gamma": "auto"},
}
KINDS = [*BY_DEFAULT, *ASKED]
#: those that stream rows as CSVRG and Pegasos do
ALIKE = (AVMClassifier, NORMAClassifier, SVRGClassifier)
every_kind = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in ALIKE)) for kind in KINDS]
)
PASSES = ["sample", "search 1", "search 2"]


def squares(n_rows, n_columns=2):
    """Return classes in a pattern of squares, too fine for a wide kernel or a lightly weighted loss."""
    X = np.random.default_rng(0).random((n_rows, n_columns)).astype(np.float32)
    return X, (np.floor(3 * X[:, :2]).sum(axis=1) % 2).astype(int)


def small(kind, **given):
    """Return an estimator of a short run that searches its hyperparameters."""
    if kind in ASKED:
        return kind(**{**ASKED[kind], "stages": 2, "random_state": 0, **given})
    names = taken(kind, {})
    sizes = {name: size for name, size in {"n_features": 256, "n_landmarks": 128}.items() if name in names}
    steps = {"steps_per_stage": 1.0} if kind is CSVRGClassifier else {}
    return kind(**sizes, **steps, stages=2, random_state=0, **given)


def unsearched(kind):
    """Return the values used without a search."""
    return {
        name: one.searched.default
        for name, one in kind.hyperparameters.items()
        if one.searched and (one.searched.by_default or ASKED.get(kind, {}).get(name) == "auto")
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("searched") / "d.zarr"
    return write_dataset([squares(2400)], path, scale="none", test_fraction=0.2, rows_per_shard=300)


@pytest.fixture
def made(monkeypatch):
    """Collect the names of executed passes."""
    names, execute = [], Driver._execute
    monkeypatch.setattr(Driver, "_execute", lambda self, step: names.append(step.name) or execute(self, step))
    return names


@pytest.mark.parametrize("kind", slow_but(KINDS, CSVRGClassifier))
def test_what_is_chosen_is_better_than_what_is_not_searched(kind, data):
    found = small(kind).fit(data.train)
    plain = unsearched(kind)
    assert found.found_.keys() == plain.keys()
    assert all(found.value(name) == value for name, value in found.found_.items())
    line = found.history_[-1]
    assert max(map(len, line["notes"])) <= 80
    if found.found_ == plain:
        assert line["search_score"] == line["search_plain"]
    else:
        assert line["search_score"] < line["search_plain"]
    assert found.score(data.test) >= small(kind, **plain).fit(data.train).score(data.test) - 0.01
    given = small(kind, **found.found_).fit(data.train)
    np.testing.assert_array_equal(found.coefficients_, given.coefficients_)


def test_a_kernel_that_is_too_wide_and_losses_that_weigh_little_are_noticed(data):
    model = small(AVMClassifier).fit(data.train)
    assert model.found_["lam"] > 1024 or model.found_["gamma"] in ("scale/2", "scale/4")
    assert model.history_[-1]["search_score"] < 0.8 * model.history_[-1]["search_plain"]


def test_it_is_said_what_was_chosen_of_which_range_and_what_it_gained(data, tmp_path, capsys):
    model = small(CSVRGClassifier, gamma=20.0)
    messages = []
    model.fit_with(data.train, listeners=[lambda event: messages.append(event)])
    notes = model.history_[-1]["notes"]
    score, plain = (model.history_[-1][name] for name in ("search_score", "search_plain"))
    values = [1024.0, *SEARCHED_LAM.tried(1920)]
    assert notes == [
        f"chosen: lam={model.found_['lam']:g} of {min(values):g}..{max(values):g}",
        f"held-out log loss {score:.3g} ({plain:.3g} with the defaults)",
    ]
    told = [event["text"] for event in messages if event.kind == "message"]
    assert [told.count(note) for note in notes] == [1, 1]
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.found_ == model.found_
    assert again.value("lam") == model.found_["lam"]
    assert again.get_params()["lam"] == "auto"
    assert json.loads((tmp_path / "m" / "model.json").read_text())["history"][-1]["notes"] == notes


def test_what_is_given_is_not_searched(data, made):
    model = small(CSVRGClassifier, lam=3000.0, gamma="median").fit(data.train)
    assert model.found_ == {}
    assert not {"search 1", "search 2"} & {*made}
    made.clear()
    small(CSVRGClassifier, lam=3000.0).fit(data.train)
    assert "search 1" in made
    assert "search 2" not in made


def test_what_is_not_searched_by_default_is_searched_if_it_is_asked_for(data, made):
    model = small(SVRGClassifier, nu=1e-6).fit(data.train)
    assert model.found_ == {}
    assert "search 1" not in made
    model = small(SVRGClassifier, nu=1e-6, gamma="auto").fit(data.train)
    assert [*model.found_] == ["gamma"]
    assert "search 1" in made


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_trials_of_many_random_features_are_of_a_machine_near_the_kernels_own(loss, data):
    model = small(DSGClassifier, loss=loss)
    solver, _ = posed_problem(model, data.train, searched=True)
    trial = solver.sizes.solver
    assert (trial.name, trial.features.name) == ("newton" if loss == "squared_hinge" else "svrg", "nystroem")
    assert trial.features.kernel == solver.solver.kernel


def test_a_width_is_searched_of_a_kernel_without_tiles_and_of_real_targets():
    X, _ = squares(2000)
    y = np.sin(20 * X[:, 0])
    model = DSGRegressor(
        kernel="laplacian", n_features=1024, block_size=128, nu=1e-6, gamma="auto", stages=2, random_state=0
    ).fit(X, y)
    assert [*model.found_] == ["gamma"]


def test_rows_in_any_order_are_sampled_in_all_blocks(tmp_path):
    X, y = squares(2400)
    order = np.argsort(y, kind="stable")
    data = write_dataset(
        [(X[order], y[order])],
        tmp_path / "d.zarr",
        scale="none",
        shuffle=False,
        rows_per_shard=60,
        columns=True,
    )
    model = SIMBAClassifier(max_rounds=4000, random_state=0)
    solver, problem = posed_problem(model, data.train, searched=True)
    (sampling,) = (one.step for one in solver.outline(problem) if one.step.name == "sample")
    assert sampling.blocks == tuple(range(40))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("is_rare", [True, False], ids=["a rare class", "wrong labels"])
def test_simba_chooses_how_far_rows_may_fall_short(is_rare, seed, made):
    """A rare class wants a small nu; labels of which 30 % are wrong want a large one."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(4000, 20)).astype(np.float32)[:2000]
    scores = X @ generator.normal(size=20)
    if is_rare:
        y = (scores + 0.1 * generator.normal(size=2000) > 9).astype(int)
    else:
        y = ((scores > 0) ^ (generator.random(2000) < 0.3)).astype(int)
    settings = {"max_rounds": 3000, "stages": 2, "scale": "none", "random_state": 0}
    found = SIMBAClassifier(**settings).fit(X, y)
    assert "search 1" in made
    chosen = found.found_["nu"]
    assert chosen < 0.01 if is_rare else chosen > 0.01
    assert found.history_[-1]["nu"] == chosen
    assert found.history_[-1]["notes"][0] == f"chosen: nu={chosen:g} of 0.001..0.03"
    made.clear()
    given = SIMBAClassifier(nu=chosen, **settings).fit(X, y)
    assert "search 1" not in made
    np.testing.assert_array_equal(found.coefficients_, given.coefficients_)


def test_a_trial_makes_all_rounds_and_holds_nothing_out():
    """Fewer rounds leave models of small nu unfinished, the best ones for rare classes."""
    solver = solver_of(SIMBAClassifier(max_rounds=40_000, max_feature_accesses=1e6))
    trial = solver.stand_in()
    assert (trial.max_rounds, trial.stages, trial.patience, trial.validation_fraction) == (
        40_000,
        1,
        None,
        0.0,
    )
    assert (trial.rows_per_round, trial.max_feature_accesses) == (solver.rows_per_round, None)
    # of a quarter of the rows, and still four values in twice the work of a run
    X = np.random.default_rng(0).normal(size=(4000, 6)).astype(np.float32)
    rows = from_arrays(X, X[:, 0] > 1.0, None, "classification")
    _, problem = posed_problem(SIMBAClassifier(), rows)
    sizes = sizes_of(solver, ("nu",), problem)
    assert sizes.n_train == 1000
    whole = work_of(outline_of_most(solver, "nu", problem, problem), problem)
    assert 1.0 < 4 * sizes.work(problem) / whole <= solver.worth


def test_several_outputs_are_compared_in_one_unit():
    X = np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32)
    y = X.argmax(axis=1)
    model = SIMBAClassifier(nu=0.01, max_rounds=300, stages=1, random_state=0).fit(X, y)
    solver, problem = posed_problem(model, from_arrays(X, y, None, model.task))
    state = run_alone(solver, problem, Block(X, y.astype(np.int32)))
    assert (state.margins > 0).any()
    found = solver.model(problem, state)
    # |w| is at most 1 where the largest row has norm 1
    assert (np.linalg.norm(found.coefficients, axis=0) * state.radius <= 1 + 1e-9).all()
    scales = np.where(state.margins > 0, state.margins, 1.0)
    np.testing.assert_allclose(
        found.predictions(X), (X @ state.coefficients + state.intercept) * scales, rtol=1e-4, atol=1e-5
    )


def test_few_rows_are_not_searched_and_a_refit_forgets(data, made):
    model = small(NewtonClassifier).fit(data.train)
    assert model.found_
    X, y = squares(900)
    made.clear()
    model.fit(X, y)
    assert model.found_ == {}
    assert model.value("nu") == 1e-6
    assert model.value("gamma") == "scale"
    assert "search 1" not in made


@every_kind
def test_the_plan_lists_the_search_and_each_trial_takes_no_more(kind, data, monkeypatch):
    model, made, execute = small(kind), [], Driver._execute
    solver, problem, outlines = outlines_of(model, data.train, has_test=True)
    outlined = {outline.step.name: outline for outline in outlines}
    names = PASSES[: 1 + len(solver.names)]
    assert [name for name in outlined if name in PASSES] == names
    monkeypatch.setattr(Driver, "_execute", lambda self, step: made.append(step) or execute(self, step))
    model.fit_with(data.train, test=data.test)
    assert [step.name for step in made if step.name in PASSES] == names
    for step in made:
        if step.name in names[1:]:
            assert len(step.items) == len(outlined[step.name].step.items)
            assert step.cost == outlined[step.name].step.cost
            assert step.operand.train.n_rows == solver.sizes.n_train
    n_trials = sum(len(outlined[name].step.items) for name in names[1:])
    work = solver.sizes.work(problem)
    allowed = work_of(outline_of_most(solver.solver, solver.names[0], problem, problem), problem)
    assert n_trials * work <= allowed * (8 if kind in ASKED else 1)


@pytest.mark.parametrize(
    "kind", [CSVRGClassifier, *(pytest.param(kind, marks=pytest.mark.slow) for kind in ASKED)]
)
@pytest.mark.parametrize("scheduler", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_the_same_bits_on_every_scheduler(scheduler, kind, data, tmp_path):
    here = small(kind).fit_with(data.train, executor=None)
    there = small(kind)
    train(there, data.train, out=tmp_path / "m", scheduler=scheduler, workers=2)
    assert there.found_ == here.found_
    np.testing.assert_array_equal(there.coefficients_, here.coefficients_)
    assert there.history_[-1]["search_score"] == here.history_[-1]["search_score"]


@pytest.mark.parametrize("last", slow_but(PASSES, PASSES[-1]))
def test_a_run_that_is_interrupted_tries_nothing_twice(last, data, tmp_path, monkeypatch):
    whole, tried, put = small(AVMClassifier).fit(data.train), [], ArrayParts.put

    def counted(self, number, result):
        tried.append((self.folder.name, number))
        return put(self, number, result)

    monkeypatch.setattr(ArrayParts, "put", counted)
    with interrupted_after(last), pytest.raises(Interrupted):
        train(small(AVMClassifier), data.train, out=tmp_path / "m", scheduler="synchronous")
    resumed = small(AVMClassifier)
    train(resumed, data.train, out=tmp_path / "m", scheduler="synchronous", resume=True)
    np.testing.assert_array_equal(resumed.coefficients_, whole.coefficients_)
    assert resumed.found_ == whole.found_
    # with the usual values, and of lam one less of so few rows
    assert len(tried) == len(set(tried)) == 1 + sum(len(one.values) for one in AVM.searched.values()) - 1
    assert not (tmp_path / "m" / "search").exists()


def test_what_was_chosen_is_in_the_first_checkpoint(data, tmp_path, made):
    def stop(event):
        if event.kind == "checkpoint_saved":
            raise KeyboardInterrupt

    folder = CheckpointFolder(tmp_path / "c", {})
    model = small(CSVRGClassifier, projection=True)
    solver, problem = posed_problem(model, data.train, searched=True)
    with open_executor("synchronous") as executor:
        with pytest.raises(Interrupted):
            Driver({"train": data.train}, executor, EventLog([stop]), folder).run(solver, problem)
        made.clear()
        outcome = Driver({"train": data.train}, executor, EventLog(), folder).run(
            solver, problem, resume=True
        )
    assert not {*PASSES} & {*made}
    whole = small(CSVRGClassifier, projection=True).fit(data.train)
    np.testing.assert_array_equal(outcome.state.coefficients, whole.coefficients_)
    assert solver.found(outcome.state) == whole.found_


@pytest.mark.parametrize("kind", [*BY_DEFAULT, PegasosClassifier, NewtonRegressor, SDCARegressor])
def test_a_run_alone_is_a_run(kind):
    X, y = squares(400)
    model = small(kind, **unsearched(kind))
    data = from_arrays(X, y, None, model.task)
    solver, problem = posed_problem(model, data)
    state = run_alone(solver, problem, data.source.reader(0)())
    with open_executor("synchronous") as executor:
        outcome = Driver({"train": data.source}, executor).run(solver, problem)
    np.testing.assert_allclose(state.coefficients, outcome.state.coefficients, rtol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, SparseRows.of_dense])
def test_single_columns_are_read_in_a_process_alone(form):
    X, y = squares(400, 6)
    rows = form(np.where(X > 0.3, X, 0.0).astype(np.float32))
    model = SIMBAClassifier(nu=0.01, max_rounds=300, stages=2, random_state=0)
    data = from_arrays(rows, y, None, model.task)
    solver, problem = posed_problem(model, data)
    state = run_alone(solver, problem, data.source.reader(0)())
    with open_executor("synchronous") as executor:
        outcome = Driver({"train": data.source}, executor).run(solver, problem)
    np.testing.assert_array_equal(state.coefficients, outcome.state.coefficients)
    assert state.accesses == outcome.state.accesses > 0


@pytest.mark.parametrize(("loss", "nu"), [("logistic", 1e-3), ("squared_hinge", 0.03)])
def test_log_losses_weigh_as_rows_and_classes_do(loss, nu):
    X, y = squares(300)
    weights = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    settings = {"nu": nu, "gamma": 4.0, "class_weight": {0: 1.0, 1: 3.0}}
    model = small(NewtonClassifier, loss=loss, **settings).fit(X, y, weights)
    solver, problem = posed_problem(model, from_arrays(X, y, weights, model.task))
    block = Block(X, y.astype(np.int32), weights)
    state = run_alone(solver, problem, block)
    factors = weights * np.where(y == 1, 3.0, 1.0)
    values = model.decision_function(X)[:, None]
    if loss == "logistic":
        # of rows as they are weighted
        chances = model.predict_proba(X) * [1.0, 3.0]
        chances /= chances.sum(axis=1, keepdims=True)
    else:
        # the sign says the class, and all classes weigh the same
        factors = factors / np.bincount(y, factors)[y]
        machine = LogisticRegression(C=np.inf, tol=1e-10, fit_intercept=False)
        chances = machine.fit(values, y, factors).predict_proba(values)
    expected = log_loss(y, chances, sample_weight=factors)
    # but for Platt's targets
    assert losses_of(solver.model(problem, state), block).mean() == pytest.approx(expected, rel=0.02)


def test_a_useful_machine_of_a_rare_class_is_not_judged_below_one_that_says_the_other_of_all():
    codes = np.repeat([1, 0], [20, 980])
    # it finds most of the rare rows, and says as much of a few others
    useful = np.where(codes == 1, 1.0, -1.0)
    useful[:6], useful[20:40] = -1.0, 1.0
    constant = np.where(codes == 1, -0.99, -1.0)
    scores = []
    for values in (useful, constant):
        model = SimpleNamespace(
            risk=Risk(SquaredHinge()), strips=lambda rows: [rows], predictions=lambda features: features
        )
        scores.append(losses_of(model, Block(values[:, None], codes)).mean())
    assert (useful > 0).mean() > 0.02
    assert scores[0] < scores[1]
    by_rows = [log_losses(values[:, None], codes, by_sign=True).mean() for values in (useful, constant)]
    assert by_rows[0] > by_rows[1]


@pytest.mark.parametrize("kind", [NewtonClassifier, NORMAClassifier, SBMDClassifier, SDCAClassifier])
def test_of_noise_no_probabilities_are_learned(kind):
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(5000, 4)).astype(np.float32), generator.integers(0, 2, 5000)
    model = small(kind, loss="logistic").fit(X[:1000], y[:1000])
    assert log_loss(y[1000:], model.predict_proba(X[1000:])) < np.log(2) + 0.02


def test_real_targets_are_compared_by_their_loss():
    X, _ = squares(2000)
    y = np.sin(20 * X[:, 0]) + np.random.default_rng(2).normal(size=2000)
    model = small(NewtonRegressor, loss="huber").fit(X, 1000 * y)
    assert "held-out loss" in model.history_[-1]["notes"][1]


def test_the_same_is_chosen_under_any_limit():
    X, y = squares(2000, 20)
    model = NewtonClassifier(features="random", n_features=8192, stages=1, random_state=0)
    data = from_arrays(X, y, None, model.task)
    chosen = []
    for limit in (None, 300 * 2**20):
        model.set_params(memory_limit=limit)
        solver, _ = posed_problem(model, data, has_test=False, searched=True)
        assert solver.solver.takes_products == (limit is not None)
        chosen.append((solver.sizes, solver.names))
    assert chosen[0] == chosen[1]


def test_a_limit_that_trials_do_not_fit_is_told_what_makes_do_without(data):
    advice = plan(
        small(CSVRGClassifier), data.train, scheduler="local", workers=1, memory_limit=160 * 2**20
    ).advice
    assert advice.endswith(", or give gamma and lam, so that nothing is tried")
    given = small(CSVRGClassifier, lam=1024.0, gamma="scale")
    assert plan(given, data.train, scheduler="local", workers=1, memory_limit=160 * 2**20).fits


def test_trials_make_few_stages_however_many_are_allowed(data):
    model = CSVRGClassifier(n_landmarks=128, steps_per_stage=1.0, stages=1000)
    solver, _ = posed_problem(model, data.train, searched=True)
    assert (solver.stages, solver.sizes.solver.stages) == (1000, 10)


def test_values_weigh_a_row_the_same_on_any_number_of_rows():
    assert SEARCHED_LAM.tried(10_000) == [4000.0, 16000.0, 64000.0]
    assert SEARCHED_LAM.tried(1_000_000) == [1e5, 4e5, 1.6e6, 6.4e6]
    assert SEARCHED_NU.tried(10_000) == [1e-4, 1e-5, 1e-7]
    # single precision tells no less from 0
    assert SEARCHED_NU.tried(10**9)[-1] == 1e-9
    assert SEARCHED_LAM.on_sample(4000.0, 0.25) == 1000.0
    assert SEARCHED_NU.on_sample(1e-5, 0.25) == 4e-5
    words = Choices("scale", ("scale/2", "scale"))
    assert words.tried(7) == ["scale/2"]
    assert words.on_sample("scale/2", 0.25) == "scale/2"


def test_values_of_parts_are_found_and_changed_by_name():
    solver = solver_of(small(CSVRGClassifier))
    assert value_of(solver, "lam") == 1024.0
    assert value_of(solver, "n_landmarks") == 128
    assert value_of(solver, "nothing") is None
    changed = with_values(solver, {"lam": 7.0, "gamma": "scale/2", "n_landmarks": 3, "nothing": 1})
    features = changed.features
    assert (changed.lam, features.kernel.gamma, features.n_landmarks) == (7.0, "scale/2", 3)
    assert solver.lam == 1024.0
    assert with_values(solver, {"nothing": 1}) is solver
