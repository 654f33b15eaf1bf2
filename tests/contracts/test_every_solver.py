"""What holds of every solver that can work over landmarks, found by the solvers' registry."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from distkern.core.registry import members
from distkern.losses import find_loss
from distkern.passes import Reduce, Stream
from distkern.solvers.coreset import AbstractCoresetSolver
from distkern.solvers.feature_choice import FeatureChoice
from distkern.solvers.pegasos import Pegasos
from problems import overlapping, run_stages

SOLVERS = members("distkern.solvers", AbstractCoresetSolver) | members("distkern.solvers", Pegasos)
STAGES = 3


def build(kind, case, *, stages, **options):
    parts = case.parts(**options)
    if issubclass(kind, AbstractCoresetSolver):
        return kind(parts, stages=stages)
    features = FeatureChoice("landmarks", parts.kernel, landmarks=parts.landmarks)
    return kind(
        features, find_loss("hinge")(), lam=1e-2, stages=stages, mean_weight=parts.mean_weight,
    )  # fmt: skip


every_solver = pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=name) for name, kind in SOLVERS.items()]
)


def case_with_test(**options):
    case = overlapping(150, 3, **options)
    case.test = (case.features[:40] + 0.05, case.codes[:40])
    return case


def test_there_are_solvers():
    assert {"csvrg", "avm", "pegasos"} <= set(SOLVERS)


@every_solver
@pytest.mark.parametrize("classes", [2, 3])
def test_a_function_of_data_and_seed(kind, classes):
    case = case_with_test(classes=classes)
    solver = build(kind, case, n_landmarks=20, stages=STAGES)
    first, second = (run_stages(solver, case)[0][-1] for _ in range(2))
    for field in dataclasses.fields(first):
        np.testing.assert_array_equal(getattr(first, field.name), getattr(second, field.name))
    other = run_stages(solver, dataclasses.replace(case, seed=1))[0][-1]
    assert not np.array_equal(first.coefficients, other.coefficients)


@every_solver
def test_finishes_after_its_stages_at_the_latest(kind):
    case = case_with_test()
    for stages in (1, STAGES):
        states, _ = run_stages(build(kind, case, n_landmarks=20, stages=stages), case)
        assert 2 <= len(states) <= stages + 1


@every_solver
def test_a_state_is_a_dataclass_of_arrays_and_numbers(kind):
    case = case_with_test()
    solver = build(kind, case, n_landmarks=20, stages=STAGES)
    states, _ = run_stages(solver, case)
    for state in states:
        assert type(state) is solver.state_type()
        for field in dataclasses.fields(state):
            value = getattr(state, field.name)
            assert value is None or isinstance(value, int | float | np.ndarray), field.name
            assert not isinstance(value, np.ndarray) or value.dtype.kind in "if"
    with pytest.raises(dataclasses.FrozenInstanceError):
        states[-1].stage = 7


@every_solver
def test_the_next_stage_depends_on_the_state_alone(kind):
    """Resuming from a copy of the state, in a new solver object, with another runner, gives the same bits."""
    case = case_with_test()
    states, _ = run_stages(build(kind, case, n_landmarks=20, stages=STAGES), case)
    solver = pickle.loads(pickle.dumps(build(kind, case, n_landmarks=20, stages=STAGES)))
    fields = {field.name: getattr(states[1], field.name) for field in dataclasses.fields(states[1])}
    state = solver.state_type()(
        **{name: value.copy() if isinstance(value, np.ndarray) else value for name, value in fields.items()}
    )
    while not solver.finished(state):
        state = case.runner().run(solver.stage(case.problem, state))
    np.testing.assert_array_equal(state.coefficients, states[-1].coefficients)
    assert state.objective == states[-1].objective


@every_solver
def test_a_stage_does_not_change_the_state_it_is_given(kind):
    case = case_with_test()
    solver = build(kind, case, n_landmarks=20, stages=STAGES)
    runner = case.runner()
    state = runner.run(solver.init(case.problem))
    for _ in range(2):
        before = pickle.dumps(state)
        following = runner.run(solver.stage(case.problem, state))
        assert pickle.dumps(state) == before
        state = following


@every_solver
def test_measures(kind):
    case = case_with_test()
    solver = build(kind, case, n_landmarks=20, stages=STAGES)
    states, _ = run_stages(solver, case)
    for state in states:
        measures = solver.measures(state)
        assert np.isfinite(measures.objective)
        assert 0 <= measures.train_error <= 1
        assert 0 <= measures.test_error <= 1
        assert measures.model_size == len(state.landmarks)
        assert all(isinstance(value, float) for value in measures.extra.values())
    without = dataclasses.replace(case, test=None)
    assert solver.measures(run_stages(solver, without)[0][-1]).test_error is None
    assert solver.step_hint()


@every_solver
@pytest.mark.parametrize("has_test", [True, False])
@pytest.mark.parametrize(
    "landmarks", [{"n_landmarks": 20}, {"diameter": 1.0}, {"n_landmarks": 20, "uniform": True}]
)
def test_the_outline_lists_the_passes_that_are_made(kind, has_test, landmarks):
    case = case_with_test()
    if not has_test:
        case.test = None
    solver = build(kind, case, **landmarks, stages=STAGES)
    if hasattr(solver, "tolerance"):
        solver = dataclasses.replace(solver, tol=0.0)
    outlined = {outline.step.name: outline for outline in solver.outline(case.problem)}
    _, runner = run_stages(solver, case)
    assert set(runner.made) == set(outlined)
    for name, outline in outlined.items():
        # as many sweeps as the search for a radius takes
        if name != "coverage":
            assert runner.made.count(name) == outline.times
        made = [step for step in runner.steps if step.name == name]
        for step in made:
            assert type(step) is type(outline.step)
            assert step.split == outline.step.split
            # what is planned for is enough for what is done
            assert step.cost.workspace_bytes <= outline.step.cost.workspace_bytes
            assert step.cost.result_bytes <= outline.step.cost.result_bytes
            if isinstance(step, Stream):
                assert step.n_rows == outline.step.n_rows
                # fewer landmarks than planned make the pieces longer, never their bytes much larger
                rows = {inner.piece_rows for inner in (step, outline.step)}
                assert max(rows) <= 4096
            else:
                assert isinstance(step, Reduce)


@every_solver
def test_the_stated_result_bytes_are_those_of_the_results(kind):
    case = case_with_test(dtype="float32")
    solver = build(kind, case, n_landmarks=20, stages=1)
    _, runner = run_stages(solver, case)
    blocks = case.runner().blocks["train"]
    for step in runner.steps:
        if isinstance(step, Stream):
            piece = step.prepare(blocks[0], step.operand)
            arrays = [value for value in vars(piece).values() if isinstance(value, np.ndarray)]
            assert sum(array.nbytes for array in arrays) == step.cost.result_bytes * blocks[0].n_rows
        elif step.split == "train":
            result = step.map(blocks[0], step.operand)
            arrays = [result] if isinstance(result, np.ndarray) else list(vars(result).values())
            largest = max(array.nbytes for array in arrays if isinstance(array, np.ndarray))
            assert largest <= step.cost.result_bytes


@every_solver
def test_operands_pickle(kind):
    case = case_with_test()
    _, runner = run_stages(build(kind, case, n_landmarks=20, stages=1), case)
    for step in runner.steps:
        copy = pickle.loads(pickle.dumps(step))
        assert copy.name == step.name
        assert copy.map is step.map if isinstance(step, Reduce) else copy.prepare is step.prepare


@every_solver
@pytest.mark.parametrize("rule", ["scale", "median"])
def test_gamma_by_rule_is_read_off_the_rows(kind, rule):
    case = case_with_test()
    states, runner = run_stages(build(kind, case, n_landmarks=20, gamma=rule, stages=1), case)
    assert runner.made[0] == "width"
    if rule == "scale":
        assert states[-1].gamma == pytest.approx(1 / (3 * case.features.var()))
    assert states[-1].train_error < 0.5
