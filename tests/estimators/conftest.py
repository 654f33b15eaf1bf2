"""What the tests of several estimators learn from."""

import pytest

from distkern.data.ingest import write_dataset
from problems import topics


@pytest.fixture(scope="session")
def stored_topics(tmp_path_factory):
    """Data sets of texts with dense and with sparse shards and their feature-major copies, written once."""
    X, y = topics()
    folder = tmp_path_factory.mktemp("topics")
    return {
        form: write_dataset(
            [(X[:1000], y[:1000])],
            folder / f"{form}.zarr",
            [(X[1000:], y[1000:])],
            rows_per_shard=130,
            sparse=form == "sparse",
            scale="none",
            columns=True,
        )
        for form in ("dense", "sparse")
    }
