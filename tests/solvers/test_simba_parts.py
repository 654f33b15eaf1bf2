"""SIMBA's parts: distributions of drawn rows and columns, and selection against a full sort."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from distkern.core.types import Block, groups_of
from distkern.maths.bases.linear import LinearBasis
from distkern.maths.losses import find_loss
from distkern.solvers._simba.columns import DenseColumnReader
from distkern.solvers._simba.messages import UNIT, HoldOut, RoundMessage, Slacks, Update
from distkern.solvers._simba.resident import SIMBAOperand, SimbaResident
from distkern.solvers._simba.rounds import Primal, rounds
from distkern.solvers._simba.selection import select
from distkern.solvers.risk import Risk
from feature_problems import problem_of
from simba_problems import Group, margin_rows, signed, simba


class CountedGroup(Group):
    """A group that counts how often single columns are read."""

    reads = 0

    def columns_into(self, columns, places):
        self.reads += 1
        super().columns_into(columns, places)


@pytest.mark.parametrize("room", [0, 1, 2, 7])
def test_dense_columns_are_those_of_the_rows_whether_there_is_room_to_keep_them_or_not(room):
    """Columns are concatenated over groups, in the requested order, with repetitions."""
    X = np.random.default_rng(0).standard_normal((30, 5)).astype(np.float32)
    groups = [CountedGroup([Block(part, np.zeros(len(part)), None, 0)]) for part in np.split(X, [12])]
    reader = DenseColumnReader(groups, np.array([0, 12, 30]), room * 30 * 4, X.dtype)
    for wanted in ([3], [3], [1, 3], [4, 0, 4], [2, 1, 0, 4, 3], [0]):
        columns = reader.read(np.array(wanted))
        found = [columns.data[start : start + 30] for start in columns.starts[:-1]]
        np.testing.assert_array_equal(np.array(found), X[:, wanted].T)
        assert columns.n_entries == 30 * len(wanted)
    # what is kept is not read again, and nothing is read for it
    assert groups[0].reads == {0: 6, 1: 5, 2: 4, 7: 4}[room]


class Exchange:
    """Residents for the groups of blocks, split between parties."""

    def __init__(self, blocks, *, outputs=1, n_draws=1, q=None, parties=1, seed=0, risk=None):
        groups = [[blocks[b] for b in group] for group in groups_of([block.n_rows for block in blocks])]
        operand = SIMBAOperand(outputs, n_draws, True, HoldOut(0.0, 0), seed, LinearBasis(1, float), risk)
        ends = np.cumsum([0, *(sum(block.n_rows for block in group) for group in groups)])
        self.ends = ends
        saved = {}
        if q is not None:
            saved = {g: {"q": q[:, ends[g] : ends[g + 1]]} for g in range(len(groups))}
        self.residents = []
        for own in np.array_split(np.arange(len(groups)), parties):
            openers = {int(g): lambda group=groups[g]: Group(group) for g in own}
            self.residents.append(
                SimbaResident(openers, operand, {int(g): saved[int(g)] for g in own} if saved else {})
            )
        self.count = 0

    def __call__(self, message):
        self.count, self.last = self.count + 1, message
        answers = [resident.answer(message) for resident in self.residents]
        total = answers[0]
        for answer in answers[1:]:
            total = total.joined(answer)
        return total

    def run(self, steps):
        """Return the result of a generator of messages."""
        answer = None
        try:
            while True:
                answer = self(steps.send(answer).content)
        except StopIteration as stop:
            return stop.value

    def marked(self):
        """Return the residents' slack of every row, (outputs, n), after a round."""
        parts = []
        for resident in self.residents:
            for segment in resident._segments:
                xi = 2.0 * segment.arrays.marks
                for output, row in enumerate(segment.arrays.rest_rows):
                    if row >= 0:
                        xi[output, row] = segment.arrays.rests[output]
                parts.append(xi)
        return np.concatenate(parts, axis=1)


def nothing(outputs, slacks=None):
    """Return an update that leaves q unchanged."""
    zeros = np.zeros((outputs, 1))
    return Update(np.zeros(1, np.int64), zeros, zeros[:, 0], 0.0, None, slacks)


def weights(n, kind, generator):
    if kind == "spread":
        return np.exp(generator.standard_normal(n) * 8)
    if kind == "tied":
        return np.exp2(generator.integers(-3, 3, n).astype(float))
    if kind == "near":
        return 1 + 1e-12 * generator.random(n)
    return np.ones(n)


