"""Whatever bytes a file holds: exactly the rows a slow and simple reader finds, or an InputError."""

import csv
import gzip
import io
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.data.columns._reading import parse_number
from distkern.data.formats._files import expand
from distkern.data.formats.base import Indices, ReadOptions

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

Rows = tuple[list[list[float]], list[Any]]


def number(text):
    text = text.strip(" \t")
    if not NUMBER.fullmatch(text) or not np.isfinite(float(text)):
        raise ValueError(text)
    return float(text)


def value(label):
    """A label as the number that it may be."""
    return float(label) if NUMBER.fullmatch(str(label)) else label


def svmlight_by_hand(content):
    rows, labels = [], []
    for line in content.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n"):
        tokens = line.partition("#")[0].replace("\t", " ").replace("\r", " ").split(" ")
        tokens = [token for token in tokens if token]
        if not tokens:
            continue
        labels.append(tokens[0].encode("latin-1").decode())
        if ":" in labels[-1]:
            raise ValueError(line)
        if len(tokens) > 1 and re.fullmatch(r"qid:[0-9]+", tokens[1]):
            del tokens[1]
        row = {}
        for token in tokens[1:]:
            index, colon, value = token.partition(":")
            if not colon or not re.fullmatch("[0-9]+", index) or not 0 < int(index) < 2**31:
                raise ValueError(token)
            if row and int(index) <= max(row):
                raise ValueError(token)
            row[int(index)] = number(value)
        rows.append({i - 1: value for i, value in row.items() if value})
    if all(NUMBER.fullmatch(label) for label in labels):
        return rows, [number(label) for label in labels]
    if any(parse_number(label) is not None and not NUMBER.fullmatch(label) for label in labels):
        raise ValueError("nan")
    return rows, labels


def csv_by_hand(content):
    text = io.StringIO(content.removeprefix(b"\xef\xbb\xbf").decode(), newline="")
    lines = [line for line in csv.reader(text, strict=True, skipinitialspace=True) if line]
    header = [name.strip() for name in lines[0]]
    if "" in header or {len(header) + 1} == {len(line) for line in lines[1:]}:
        # columns that are left out have tests of their own
        assume(False)
    rows, labels = [], []
    for fields in lines[1:]:
        if not any(fields):
            continue
        if len(fields) != len(header) or not fields[-1].strip():
            raise ValueError(fields)
        rows.append([number(field) for field in fields[:-1]])
        labels.append(fields[-1].strip())
    return rows, labels


def mutations(original, alphabet):
    edit = st.tuples(
        st.integers(0, len(original) - 1),
        st.sampled_from(["replace", "insert", "delete"]),
        st.one_of(st.sampled_from(list(alphabet)), st.integers(0, 255)),
    )

    def apply(edits):
        content = bytearray(original)
        for position, what, byte in edits:
            position %= max(1, len(content))
            if what == "insert":
                content.insert(position, byte)
            elif what == "replace":
                content[position : position + 1] = bytes([byte])
            else:
                del content[position : position + 1]
        return bytes(content)

    return st.lists(edit, min_size=1, max_size=4).map(apply)


def read(path, kind="label"):
    """Rows and labels; None if refused."""
    rows = []
    labels = []
    try:
        for file in expand([path]):
            for chunk in file.chunks(ReadOptions(kind, indices=Indices(False))):
                rows += listed(chunk.features)
                labels += [] if chunk.targets is None else chunk.targets.tolist()
    except InputError as error:
        message = str(error)
    else:
        return rows, labels
    assert str(path) in message
    assert "\n" not in message
    return None


def listed(rows):
    """Rows as lists, sparse ones as what is not zero by column."""
    if not isinstance(rows, SparseRows):
        return list(rows.tolist())
    each = (rows[row : row + 1] for row in range(len(rows)))
    return [dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in each]


SVMLIGHT = b"+1 1:0.5 2:-1e3 9:7 # a\n-1 qid:3 2:1\r\n\n2 1:4\t3:.5\n-1\n"
CSV = b'x,y,kind\n1,2.5,a\n-3e2,4,"b,c"\n\n5,6,a b\r\n7,8,9\n'


@FUZZ
@given(content=mutations(SVMLIGHT, b" :\n\t+-.e0123456789#\rnaif_x"))
def test_svmlight(tmp_path, content):
    path = tmp_path / "a.svm"
    path.write_bytes(content)
    found = read(path)
    if found is not None:
        rows, labels = svmlight_by_hand(content)
        assert found[0] == rows
        assert len(found[1]) == len(labels)
        # whether a number is one that is written as a word depends on the other labels of its chunk
        assert [*map(value, found[1])] == [*map(value, labels)]


@FUZZ
@given(content=mutations(CSV, b',\n"+-.e0123456789\r\tnaif_x '))
def test_csv(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    found = read(path)
    if found is not None:
        assert found == csv_by_hand(content)


def test_a_file_of_quoted_fields_alone(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'"kind"\n"a"\n"b"\n')
    message = r"a\.csv, line 1: the file has no feature columns; a file needs at least one column besides"
    with pytest.raises(InputError, match=message):
        [chunk for file in expand([path]) for chunk in file.chunks(ReadOptions("label"))]


def test_the_files_that_are_mutated_are_read_when_they_are_whole(tmp_path):
    (tmp_path / "a.svm").write_bytes(SVMLIGHT)
    (tmp_path / "a.csv").write_bytes(CSV)
    assert read(tmp_path / "a.svm") is not None
    assert read(tmp_path / "a.csv") == csv_by_hand(CSV)


def numpy_file(save, **arrays):
    stream = io.BytesIO()
    save(stream, **arrays)
    return stream.getvalue()


X = np.arange(12, dtype=np.int16).reshape(4, 3)
NPZ = numpy_file(np.savez_compressed, X=X, y=np.array([0, 1, 0, 1], dtype=np.uint8))
NPY = numpy_file(np.save, arr=X)
GZ = gzip.compress(CSV, mtime=0)


@FUZZ
@given(content=mutations(NPZ, b"\0\1\xff"))
def test_npz(tmp_path, content):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    assert read(path) in (None, (X.tolist(), [0, 1, 0, 1]))


@FUZZ
@given(content=mutations(NPY, b"\0\1 <>{}(),'0123456789"))
def test_npy(tmp_path, content):
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    found = read(path, "none")
    if found is not None:
        expected = np.load(io.BytesIO(content), allow_pickle=False)
        assert found[0] == expected.reshape(len(expected), -1).astype(float).tolist()


@FUZZ
@given(content=mutations(GZ, b"\0\1\xff"))
def test_gzip(tmp_path, content):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(content)
    assert read(path) in (None, csv_by_hand(CSV))


@pytest.mark.parametrize("name", ["a.svm", "a.csv", "a.npz"])
@FUZZ
@given(content=st.binary(max_size=200))
def test_noise(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    found = read(path)
    if found is not None and found[0]:
        assert found[0] == (svmlight_by_hand if name == "a.svm" else csv_by_hand)(content)[0]
