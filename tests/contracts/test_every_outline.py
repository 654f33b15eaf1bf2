"""Every estimator makes the passes that its plan lists, and they take no more than it says."""

from collections import Counter

import pytest

from distkern.core.common_parameters import SCALE
from distkern.core.parameters import AUTO, FLAG
from distkern.engine.drive import Driver
from distkern.engine.executors import open_executor
from distkern.passes import Stream
from distkern.runs.algorithms import algorithms
from runs import outlines_of
from small import REPEATED, most_classes, small, taken

#: words that choose functions, and no passes, and what is of arrays alone
FUNCTIONS = {"features", "loss", "kernel", "sampler", "dtype"}
#: settings that decide which passes there are, beside words and switches
NUMBERS = (
    {"diameter": 0.5, "n_landmarks": None, "landmarks": "coverage"},
    {"polish": "exact", "steps_per_stage": None},
)
#: scalings that would turn the zeros of sparse rows into numbers, as all metrics would
FILLING = {"standard", "minmax", "normal", "ranks"}
#: runs of an estimator in the tests that are not slow, spread evenly over all of its choices
FEW = 3
#: sweeps until a radius is found, Newton steps until the minimum: how many is not known before
ESTIMATED = {"coverage", "gradient", "Hessian product"}
ALGORITHMS = algorithms()


def classifier_of(name):
    """The classifier that has the solver of a regressor, the cells that are chosen for data, or nothing."""
    if name == "auto":
        return ALGORITHMS["cells"]
    return ALGORITHMS.get(name.removesuffix("_regressor")) if name.endswith("_regressor") else None


def variants(kind, known=()):
    """Short runs of an estimator, each with one choice made, but of settings that are ``known``.

    With a choice made they have one stage, and every choice is made with all features.
    """
    parameters = kind.hyperparameters
    for features in sorted(
        parameters["features"].words if "features" in parameters else [None],
        key=lambda word: word is not None and word != parameters["features"].default,
    ):
        chosen = {} if features is None else {"features": features}
        yield small(kind, **chosen)
        if "stages" in parameters:
            chosen["stages"] = 1
        names = set(taken(kind, chosen))
        yield from (
            small(kind, **chosen, **numbers)
            for numbers in NUMBERS
            if numbers.keys() <= set(taken(kind, chosen | numbers))
        )
        # a threshold is of what is predicted
        for name in sorted(names - FUNCTIONS - {"threshold"} - set(known)):
            words = (True, False) if FLAG in parameters[name].kinds else parameters[name].words
            for value in words:
                if value != parameters[name].default:
                    yield small(kind, **chosen, **{name: value})


@pytest.mark.parametrize(
    ("sparse", "every"),
    [
        pytest.param(False, False, id="dense"),
        pytest.param(False, True, id="dense-every choice", marks=pytest.mark.slow),
        pytest.param(True, True, id="sparse", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("kind", "known"),
    [
        pytest.param(
            kind,
            getattr(classifier_of(name), "hyperparameters", ()),
            id=name,
            marks=[pytest.mark.slow] * (name in REPEATED),
        )
        for name, kind in ALGORITHMS.items()
    ]
    + [
        pytest.param(kind, (), id=f"{name}-all settings", marks=pytest.mark.slow)
        for name, kind in ALGORITHMS.items()
        if classifier_of(name)
    ],
)
def test_the_outline_lists_the_passes_that_are_made(kind, known, sparse, every, few_rows, monkeypatch):
    """Settings that another one over the same solver has too are for the slow tests."""
    data = few_rows(kind.task, sparse=sparse, n_classes=most_classes(kind))
    maps = sparse and kind.hyperparameters.get("scale") is SCALE
    cases = [
        (given, data.test)
        for given in variants(kind, known)
        if not (maps and (given.get("metric") or given.get("scale") in FILLING))
    ]
    if not every:
        cases = cases[:: -(-len(cases) // FEW)]
    # without test rows, once
    cases.append((cases[0][0], None))
    for given, test in cases:
        compare(kind(**given), data, test, monkeypatch)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, id=name, marks=[pytest.mark.slow] * (name == "simba" or name in REPEATED))
        for name, kind in ALGORITHMS.items()
    ],
)
def test_the_outline_lists_the_passes_of_a_search(kind, more_rows, monkeypatch):
    given = small(kind)
    searched = [name for name in taken(kind, {}) if kind.hyperparameters[name].default == AUTO]
    searched = [name for name in searched if kind.hyperparameters[name].searched is not None]
    if not searched:
        pytest.skip("nothing of it is searched")
    data = more_rows(kind.task, n_classes=most_classes(kind))
    given = {name: value for name, value in given.items() if name not in (*searched, "step_size")}
    # runs long enough for trials to be a part of them
    long = {"steps_per_stage": 1.0, "max_rounds": 4000}
    given |= {name: value for name, value in long.items() if name in kind.hyperparameters}
    given |= {name: 128 for name in ("n_landmarks", "n_features") if name in given}
    made = compare(kind(**given), data, data.test, monkeypatch)
    assert [name for name in made if name.startswith("search")] == [
        f"search {number + 1}" for number in range(len(searched))
    ]


def loads(cost):
    return cost.compiled or cost.driver_compiled or cost.driver_library


def compare(model, data, test, monkeypatch):
    made = []
    execute = Driver._execute
    _, problem, outlines = outlines_of(model, data.train, has_test=test is not None)
    outlined = {}
    for outline in outlines:
        outlined.setdefault((outline.step.name, outline.step.split), []).append(outline)
    with monkeypatch.context() as patch:
        patch.setattr(Driver, "_execute", lambda self, step: made.append(step) or execute(self, step))
        with open_executor("synchronous") as executor:
            model.fit_with(data.train, test=test, executor=executor)
    counts = Counter((step.name, step.split) for step in made)
    # what is made less than once a run depends on what is chosen
    needed = {key for key, planned in outlined.items() if any(each.times >= 1 for each in planned)}
    assert needed <= counts.keys() <= outlined.keys(), model
    for key, count in counts.items():
        if key[0] not in ESTIMATED and key in needed:
            planned = sum(outline.times for outline in outlined[key])
            # a machine that is chosen ends where it is at its minimum
            assert count <= planned if "settings" in model.hyperparameters else count == planned, (model, key)
    for step in made:
        planned = outlined[step.name, step.split]
        assert all(type(outline.step) is type(step) for outline in planned)
        if isinstance(step, Stream):
            assert step.n_rows <= max(outline.step.n_rows for outline in planned), (model, step.name)
        for name in ("workspace_bytes", "result_bytes", "process_bytes", "driver_bytes"):
            most = max(getattr(outline.step.cost, name) for outline in planned)
            # how many numbers the rows have that become landmarks is known for most rows, not for each
            assert getattr(step.cost, name) <= most * (1.01 if problem.sparse_numbers else 1), (
                model,
                step,
                name,
            )
    for number, outline in enumerate(outlines):
        loading = {
            (each.step.name, each.step.split) for each in outlines[number + 1 :] if loads(each.step.cost)
        }
        places = [place for place, step in enumerate(made) if (step.name, step.split) in loading]
        last = max((place for place, step in enumerate(made) if step.name == outline.step.name), default=-1)
        assert not outline.is_before or last < min(places, default=len(made)), (model, outline.step.name)
    return [step.name for step in made]
