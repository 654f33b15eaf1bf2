"""Passes that estimate a kernel's width from the data."""

import numpy as np
import pytest

from distkern.maths.features.base import KernelChoice
from distkern.maths.kernels import find_kernel
from distkern.maths.landmarks.base import RowLayout
from reference import PlainRunner, cut_blocks

RBF = find_kernel("rbf")


@pytest.mark.parametrize(("n_features", "dtype"), [(1, "f4"), (8000, "f4"), (10**6, "f8")])
def test_what_reaches_the_driver_is_bounded_in_bytes(n_features, dtype):
    layout = RowLayout((4000,) * 20, n_features, np.dtype(dtype), 0)
    (scale,) = KernelChoice(RBF, "scale").outline(layout)
    assert scale.step.cost.result_bytes == 24
    (median,) = KernelChoice(RBF, "median").outline(layout)
    assert median.step.cost.result_bytes <= max(2**24, 64 * layout.row_bytes)
    assert KernelChoice(RBF, 2.0).outline(layout) == []
    assert KernelChoice(find_kernel("chi2"), "scale").outline(layout) == []


@pytest.mark.parametrize("rule", ["scale", "median", "median/4"])
def test_the_order_of_rows_does_not_matter(rule):
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(3000, 2)) * [1.0, 3.0]
    sizes = (1000, 1, 1999)
    layout = RowLayout(sizes, 2, rows.dtype, 0)
    found = [
        PlainRunner(cut_blocks(ordered, None, sizes)).run(KernelChoice(RBF, rule).choose_gamma(layout))
        for ordered in (rows, rows[np.argsort(rows[:, 1])])
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-9 if rule == "scale" else 0.25)
    if rule == "scale":
        assert found[0] == pytest.approx(1 / (2 * rows.var()), rel=1e-12)


def test_weighted_rows_count_as_repeated_ones():
    generator = np.random.default_rng(0)
    rows, weights = generator.normal(size=(400, 3)), generator.integers(1, 5, 400)
    choice, sizes = KernelChoice(RBF, "scale"), (100, 300)
    blocks = cut_blocks(rows, None, sizes, weights.astype(float))
    found = PlainRunner(blocks).run(choice.choose_gamma(RowLayout(sizes, 3, rows.dtype, 0)))
    assert found == pytest.approx(1 / (3 * np.repeat(rows, weights, axis=0).var()), rel=1e-12)
