"""ROC and precision-recall curves are scikit-learn's, whatever the scores and however they come."""

import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import distkern
from distkern.data.ingest import write_dataset
from distkern.runs.ranking import RankedScores
from runs import evaluate


def ranking(scores, positive, weights=None, *, run_rows=1000, step=700):
    with RankedScores(run_rows) as ranked:
        for start in range(0, len(scores), step):
            part = slice(start, start + step)
            ranked.add(scores[part], positive[part], None if weights is None else weights[part])
        return ranked.ranking()


def area(*given, **how):
    found = ranking(*given, **how)
    return None if found is None else found.area


def drawn(name, n=20_000):
    generator = np.random.default_rng(0)
    positive = generator.random(n) < (0.005 if name == "skewed" else 0.4)
    noise = generator.standard_normal(n)
    return positive, {
        "skewed": lambda: 3.0 + 1e-4 * (noise + 0.7 * positive),
        "tied": lambda: np.round(noise + positive),
        "constant": lambda: np.full(n, 0.25),
        "sorted": lambda: np.sort(noise),
        "tiny": lambda: 1e-300 * (noise + positive),
        "single precision": lambda: (noise + positive).astype(np.float32),
        "infinite": lambda: np.where(noise > 1, np.inf, np.where(noise < -1, -np.inf, noise)),
        "zeros of both signs": lambda: np.where(noise > 0, 0.0, -0.0) * noise,
        "one run above the other": lambda: np.arange(n) // 1000 + noise / 100,
    }[name]()


NAMES = (
    "skewed",
    "tied",
    "constant",
    "sorted",
    "tiny",
    "single precision",
    "infinite",
    "zeros of both signs",
    "one run above the other",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("run_rows", [1000, 2**18])
def test_it_is_that_of_scikit_learn(name, run_rows):
    positive, scores = drawn(name)
    finite = np.clip(scores.astype(float), -1e300, 1e300)
    assert area(scores, positive, run_rows=run_rows) == pytest.approx(
        roc_auc_score(positive, finite), rel=1e-12
    )
    assert ranking(scores, positive, run_rows=run_rows).average_precision == pytest.approx(
        average_precision_score(positive, finite), rel=1e-12
    )
    weights = np.random.default_rng(1).integers(0, 4, len(scores)) / 4
    assert area(scores, positive, weights, run_rows=run_rows) == pytest.approx(
        roc_auc_score(positive, finite, sample_weight=weights), rel=1e-12
    )


@pytest.mark.parametrize("name", ["skewed", "tied", "sorted", "infinite"])
def test_curves_are_thinned_out_and_go_through_what_they_are_curves_of(name):
    positive, scores = drawn(name)
    found = ranking(scores, positive)
    assert len(found.recall) <= 2 * 257
    assert found.false_positives[-1] == found.recall[-1] == 1.0
    assert found.precision[-1] == pytest.approx(positive.mean())
    above = np.sort(scores)[::-1]
    ends = np.append(np.flatnonzero(above[1:] != above[:-1]), len(above) - 1)
    for rates, of in ((found.false_positives, ~positive), (found.recall, positive)):
        assert (np.diff(rates) >= 0).all()
        # of all thresholds, one in every 256th of each rate
        exact = np.cumsum(of[np.argsort(-scores, kind="stable")])[ends]
        exact = exact / of.sum()
        nearest = np.abs(exact[:, None] - rates).min(axis=1)
        assert nearest.max() <= 1 / 256
        assert np.isin(np.round(rates * of.sum()), np.round(exact * of.sum())).all()


@pytest.mark.slow
def test_a_million_scores_take_the_memory_of_few():
    generator = np.random.default_rng(2)
    positive = generator.random(1_000_000) < 0.01
    scores = 1.0 + 1e-3 * (generator.standard_normal(1_000_000) + positive)
    expected = roc_auc_score(positive, scores)
    tracemalloc.start()
    found = area(scores, positive, run_rows=2**14, step=2**14)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == pytest.approx(expected, rel=1e-12)
    assert peak < 8 * 2**20 < scores.nbytes * 3 / 2


def test_few_rows_one_class_and_what_is_no_number():
    assert area(np.array([1.0, 2.0]), np.array([False, True])) == 1.0
    assert area(np.array([1.0]), np.array([True])) is None
    assert area(np.empty(0), np.empty(0, bool)) is None
    assert area(np.array([1.0, np.nan]), np.array([False, True])) is None


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_evaluate_gives_the_area_of_the_decision_values(loss, tmp_path):
    """One row in 200 is positive, and all scores lie close together."""
    generator = np.random.default_rng(3)
    features = generator.standard_normal((6000, 2))
    labels = (generator.random(6000) < 0.004 + 0.004 * (features[:, 0] > 0.5)).astype(int)
    dataset = write_dataset([(features, labels)], tmp_path / "d.zarr", scale="none", rows_per_shard=900)
    model = distkern.SVRGClassifier(loss=loss, n_features=64, stages=2, random_state=0).fit(dataset.train)
    blocks = [dataset.train.reader(index)() for index in range(dataset.train.n_blocks)]
    scores = np.concatenate([model.decision_function(block.features) for block in blocks])
    targets = np.concatenate([block.targets for block in blocks])
    found = evaluate(model, dataset.train, scheduler="threads", workers=2)
    assert found["auc"] == pytest.approx(roc_auc_score(targets, scores), abs=1e-9)
    assert found["accuracy"] == pytest.approx(np.mean((scores > 0) == targets))


@pytest.mark.parametrize("run_rows", [1000, 2**18])
def test_points_of_the_curves_have_their_thresholds(run_rows):
    positive, scores = drawn("skewed")
    found = ranking(scores, positive, run_rows=run_rows)
    assert found.totals == (float(np.sum(~positive)), float(positive.sum()))
    for place in (0, len(found.thresholds) // 2, -1):
        said = scores >= found.thresholds[place]
        assert found.share[place] == pytest.approx(said.mean())
        assert found.recall[place] == pytest.approx(said[positive].mean())
        assert found.false_positives[place] == pytest.approx(said[~positive].mean())
        assert found.precision[place] == pytest.approx(positive[said].mean())
