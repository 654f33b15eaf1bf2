"""Plots of a search: axes that outliers do not flatten, logarithms as they were searched, words in order."""

from types import SimpleNamespace

import pytest

from distkern.choose.choice import Rung
from distkern.choose.tuning.record import Trial, TuningCandidate
from distkern.choose.tuning.search import Ranked
from distkern.choose.tuning.space import SearchTable
from distkern.cli.job import Job
from distkern.cli.tuning_page import _beyond, _ends, _plots
from distkern.estimators.svrg import SVRGClassifier


def a_search(name, asked, tried, losses):
    """A job that asks for values, the search of those tried, and its candidates, the best first."""
    job = Job(algorithm="svrg", data="d", out="m", search=SearchTable(params={name: asked} if asked else {}))
    candidates = [
        TuningCandidate(number, {name: value}, SVRGClassifier()) for number, value in enumerate(tried)
    ]
    search = SimpleNamespace(
        candidates=candidates,
        metric=SimpleNamespace(name="log_loss", is_loss=True),
        rungs=(Rung(len(tried), 1.0),),
    )
    ranked = [
        Ranked(one.number, one.settings, loss, 1.0, 0, 10, 1.0, (Trial(one.number, 0, 0, 10, 5, 1.0, loss),))
        for one, loss in zip(candidates, losses, strict=True)
    ]
    return job, search, sorted(ranked, key=lambda one: one.value)


def test_an_outlier_does_not_flatten_the_axis():
    losses = [0.40, 0.41, 0.42, 0.43, 0.45, 0.46, 60.0]
    job, search, ranked = a_search("gamma", None, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], losses)
    for plot in _plots(job, search, ranked):
        low, high = plot.y.ends
        assert low < 0.40
        assert 0.46 < high < 0.6
    assert _beyond(search, ranked) == (
        "1 trial lies far beyond the axes of log loss; the table has all candidates."
    )
    job, search, ranked = a_search("gamma", None, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], losses[:6])
    assert {plot.y.ends for plot in _plots(job, search, ranked)} == {None}
    assert _beyond(search, ranked) == ""
    # the best is always on the axis, though it is far from the others
    low, high = _ends([0.1, 5.0, 5.01, 5.02, 5.03, 5.04, 9.0], 0.1)
    assert low < 0.1 < high < 9.0


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"low": 0.1, "high": 0.9, "log": True}, "log"),
        ({"low": 0.001, "high": 9.0}, "number"),
        ([0.001, 9.0, 0.1], "log"),
        ([1.0, 2.0, 3.0], "number"),
    ],
)
def test_axes_are_logarithmic_where_logarithms_were_searched(asked, kind):
    tried = asked if isinstance(asked, list) else [0.2, 0.4, 0.8]
    job, search, ranked = a_search("gamma", asked, tried, [0.3, 0.2, 0.4])
    assert _plots(job, search, ranked)[0].x.kind == kind


def test_losses_of_several_times_the_best_have_a_logarithmic_axis():
    for losses, kind in (([0.4, 0.41, 0.7, 1.2, 1.5], "log"), ([0.40, 0.41, 0.42, 0.43, 0.8], "number")):
        job, search, ranked = a_search("gamma", None, [1.0, 2.0, 3.0, 4.0, 5.0], losses)
        assert {plot.y.kind for plot in _plots(job, search, ranked)} == {kind}


def test_rules_and_numbers_stand_in_their_order():
    tried = ["median/4", "auto", "median/0.5", "median", 0.5, 0.02]
    job, search, ranked = a_search("gamma", None, tried, [0.4, 0.41, 0.42, 0.43, 0.44, 0.45])
    words = _plots(job, search, ranked)[0].x.words
    assert words == ("auto", "0.02", "0.5", "median/0.5", "median", "median/4")


def test_words_keep_the_order_of_the_job_else_that_of_their_hyperparameter():
    losses = [0.3, 0.2, 0.4]
    job, search, ranked = a_search("loss", ["odm", "hinge", "logistic"], ["logistic", "odm", "hinge"], losses)
    assert _plots(job, search, ranked)[0].x.words == ("odm", "hinge", "logistic")
    job, search, ranked = a_search("loss", None, ["odm", "logistic", "hinge"], losses)
    declared = [
        word for word in SVRGClassifier.hyperparameters["loss"].words if word in ("odm", "logistic", "hinge")
    ]
    assert list(_plots(job, search, ranked)[0].x.words) == declared
    job, search, ranked = a_search("nu", [1e-3, "auto"], ["auto", 1e-3], losses[:2])
    assert _plots(job, search, ranked)[0].x.words == ("0.001", "auto")
