"""svmlight text: every spelling of the format is read right or refused with its line."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows, converted
from distkern.data.formats import svmlight
from distkern.data.formats._files import expand
from distkern.data.formats.base import CHUNK_BYTES, Indices, ReadOptions
from distkern.data.ingest import shard
from distkern.estimators.newton import NewtonClassifier
from distkern.runs.algorithms import load_model
from distkern.runs.scoring import files_for
from file_rows import read, written

svm_file = partial(written, name="a.svm")


def dense(chunk):
    assert isinstance(chunk.features, SparseRows)
    return chunk.features.toarray()


def test_comments_queries_signs_and_blank_lines(tmp_path):
    text = "# made by hand\n+1 qid:7 1:0.5 3:-2e-1 # first\n\n-1\t2:+4\r\n   -1   3:.5   \n1 1:1.\n"
    (chunk,) = read(svm_file(tmp_path, text))
    np.testing.assert_array_equal(chunk.targets, [1, -1, -1, 1])
    np.testing.assert_array_equal(dense(chunk), [[0.5, 0, -0.2], [0, 4, 0], [0, 0, 0.5], [1, 0, 0]])
    assert chunk.lines.tolist() == [2, 4, 5, 6]
    assert "row 3 (line 5), feature 2" in chunk.place(2, 1)


def test_words_as_labels(tmp_path, monkeypatch):
    lines = [f"{('spam', 'häm', '1')[row % 3]} {row % 4 + 1}:{row}.5 7:2" for row in range(300)]
    (fast,) = read(svm_file(tmp_path, "\n".join([*lines, "spam 7:2", ""])))
    assert fast.targets.tolist() == [line.split()[0] for line in lines] + ["spam"]
    assert dense(fast)[5].tolist() == [0, 5.5, 0, 0, 0, 0, 2]
    monkeypatch.setattr(svmlight, "_parse_fast", lambda *_: None)
    (slow,) = read(svm_file(tmp_path, "\n".join([*lines, "spam 7:2", ""])))
    np.testing.assert_array_equal(dense(slow), dense(fast))
    assert slow.targets.tolist() == fast.targets.tolist()
    with pytest.raises(InputError, match=r"row 1 \(line 1\): the label 'spam' is not a number; .*--task"):
        read(svm_file(tmp_path, lines[0]), target_kind="number")


def test_labels_are_integers_or_words_that_stay_as_written(tmp_path, monkeypatch):
    large = 2**53 + 1
    for fast in (True, False):
        if not fast:
            monkeypatch.setattr(svmlight, "_parse_fast", lambda *_: None)
        (chunk,) = read(svm_file(tmp_path, f"{large} 1:2\n-{large} 1:3\n+1 1:2\n"))
        assert chunk.targets.tolist() == [str(large), f"-{large}", "1"]
        (chunk,) = read(svm_file(tmp_path, "01 1:2\n1.0 1:3\n+01 1:3\n"))
        assert chunk.targets.tolist() == ["01", "1.0", "01"]
        (chunk,) = read(svm_file(tmp_path, "+1 1:2\n-10 1:3\n0 1:4\n"))
        assert [int(label) for label in chunk.targets] == [1, -10, 0]


@pytest.mark.parametrize("label", ["1,3", "a,b", ",1"])
def test_lists_of_labels_are_refused(tmp_path, label):
    path = svm_file(tmp_path, f"1 1:2\n\n{label} 1:3\n")
    with pytest.raises(InputError, match=rf"row 2 \(line 3\): the row has a list of labels, '{label}'"):
        read(path)
    (chunk,) = read(path, target_kind="none")
    assert chunk.targets is None


def test_indices_from_0(tmp_path):
    first, second = tmp_path / "a.svm", tmp_path / "b.svm"
    first.write_text("1 2:5 # 0:1\n0 0:3 1:4\n")
    second.write_text("1 1:7\n")
    options = ReadOptions()
    chunks = [chunk for file in expand([first, second]) for chunk in file.chunks(options)]
    assert [dense(chunk).tolist() for chunk in chunks] == [[[0, 0, 5], [3, 4, 0]], [[0, 7]]]
    with pytest.raises(InputError, match=r"row 1 .*the index 0, .*; give --zero-based"):
        read(svm_file(tmp_path, "1 0:5\n"), indices=Indices(False))
    (chunk,) = read(second, indices=Indices(True))
    assert dense(chunk).tolist() == [[0, 7]]


def test_a_model_remembers_where_indices_start(tmp_path):
    lines = [f"{row % 2} 0:{row % 2 + row / 100} 1:1" for row in range(40)]
    svm_file(tmp_path, "\n".join([*lines, ""]))
    data = shard(tmp_path / "a.svm", tmp_path / "d.zarr", scale="none")
    assert data.n_features == 2
    model = NewtonClassifier(features="linear", random_state=0).fit(data.train)
    model.save(tmp_path / "m")
    (tmp_path / "b.svm").write_text("1 1:1\n")
    (block,) = files_for(load_model(tmp_path / "m").model_, [tmp_path / "b.svm"])
    later = shard(
        tmp_path / "b.svm", tmp_path / "e.zarr", like=model.model_.columns.like(model.task, model.classes_)
    )
    assert converted(later.train.reader(0)().features, sparse=False).tolist() == [[0, 1]]
    assert later.options["zero_based"]
    assert converted(block.features, sparse=False).tolist() == [[0, 1]]
    (block,) = files_for(model.model_, [tmp_path / "b.svm"], zero_based=False)
    assert converted(block.features, sparse=False).tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 0:2", "the index 0"),
        ("1 3:1 2:1", "the index 2 after 3"),
        ("1 2:1 2:1", "the index 2 twice"),
        ("1 2:1 3", "'3' is not of the form index:value"),
        ("1 2:1:3", "'1:3' is not a number"),
        ("1 2:x", "'x' is not a number"),
        ("1 2 :1", "'2' is not of the form index:value"),
        ("1 1.0:1", "not of the form index:value"),
        ("1 -1:1", "not of the form index:value"),
        ("1 2:1_0", "'1_0' is not a number"),
        ("1 2:0x1F", "'0x1F' is not a number"),
        ("2:1 3:1", "the label is missing"),
        ("1 2:nan", "NaN"),
        ("1 2:-inf", "infinite"),
        ("1 2:1e999", "infinite"),
        ("nan 2:1", "NaN"),
        ("1 2:", "'' is not a number"),
        ("1 123456789012345:1", "feature 123456789012345"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, line, message):
    path = svm_file(tmp_path, f"# comment\n1 1:1\n{line}\n1 1:2\n")
    with pytest.raises(InputError) as caught:
        read(path, indices=Indices(False))
    assert message in str(caught.value)
    assert "a.svm, row 2 (line 3)" in str(caught.value)
    assert caught.value.hint


def test_chunks_are_bounded_however_sparse_the_rows(tmp_path):
    rows = 30_000
    path = svm_file(tmp_path, "".join(f"{i % 2} {i % 2 * 1999 + 1}:{i}\n" for i in range(rows)))
    n_rows = 0
    for chunk in (chunk for file in expand([path]) for chunk in file.chunks(ReadOptions())):
        assert chunk.features.nbytes <= CHUNK_BYTES
        assert chunk.first_row == n_rows + 1
        for row in (0, chunk.n_rows - 1):
            number = n_rows + row
            (values,) = dense(replace(chunk, features=chunk.features[row : row + 1]))
            assert values.sum() == number == values[number % 2 * 1999]
        n_rows += chunk.n_rows
    assert n_rows == rows
