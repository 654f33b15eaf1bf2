"""Operations of every basis: combinations, transposed products, gradients and norms, against one table."""

import numpy as np
import pytest

from distkern.core.sparse import SparseRows, converted
from distkern.maths.bases.constant import ConstantBasis
from distkern.maths.bases.landmarks import KernelSpan, LandmarkBasis, NystroemBasis
from distkern.maths.bases.linear import LinearBasis
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.kernels import find_kernel

RBF = find_kernel("rbf")(gamma=0.3)
ROWS = np.where(
    np.random.default_rng(0).random((2500, 5)) < 0.6, np.random.default_rng(1).random((2500, 5)), 0
)
BASES = {
    "linear": lambda dtype, points: LinearBasis(5, dtype),
    "linear and 1": lambda dtype, points: LinearBasis(5, dtype, constant=True),
    "landmarks": lambda dtype, points: LandmarkBasis(RBF, points),
    "nystroem": lambda dtype, points: NystroemBasis(RBF, points),
    "random": lambda dtype, points: RandomFeatureBasis(RBF, 5, 48, 3, dtype=dtype, block_size=32),
    "nystroem and 1": lambda dtype, points: ConstantBasis(NystroemBasis(RBF, points)),
    "random and 1": lambda dtype, points: ConstantBasis(RandomFeatureBasis(RBF, 5, 48, 3, dtype=dtype)),
}


@pytest.mark.parametrize("form", [np.asarray, SparseRows.of_dense])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", BASES)
def test_all_operations_are_products_with_the_table_of_values(name, dtype, form):
    rows = form(ROWS.astype(dtype))
    basis = BASES[name](np.dtype(dtype), rows[:20])
    table = np.empty((len(ROWS), basis.size), dtype)
    for tile in basis.tiles(rows, tile_rows=700):
        table[tile.rows] = tile.values
    exact = table.astype(np.float64)
    generator = np.random.default_rng(2)
    w, g = generator.standard_normal((basis.size, 2)), generator.standard_normal((len(ROWS), 2))
    # Nystroem features are summed as kernels: eigenvalues near the cut cost digits
    digits = (2e-3 if name.startswith("nystroem") else 1e-5) if dtype == np.float32 else 1e-7
    sums = digits * len(ROWS) ** 0.5
    np.testing.assert_allclose(converted(basis.values(rows), sparse=False), exact, atol=digits)
    np.testing.assert_allclose(basis.combine(rows, w), exact @ w, atol=10 * digits)
    np.testing.assert_allclose(basis.transposed(rows, g), exact.T @ g, atol=10 * sums)
    np.testing.assert_allclose(basis.row_squares(rows), np.square(exact).sum(axis=1), atol=10 * digits)
    seen = []

    def slopes(part, found):
        seen.extend(range(part.start, part.stop))
        np.testing.assert_allclose(found, (exact @ w)[part], atol=10 * digits)
        return (g[part] * found).astype(dtype)

    gradient = basis.gradient(rows, w, slopes)
    np.testing.assert_allclose(gradient, exact.T @ (g * (exact @ w)), atol=100 * sums)
    assert seen == list(range(len(ROWS)))
    assert basis.values(rows[:3]).dtype == basis.combine(rows[:3], w).dtype == dtype


@pytest.mark.parametrize("form", [np.asarray, SparseRows.of_dense])
@pytest.mark.parametrize("name", [*BASES, "span"])
def test_the_metric_is_that_of_the_norm(name, form):
    rows = form(ROWS.astype(np.float32))
    basis = KernelSpan(RBF, rows[:20]) if name == "span" else BASES[name](np.dtype(np.float32), rows[:20])
    metric, wanted = np.ones((basis.size, basis.size)), np.eye(basis.size)
    if name == "span":
        apart = np.square(ROWS[:20, None].astype(np.float32).astype(float) - ROWS[None, :20]).sum(axis=2)
        wanted = np.exp(-0.3 * apart)
    wanted[basis.size - basis.n_constant :] = 0
    basis.add_metric([metric], 2.5)
    np.testing.assert_allclose(metric, 1 + 2.5 * wanted, atol=1e-6)
    w = np.random.default_rng(2).standard_normal((basis.size, 3))
    np.testing.assert_allclose(basis.metric_product(w), wanted @ w, atol=1e-6)
