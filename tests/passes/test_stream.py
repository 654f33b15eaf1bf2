"""Passes as values: which rows a Stream visits, in which order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkern.core.types import Block
from distkern.passes import Cost, Stream, Visit, epoch_visits, pieces
from distkern.passes.base import completed
from reference import PlainRunner, cut_blocks

SIZES = (30, 1, 50, 19)


def sequence(sizes, n_steps, *, seed=0, stage=0, replace=False):
    """The numbers of the visited rows in the whole split, in order."""
    first_row = np.cumsum([0, *sizes])
    visits = epoch_visits(sizes, n_steps, seed=seed, stage=stage, replace=replace)
    return np.concatenate([visit.rows(sizes[visit.block]) + first_row[visit.block] for visit in visits])


@pytest.mark.parametrize("n_steps", [1, 99, 100, 101, 250, 300])
def test_shuffled_visits_every_row_once_an_epoch(n_steps):
    rows = sequence(SIZES, n_steps)
    assert len(rows) == n_steps
    for start in range(0, n_steps, 100):
        epoch = rows[start : start + 100]
        assert len(set(epoch)) == len(epoch)
        if len(epoch) == 100:
            assert sorted(epoch) == list(range(100))


def test_shuffled_epochs_and_stages_and_seeds_differ():
    first = sequence(SIZES, 200)
    assert not np.array_equal(first[:100], first[100:])
    for other in (sequence(SIZES, 200, stage=1), sequence(SIZES, 200, seed=1)):
        assert not np.array_equal(first, other)
    np.testing.assert_array_equal(first, sequence(SIZES, 200))


def test_shuffled_positions_are_uniform():
    """Block and place within the block: the mean position of each row over 400 epochs is 49.5 +- 1.44."""
    position = np.zeros(100)
    for stage in range(400):
        position[sequence((25,) * 4, 100, stage=stage)] += np.arange(100)
    assert np.abs(position / 400 - 49.5).max() < 4.5 * 1.44


@pytest.mark.parametrize("n_steps", [1, 100, 250])
def test_independent_visits_draw_the_number_asked_for(n_steps):
    assert len(sequence(SIZES, n_steps, replace=True)) == n_steps


def test_independent_draws_are_multinomial():
    """200 epochs of 100 draws: a row's count has mean 200 and variance 198, a block's is binomial."""
    counts = np.zeros((200, 100))
    for stage in range(200):
        np.add.at(counts[stage], sequence(SIZES, 100, stage=stage, replace=True), 1)
    statistic = ((counts.sum(axis=0) - 200) ** 2 / 200).sum()
    # chi-squared with 99 degrees of freedom: 99 +- 14
    assert 55 < statistic < 150
    # of a row's count in an epoch, which a shuffle would make 0
    assert 0.9 < counts.var(axis=0).mean() < 1.08
    blocks = np.add.reduceat(counts, np.cumsum([0, *SIZES[:-1]]), axis=1)
    expected = 100 * np.array(SIZES) / 100 * (1 - np.array(SIZES) / 100)
    assert np.all(np.abs(blocks.var(axis=0) / expected - 1) < 0.5)


@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any),
    n_steps=st.integers(1, 60),
    replace=st.booleans(),
)
def test_any_layout_gives_the_number_of_steps_and_only_rows_that_exist(sizes, n_steps, replace):
    visits = epoch_visits(tuple(sizes), n_steps, seed=1, stage=2, replace=replace)
    assert sum(visit.n_draws for visit in visits) == n_steps
    assert len({visit.key for visit in visits}) == len(visits)
    for visit in visits:
        rows = visit.rows(sizes[visit.block])
        assert len(rows) == visit.n_draws > 0
        assert rows.min() >= 0
        assert rows.max() < sizes[visit.block]


def test_a_visit_is_drawn_alike_everywhere():
    visit = Visit(2, 7, seed=5, key=(1, 0, 2))
    np.testing.assert_array_equal(visit.rows(40), Visit(2, 7, seed=5, key=(1, 0, 2)).rows(40))
    longer = Visit(2, 40, seed=5, key=(1, 0, 2)).rows(40)
    np.testing.assert_array_equal(visit.rows(40), longer[:7])


def test_pieces_cut_a_block_in_order():
    block = Block(np.arange(10.0)[:, None], np.arange(10), np.arange(10.0) / 10, 3)
    cut = list(pieces(block, 4))
    assert [piece.n_rows for piece in cut] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate([piece.targets for piece in cut]), block.targets)
    np.testing.assert_array_equal(np.concatenate([piece.weights for piece in cut]), block.weights)
    assert all(piece.index == 3 for piece in cut)


def test_stream_counts_its_rows_and_the_plain_runner_follows_it():
    features = np.arange(100.0)[:, None]
    visits = epoch_visits(SIZES, 130, seed=0, stage=0, replace=False)
    step = Stream("rows", visits, lambda block, operand: block.features[:, 0] + operand, 0.5, piece_rows=8)
    assert step.n_rows == 130
    runner = PlainRunner(cut_blocks(features, None, SIZES))

    def consume():
        parts = yield step
        return list(parts)

    parts = runner.run(consume())
    assert max(map(len, parts)) == 8
    np.testing.assert_array_equal(np.concatenate(parts), sequence(SIZES, 130) + 0.5)
    np.testing.assert_array_equal(np.concatenate(runner.sampled[0]), sequence(SIZES, 130))


def test_the_ledger_adds_up_shapes_where_they_are_held():
    cost = Cost(1, 2, driver_bytes=3, operations=4.0, compiled=True).holding(
        task={"a tile": (10, 2.5, 4), "a flag": (True, 5)},
        process={"loaded": (7,)},
        result={"sums": (3, 8)},
        driver={"matrix": (2, 2, 8), "nothing": (0, 8)},
    )
    assert cost == Cost(1 + 105, 2 + 24, process_bytes=7, driver_bytes=3 + 32, operations=4.0, compiled=True)
    # of what is joined all tasks have as much together as one may have
    joined = cost.holding(joined={"rows": (100, 4)})
    assert (joined.result_bytes, joined.total_result_bytes) == (426, 400)
    assert joined.waiting_bytes(3) == 400
    assert cost.waiting_bytes(3) == 3 * 26


def test_a_stage_that_is_cut_off_leaves_the_thread_as_it_was():
    def stage():
        with np.errstate(all="ignore"):
            yield "a pass"

    def fail(step):
        assert np.geterr()["over"] == "ignore"
        raise KeyboardInterrupt

    before, steps = np.geterr(), stage()
    with pytest.raises(KeyboardInterrupt):
        completed(steps, fail, {})
    assert np.geterr() == before
