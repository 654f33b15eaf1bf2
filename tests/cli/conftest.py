"""What the tests of the command line share."""

import pytest

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
