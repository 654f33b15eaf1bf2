"""Small problems for solvers over random features, and a runner that answers Rounds in this process."""

from __future__ import annotations

import dataclasses
import pickle
from contextlib import nullcontext

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC, LinearSVR

from distkern.core.sparse import SparseRows
from distkern.core.types import AbstractGroup, AbstractSource, groups_of
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog
from distkern.engine.executors import open_executor
from distkern.maths.features import find_features
from distkern.maths.features.base import KernelChoice
from distkern.maths.kernels import find_kernel
from distkern.maths.landmarks.base import RowLayout
from distkern.maths.losses import find_loss
from distkern.passes import Extent, Machine, Rounds
from distkern.solvers._dsg.settings import StepRule
from distkern.solvers.base import Problem
from distkern.solvers.dsg import DSG
from distkern.solvers.risk import Risk
from reference import PlainRunner, cut_blocks


def executor_of(scheduler, workers):
    """A context with the executor of that name, or with one that stays open."""
    named = isinstance(scheduler, str)
    return open_executor(scheduler, workers=workers) if named else nullcontext(scheduler)


class Group(AbstractGroup):
    def __init__(self, blocks):
        self._blocks = blocks
        self.n_rows = sum(block.n_rows for block in blocks)
        self.n_features = blocks[0].features.shape[1]
        self.targets = np.concatenate([block.targets for block in blocks])

    def rows(self, positions):
        raise AssertionError("blocks are enough")

    def columns(self, columns):
        raise AssertionError("blocks are enough")

    def blocks(self):
        return iter(self._blocks)


@dataclasses.dataclass(frozen=True, eq=False)
class Take:
    """A picklable reader of a block, or opener of a group of blocks."""

    blocks: tuple
    as_group: bool

    def __call__(self):
        return Group(self.blocks) if self.as_group else self.blocks[0]


class RowsSource(AbstractSource):
    """Blocks that any process can read, as those of a sharded data set."""

    def __init__(self, blocks):
        self.blocks = blocks
        self.block_rows = tuple(block.n_rows for block in blocks)
        self.n_features = blocks[0].features.shape[1]
        self.dtype = blocks[0].features.dtype
        self.fingerprint = "rows"

    def reader(self, index):
        return Take((self.blocks[index],), False)

    def group(self, index):
        return Take(tuple(self.blocks[block] for block in self.groups[index]), True)


class Runner(PlainRunner):
    """Answers Rounds with residents in this process, one for each party of groups."""

    def __init__(self, train, test=(), parties=1, rebuild=False, group=Group):
        super().__init__(train, test)
        self.parties, self.rebuild, self.group = parties, rebuild, group
        self.residents, self.saved, self.dealt, self.asked, self.answers = {}, {}, {}, [], []

    def _reduce(self, step):
        if not isinstance(step, Rounds):
            return super()._reduce(step)
        groups = groups_of([block.n_rows for block in self.blocks["train"]])
        openers = {
            number: lambda group=group: self.group([self.blocks["train"][block] for block in group])
            for number, group in enumerate(groups)
        }
        operand = pickle.loads(pickle.dumps(step.operand))

        dealt = np.array_split(np.arange(len(groups)), self.parties)

        def opened(saved):
            return [
                step.open(
                    {int(group): openers[int(group)] for group in own},
                    operand,
                    {int(group): saved[int(group)] for group in own if int(group) in saved},
                )
                for own in dealt
                if len(own)
            ]

        residents = self.residents.get(step.name) or opened(self.saved.get(step.name, {}))
        log = []

        def exchange(message):
            nonlocal residents
            if self.rebuild and log:
                # a worker was lost: state from what was saved, then all messages since
                residents = opened(self.saved.get(step.name, {}))
                for resident in residents:
                    for earlier in log:
                        resident.replay(earlier)
            self.asked.append(message)
            log.append(message)
            answers = [resident.answer(pickle.loads(pickle.dumps(message))) for resident in residents]
            self.residents[step.name] = residents
            self.dealt[step.name] = [own.tolist() for own in dealt if len(own)]
            total = answers[0]
            for answer in answers[1:]:
                total = step.combine(total, answer)
            self.answers.append(total)
            return total

        self.exchange_log = log
        self.exchange = exchange

    def checkpoint(self):
        """What the engine keeps after a stage."""
        for name, residents in self.residents.items():
            self.saved[name] = {
                group: {key: array.copy() for key, array in resident.saved(group).items()}
                for resident, own in zip(residents, self.dealt[name], strict=True)
                for group in own
            }


