"""Data that every algorithm can be tried on."""

import numpy as np
import pytest

from distkern.data.ingest import write_dataset


@pytest.fixture(scope="module", autouse=True)
def _few_passes_of_sdca():
    """SDCA goes 32 times over so few rows in each stage, which shows no more than twice does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("distkern.solvers.compare.sdca._MOST_PASSES", 2)
        yield


@pytest.fixture(scope="session")
def few_rows(tmp_path_factory):
    """A function that gives a data set: 300 rows with test rows and a feature-major copy, written once."""
    return data_sets(tmp_path_factory.mktemp("few rows"), 300)


@pytest.fixture(scope="session")
def more_rows(tmp_path_factory):
    """The same of 1,500 rows: enough to choose hyperparameters on a sample of them."""
    return data_sets(tmp_path_factory.mktemp("more rows"), 1500)


def data_sets(folder, n_rows):
    """A function that gives data sets of so many rows."""
    written = {}

    def data_set(task="classification", *, sparse=False, n_classes=3):
        key = (task, sparse, n_classes)
        if key not in written:
            generator = np.random.default_rng(0)
            X = np.where(generator.random((n_rows, 6)) < 0.6, generator.random((n_rows, 6)), 0.0)
            written[key] = write_dataset(
                [(X.astype(np.float32), generator.integers(0, n_classes, n_rows))],
                folder / str(len(written)),
                task=task,
                scale="none",
                test_fraction=0.2,
                rows_per_shard=n_rows * 2 // 15,
                columns=True,
                sparse=sparse,
            )
        return written[key]

    return data_set
