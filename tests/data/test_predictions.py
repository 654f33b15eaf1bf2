"""Predictions that are put in any order, by anyone, are the files that one writer makes of them in order."""

import pickle
import shutil
from contextlib import ExitStack

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from distkern.core.errors import InputError
from distkern.data.predictions import only_label, open_predictions
from small import slow_but

LABELS = ["no", "yes, twice", "é"]


def files(place):
    if place.is_file():
        return {"": place.read_bytes()}
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("ending", [".zarr", ".csv", ".npy"])
def test_of_two_who_write_to_one_place_the_second_is_refused(ending, tmp_path):
    place, values = tmp_path / f"p{ending}", np.arange(3.0)
    given = place, None, values.dtype
    with ExitStack() as stack:
        first, second = (stack.enter_context(open_predictions(*given, 3, [])) for _ in range(2))
        third = stack.enter_context(open_predictions(*given, 3, [], n_rows=3))
        third.put(0, (0, -values, np.arange(3)))
        first.put(0, (0, values, None))
        second.put(0, (0, 2 * values, None))
        first.commit()
        before = files(place)
        for late in (second.commit, third.commit):
            with pytest.raises(InputError, match=f"p{ending} already exists; choose another place"):
                late()
    assert files(place) == before
    assert [entry.name for entry in tmp_path.iterdir()] == [place.name]


@pytest.mark.parametrize("ending", slow_but([".zarr", ".csv", ".npy"], ".zarr"))
@given(
    n_rows=st.integers(1, 40),
    block_rows=st.integers(1, 17),
    kind=st.sampled_from(["labels", "one", "three"]),
    seed=st.integers(0, 99),
)
@settings(max_examples=10, deadline=None)
def test_any_order_gives_the_same_files(ending, n_rows, block_rows, kind, seed, tmp_path_factory):
    folder, generator = tmp_path_factory.mktemp("p"), np.random.default_rng(seed)
    block_rows = min(block_rows, n_rows)
    columns = ["a", "b", "c"] if kind == "three" else None
    values = generator.standard_normal((n_rows, 3))
    if kind != "three":
        values = values[:, 0]
    if kind == "labels":
        values = np.array(LABELS)[generator.integers(0, 3, n_rows)]
    keys = generator.permutation(n_rows)
    starts = list(range(0, n_rows, block_rows))
    wanted, made = folder / f"w{ending}", folder / f"m{ending}"
    id = "row" if ending == ".csv" else None
    with open_predictions(wanted, columns, values.dtype, block_rows, LABELS, id=id) as store:
        for number, start in enumerate(starts):
            part = slice(start, start + block_rows)
            store.put(number, (start, values[part], keys[part]))
        store.commit()
    with open_predictions(made, columns, values.dtype, block_rows, LABELS, n_rows=n_rows) as store:
        # one task runs twice, as that of a killed worker does
        for number in [*generator.permutation(len(starts)), 0]:
            sent, part = pickle.loads(pickle.dumps(store)), slice(starts[number], starts[number] + block_rows)
            assert sent.is_here()
            assert sent.put(number, (starts[number], values[part], keys[part])) == len(values[part])
        assert not made.exists()
        store.commit()
    if ending == ".zarr":
        group = zarr.open_group(made, mode="r")
        np.testing.assert_array_equal(group["row"][...], keys)
        assert group["row"].chunks == (block_rows,)
        shutil.rmtree(made / "row")
    assert files(made) == files(wanted)
    assert sorted(path.name for path in folder.iterdir()) == sorted([wanted.name, made.name])


def test_without_commit_nothing_is_left(tmp_path):
    for ending in (".zarr", ".csv", ".npy"):
        with open_predictions(tmp_path / f"p{ending}", None, np.dtype(float), 2, [], n_rows=3) as store:
            store.put(0, (0, np.ones(2), np.arange(2)))
        assert list(tmp_path.iterdir()) == []
    refused = pytest.raises(InputError, match=r"p.txt has the unknown ending '.txt'; end the name in")
    with refused, open_predictions(tmp_path / "p.txt", None, np.dtype(float), 2, []):
        pass


@pytest.mark.parametrize("ending", [".zarr", ".csv", ".npy"])
def test_the_only_label_of_all_rows(ending, tmp_path):
    classes = np.array(LABELS, dtype=object)
    for name, labels, only in (("one", [LABELS[1]] * 5, LABELS[1]), ("two", [*LABELS[:2] * 2, "é"], None)):
        place = tmp_path / f"{name}{ending}"
        with open_predictions(place, None, classes.dtype, 2, classes) as store:
            store.put(0, (0, np.array(labels[:2], dtype=object), None))
            store.put(1, (2, np.array(labels[2:], dtype=object), None))
            store.commit()
        assert only_label(place, classes) == only


def test_chunks_are_filled_whatever_the_blocks_are(tmp_path):
    with open_predictions(tmp_path / "p.zarr", ["a", "b"], np.dtype(float), 4, []) as store:
        # zeros are stored as well
        for number, (start, count) in enumerate([(0, 3), (3, 6), (9, 1)]):
            values = np.arange(start, start + count)
            store.put(number, (start, np.stack([0 * values, 2.0 * values], axis=1), None))
        store.commit()
    group = zarr.open_group(tmp_path / "p.zarr", mode="r")
    array = group["predictions"]
    assert array.shape == (10, 2)
    assert array.chunks == (4, 2)
    assert array[:, 1].tolist() == [2.0 * row for row in range(10)]
    with (
        pytest.raises(InputError, match="already exists"),
        open_predictions(tmp_path / "p.zarr", None, np.dtype(int), 1, []),
    ):
        pass
