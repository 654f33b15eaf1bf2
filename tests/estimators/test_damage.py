"""Damaged and edited models, manifests and checkpoints: the answer as before or an error of ours."""

import json
import random
import shutil
from dataclasses import dataclass

import numpy as np
import pytest

from distkern import CSVRGClassifier
from distkern.core.errors import CorruptDataError, InputError
from distkern.data.dataset import open_dataset
from distkern.data.ingest import write_dataset
from distkern.data.store.description import sealed
from distkern.engine.checkpoint import CheckpointFolder
from distkern.estimators.dsg import DSGRegressor
from distkern.runs.algorithms import load_model
from runs import train

FLIPS = 60
#: what may stand in the place of a value
WRONG = (None, -1, 2**70, 0.5, True, "x", [], {}, [[1]], {"a": 1})


@dataclass
class State:
    """A solver's state."""

    coefficients: np.ndarray
    step: int


def rows():
    features = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    return features, (features[:, 0] > 0).astype(int)


def classifier(path):
    features, labels = rows()
    data = write_dataset([(features, labels)], path / "d.zarr", scale="standard")
    model = CSVRGClassifier(n_landmarks=8, gamma=0.5, stages=1, class_weight={0: 2.0, 1: 1.0}, random_state=0)
    train(model, data.train, scheduler="synchronous", out=path / "m")
    return path / "m", lambda: load_model(path / "m").decision_function(features).tobytes()


def regressor(path):
    features, labels = rows()
    model = DSGRegressor(gamma=0.5, n_features=64, block_size=32, random_state=0)
    model.fit(features, labels.astype(float)).save(path / "m")
    return path / "m", lambda: load_model(path / "m").predict(features).tobytes()


def data_set(path):
    features, labels = rows()
    write_dataset([(features, labels)], path / "d.zarr", rows_per_shard=25, columns=True)

    def answer():
        data = open_dataset(path / "d.zarr")
        parts = [data.train.group(0)().columns(np.arange(3)), data.classes]
        for index in range(data.train.n_blocks):
            block = data.train.reader(index)()
            parts += [block.features, block.targets]
        return b"".join(np.asarray(part).tobytes() for part in parts)

    return path / "d.zarr", answer


def checkpoint(path):
    folder = CheckpointFolder(path / "checkpoints", {"data": "d", "job": {"gamma": 1.0}})
    groups = {"q": [(0, {"weights": np.arange(5.0)}), (1, {"weights": np.ones(3)})]}
    folder.save(1, State(np.arange(6.0), 3), [{"stage": 0}], {"seconds": 1.5}, groups)

    def answer():
        found = folder.load(State)
        residents = [values["weights"].tobytes() for values in found.residents["q"].values()]
        return (
            b"".join([found.state.coefficients.tobytes(), *residents])
            + repr((found.stage, found.state.step, found.history, found.counters)).encode()
        )

    return path / "checkpoints", answer


THINGS = pytest.mark.parametrize("make", [classifier, regressor, data_set, checkpoint])


def outcome(answer):
    try:
        return answer()
    except InputError:
        return None


@THINGS
def test_flipped_bits_change_no_answer(make, tmp_path):
    folder, answer = make(tmp_path)
    before, generator = answer(), random.Random(0)
    files = sorted(path for path in folder.rglob("*") if path.suffix == ".json" or path.parent.name != ".")
    files = [path for path in files if path.is_file() and path.name not in ("metrics.jsonl", "report.html")]
    described = [path for path in files if path.suffix == ".json"]
    refused = 0
    for _ in range(FLIPS):
        file = generator.choice(described if generator.random() < 0.7 else files)
        content = bytearray(whole := file.read_bytes())
        content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
        file.write_bytes(content)
        after = outcome(answer)
        assert after in (None, before), file
        refused += after is None
        file.write_bytes(whole)
    assert refused > FLIPS // 10
    assert answer() == before


def edits(value, path=()):
    """Every key and item of some JSON with each wrong value in its place; ``...`` takes it out."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in [*inner][:20]:
        for wrong in (*WRONG, ...):
            yield (*path, key), wrong
        yield from edits(part, (*path, key))


def edited(content, path, wrong):
    copy = json.loads(json.dumps(content))
    place = copy
    for key in path[:-1]:
        place = place[key]
    if wrong is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = wrong
    return copy


@THINGS
def test_edited_keys_are_refused_or_change_nothing(make, tmp_path):
    """With a right fingerprint a value may be another one; it is still an answer or an error of ours."""
    folder, answer = make(tmp_path)
    before, generator = answer(), random.Random(0)
    for file in sorted(folder.rglob("*.json")):
        whole = file.read_text()
        content = json.loads(whole)
        described = content.get("attributes", content)
        all_edits = [*edits(content)]
        for path, wrong in generator.sample(all_edits, min(12, len(all_edits))):
            file.write_text(json.dumps(edited(content, path, wrong)))
            assert outcome(answer) in (None, before), (file, path, wrong)
        if "fingerprint" in described:
            own = {key: value for key, value in described.items() if key != "fingerprint"}
            all_edits = [*edits(own)]
            for path, wrong in generator.sample(all_edits, min(24, len(all_edits))):
                new = sealed(edited(own, path, wrong))
                file.write_text(json.dumps(new if described is content else content | {"attributes": new}))
                try:
                    outcome(answer)
                except Exception as error:
                    raise AssertionError(f"{file.name}: {path} = {wrong!r}") from error
        file.write_text(whole)


def test_a_model_without_its_arrays_is_damaged(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    CSVRGClassifier(n_landmarks=4, stages=1, lam=1.0, gamma=1.0, random_state=0).fit(X, X[:, 0] > 0).save(
        tmp_path / "m"
    )
    shutil.rmtree(tmp_path / "m" / "arrays")
    with pytest.raises(CorruptDataError, match=r"the arrays of the model are missing.*; train it again"):
        load_model(tmp_path / "m")
