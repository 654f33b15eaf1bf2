"""Which rows make the batches."""

import numpy as np
import pytest

from distkern.passes.batches import BatchOrder


@pytest.mark.parametrize(
    ("sizes", "batch"), [((50,) * 10, 40), ((5000,) * 20, 9000), ((7,), 3), ((900, 20), 2048)]
)
def test_an_epoch_visits_every_row_of_a_strip_once(sizes, batch):
    batches = BatchOrder(sizes, min(batch, sum(sizes)), seed=3)
    cursor, seen = batches.first(), {}
    assert sorted(group for strip in batches.strips for group in strip) == list(range(len(batches.groups)))
    counts = []
    for _ in range(200):
        draws, cursor = batches.next(cursor)
        assert [draw.group for draw in draws] == sorted(draw.group for draw in draws)
        counts.append(sum(draw.stop - draw.start for draw in draws))
        for draw in draws:
            for place, rows in batches.pieces(draw):
                block = batches.groups[draw.group][place]
                seen.setdefault((draw.epoch, block), []).append(rows)
    assert 0.5 * batches.batch_size <= np.mean(counts) <= 1.5 * batches.batch_size
    done = int(cursor[:, 0].min())
    assert done >= 1
    for epoch in range(done):
        for block, n_rows in enumerate(sizes):
            rows = np.concatenate(seen[epoch, block])
            assert sorted(rows.tolist()) == list(range(n_rows))
    if done > 1:
        assert not np.array_equal(np.concatenate(seen[0, 0]), np.concatenate(seen[1, 0]))
