"""Data that every algorithm can be tried on."""

from __future__ import annotations

import numpy as np
import pytest

from distkern.storage.ingest import write_dataset


@pytest.fixture(scope="session")
def few_rows(tmp_path_factory):
    """A function that gives a data set: 300 rows with test rows and a feature-major copy, written once."""
    folder = tmp_path_factory.mktemp("few rows")
    written = {}

    def data_set(task="classification", *, sparse=False, n_classes=3):
        key = (task, sparse, n_classes)
        if key not in written:
            generator = np.random.default_rng(0)
            X = np.where(generator.random((300, 6)) < 0.6, generator.random((300, 6)), 0.0)
            written[key] = write_dataset(
                [(X.astype(np.float32), generator.integers(0, n_classes, 300))],
                folder / str(len(written)),
                task=task,
                scale="none",
                test_fraction=0.2,
                rows_per_shard=40,
                columns=True,
                sparse=sparse,
            )
        return written[key]

    return data_set
