"""Random features as a basis: blocks, streaming, columns, kept blocks, and the digest of a model."""

import pickle
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from distkern.core.errors import CorruptDataError, InputError
from distkern.core.sparse import SparseRows
from distkern.maths.bases import random_features
from distkern.maths.bases.landmarks import NystroemBasis
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.kernels import TILE_KERNELS, find_kernel
from distkern.maths.samplers import SAMPLERS

RBF = find_kernel("rbf")(gamma=0.5)


def rows(n, d=6, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).random((n, d)).astype(dtype)


def all_values(basis, features):
    return np.concatenate([tile.values.copy() for tile in basis.tiles(features)])


def said_by_a_process(code):
    """Return the words that a separate process prints."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return run.stdout.split()


def basis_of(n_features=300, seed=5, **options):
    return RandomFeatureBasis(RBF, 6, n_features, seed, block_size=64, **options)


def test_sizes():
    basis = basis_of()
    assert (basis.size, basis.n_blocks, basis.block_size, basis.dtype) == (300, 5, 64, np.float32)
    assert [basis.columns_of(block) for block in (0, 4)] == [slice(0, 64), slice(256, 300)]
    assert RandomFeatureBasis(RBF, 6, 16, 5).block_size == 16
    # of the number of inputs alone: a power of two, whose frequencies fit a few megabytes
    widths = [RandomFeatureBasis(RBF, d, 2**17, 5).block_size for d in (1, 54, 4096, 5000, 62061)]
    assert widths == [1024, 1024, 1024, 512, 64]
    assert RandomFeatureBasis(RBF, 5000, 2**17, 5, "fastfood").block_size == 2 * 8192


def test_all_ways_to_the_values_have_the_same_bits():
    features = rows(700)
    basis = basis_of()
    values = basis.values(features)
    np.testing.assert_array_equal(all_values(basis, features), values)
    into = np.empty_like(values)
    for _ in basis.tiles(features, into=into):
        pass
    np.testing.assert_array_equal(into, values)
    random_features.blocks.clear()
    for block in reversed(range(basis.n_blocks)):
        for part, tile in basis.block_tiles(features, block):
            np.testing.assert_array_equal(tile, values[part, basis.columns_of(block)])


def test_a_model_gives_a_row_the_same_bits_wherever_its_tile_begins_a_block_of_rows():
    basis, coefficients = basis_of(2048), np.random.default_rng(0).standard_normal((2048, 1))
    features = rows(4 * basis.tile_rows)
    whole = basis.combine(features, coefficients)
    later = basis.combine(features[basis.tile_rows :], coefficients)
    np.testing.assert_array_equal(later, whole[basis.tile_rows :])


def test_rows_of_the_other_precision_are_converted():
    features = rows(50)
    single, double = basis_of(), basis_of(dtype=np.float64)
    np.testing.assert_array_equal(single.values(features.astype(np.float64)), single.values(features))
    np.testing.assert_allclose(double.values(features), single.values(features), atol=1e-6)
    assert double.values(features).dtype == np.float64


def test_columns_come_in_the_order_asked_for_and_need_no_whole_block():
    features = rows(300)
    basis = basis_of()
    values = basis.values(features)
    wanted = np.array([299, 0, 40, 40, 130, 63])
    random_features.blocks.clear()
    columns = basis.columns(features, wanted)
    assert columns.shape == (6, 300)
    np.testing.assert_allclose(columns, values[:, wanted].T, atol=1e-6)
    draws = basis._draws(0)
    assert random_features.blocks.get((RBF, draws, basis.dtype.str)) is None
    np.testing.assert_allclose(basis.columns(SparseRows.of_dense(features), wanted), columns, atol=1e-6)
    assert basis.columns(features, np.array([], dtype=int)).shape == (0, 300)


def test_neither_all_features_nor_a_tile_of_them_ever_exist():
    features = rows(1024, 8)
    basis = RandomFeatureBasis(find_kernel("rbf")(), 8, 2**15, 1)
    coefficients = np.ones((2**15, 1), np.float32)
    basis.combine(features[:128], coefficients[:])
    tracemalloc.start()
    basis.combine(features, coefficients)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # a tile of all features would be 16 MiB, all of them 128 MiB
    assert peak < 4 * 2**20


def test_growing_blocks_do_not_depend_on_how_many_there_are():
    features = rows(40)
    few, many = basis_of(128, normalize="block"), basis_of(640, normalize="block")
    np.testing.assert_array_equal(few.values(features), many.values(features)[:, :128])
    np.testing.assert_allclose(np.square(few.values(features)).sum(axis=1), 2.0, rtol=1e-5)
    gram = many.values(features) @ many.values(features).T / many.n_blocks
    np.testing.assert_allclose(gram, RBF.closed_form(features, features), atol=0.15)


def test_gamma_scales_the_same_draws():
    features = rows(30)
    narrow = RandomFeatureBasis(find_kernel("rbf")(gamma=2.0), 6, 64, 5)
    wide = RandomFeatureBasis(find_kernel("rbf")(gamma=0.5), 6, 64, 5)
    np.testing.assert_allclose(narrow.values(features), wide.values(2 * features), atol=1e-5)


def test_what_is_kept_stays_within_its_bytes(monkeypatch):
    monkeypatch.setattr(random_features, "blocks", random_features.KeptBlocks(3 * 6 * 32 * 4))
    basis = basis_of(640)
    before = basis.values(rows(20))
    assert len(random_features.blocks) == 3
    assert random_features.blocks.nbytes <= 3 * 6 * 32 * 4
    # passes over the blocks in turns find all but the last one
    made = []
    block_of = type(RBF).feature_block
    monkeypatch.setattr(type(RBF), "feature_block", lambda *arguments: made.append(0) or block_of(*arguments))
    np.testing.assert_array_equal(basis.values(rows(20)), before)
    assert len(made) == 8
    # another basis takes the place of this one
    other = basis_of(96, seed=6)
    other.values(rows(20))
    del made[:]
    other.values(rows(20))
    assert not made


def test_pickles_without_any_frequency():
    basis = RandomFeatureBasis(RBF, 6, 2**20, 5)
    basis.columns(rows(3), np.arange(5))
    assert len(pickle.dumps(basis)) < 1000


@pytest.mark.parametrize("name", ["rbf", "laplacian", "polynomial", "chi2"])
def test_the_digest_tells_draws_apart_and_not_precisions(name):
    kernel = find_kernel(name)()

    def digest(**options):
        given = {"n_features": 300, "seed": 5, "block_size": 64} | options
        return RandomFeatureBasis(kernel, 6, **given).digest()

    known = digest()
    assert known == digest(dtype=np.float64) == digest()
    assert len(known) == 16
    assert int(known, 16) >= 0
    assert len({known, digest(seed=6), digest(block_size=32), digest(n_features=200)}) == 4


@pytest.mark.slow
def test_the_digest_is_the_same_in_another_process():
    samplers = [*SAMPLERS]
    code = (
        "from distkern.maths.bases.random_features import RandomFeatureBasis\n"
        "from distkern.maths.kernels import find_kernel\n"
        f"for sampler in {samplers}:\n"
        "    print(RandomFeatureBasis(find_kernel('rbf')(gamma=0.5), 6, 300, 5, sampler).digest())"
    )
    own = [RandomFeatureBasis(RBF, 6, 300, 5, sampler).digest() for sampler in samplers]
    assert said_by_a_process(code) == own


def test_a_model_with_other_draws_is_refused_by_versions():
    basis = basis_of()
    basis.check_digest(basis.digest(), written_with="1.2.3", where="m/model.json")
    with pytest.raises(
        CorruptDataError, match=rf"m/model.json: .*numpy 1.2.3.*numpy {np.__version__}.*train the model again"
    ):
        basis.check_digest("0" * 16, written_with="1.2.3", where="m/model.json")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 63}, "n_features must be a positive even number for kernel rbf, got 63; use 64"),
        ({"n_features": 0}, "n_features must be a positive even number"),
        ({"block_size": 5}, "block_size must be a positive even number"),
        ({"normalize": "blok"}, "did you mean 'block'"),
        ({"sampler": "orthogonl"}, "did you mean 'orthogonal'"),
    ],
)
def test_refuses_what_cannot_be(options, message):
    with pytest.raises(InputError, match=message):
        RandomFeatureBasis(RBF, 6, **({"n_features": 64, "seed": 5} | options))


def test_refuses_rows_of_another_width_or_outside_of_the_domain():
    with pytest.raises(InputError, match="X has 5 features, but the basis has 6"):
        basis_of().values(rows(3, 5))
    basis = RandomFeatureBasis(find_kernel("chi2")(), 6, 2048, 5)
    features = rows(400)
    features[333, 2] = -1
    for call in (basis.values, lambda X: basis.columns(X, np.arange(2))):
        with pytest.raises(InputError, match="row 333, column 2: kernel chi2 needs numbers >= 0"):
            call(features)


def test_workers_do_not_pay_for_scipy():
    code = (
        "import sys, numpy as np\n"
        "from distkern.maths.bases.random_features import RandomFeatureBasis\n"
        "from distkern.maths.kernels import KERNELS, find_kernel\n"
        "for name in KERNELS:\n"
        "    RandomFeatureBasis(find_kernel(name)(), 4, 64, 1).values(np.ones((9, 4), np.float32))\n"
        "print(sorted({'scipy', 'numba', 'sklearn'} & set(sys.modules)))"
    )
    assert said_by_a_process(code) == ["[]"]


# -- Nystroem features


@pytest.mark.parametrize("name", TILE_KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nystroem_products_are_the_kernel_at_the_landmarks(name, dtype):
    kernel = find_kernel(name)()
    features = rows(300, dtype=dtype)
    basis = NystroemBasis(kernel, features[::10])
    values = all_values(basis, features)
    assert values.shape == (300, 30)
    assert values.dtype == dtype
    tolerance = 3e-3 if dtype == np.float32 else 1e-3
    exact = kernel.closed_form(features.astype(float), features[::10].astype(float))
    size = np.abs(exact).max()
    np.testing.assert_allclose(values @ values[::10].T, exact, atol=tolerance * size)
    # beyond the landmarks it is the best approximation by them: never more than the kernel
    diagonal = np.array([kernel.closed_form(row[None], row[None])[0, 0] for row in features.astype(float)])
    assert np.all(np.square(values).sum(axis=1) < diagonal * (1 + 1e-3) + 1e-3)


def test_a_nystroem_model_is_one_over_its_landmarks():
    features = rows(500, dtype=np.float64)
    basis = NystroemBasis(RBF, features[:40])
    coefficients = np.random.default_rng(0).standard_normal((40, 2))
    values = all_values(basis, features)
    expected = values @ coefficients
    np.testing.assert_allclose(basis.combine(features, coefficients), expected, atol=1e-8)
    direct = RBF.closed_form(features, features[:40]) @ basis.landmark_coefficients(coefficients)
    np.testing.assert_allclose(direct, expected, atol=1e-8)


def test_landmarks_that_repeat_do_no_harm():
    features = rows(60)
    twice = NystroemBasis(RBF, np.concatenate([features[:20], features[:20]]))
    assert twice.rank == NystroemBasis(RBF, features[:20]).rank
    values = all_values(twice, features)
    exact = RBF.closed_form(features.astype(float), features[:20].astype(float))
    np.testing.assert_allclose(values @ values[:20].T, exact, atol=3e-3)


def test_nystroem_of_sparse_rows_and_in_another_process():
    features = rows(100) * (rows(100, seed=1) < 0.5)
    sparse = SparseRows.of_dense(features)
    basis = NystroemBasis(RBF, sparse[:20])
    dense = NystroemBasis(RBF, features[:20])
    first, second = np.empty((100, 20), np.float32), np.empty((100, 20), np.float32)
    pickle.loads(pickle.dumps(basis)).fill(sparse, first)
    basis.fill(sparse, second)
    np.testing.assert_array_equal(first, second)
    dense.fill(features, second)
    np.testing.assert_allclose(first @ first.T, second @ second.T, atol=5e-3)


def test_nystroem_refuses_rows_outside_of_the_domain_and_empty_kernels():
    with pytest.raises(InputError, match="landmarks, row 1, column 0: kernel chi2"):
        NystroemBasis(find_kernel("chi2")(), np.array([[1.0], [-1.0]]))
    with pytest.raises(InputError, match="kernel chi2 is 0 at all landmarks"):
        NystroemBasis(find_kernel("chi2")(), np.zeros((2, 2)))
    with pytest.raises(InputError, match="X, row 0, column 1: kernel chi2"):
        NystroemBasis(find_kernel("chi2")(), np.ones((2, 2))).combine(
            np.array([[1.0, -2.0]]), np.ones((2, 1))
        )


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_process_takes_no_more_than_it_says():
    """The peak memory of a pass, measured in a separate process."""
    code = (
        "import re, numpy as np\n"
        "from distkern.maths.bases.random_features import RandomFeatureBasis\n"
        "from distkern.maths.kernels import find_kernel\n"
        "X = np.ones((512, 400), np.float32)\n"
        "coefficients = np.ones((2**15, 1), np.float32)\n"
        # not ru_maxrss, which a process inherits from the one that started it
        "peak = lambda: 1024 * int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "RandomFeatureBasis(find_kernel('rbf')(), 400, 64, 1).combine(X, coefficients[:64])\n"
        "before = peak()\n"
        "basis = RandomFeatureBasis(find_kernel('laplacian')(), 400, 2**15, 1)\n"
        "basis.combine(X, coefficients)\n"
        "print(peak() - before, basis.process_bytes + basis.workspace_bytes(400))"
    )
    taken, promised = map(int, said_by_a_process(code))
    assert 2**23 < taken < promised


def test_threads_share_what_is_kept(monkeypatch):
    monkeypatch.setattr(random_features, "blocks", random_features.KeptBlocks(3 * 6 * 32 * 4))
    features, bases = rows(20), [basis_of(640), basis_of(640, seed=12)]
    expected = [basis.values(features) for basis in bases]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda number: bases[number % 2].values(features), range(40)))
    finally:
        sys.setswitchinterval(interval)
    for number, values in enumerate(found):
        np.testing.assert_array_equal(values, expected[number % 2])