@pytest.mark.parametrize("kind", ["spread", "tied", "near", "equal"])
@pytest.mark.parametrize("parties", [1, 3])
def test_selection_is_that_of_a_full_sort(kind, parties):
    generator = np.random.default_rng(5)
    blocks = margin_rows(9000, 2, blocks=20)
    q = np.stack([weights(9000, kind, generator), weights(9000, "spread", generator)])
    q[:, ::7] = 0
    positive = np.count_nonzero(q[0])
    exchange = Exchange(blocks, outputs=2, q=q, parties=parties)
    last = None
    for ranks in ([0, 0], [1, positive - 1], [positive // 3, 17], [2500, 2501], [positive - 1, 1]):
        budgets = np.array(ranks) + generator.random(2)
        rests = 2 * (budgets - ranks)
        last = exchange.run(select(budgets, 9000, last))
        exchange(RoundMessage(nothing(2, last), None))
        found = exchange.marked()
        for output, rank in enumerate(ranks):
            order = np.argsort(-q[output], kind="stable")
            wanted = np.zeros(9000)
            wanted[order[:rank]] = 2.0
            wanted[order[rank]] = rests[output]
            np.testing.assert_array_equal(found[output], wanted)


@pytest.mark.parametrize("kind", ["spread", "tied", "equal"])
@pytest.mark.parametrize("n", [900, 9000])
def test_rows_of_unequal_weight_are_selected_as_by_a_full_sort(kind, n):
    generator = np.random.default_rng(6)
    own = generator.choice([0.0, 0.1, 0.7, 1.0, 3.1], n)
    own *= n / own.sum()
    blocks, start = [], 0
    for block in margin_rows(n, 2, blocks=20):
        blocks.append(replace(block, weights=own[start : start + block.n_rows]))
        start += block.n_rows
    q = weights(n, kind, generator)[None, :]
    order, units = np.argsort(-q[0], kind="stable"), np.where(own > 0, np.rint(own * UNIT), 0.0)
    ends = np.cumsum(units[order])
    last = {1: None, 3: None}
    for share in (0.0, 1e-4, 0.3, 0.5):
        budget = np.array([share * units.sum()])
        place = int(np.searchsorted(ends, budget[0], side="right"))
        wanted = np.zeros(n)
        wanted[order[:place]] = 2.0
        wanted[order[place]] = 2 * (budget[0] - (ends[place] - units[order[place]])) / units[order[place]]
        for parties in last:
            exchange = Exchange(blocks, q=q, parties=parties, risk=Risk(find_loss("hinge")()))
            last[parties] = exchange.run(select(budget, n, last[parties]))
            exchange(RoundMessage(nothing(1, last[parties]), None))
            np.testing.assert_allclose(exchange.marked()[0] * (own > 0), wanted * (own > 0), rtol=1e-9)


def test_the_threshold_of_before_saves_exchanges():
    generator = np.random.default_rng(0)
    blocks = margin_rows(30_000, 2, blocks=20)
    q = np.exp(generator.standard_normal((1, 30_000)) * 3)
    exchange = Exchange(blocks, q=q)
    budget = np.array([300.5])
    first = exchange.run(select(budget, 30_000, None))
    before = exchange.count
    assert before <= 4
    again = exchange.run(select(budget, 30_000, first))
    assert exchange.count - before == 2
    assert isinstance(again, Slacks)
    np.testing.assert_array_equal(first.keys, again.keys)


@pytest.mark.parametrize("parties", [1, 3])
def test_rows_are_drawn_by_their_weight(parties):
    generator = np.random.default_rng(1)
    blocks = margin_rows(60, 8, blocks=6)
    q = generator.random((1, 60)) ** 4
    q[0, 5:9] = 0
    draws = 400
    exchange = Exchange(blocks, n_draws=draws, q=q, parties=parties, seed=3)
    x = np.concatenate([block.features for block in blocks])
    counts = np.zeros(60)
    for t in range(1, 51):
        answer = exchange(RoundMessage(None, t))
        rows = np.concatenate([np.asarray(row) for row in answer.rows])
        found = (rows[:, None] == x[None]).all(axis=2).argmax(axis=1)
        np.testing.assert_array_equal(answer.drawn.masses[:, 0], q[0, found])
        counts += np.bincount(found, minlength=60)
    p = q[0] / q[0].sum()
    total = 50 * draws
    assert np.abs(counts - total * p).max() < 4.5 * np.sqrt(total * p.max())
    chi_square = np.sum((counts - total * p)[p > 0] ** 2 / (total * p[p > 0]))
    # 55 degrees of freedom: mean 55, standard deviation 10.5
    assert chi_square < 55 + 4 * 10.5
    np.testing.assert_allclose(answer.drawn.sums[:, 0, 0].sum(), q.sum())
    y = np.concatenate([np.where(block.targets == 1, 1, -1) for block in blocks])
    np.testing.assert_allclose(answer.drawn.sums[:, 0, 1].sum(), (q[0] * y).sum())


@pytest.mark.slow
def test_outputs_that_share_draws_have_unbiased_estimates():
    """The mean of the first step follows each output's p over rows and <w, x> over columns."""
    generator = np.random.default_rng(2)
    blocks = margin_rows(50, 4, blocks=5)
    rows, _ = signed(blocks)
    radius = np.linalg.norm(np.concatenate([block.features for block in blocks]), axis=1).max()
    q = generator.random((2, 50)) ** 2
    q[0, :25] *= 0.05
    u = generator.standard_normal((2, 4)) * 3
    steps, products = [], []
    for seed in range(3000):
        exchange = Exchange(blocks, outputs=2, n_draws=1, q=q, seed=seed)
        primal = Primal(LinearBasis(4, float), u, np.zeros((2, 4)), np.zeros(2), np.zeros(2), 0.0)
        state = SimpleNamespace(round=0, accesses=0, accesses_nonzero=0, n_held_out=0, units=0, radius=radius)
        exchange.run(
            rounds(simba(nu=0.1, max_rounds=1, averaging=0), problem_of(blocks, 2, seed=seed), state, primal)
        )
        steps.append(primal.u - u)
        update = exchange.last.update
        x = np.concatenate([block.features for block in blocks])[7]
        w = primal.u / np.maximum(1, np.linalg.norm(primal.u, axis=1))[:, None]
        products.append(update.coefficients @ x[update.columns] - w @ (x / radius))
    # of the first output class 0 is the positive one
    for output, sign in enumerate((-1.0, 1.0)):
        p = q[output] / q[output].sum()
        own = np.array(steps)[:, output]
        errors = own.std(axis=0) / np.sqrt(len(own))
        assert (np.abs(own.mean(axis=0) - sign * p @ rows / np.sqrt(2)) < 4 * errors).all()
        own = np.array(products)[:, output]
        assert abs(own.mean()) < 4 * own.std() / np.sqrt(len(own))
