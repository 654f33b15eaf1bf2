"""What the tests of the command line share."""

import numpy as np
import pytest

from distkern.data.ingest import write_dataset

#: files that look at whole pages: there they have their plots, as for users
DRAWN = ("test_cli_demo", "test_cli_run", "test_evaluate")


@pytest.fixture(scope="module", autouse=True)
def _pages_without_plots(request):
    """Every trained model has a page, whose plots take longer than most of these runs.

    Plots have tests of their own (``monitor``, ``dashboard``); here a page has their titles alone.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__ not in DRAWN:
            patch.setattr("distkern.show.plots.embedded", lambda plots: ("", (plot.title for plot in plots)))
        yield


@pytest.fixture(scope="module")
def data(request, tmp_path_factory):
    """A data set of noise with two labels, of the ``SHAPE`` that the module says."""
    path, shape = tmp_path_factory.mktemp("data") / "d.zarr", request.module.SHAPE
    features = np.random.default_rng(0).normal(size=shape)
    write_dataset([(features, np.arange(shape[0]) % 2)], path, scale="none")
    return path
