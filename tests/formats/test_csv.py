"""CSV and TSV: every row is read right or refused with file, row and column."""

from typing import ClassVar

import numpy as np
import pytest

from distkern.common.errors import InputError
from distkern.formats._columns import choose_columns
from distkern.formats._files import expand
from distkern.formats.base import ReadOptions


def read(path, **options):
    return [chunk for file in expand([path]) for chunk in file.chunks(ReadOptions(**options))]


def written(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_the_last_column_is_the_target(tmp_path):
    (chunk,) = read(written(tmp_path, "age, size ,kind\n1,2.5,a\n\n+3,-4e1, b \n"))
    assert chunk.names == ("age", "size")
    np.testing.assert_array_equal(chunk.features, [[1, 2.5], [3, -40]])
    assert chunk.targets.tolist() == ["a", "b"]
    assert "row 2 (line 4), column 'size'" in chunk.place(1, 1)


@pytest.mark.parametrize("target", ["kind", "0", "-3"])
def test_the_target_by_name_or_position(tmp_path, target):
    (chunk,) = read(written(tmp_path, "kind,x,y\n7,1,2\n8,3,4\n"), target=target)
    assert chunk.names == ("x", "y")
    assert chunk.targets.tolist() == ["7", "8"]


def test_numbers_as_target(tmp_path):
    (chunk,) = read(written(tmp_path, "x,y\n1,0.5\n2,3\n"), target_kind="number")
    np.testing.assert_array_equal(chunk.targets, [0.5, 3])
    with pytest.raises(InputError, match=r"row 2 \(line 3\), column 'y': 'high' is not a number"):
        read(written(tmp_path, "x,y\n1,0.5\n2,high\n"), target_kind="number")


def test_without_a_target_every_column_is_a_feature_but_the_one_named(tmp_path):
    path = written(tmp_path, "x,y,label\n1,2,3\n")
    (chunk,) = read(path, target_kind="none")
    assert chunk.names == ("x", "y", "label")
    assert chunk.targets is None
    (chunk,) = read(path, target_kind="none", target="label")
    assert chunk.names == ("x", "y")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "x\ty\tkind\n1\t2\ta\n"),
        ("a.csv", "x;y;kind\n1;2;a\n"),
        ("a.csv", "\ufeffx,y,kind\r\n1,2,a\r\n"),
        ("a.csv", '"x","y","kind"\n"1","2","a"\n'),
        ("a.csv", "\n\nx,y,kind\n1,2,a"),
    ],
)
def test_dialects(tmp_path, name, text):
    (chunk,) = read(written(tmp_path, text, name))
    assert chunk.names == ("x", "y")
    np.testing.assert_array_equal(chunk.features, [[1, 2]])
    assert chunk.targets.tolist() == ["a"]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_comma_in_a_quoted_name_separates_nothing(tmp_path, delimiter):
    lines = [delimiter.join(fields) for fields in (('"x,""1"""', "y", "kind"), "12a")]
    (chunk,) = read(written(tmp_path, "\n".join(lines)))
    assert chunk.names == ('x,"1"', "y")
    np.testing.assert_array_equal(chunk.features, [[1, 2]])


def test_quoted_labels_keep_what_they_say(tmp_path):
    (chunk,) = read(written(tmp_path, 'x,kind\n1,"a,b"\n2,"say ""hi"""\n'))
    assert chunk.targets.tolist() == ["a,b", 'say "hi"']


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,2", r"row 2 \(line 3\): the row has 2 fields and the header 3"),
        ("1,2,a,", "the row has 4 fields and the header 3"),
        ("1,,a", r"row 2 \(line 3\), column 'y': the value is missing \(empty field\)"),
        ("1,2,", "column 'kind': the target is missing"),
        ("1,red,a", r"column 'y': 'red' is not a number; .*--target"),
        ("1,NA,a", "column 'y': 'NA' is not a number"),
        ("1,1_000,a", "column 'y': '1_000' is not a number"),
        ("1,0x10,a", "column 'y': '0x10' is not a number"),
        ("1,nan,a", r"row 2 \(line 3\), column 'y': the value is NaN"),
        ("-inf,2,a", r"row 2 \(line 3\), column 'x': the value is infinite"),
        ("1,1e999,a", "column 'y': the value is infinite"),
        ('1,"2,a', r"line 3: a quotation mark is not closed"),
        ("1,2\r3,a", "line 3: a carriage return"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, row, message):
    path = written(tmp_path, f"x,y,kind\n1,2,a\n{row}\n3,4,b\n")
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert "a.csv" in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",x,y\n1,2,3\n", "column 1 has no name"),
        ("x,x,y\n1,2,3\n", "two columns are named 'x'"),
        ("y\n1\n", "no feature columns"),
        ("5.1,3.5,setosa\n4.9,3.0,virginica\n", "may be a row"),
        (b"x,y\n1,\xff\n", "not UTF-8"),
        (b"x,y\n1,a\0\n", "zero bytes"),
    ],
)
def test_files_that_are_no_tables(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(written(tmp_path, text))


def test_the_nearest_name_is_offered_for_a_target_that_is_not_there(tmp_path):
    path = written(tmp_path, "size,cover_type\n1,2\n")
    with pytest.raises(InputError, match=r"no column 'cover' .*did you mean 'cover_type'"):
        read(path, target="cover")
    with pytest.raises(InputError, match="columns count from 0 to 1"):
        read(path, target="2")


def test_a_first_line_of_numbers(tmp_path):
    path = written(tmp_path, "5,6,a\n7,8,b\n")
    (chunk,) = read(path, header=False)
    np.testing.assert_array_equal(chunk.features, [[5, 6], [7, 8]])
    assert chunk.place(0, 1).endswith("row 1 (line 1), column '1'")
    (chunk,) = read(path, header=True)
    assert chunk.names == ("5", "6")
    # the names that libraries give to columns without names
    (chunk,) = read(written(tmp_path, "0,1,2,target\n5,6,7,1\n"))
    assert chunk.names == ("0", "1", "2")
    assert chunk.n_rows == 1


def test_line_numbers_over_many_blocks(tmp_path):
    rows = 200_000
    good = "".join(f"{i}.25,{i % 7},{'ab'[i % 2]}\n" for i in range(rows))
    chunks = read(written(tmp_path, "x,y,kind\n" + good))
    assert len(chunks) > 1
    features = np.concatenate([chunk.features for chunk in chunks])
    np.testing.assert_array_equal(features[:, 0], np.arange(rows) + 0.25)
    np.testing.assert_array_equal(features[:, 1], np.arange(rows) % 7)
    assert [chunk.first_row for chunk in chunks] == [
        1 + int(n) for n in np.cumsum([0, *(chunk.n_rows for chunk in chunks[:-1])])
    ]
    with pytest.raises(InputError, match=r"row 200001 \(line 200002\), column 'x'"):
        read(written(tmp_path, "x,y,kind\n" + good + "oops,1,a\n"))


class Name(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared: ClassVar[int] = 0

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_names_of_many_columns_are_each_compared_a_few_times():
    names, wanted = ([Name(f"column {number}") for number in range(2000)] for _ in range(2))
    options = ReadOptions("none", features=tuple(wanted[:-1]), id="column 3", may_lack=True, unknown=set())
    columns = choose_columns(names, where="a.csv", options=options)
    assert columns.features == tuple(range(1999))
    assert options.unknown == {names[-1]}
    assert Name.compared < 20 * len(names)
