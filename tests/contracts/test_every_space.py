"""What holds of the values that each algorithm declares as worth a search, where nobody names any."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import distkern
from distkern.choose.choice import rungs_of
from distkern.choose.tuning.runner import TrialRunner, Where
from distkern.choose.tuning.search import Search
from distkern.choose.tuning.space import own_candidates
from distkern.core.errors import MemoryBudgetError
from distkern.model.settings import has_effect
from distkern.runs.algorithms import algorithms
from small import most_classes, slow_but, small

#: the rows choose which of the others are tuned
CHOOSING = [name for name in algorithms() if name.startswith("auto")]
ALGORITHMS = {name: kind for name, kind in algorithms().items() if name not in CHOOSING}
TUNED = [name for name, kind in ALGORITHMS.items() if kind.task != "none"]


def spaces(kind):
    return {name: found for name, one in kind.hyperparameters.items() if (found := one.space(1000))}


def quick(kind):
    """With small settings of what is not searched; a step size would not suit all that is."""
    left = {*spaces(kind), "step_size"}
    return kind(**{name: value for name, value in small(kind).items() if name not in left})


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_a_space_of_legal_values(name):
    kind = ALGORITHMS[name]
    given = kind().recipe().settings.given
    found = {
        hyper: values
        for hyper, values in spaces(kind).items()
        if has_effect(kind.hyperparameters, given, hyper)
    }
    assert found, "declare with `tried` which values of its hyperparameters are worth a search"
    for hyper, values in found.items():
        assert values[0] == kind.hyperparameters[hyper].default
        assert len(values) == len(set(values)) >= 2
        for value in values:
            kind(**{hyper: value}).recipe().check()


@pytest.mark.parametrize("name", slow_but(TUNED, "csvrg", "dsg", "newton"))
def test_tune_searches_it_from_its_own_settings_on(name, few_rows):
    kind = ALGORITHMS[name]
    data = few_rows(kind.task, n_classes=most_classes(kind))
    model = quick(kind)
    found = distkern.tune(model, data, candidates=3)
    first = next(one for one in found.candidates if one.number == 0)
    assert first.settings == {hyper: getattr(model, hyper) for hyper in first.settings}
    assert first.failed is None
    assert len(found.candidates) == 3
    assert np.isfinite(found.value)


def test_what_is_given_is_not_searched_nor_what_has_no_effect(few_rows):
    split = few_rows().train
    model = distkern.NewtonClassifier(nu=1e-3, kernel="chi2")
    tried = own_candidates(model, split, "halving", None, 0)
    assert len(tried) > 1
    for one in tried:
        assert {"nu", "n_features", "random_state"}.isdisjoint(one.settings)
        assert one.estimator.nu == 1e-3
        # a metric makes negative numbers, of which this kernel has none
        assert one.settings["metric"] is None
        one.estimator.check_parameters()
    assert (
        len(own_candidates(model, split, "halving", None, 0, ["metric"])[0].settings)
        == len(tried[0].settings) - 1
    )


@pytest.mark.parametrize("stored", ["none", "minmax"])
def test_metrics_are_tried_where_they_go_with_the_scaling(stored, tmp_path, monkeypatch):
    features = np.random.default_rng(0).normal(size=(300, 3))
    path, labels = tmp_path / "d.zarr", (features[:, 0] > 0).astype(int)
    split = distkern.write_dataset(features, labels, path, task="classification", scale=stored).train
    model = distkern.NewtonClassifier()

    def metrics_with(scale):
        chosen = distkern.NewtonClassifier(scale=scale)
        monkeypatch.setattr(model, "named", lambda split: chosen)
        return {one.settings["metric"] for one in own_candidates(model, split, "random", 100, 0)}

    # a map standardises rows that are stored scaled, but no metric is learned on other scalings
    assert metrics_with("standard") > {None}
    assert metrics_with("maxabs") == {None}


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classification", pytest.param("regression", marks=pytest.mark.slow)])
def test_of_a_choice_what_it_chooses_is_tuned(task, tmp_path):
    features = np.random.default_rng(0).normal(size=(600, 2))
    distance = np.linalg.norm(features, axis=1)
    targets = distance if task == "regression" else (distance > 1.2).astype(int)
    split = distkern.write_dataset(features, targets, tmp_path / "d.zarr", task=task).train
    kind = distkern.KernelClassifier if task == "classification" else distkern.KernelRegressor
    given = {"search": "quick", "random_state": 0}
    first = own_candidates(kind(**given), split, "halving", None, 0)[0]
    assert first.estimator.get_params() == kind(**given).fit(split).machine_.get_params()
    settings = {"gamma": "median/3"}
    set_one = own_candidates(kind(settings=settings, **given), split, "halving", None, 0)[0]
    assert set_one.estimator.gamma == "median/3"
    assert set(first.settings) - set(set_one.settings) == {"gamma"}


def test_the_first_one_comes_to_the_last_rung_whatever_it_is(few_rows, monkeypatch):
    monkeypatch.setattr("distkern.choose.tuning.search.rungs_of", partial(rungs_of, least_rows=20))
    made = Search._ranked

    def worst(self, number, *given):
        found = made(self, number, *given)
        return found if number else replace(found, value=99.0)

    monkeypatch.setattr(Search, "_ranked", worst)
    ranked = pegasos(few_rows, "halving").run(Where("synchronous"))
    assert {one.number: one.rung for one in ranked}[0] == max(one.rung for one in ranked) == 1
    assert ranked[0].number != 0


def pegasos(few_rows, method):
    split = few_rows(n_classes=2).train
    model = distkern.PegasosClassifier(stages=1, random_state=0)
    return Search(own_candidates(model, split, "grid", None, 0), split, method, own_space=True)


def test_others_that_do_not_fit_the_limit_are_left_behind(few_rows, monkeypatch):
    planned = TrialRunner._planned

    def refusing(self, machine, candidate, rows):
        if candidate.number == too_large:
            raise MemoryBudgetError("does not fit", hint="give more")
        return planned(self, machine, candidate, rows)

    monkeypatch.setattr(TrialRunner, "_planned", refusing)
    too_large = 1
    ranked = pegasos(few_rows, "grid").run(Where("synchronous"))
    assert [one.number for one in ranked if one.failed] == [1]
    too_large = 0
    with pytest.raises(MemoryBudgetError):
        pegasos(few_rows, "grid").run(Where("synchronous"))
