"""CSV and TSV: every row is read right or refused with file, row and column."""

import csv
from functools import partial
from typing import ClassVar

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.data.formats import csv as csv_format
from distkern.data.formats._columns import choose_columns
from distkern.data.formats._rows import row_blocks
from distkern.data.formats.base import ReadOptions
from distkern.data.ingest import shard
from file_rows import read, read_with_notes, written


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


def test_quoted_labels_keep_their_text(tmp_path):
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
        ('1,"2,a', r"line 3: a quotation mark opens a field here and is not closed"),
        (
            '1,2,"a\n4,5,"b',
            r"line 3: .* the next one in line 4 does not close it, as 'b' follows; .*--no-quotes",
        ),
        (
            '1,2,"a \\"b\\" c"',
            r"line 3: .* the next one does not close it.*; give --escape .* if a backslash",
        ),
        ('"1" ,2,a', r"line 3: a quotation mark opens a field here, and the next one does not close it"),
        ('1,"2,a\n4,5"', r"row 2 \(line 3\).* 2 fields .*quotation marks hold several lines together"),
        ("1,2' 7\"\n4,5' 2\",b", r"row 2 \(line 3\): the row has 2 fields"),
        ("1,2\r3,a", r"row 2 \(line 3\): the row has 2 fields .*a carriage return alone ends a row"),
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
        (",x,y\n1,2,3\n1,3,4\n", "column 1 has no name; .*--drop 0"),
        ("x,x,y\n1,2,3\n", "two columns are named 'x'; .*--drop 1"),
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


def test_a_row_may_go_over_several_lines(tmp_path):
    text = 'x,"kind\nof row",y\r\n1,"a\n\nb",0\n\n2,"c ""d""\r\ne",1\n"3\n",plain,0\n4,"p",oops\n'
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=r"row 4 \(line 11\), column 'y': 'oops'"):
        read(path, target_kind="number", id="kind\nof row")
    (chunk,), notes = read_with_notes(path, id="kind\nof row")
    assert chunk.ids.tolist() == ["a\n\nb", 'c "d"\r\ne', "plain", "p"]
    assert chunk.lines.tolist() == [3, 7, 9, 11]
    assert chunk.features.tolist() == [[1], [2], [3], [4]]
    place = f"{path}, lines 3 to 5"
    assert notes.lines() == [
        "1 blank line is no row",
        f"3 rows span several lines, the longest 3 ({place}), within quotation marks (--no-quotes makes each "
        "line a row)",
    ]


def test_names_that_come_again_are_no_row(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_format, "row_blocks", partial(row_blocks, block_bytes=16))
    text = "x,kind,y\n1,a,no\nx,kind,y\n\n"
    text += '2,"b\nx,kind,y\n",yes\n\ufeffx,kind,y\r\nx,kind,y\n3,c,no\nx,kind,y\n'
    chunks = [*read(written(tmp_path, text), id="kind")]
    assert [label for chunk in chunks for label in chunk.targets] == ["no", "yes", "no"]
    assert [line for chunk in chunks for line in chunk.lines] == [2, 5, 10]
    data = tmp_path / "b.csv"
    data.write_text("x,y\n1,no\nx,y\n2,yes\n\n3,no\nx,y\n")
    notices = []
    assert shard(data, tmp_path / "d.zarr", notice=notices.append).classes.tolist() == ["no", "yes"]
    assert notices == ["1 blank line is no row", "the header is repeated in 2 lines of the input, left out"]
    with pytest.raises(InputError, match="line 3: the column name is repeated"):
        read(written(tmp_path, "x\na\nx\n"), target_kind="none")


@pytest.mark.parametrize(("width", "n_rows"), [(2, 2000), (400, 50)])
def test_rows_of_several_lines_are_those_of_the_csv_module(tmp_path, width, n_rows, monkeypatch):
    generator = np.random.default_rng(0)
    pieces = ['"', "\n", "\r\n", ",", "a", "text ", "\n\n"]
    rows = [
        [str(number), "".join(generator.choice(pieces, generator.integers(1, 9))), *["1"] * (width - 2), "y"]
        for number in range(n_rows)
    ]
    names = ["n", "words", *(f"x{at}" for at in range(width - 2)), "y"]
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    starts, line = [], 2
    for row in rows:
        starts.append(line)
        line += 1 + row[1].count("\n")
    for size in (100, 4096, 2**21):
        monkeypatch.setattr("distkern.data.formats.csv.row_blocks", partial(row_blocks, block_bytes=size))
        chunks = read(path, id="words")
        assert [text for chunk in chunks for text in chunk.ids.tolist()] == [row[1] for row in rows]
        assert [place for chunk in chunks for place in chunk.lines.tolist()] == starts
        assert [number for chunk in chunks for number in chunk.features[:, 0]] == list(range(n_rows))


def test_quotation_marks_that_stay_open_end_at_the_longest_line(tmp_path, monkeypatch):
    monkeypatch.setattr("distkern.data.formats._lines.LONGEST_LINE_BYTES", 10_000)
    monkeypatch.setattr("distkern.data.formats.csv.row_blocks", partial(row_blocks, block_bytes=1000))
    path = written(tmp_path, 'x,y\n1,2\n3,"4\n' + "5,6\n" * 100_000)
    with pytest.raises(InputError, match=r"line 3: a quotation mark opens a field here and is not"):
        read(path)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-8-sig", "shift_jis"])
def test_text_in_other_encodings(tmp_path, encoding, monkeypatch):
    word = "\u3042\u30bd" if encoding == "shift_jis" else "gr\u00f6\u00dfe"
    text = f"{word},y\n" + "".join(f"{row},{word}{row % 3}\n" for row in range(300))
    path = written(tmp_path, text.encode(encoding))
    for size in (7, 2**20):
        monkeypatch.setattr("distkern.data.formats.csv.row_blocks", partial(row_blocks, block_bytes=size))
        chunks = read(path, encoding=encoding)
        assert chunks[0].names == (word,)
        assert [label for chunk in chunks for label in chunk.targets] == [
            f"{word}{i % 3}" for i in range(300)
        ]
        assert [line for chunk in chunks for line in chunk.lines] == list(range(2, 302))


def test_what_is_not_in_the_encoding_is_named_with_its_line(tmp_path):
    path = written(tmp_path, "x,y\n1,a\n2,\u00e9\n".encode("latin-1"))
    for encoding, message in (
        ("ascii", "line 3: not text in ascii; give the --encoding"),
        ("utf-16", "line 1: not text in utf-16"),
        ("latin-9000", "--encoding latin-9000: unknown text encoding"),
        ("hex", "--encoding hex: unknown text encoding"),
    ):
        with pytest.raises(InputError, match=message):
            read(path, encoding=encoding)
    assert read(path, encoding="latin-1")[0].targets.tolist() == ["a", "\u00e9"]
