"""Generate rows of two classes chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

_CHUNK_BYTES = 2**25


def dense(n_rows: int, n_features: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Gaussian rows of norm about 1 whose class is the sign of one direction, 5 % of them wrong."""
    generator = np.random.default_rng(seed)
    direction = generator.standard_normal(n_features, dtype=np.float32)
    chunk = max(1, _CHUNK_BYTES // (4 * n_features))
    for start in range(0, n_rows, chunk):
        rows = generator.standard_normal((min(chunk, n_rows - start), n_features), dtype=np.float32)
        labels = np.sign(rows @ direction) * np.where(generator.random(len(rows)) < 0.05, -1, 1)
        rows /= np.float32(np.sqrt(n_features))
        yield rows, labels.astype(np.int64)


def sparse(n_rows: int, n_features: int, per_row: int, seed: int = 0) -> Iterator[tuple[Any, np.ndarray]]:
    """Rows of norm 1 with ``per_row`` numbers that are not zero, more of them in some columns."""
    generator = np.random.default_rng(seed)
    direction = generator.standard_normal(n_features)
    stratum = n_features // per_row
    chunk = max(1, _CHUNK_BYTES // (12 * per_row))
    for start in range(0, n_rows, chunk):
        size = min(chunk, n_rows - start)
        # one column in each stratum: different ones, in increasing order
        columns = (generator.random((size, per_row)) ** 2 * stratum).astype(np.int32)
        columns += stratum * np.arange(per_row, dtype=np.int32)
        values = np.full(size * per_row, 1 / np.sqrt(per_row), dtype=np.float32)
        ends = np.arange(0, size * per_row + 1, per_row)
        rows = csr_matrix((values, columns.ravel(), ends), shape=(size, n_features))
        wrong = generator.random(size) < 0.02
        yield rows, (np.sign(rows @ direction) * np.where(wrong, -1, 1)).astype(np.int64)