def heavy_tailed(n, d=4, seed=0):
    """Rows, numbers with noise of heavy tails, and weights."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, d))
    values = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * generator.standard_t(2, n)
    return X, values, generator.uniform(0.2, 3.0, n)


def waves(n=600, d=3, *, classes=0, seed=0, dtype="float64", sizes=None, weights=None, noise=0.1):
    """Rows with a smooth target, or classes of it, in ten blocks."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (n, d)).astype(dtype)
    y = np.sin(3 * x[:, 0]) + x[:, 1] + noise * generator.standard_normal(n)
    if classes:
        y = np.clip(((y + 1.5) / 3 * classes).astype(np.int32), 0, classes - 1)
    sizes = sizes or [n // 10] * 10
    return cut_blocks(x, y, sizes, weights)


def problem_of(blocks, outputs=1, *, has_test=False, seed=0):
    features = blocks[0].features
    sparse = 2 * features.shape[1] + 2 if isinstance(features, SparseRows) else None
    return Problem(
        tuple(block.n_rows for block in blocks),
        features.shape[1],
        features.dtype,
        seed,
        n_outputs=outputs,
        has_test=has_test,
        sparse_numbers=sparse,
    )


def dsg(loss="square", outputs=1, *, options=None, **settings):
    risk = settings.pop("risk", None) or Risk(find_loss(loss)(**(options or {})), outputs)
    defaults = {
        "n_features": 64,
        "block_size": 8,
        "batch_size": 40,
        "nu": 1e-3,
        "stages": 3,
        "steps": StepRule(0.5, 0.05),
    }
    return DSG(risk, KernelChoice(find_kernel("rbf"), 2.0), **{**defaults, **settings})


def train(
    solver, blocks, *, outputs=None, test=(), parties=1, resume_after=None, rebuild=False, seed=0, group=Group
):
    """The states after init and after each stage, and the runner with what was asked and answered."""
    problem = problem_of(blocks, outputs or solver.risk.n_outputs, has_test=bool(test), seed=seed)
    runner = Runner(blocks, test, parties, rebuild, group)
    states = [runner.run(solver.init(problem))]
    while not solver.finished(states[-1]):
        states.append(runner.run(solver.stage(problem, states[-1])))
        runner.checkpoint()
        if resume_after == states[-1].stage:
            saved, runner = runner.saved, Runner(blocks, test, parties, rebuild, group)
            runner.saved = saved
    return states, runner


def run_by_engine(
    solver, blocks, scheduler="synchronous", workers=2, *, test=(), folder=None, resume=False, listener=None
):
    """The outcome of a run by the engine's driver."""
    sources = {"train": RowsSource(blocks)} | ({"test": RowsSource(test)} if test else {})
    problem = problem_of(blocks, solver.risk.n_outputs, has_test=bool(test))
    with executor_of(scheduler, workers) as executor:
        driver = Driver(sources, executor, EventLog([listener] if listener else []), folder)
        return driver.run(solver, problem, resume=resume)


def planned_bytes(solver, limit):
    """Pass -> planned bytes of a worker with a memory limit, for a million rows of 54 columns."""
    problem = Problem((16384,) * 64, 54, np.dtype(np.float32), 0, n_outputs=1, has_test=True)
    extent, machine = Extent(problem.block_rows, 54 * 4 + 16), Machine("distributed", 2, memory_limit=limit)
    steps = [outline.step for outline in solver.outline(problem)]
    return {step.name: step.plan(extent, machine).worker_bytes for step in steps}


def all_rows(blocks):
    return np.concatenate([block.features for block in blocks]).astype(float)


def features_of(solver, state, rows, n_blocks=None, seed=0):
    """Z of the rows, (n_rows, n_blocks * block_size), in float64."""
    basis = solver.basis(RowLayout((), rows.shape[1], np.dtype(float), seed), state.gamma)
    count = solver.most_blocks if n_blocks is None else n_blocks
    z = np.empty((count, len(rows), solver.block_size))
    for block in range(count):
        basis.fill_block(np.ascontiguousarray(rows), block, z[block])
    return np.concatenate(list(z), axis=1) if count else np.empty((len(rows), 0))


def basis_values(solver, state, blocks):
    """Z of all rows, (n_rows, n_functions), in float64, of a solver over explicit features."""
    basis = solver.basis(problem_of(blocks), state.landmarks, state.gamma)
    return np.concatenate([np.asarray(basis.values(block.features)) for block in blocks]).astype(float)


def targets_of(solver, blocks):
    """(n_rows, n_outputs) in float64."""
    return np.concatenate([solver.risk.targets(block) for block in blocks]).astype(float)


def penalised_risk(solver, values, targets, w, weights=1.0, offset=0.0):
    """nu / 2 |w|^2 + mean s l(Z w + offset, y), in float64; of a constant function w is free."""
    losses = solver.risk.loss.row_values(values @ w + offset, targets)
    return 0.5 * np.sum(nu_of(solver, values) * w**2) + np.mean(weights * losses)


def nu_of(solver, values):
    """(n_functions, 1), nu of each coefficient."""
    free = 0 if solver.regularises_all else solver.n_constant
    return solver.nu * (np.arange(values.shape[1]) < values.shape[1] - free)[:, None]


def exact_minimum(risk, values, targets, nu, weights=1.0):
    """Return w (r, k) and the minimum of nu/2 |w|^2 + mean s l(z w, y), nu a number or (r, 1), by L-BFGS."""
    n, shape = len(values), (values.shape[1], targets.shape[1])
    s = np.broadcast_to(weights, n)

    def objective(flat):
        w = flat.reshape(shape)
        f = values @ w
        value = risk.values(f, targets, s).mean() + 0.5 * np.sum(nu * w**2)
        return value, (values.T @ risk.slopes(f, targets, s) / n + nu * w).ravel()

    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 50}
    found = minimize(objective, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options)
    return found.x.reshape(shape), float(found.fun)


