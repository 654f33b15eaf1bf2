"""What holds of every solver, found by the registry and trained through each estimator that has it."""

import dataclasses
import pickle

import numpy as np
import pytest

from distkern.engine import checkpoint
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.drive import Driver, Interrupted
from distkern.engine.events import EventLog
from distkern.engine.executors import open_executor
from distkern.passes import Each, Reduce, Rounds, Stream
from distkern.runs.algorithms import algorithms
from distkern.solvers.base import SOLVERS
from runs import posed_problem
from small import each, most_classes, small

ALGORITHMS = algorithms()
pytestmark = pytest.mark.usefixtures("several_blas_threads")
STAGES = 2


class Witness:
    """A solver that notes its states, and whether a stage changed the one it was given."""

    def __init__(self, solver):
        self.solver, self.states = solver, []

    def __getattr__(self, name):
        return getattr(self.solver, name)

    def init(self, problem):
        self.states.append((yield from self.solver.init(problem)))
        return self.states[-1]

    def settled(self, state):
        self.solver = self.solver.settled(state)
        return self

    def stage(self, problem, state):
        before = pickle.dumps(state)
        self.states.append((yield from self.solver.stage(problem, state)))
        assert pickle.dumps(state) == before, "a stage changed the state that it was given"
        return self.states[-1]


class Recorder(Driver):
    """A driver that notes the passes that it is yielded."""

    made: list

    def _execute(self, step):
        self.made.append(step)
        return super()._execute(step)


@dataclasses.dataclass
class Job:
    """A run of an algorithm on few rows."""

    kind: type
    data: object
    n_classes: int = 2
    seed: int = 0
    has_test: bool = True

    def __post_init__(self):
        chosen = {"stages": STAGES} if "stages" in self.kind.hyperparameters else {}
        estimator = self.kind(**{**small(self.kind), **chosen, "random_state": self.seed})
        data = self.data(self.kind.task, n_classes=self.n_classes)
        training = estimator.recipe().data_of(data.train)
        self.solver, self.problem = posed_problem(estimator, training, has_test=self.has_test)
        self.sources = {"train": training.source} | ({"test": data.test} if self.has_test else {})

    def run(self, scheduler="synchronous", *, folder=None, resume=False, listeners=()):
        """The states, the passes that were made, and the outcome."""
        witness = Witness(self.solver)
        with open_executor(scheduler, workers=2) as executor:
            driver = Recorder(self.sources, executor, EventLog(listeners), folder)
            driver.made = []
            outcome = driver.run(witness, self.problem, resume=resume)
        return witness.states, driver.made, outcome


@pytest.fixture(scope="module", params=each(ALGORITHMS))
def job(request, few_rows):
    return Job(ALGORITHMS[request.param], few_rows)


@pytest.fixture(scope="module")
def run(job):
    return job.run()


def numbers(state):
    return {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}


def assert_same(first, second):
    assert type(first) is type(second)
    for name, value in numbers(first).items():
        np.testing.assert_array_equal(value, getattr(second, name), err_msg=name)


@pytest.mark.parametrize("name", SOLVERS)
def test_an_estimator_trains_it(name, few_rows):
    solvers = {Job(kind, few_rows).solver.name for kind in ALGORITHMS.values()}
    assert name in solvers, f"write an estimator in distkern/estimators/ whose _solver gives {name!r}"


def test_a_function_of_data_and_seed(job, run):
    again = job.run()[0][-1]
    assert_same(run[0][-1], again)
    other = dataclasses.replace(job, seed=1).run()[0][-1]
    assert any(not np.array_equal(value, getattr(other, name)) for name, value in numbers(again).items())


def test_the_same_bits_in_threads(job, run):
    assert_same(run[0][-1], job.run("threads")[0][-1])


def test_several_classes_and_no_test_rows(job, few_rows):
    if job.kind.task != "classification" or most_classes(job.kind) < 3:
        pytest.skip("it has not so many classes")
    several = dataclasses.replace(job, n_classes=3, has_test=False)
    states, _, outcome = several.run()
    assert several.problem.n_outputs == 3
    assert several.solver.measures(states[-1]).test_error is None
    assert np.isfinite(outcome.history[-1]["objective"])


def test_finishes_after_its_stages_at_the_latest(job, run):
    states, _, outcome = run
    assert 2 <= len(states) <= getattr(job.solver, "stages", STAGES) + 1
    reason = outcome.ending.reason
    if job.solver.name.startswith("newton") and reason.startswith("stuck"):
        # without a tolerance it stops at the minimum, where single precision shows no lower step
        assert states[-1].upper < 1e-9 * states[-1].zero
        reason = "stages used up"
    assert reason in ("converged", "stages used up")
    # without a tolerance, of its own or of a polish, there is nothing to be within
    has_tolerance = hasattr(job.solver, "tol") or hasattr(job.solver, "polish_tolerance")
    assert reason == "stages used up" or has_tolerance
    assert [job.solver.finished(state) for state in states] == [False] * (len(states) - 1) + [True]


