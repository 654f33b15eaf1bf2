"""Searches on splits: the best is found, nothing is made twice, and it does not matter where they run."""

import threading
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, PredefinedSplit

from distkern import CSVRGClassifier, NewtonClassifier, NewtonRegressor, PegasosClassifier
from distkern.choose.tuning import runner
from distkern.choose.tuning.record import SearchFolder, Trial, TuningCandidate
from distkern.choose.tuning.runner import Watcher, Where
from distkern.choose.tuning.search import Ranked, Search
from distkern.core.errors import CorruptDataError, DistkernError, DivergenceError, InputError
from distkern.core.scores import log_losses
from distkern.data.ingest import write_dataset
from distkern.data.manifest import ShardReader
from distkern.data.part import PartReader
from distkern.passes import execution
from distkern.runs.algorithms import algorithms
from parts import parts_of
from small import slow_but, small

GAMMAS, NUS = (0.01, 3.0, 1000.0), (1e-6, 1e-4, 1e-2)
SETTINGS = [{"gamma": gamma, "nu": nu} for gamma in GAMMAS for nu in NUS]
HERE = Where("synchronous")


def problem(n_rows):
    """Rings, which the width in the middle fits best, with labels that err in one of ten."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(n_rows, 2)).astype(np.float32)
    ring = np.floor(1.0 * np.linalg.norm(features, axis=1)).astype(int) % 2
    return features, np.where(generator.random(n_rows) < 0.1, 1 - ring, ring)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("search") / "d.zarr"
    return write_dataset([problem(2400)], path, scale="none", rows_per_shard=500)


def candidates(settings=SETTINGS):
    return [
        TuningCandidate(number, one, NewtonClassifier(n_landmarks=60, stages=4, random_state=0, **one))
        for number, one in enumerate(settings)
    ]


def found(ranked):
    """All but the seconds."""
    return [(one.number, one.value, [replace(trial, seconds=0.0) for trial in one.trials]) for one in ranked]


class Counting(Watcher):
    """Counts the trials that begin, and has one of them fail."""

    def __init__(self, fails_at=None):
        self.begun = Counter()
        self.n_resumed, self._fails_at = 0, fails_at
        self._lock = threading.Lock()

    def began(self, candidate, task):
        with self._lock:
            if sum(self.begun.values()) == self._fails_at:
                raise RuntimeError("the power is gone")
            self.begun[task] += 1

    def resumed(self, n_found):
        self.n_resumed += n_found


def test_a_grid_finds_what_the_search_of_scikit_learn_finds(data):
    ranked = Search(candidates(), data.train, metric_name="error", seed=4).run(HERE)
    features, labels = problem(2400)
    held_out = parts_of(data.train, 0.2, 4)[0][1]
    own = [held_out.reader(block).source_rows() for block in range(held_out.n_blocks)]
    folds = np.full(2400, -1)
    folds[np.concatenate(own)] = 0
    grid = {"gamma": GAMMAS, "nu": NUS}
    model = NewtonClassifier(n_landmarks=60, stages=4, random_state=0)
    theirs = GridSearchCV(model, grid, cv=PredefinedSplit(folds), refit=False).fit(features, labels)
    by_settings = {str(one.settings): one.value for one in ranked}
    scores = theirs.cv_results_["mean_test_score"]
    values = [by_settings[str(one)] for one in theirs.cv_results_["params"]]
    # the same rows, with other landmarks
    np.testing.assert_allclose(values, 1 - scores, atol=0.05)
    assert ranked[0].settings["gamma"] == theirs.best_params_["gamma"] == 3.0
    assert ranked[0].value < 0.25 < ranked[-1].value


def test_the_metric_is_that_of_the_held_out_rows(data):
    [one] = Search(candidates(SETTINGS[4:5]), data.train, metric_name="auc", seed=1).run(HERE)
    learned, held_out = parts_of(data.train, 0.2, 1)[0]
    model = candidates(SETTINGS[4:5])[0].estimator.fit(learned)
    scores = model.decision_function(held_out[:])
    assert one.value == pytest.approx(roc_auc_score(held_out.labels, scores), abs=1e-6)


def test_folds_are_averaged(data):
    search = Search(candidates(SETTINGS[4:5]), data.train, validation=3, metric_name="error")
    [one] = search.run(HERE)
    errors = []
    for learned, held_out in parts_of(data.train, 3, 0):
        model = candidates(SETTINGS[4:5])[0].estimator.fit(learned)
        errors.append(1 - model.score(held_out))
    assert len(one.trials) == 3
    assert one.value == pytest.approx(np.mean(errors), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("validation", "few"), [(0.3, True), (0.3, False), (3, False)])
def test_of_copies_of_noise_none_is_held_out_while_another_is_learned_from(
    tmp_path, monkeypatch, validation, few
):
    if not few:
        monkeypatch.setattr("distkern.data.part.FEW_ROWS", 0)
    generator = np.random.default_rng(0)
    features = generator.normal(size=(1000, 4)).astype(np.float32)
    labels = generator.integers(0, 2, 1000)
    copies = np.tile(features, (3, 1)), np.tile(labels, 3)
    made = write_dataset([copies], tmp_path / "d.zarr", scale="none", rows_per_shard=700)
    # it remembers seven labels of eight that it has learned
    memory = NewtonClassifier(n_landmarks=600, gamma=5.0, nu=1e-9, stages=3, random_state=0)
    tried = [TuningCandidate(0, {}, memory)]
    [one] = Search(tried, made.train, validation=validation, metric_name="error").run(HERE)
    assert 0.42 < one.value < 0.58


def test_a_plan_of_a_search_reads_nothing(data, monkeypatch):
    search = Search(candidates(), data.train, "halving", validation=3)
    monkeypatch.setattr(ShardReader, "__call__", None)
    assert search.n_trials == 36
    # 3 folds of 9 candidates on a third of two thirds of the rows, then of 3 on all of these
    assert search.n_runs == pytest.approx(3 * (9 / 3 + 3) * 2 / 3)


def test_halving_keeps_the_best_third(data):
    watcher = Counting()
    ranked = Search(candidates(), data.train, "halving").run(HERE, watcher)
    assert Counter(task.rung for task in watcher.begun) == {0: 9, 1: 3}
    rows = {trial.n_learned for one in ranked for trial in one.trials}
    assert rows == {641, 1920}
    first = {one.number: one.trials[0].value for one in ranked}
    went_on = {one.number for one in ranked if one.rung == 1}
    assert [one.rung for one in ranked] == [1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert max(first[number] for number in went_on) <= min(
        value for number, value in first.items() if number not in went_on
    )
    assert ranked[0].settings["gamma"] == 3.0


@pytest.mark.parametrize(
    ("scheduler", "jobs"),
    [
        ("threads", 3),
        *(pytest.param(*how, marks=pytest.mark.slow) for how in (("synchronous", 2), ("threads", 1))),
    ],
)
def test_what_is_found_does_not_depend_on_where(data, scheduler, jobs):
    alone = Search(candidates(), data.train, "halving").run(HERE)
    watcher = Counting()
    ranked = Search(candidates(), data.train, "halving").run(Where(scheduler, 2, jobs=jobs), watcher)
    assert found(ranked) == found(alone)
    assert set(watcher.begun.values()) == {1}


@pytest.mark.slow
@pytest.mark.parametrize(("scheduler", "jobs"), [("processes", 2), ("local", 1), ("local", 3)])
def test_nor_on_processes_and_clusters(data, scheduler, jobs):
    alone = Search(candidates(), data.train, "halving").run(HERE)
    ranked = Search(candidates(), data.train, "halving").run(Where(scheduler, 2, jobs=jobs))
    assert found(ranked) == found(alone)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_search_that_failed_goes_on_and_makes_no_trial_again(data, tmp_path, jobs):
    whole = Search(candidates(), data.train, "halving", folder=SearchFolder(tmp_path / "whole")).run(HERE)
    where = Where("synchronous", jobs=jobs)
    finished = set()
    for fails_at in (4, 5, None):
        search = Search(candidates(), data.train, "halving", folder=SearchFolder(tmp_path / "broken"))
        watcher = Counting(fails_at)
        if fails_at is None:
            ranked = search.run(where, watcher)
        else:
            with pytest.raises(RuntimeError, match="power"):
                search.run(where, watcher)
        assert not {task.name for task in watcher.begun} & finished
        assert watcher.n_resumed == len(finished)
        finished = {file.stem for file in (tmp_path / "broken" / "trials").iterdir()}
    assert len(finished) == 12
    assert found(ranked) == found(whole)
    assert not (tmp_path / "broken" / "running").exists()
    # all of it is there: nothing is even opened
    again = Counting(0)
    search = Search(candidates(), data.train, "halving", folder=SearchFolder(tmp_path / "broken"))
    assert found(search.run(Where("no such scheduler"), again)) == found(whole)


def test_candidates_share_what_was_read(data, monkeypatch):
    read = Counter()
    whole = PartReader.__call__

    def counting(self):
        read[self.draw.held_out, self.place] += 1
        return whole(self)

    monkeypatch.setattr(PartReader, "__call__", counting)
    Search(candidates(SETTINGS[:3]), data.train).run(HERE)
    # once for all passes of all candidates; held-out rows once for each
    blocks = range(data.train.n_blocks)
    assert read == {**{(False, block): 1 for block in blocks}, **{(True, block): 3 for block in blocks}}
    # and nothing stays behind
    assert not execution._blocks


def test_another_search_in_the_folder_is_refused(data, tmp_path):
    folder = SearchFolder(tmp_path / "s")
    Search(candidates(SETTINGS[:2]), data.train, folder=folder).run(HERE)
    others = {
        "candidates": Search(candidates(SETTINGS[:3]), data.train, folder=folder),
        "seed": Search(candidates(SETTINGS[:2]), data.train, seed=1, folder=folder),
        "validation": Search(candidates(SETTINGS[:2]), data.train, validation=2, folder=folder),
        "metric": Search(candidates(SETTINGS[:2]), data.train, metric_name="auc", folder=folder),
        "method": Search(candidates(SETTINGS[:2]), data.train, "random", folder=folder),
    }
    for key, other in others.items():
        with pytest.raises(InputError, match=f"holds a search with another {key};"):
            other.run(HERE)
    changed = candidates(SETTINGS[:2])
    for candidate in changed:
        candidate.estimator.set_params(stages=2)
    with pytest.raises(InputError, match="another hyperparameters"):
        Search(changed, data.train, folder=folder).run(HERE)
    moved = write_dataset([problem(2000)], tmp_path / "d.zarr", scale="none")
    with pytest.raises(InputError, match="another data set"):
        Search(candidates(SETTINGS[:2]), moved.train, folder=folder).run(HERE)


def test_a_damaged_trial_is_refused_by_its_file(data, tmp_path):
    folder = tmp_path / "s"
    Search(candidates(SETTINGS[:2]), data.train, folder=SearchFolder(folder)).run(HERE)
    file = folder / "trials" / "0001-0-0.json"
    file.write_text(file.read_text().replace('"value": 0.', '"value": 0.0'))
    with pytest.raises(InputError, match=r"0001-0-0\.json.*damaged.*remove this file"):
        Search(candidates(SETTINGS[:2]), data.train, folder=SearchFolder(folder)).run(HERE)


def test_a_trial_is_not_taken_for_another_one(data, tmp_path):
    def again():
        return Search(candidates(SETTINGS[:2]), data.train, folder=SearchFolder(tmp_path / "s")).run(HERE)

    ranked = again()
    first, second = (tmp_path / "s" / "trials" / f"000{number}-0-0.json" for number in (0, 1))
    contents = first.read_text(), second.read_text()
    second.write_text(contents[0])
    with pytest.raises(CorruptDataError, match=r"0001-0-0\.json is trial 0000-0-0; remove this file"):
        again()
    first.write_text(contents[1])
    with pytest.raises(CorruptDataError, match=r"0000-0-0\.json is trial 0001-0-0; remove this file"):
        again()
    # of the same candidate, in a search with another seed
    Search(candidates(SETTINGS[:2]), data.train, seed=1, folder=SearchFolder(tmp_path / "o")).run(HERE)
    first.write_text((tmp_path / "o" / "trials" / "0000-0-0.json").read_text())
    second.write_text(contents[1])
    with pytest.raises(CorruptDataError, match=r"0000-0-0\.json is a trial of another search"):
        again()
    first.unlink()
    assert found(again()) == found(ranked)


def test_a_candidate_that_diverges_is_ranked_last(data, monkeypatch):
    run = runner.run

    def diverging(recipe, *given):
        if recipe.settings.given["gamma"] in broken:
            raise DivergenceError("the objective left the numbers")
        return run(recipe, *given)

    monkeypatch.setattr(runner, "run", diverging)
    broken = {3.0}
    ranked = Search(candidates(), data.train, "halving").run(HERE)
    assert ranked[0].settings["gamma"] != 3.0
    assert [one.failed for one in ranked[-3:]] == ["the objective left the numbers"] * 3
    assert ranked[-1].value is None
    broken = set(GAMMAS)
    with pytest.raises(DistkernError, match="no candidate could be trained: the objective left"):
        Search(candidates(), data.train, "halving").run(HERE)


def test_what_does_not_fit_is_refused_before_anything_is_tried(data):
    large = CSVRGClassifier(n_landmarks=2000, random_state=0)
    watcher = Counting()
    search = Search([*candidates(SETTINGS[:1]), TuningCandidate(1, {"n_landmarks": 2000}, large)], data.train)
    with pytest.raises(InputError, match="does not fit with n_landmarks=2000"):
        search.run(Where("synchronous", memory_limit=320 * 2**20), watcher)
    assert not watcher.begun


def test_a_metric_that_needs_probabilities_is_refused_where_there_are_none(data):
    hinge = CSVRGClassifier(n_landmarks=9, random_state=0)
    with pytest.raises(InputError, match=r"brier_score.*lam=1 has none"):
        Search([TuningCandidate(0, {"lam": 1.0}, hinge)], data.train, metric_name="brier_score").run(HERE)


def test_without_probabilities_the_log_loss_is_that_of_the_best_slope(data):
    model = PegasosClassifier(features="random", gamma=1.0, n_features=64, stages=2, random_state=0)
    [one] = Search([TuningCandidate(0, {}, model)], data.train, seed=2).run(HERE)
    learned, held_out = parts_of(data.train, 0.2, 2)[0]
    values, codes = model.fit(learned).decision_function(held_out[:]), held_out.labels
    # machines that predict by the sign have no offset
    expected = log_losses(values[:, None], codes, by_sign=True)
    assert one.value == pytest.approx(expected.mean(), rel=1e-6)
    assert one.value < 0.55
    # of so many rows the share is kept that has room
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("distkern.runs.ranking._KEPT_NUMBERS", 240)
        [few] = Search([TuningCandidate(0, {}, model)], data.train, seed=2).run(HERE)
    assert few.value != one.value
    error = expected.std() / np.sqrt(240)
    assert abs(few.value - one.value) < 4 * error


def landmarks(data, numbers, **given):
    settings = [{"n_landmarks": number} for number in numbers]
    made = [NewtonClassifier(gamma=3.0, nu=1e-4, stages=4, random_state=0, **one) for one in settings]
    tried = [TuningCandidate(*one) for one in zip(range(len(made)), settings, made, strict=True)]
    return Search(tried, data.train, **given)


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, {"metric_name": "error"}, {"validation": 3}])
def test_of_what_cannot_be_told_apart_the_cheapest_is_chosen(data, given):
    ranked = landmarks(data, (500, 3, 220, 180), **given).run(HERE)
    chosen, *others = ranked
    by_value = sorted(ranked, key=lambda one: one.value)
    assert others == [one for one in by_value if one is not chosen]
    assert by_value[0].apart == (0.0, 0.0)
    near = [one for one in by_value if one.apart[0] <= 2 * one.apart[1]]
    assert 1 not in [one.number for one in near]
    assert chosen is next(one for one in by_value if one.work <= 1.5 * min(other.work for other in near))
    if not given.get("metric_name"):
        # 500 landmarks are a little better, and take more than twice the work
        assert by_value[0].number == 0
        assert chosen.number in (2, 3)
    for one in ranked:
        assert one.apart[0] == pytest.approx(one.value - by_value[0].value, abs=3e-3)


def test_figures_that_are_no_means_over_rows_choose_the_best_value(data):
    ranked = landmarks(data, (300, 3, 60), metric_name="auc").run(HERE)
    assert [one.apart for one in ranked] == [None] * 3
    assert ranked[0].value == max(one.value for one in ranked)


def test_real_targets_are_compared_by_the_root_of_squares(tmp_path):
    features, _ = problem(1500)
    targets = np.sin(3 * features[:, 0]) * 50
    made = write_dataset([(features, targets)], tmp_path / "d.zarr", task="regression", scale="none")
    settings = [{"gamma": gamma} for gamma in (0.001, 1.0)]
    both = [
        TuningCandidate(number, one, NewtonRegressor(n_landmarks=60, random_state=0, nu=1e-6, **one))
        for number, one in enumerate(settings)
    ]
    ranked = Search(both, made.train).run(HERE)
    assert [one.number for one in ranked] == [1, 0]
    assert ranked[0].value < 10 < 25 < ranked[1].value
    # of squares
    assert ranked[1].apart[0] == pytest.approx(ranked[1].value ** 2 - ranked[0].value ** 2)
    assert not ranked[1].is_near


COMPARED = [name for name, kind in algorithms().items() if kind.task != "none"]


@pytest.mark.parametrize("name", slow_but(COMPARED, "csvrg", "dsg", "newton_regressor"))
def test_every_algorithm_learns_from_a_part(name, tmp_path):
    kind = algorithms()[name]
    features, labels = problem(500)
    targets = labels if kind.task == "classification" else features[:, 0] * 3.0
    made = write_dataset(
        [(features, targets)], tmp_path / "d.zarr", task=kind.task, rows_per_shard=100, columns=True
    )
    model = kind(**small(kind))
    [one] = Search([TuningCandidate(0, {}, model)], made.train, folder=SearchFolder(tmp_path / "s")).run(HERE)
    learned, held_out = parts_of(made.train, 0.2, 0)[0]
    again = kind(**small(kind)).fit(learned)
    figures = one.trials[0].figures
    score = figures["accuracy" if kind.task == "classification" else "r2"]
    assert again.score(held_out) == pytest.approx(score, abs=1e-12)
    assert figures["n"] == held_out.n_rows == made.train.n_rows - learned.n_rows
    predicted = np.asarray(again.predict(held_out))
    if kind.task == "classification":
        assert np.mean(predicted == held_out.labels) == pytest.approx(score, abs=2 / held_out.n_rows)


def test_without_targets_there_is_nothing_to_compare_by(tmp_path):
    features, _ = problem(200)
    made = write_dataset([(features, None)], tmp_path / "d.zarr", task="none", scale="none")
    alone = TuningCandidate(0, {}, algorithms()["dsg_novelty"](random_state=0))
    with pytest.raises(InputError, match="candidates cannot be compared without targets"):
        Search([alone], made.train).run(HERE)


def test_defaults_that_are_better_than_cheap_settings_are_chosen(data):
    """Cheap settings within chance of the best are chosen, but not when the defaults are better."""
    losses = np.random.default_rng(0).normal(0.5, 0.4, 128)
    # the best, one that is a little worse, and a cheap one between chance and that
    results = {0: (losses + 0.001, 4.0), 1: (losses, 4.0), 2: (losses[::-1] + 0.01, 1.0)}

    def ranked(number, setting):
        own, work = results[number]
        trial = Trial(number, 0, 0, 10, 5, 1.0, own.mean(), losses=tuple(own))
        return Ranked(number, setting, own.mean(), work, 0, 10, 1.0, (trial,))

    def chosen(*settings, own_space=False):
        search = Search(candidates(settings), data.train, own_space=own_space)
        in_order = [ranked(number, settings[number]) for number in (1, 0, 2)]
        return search._chosen_first(in_order)[0].number

    other, default = {"nu": 0.1}, {"nu": "auto"}
    assert chosen(other, other, other) == 2
    assert chosen(other, default, other) == 1
    assert chosen(default, other, other) == 0
    assert chosen(other, other, other, own_space=True) == 0
    # the cheap ones are the defaults
    assert chosen(other, other, default) == 2