#: loss -> the machine of scikit-learn of the same objective, of nu and the number of rows
MACHINES = {
    "square": lambda nu, n: Ridge(alpha=nu * n),
    "logistic": lambda nu, n: LogisticRegression(C=1 / (nu * n), tol=1e-9, max_iter=10_000),
    "squared_hinge": lambda nu, n: LinearSVC(C=1 / (nu * n), tol=1e-9, max_iter=10**6),
    "hinge": lambda nu, n: LinearSVC(C=1 / (nu * n), loss="hinge", tol=1e-9, max_iter=10**6, random_state=0),
    "epsilon_insensitive": lambda nu, n: LinearSVR(
        C=1 / (nu * n), epsilon=0.1, tol=1e-9, max_iter=10**6, random_state=0
    ),
}


def machine_minimum(solver, values, targets):
    """The minimum of ``penalised_risk`` that scikit-learn finds, with an intercept for a constant."""
    machine = MACHINES[solver.risk.loss.name](solver.nu, len(values))
    free = 0 if solver.regularises_all else solver.n_constant
    machine.set_params(fit_intercept=bool(free))
    if free and "max_iter" in machine.get_params() and type(machine).__name__.startswith("LinearSV"):
        # which are regularised there
        machine.set_params(intercept_scaling=300.0)
    found = machine.fit(values[:, : values.shape[1] - free], targets[:, 0])
    w = np.append(found.coef_.ravel(), np.ravel(found.intercept_)[:free])[:, None]
    return penalised_risk(solver, values, targets, w)


def same(first, second, but=()):
    for field in dataclasses.fields(first):
        if field.name not in but:
            np.testing.assert_array_equal(getattr(first, field.name), getattr(second, field.name))


def keeps_its_bits(solver, blocks):
    """The last state is the same for other parties, lost workers and a resumed run."""
    last = train(solver, blocks)[0][-1]
    for changed in ({"parties": 3}, {"rebuild": True}, {"parties": 2, "resume_after": 2}):
        same(last, train(solver, blocks, **changed)[0][-1])


def dense_and_sparse(n=300, d=8):
    """The same rows with zeros as dense and as sparse blocks."""
    generator = np.random.default_rng(0)
    x = np.where(generator.random((n, d)) < 0.4, generator.standard_normal((n, d)), 0.0)
    codes = (x @ generator.standard_normal(d) > 0).astype(np.int32)
    return [cut_blocks(rows, codes, [n // 10] * 10) for rows in (x, SparseRows.of_dense(x))]


def features_of_kind(name, kernel, **settings):
    """Features of a kind, with those of the settings that it has."""
    kind = find_features(name)
    known = {field.name for field in dataclasses.fields(kind)}
    return kind(**{key: value for key, value in {"kernel": kernel, **settings}.items() if key in known})


def arrays_bytes(result):
    """Bytes of all arrays in a result, however deep."""
    if isinstance(result, np.ndarray):
        return result.nbytes
    if dataclasses.is_dataclass(result):
        result = tuple(vars(result).values())
    return sum(map(arrays_bytes, result)) if isinstance(result, tuple) else 0