def test_a_state_is_a_frozen_dataclass_of_arrays_and_numbers(job, run):
    for state in run[0]:
        assert type(state) is job.solver.state_type()
        for name, value in numbers(state).items():
            assert value is None or isinstance(value, int | float | np.ndarray), name
            assert not isinstance(value, np.ndarray) or value.dtype.kind in "bifu"
        with pytest.raises(dataclasses.FrozenInstanceError):
            state.stage = 7


def test_the_next_stage_depends_on_what_a_checkpoint_holds_alone(job, run, tmp_path, monkeypatch):
    """Interrupted before the next checkpoint, and gone on with by another solver object: the same bits, and
    no pass is made a second time whose results are combined."""
    monkeypatch.setattr(checkpoint, "LEAST_BYTES", 0)
    monkeypatch.setattr(checkpoint, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "BYTES_A_SECOND", 2**40)
    last = min(1, len(run[0]) - 2)
    tries = [], []

    def interrupt(event):
        if event.kind == "stage_finished" and event["metrics"]["stage"] == last + 1:
            raise KeyboardInterrupt

    def noting(started):
        def listen(event):
            if event.kind == "pass_started" and event["stage"] == last + 1:
                started.append(event["name"])

        return listen

    folder = CheckpointFolder(tmp_path / "checkpoints", {})
    with pytest.raises(Interrupted):
        job.run(folder=folder, listeners=[noting(tries[0]), interrupt])
    another = dataclasses.replace(job)
    another.solver = pickle.loads(pickle.dumps(another.solver))
    states, made, outcome = another.run(folder=folder, resume=True, listeners=[noting(tries[1])])
    assert len(states) == len(run[0]) - 1 - last
    assert_same(run[0][-1], states[-1])
    assert outcome.history[-1]["objective"] == run[2].history[-1]["objective"]
    again = set(tries[0]) & set(tries[1]) & {step.name for step in made if isinstance(step, Reduce)}
    # that of cells is about the stored machines of a try
    assert again <= {"held-out"}
    assert not (tmp_path / checkpoint.FOLDER).exists()


def test_measures(job, run):
    for state in run[0]:
        measures = job.solver.measures(state)
        assert np.isfinite(measures.objective)
        for error in (measures.train_error, measures.test_error):
            assert 0 <= error < (np.inf if job.problem.real_targets else 1.0001)
        assert measures.model_size >= 0
        assert all(isinstance(value, float) for value in measures.extra.values())
    assert measures.model_size > 0
    assert job.solver.step_hint()


def held(value):
    """Bytes of the arrays in a result."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if dataclasses.is_dataclass(value):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, dict):
        value = list(value.values())
    return sum(map(held, value)) if isinstance(value, list | tuple) else 0


def test_results_take_no_more_than_is_stated(job, run):
    for step in run[1]:
        if isinstance(step, Rounds):
            continue
        if isinstance(step, Each):
            # what other tasks have stored is gone
            if step.blocks:
                blocks = (job.sources[step.split].reader(block)() for block in step.blocks_of(0))
                result = step.task(step.items[0], blocks, step.operand)
                assert held(result) <= step.cost.result_bytes, step.name
            continue
        numbered = step.visits[0].block if isinstance(step, Stream) else (step.blocks or (0,))[0]
        block = job.sources[step.split].reader(numbered)()
        if isinstance(step, Stream):
            assert held(step.prepare(block, step.operand)) <= step.cost.result_bytes * block.n_rows, step.name
            # fewer landmarks than planned make the pieces longer, never their bytes much larger
            assert step.piece_rows <= 4096
        else:
            # beside the few numbers of any result
            assert held(step.map(block, step.operand)) <= step.cost.result_bytes + 128, step.name


def test_passes_pickle(run):
    for step in run[1]:
        copy = pickle.loads(pickle.dumps(step))
        assert copy.name == step.name
        function = {Reduce: "map", Stream: "prepare", Rounds: "open", Each: "task"}[type(step)]
        assert getattr(copy, function) is getattr(step, function)


@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_gamma_by_rule_is_read_off_the_rows(job, few_rows, turn):
    """Algorithms take turns at the two rules, and meet the other one in a slow test."""
    rule = ("scale", "median")[([*ALGORITHMS].index(job.kind.name) + turn) % 2]
    if "gamma" not in job.kind.hyperparameters:
        pytest.skip("it has no kernel with a width")
    words = job.kind.hyperparameters["features"].words if "features" in job.kind.hyperparameters else []
    chosen = {"features": next(word for word in words if word != "linear")} if words else {}
    if "kernel" in job.kind.hyperparameters:
        chosen["kernel"] = "rbf"
    train = few_rows(job.kind.task, n_classes=2).train
    model = job.kind(**small(job.kind, gamma=rule, **chosen)).fit(train)
    rows = np.concatenate([train.reader(block)().features for block in range(train.n_blocks)])
    if rule == "scale":
        assert model.gamma_ == pytest.approx(1 / (rows.shape[1] * rows.var()), rel=1e-6)
    else:
        apart = np.linalg.norm(rows[:, None] - rows[None], axis=2)[np.triu_indices(len(rows), 1)]
        assert model.gamma_ == pytest.approx(1 / (2 * np.median(apart) ** 2), rel=0.1)
