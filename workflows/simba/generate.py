"""Generate a dense set that favours SIMBA (Hazan et al. 2011): few errors, far more columns than |w|^2.

Each row has norm 1: y g w*, and orthogonal to it a direction of which a share of the square lies in a few
nuisance directions common to all rows and the rest anywhere; the margin g is uniform in [margin, 2 margin]
and a share of the labels is flipped. So w* / margin, of norm B = 1 / margin, separates all rows but the
flipped ones with a margin of at least 1, and the mean of y x is far from it. All coordinates of w* are of one
size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.data.ingest import write_dataset
from workflows.records import Record

Array = NDArray[Any]
#: of the least margin, of the noise's square in the nuisance directions, and of the labels that are flipped
MARGIN, SHARE, FLIPPED = 0.1, 0.9, 0.005
NUISANCE = 100
_CHUNK = 500


def made(*, rows: int, features: int, test_rows: int, seed: int, out: str) -> Record:
    """Write the set, with the copy by columns that SIMBA reads; margins and directions are those above."""
    generator = np.random.default_rng(seed)
    basis = generator.standard_normal((1 + NUISANCE, features), dtype=np.float32)
    basis[0] = generator.choice(np.array([-1.0, 1.0], dtype=np.float32), features)
    # orthonormal, and the first keeps its direction
    basis = np.linalg.qr(basis.T)[0].T
    train, test = (_chunks(generator, basis, count) for count in (rows, test_rows))
    written = write_dataset(train, out, test, scale="none", columns=True, overwrite=True)
    return {"fingerprint": written.fingerprint, "rows": rows, "test_rows": test_rows, "features": features}


def drawn(generator: np.random.Generator, basis: Array, n_rows: int) -> tuple[Array, Array]:
    """Features (n_rows, d) float32 and labels -1, +1; the first row of ``basis`` is w*."""
    direction, nuisance = basis[0], basis[1:]
    labels = generator.choice(np.array([-1, 1]), n_rows)
    margins = generator.uniform(MARGIN, 2 * MARGIN, n_rows)
    noise = generator.standard_normal((n_rows, basis.shape[1]), dtype=np.float32)
    noise -= (noise @ basis.T) @ basis
    common = generator.standard_normal((n_rows, len(nuisance)), dtype=np.float32)
    for part, share in ((noise, 1 - SHARE), (common, SHARE)):
        length = np.sqrt(share * (1 - margins**2)) / np.linalg.norm(part, axis=1)
        part *= length.astype(np.float32)[:, None]
    features = noise + common @ nuisance + np.outer(labels * margins, direction).astype(np.float32)
    return features, np.where(generator.random(n_rows) < FLIPPED, -labels, labels)


def _chunks(generator: np.random.Generator, basis: Array, n_rows: int) -> Iterator[tuple[Array, Array]]:
    for start in range(0, n_rows, _CHUNK):
        yield drawn(generator, basis, min(_CHUNK, n_rows - start))
