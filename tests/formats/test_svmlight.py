"""svmlight text: every spelling of the format is read right or refused with its line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from distkern.common.errors import InputError
from distkern.common.sparse import SparseRows
from distkern.formats._files import expand
from distkern.formats.base import CHUNK_BYTES, RawChunk, ReadOptions


def read(path: Path, **options: object) -> list[RawChunk]:
    return [chunk for file in expand([path]) for chunk in file.chunks(ReadOptions(**options))]  # type: ignore[arg-type]


def dense(chunk: RawChunk) -> Any:
    assert isinstance(chunk.features, SparseRows)
    return chunk.features.toarray()


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.svm"
    path.write_text(text)
    return path


def test_comments_queries_signs_and_blank_lines(tmp_path: Path) -> None:
    text = "# made by hand\n+1 qid:7 1:0.5 3:-2e-1 # first\n\n-1\t2:+4\r\n   -1   3:.5   \n1 1:1.\n"
    (chunk,) = read(written(tmp_path, text))
    np.testing.assert_array_equal(chunk.targets, [1, -1, -1, 1])
    np.testing.assert_array_equal(dense(chunk), [[0.5, 0, -0.2], [0, 4, 0], [0, 0, 0.5], [1, 0, 0]])
    assert chunk.lines is not None
    assert chunk.lines.tolist() == [2, 4, 5, 6]
    assert "row 3 (line 5), feature 2" in chunk.place(2, 1)


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
        ("a 2:1", "the label 'a' is not a number"),
        ("2:1 3:1", "the label is missing"),
        ("1 2:nan", "NaN"),
        ("1 2:-inf", "infinite"),
        ("1 2:1e999", "infinite"),
        ("nan 2:1", "NaN"),
        ("1 2:", "'' is not a number"),
        ("1 123456789012345:1", "feature 123456789012345"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    path = written(tmp_path, f"# comment\n1 1:1\n{line}\n1 1:2\n")
    with pytest.raises(InputError) as caught:
        read(path)
    assert message in str(caught.value)
    assert "a.svm, row 2 (line 3)" in str(caught.value)
    assert caught.value.mend


def test_a_target_cannot_be_chosen(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--target y"):
        read(written(tmp_path, "1 1:1\n"), target="y")


def test_chunks_are_bounded_however_sparse_the_rows(tmp_path: Path) -> None:
    rows = 30_000
    path = written(tmp_path, "".join(f"{i % 2} {i % 2 * 1999 + 1}:{i}\n" for i in range(rows)))
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


def test_labels_may_be_left_out_of_what_is_read(tmp_path: Path) -> None:
    (chunk,) = read(written(tmp_path, "1 1:1\n2 1:3\n"), target_kind="none")
    assert chunk.targets is None
