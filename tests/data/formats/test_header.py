"""How CSV files begin, and columns that are left out for their names."""

import pytest

from distkern.core.errors import InputError
from file_rows import read_with_notes, written

ROWS = "x,c,y\n" + "".join(f"{at}.5,{at % 3},{'uv'[at % 2]}\n" for at in range(8))


def read(tmp_path, text, **options):
    (chunk,), notes = read_with_notes(written(tmp_path, text), **options)
    return chunk, notes.lines()


def columns(text, *changes):
    """A table with what each function makes of the number and the text of its lines."""
    lines = text.splitlines()
    for change in changes:
        lines = [change(at, line) for at, line in enumerate(lines)]
    return "\n".join(lines) + "\n"


NUMBERED = columns(ROWS, lambda at, line: f"{7 * at % 8 if at else ''},{line}")
#: as pandas writes what it has read of a file with an index
WRITTEN = columns(ROWS, lambda at, line: f"{7 * at % 8 if at else 'Unnamed: 0'},{line}")
SHORT = columns(ROWS, lambda at, line: f"r{at},{line}" if at else line)
TRAILING = columns(ROWS, lambda at, line: f"{line},,")
TRAILED = columns(ROWS, lambda at, line: f"{line}," if at else line)
DOUBLED = columns(ROWS, lambda at, line: ",".join([line.split(",")[0], line]))


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (NUMBERED, "column 1 numbers or names the rows and is left out: it has no name"),
        (WRITTEN, "column 1, 'Unnamed: 0', numbers the rows and is left out"),
        (SHORT, "column 1 numbers or names the rows and is left out: rows have a field more than the he"),
        (TRAILING, "columns 4, 5 have neither name nor values and are left out"),
        (TRAILED, "column 4 has neither name nor values and is left out"),
        (DOUBLED, "column 2 repeats name and values of column 1, 'x', and is left out"),
    ],
)
@pytest.mark.parametrize("target", [None, "y"])
def test_columns_without_information_are_left_out(tmp_path, text, note, target):
    chunk, notes = read(tmp_path, text, target=target)
    assert chunk.names == ("x", "c")
    assert chunk.target_name == "y"
    assert chunk.features[1].tolist() == [1.5, 1]
    assert notes[0].startswith(note)
    assert len(notes) == 1
    # a model knows which columns it wants
    chunk, notes = read(
        tmp_path, text, target_kind="none", features=("c", "x"), ignored=("y",), unknown=set()
    )
    assert chunk.features[1].tolist() == [1, 1.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            columns(ROWS, lambda at, line: f"{at // 2 if at else ''},{line}"),
            "column 1 has no name; .*--drop 0",
        ),
        (columns(ROWS, lambda at, line: f"{at / 2 if at else ''},{line}"), "column 1 has no name"),
        (columns(ROWS, lambda at, line: line.replace("c", "")), "column 2 has no name; .*--drop 1"),
        (columns(ROWS, lambda at, line: line.replace("c", "x")), "two columns are named 'x'; .*--drop 1"),
        (
            columns(ROWS, lambda at, line: f"1,{line}" if at else line),
            "the header has 3 names and every row 4",
        ),
    ],
)
def test_columns_that_may_hold_information_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_they_can_be_left_out_by_position(tmp_path):
    text = columns(ROWS, lambda at, line: line.replace("c", "x"))
    assert read(tmp_path, text, drop=("1",))[0].features[1].tolist() == [1.5]
    assert read(tmp_path, text, drop=("0",))[0].features[1].tolist() == [1]
    assert read(tmp_path, TRAILING, drop=("3", "-1"), target="y")[1] == []
    assert read(tmp_path, NUMBERED, drop=("0",))[1] == []
    assert read(tmp_path, NUMBERED, id="0")[0].ids.tolist() == [str(7 * at % 8) for at in range(1, 9)]


def test_a_value_that_comes_late_in_such_a_column_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("distkern.data.formats.csv._FIRST_ROWS", 4)
    with pytest.raises(InputError, match=r"row 9 \(line 10\): column 5 has no name, and the value 'late'"):
        read(tmp_path, TRAILING + "1,2,u,,late\n", target="y")
    with pytest.raises(
        InputError, match=r"row 9 \(line 10\): columns 1 and 2 are both named 'x', and differ"
    ):
        read(tmp_path, DOUBLED + "1,2,2,u\n", target="y")
    # a model knows which columns it wants
    known = {"target_kind": "none", "features": ("x", "c"), "ignored": ("y",), "unknown": set()}
    assert read(tmp_path, TRAILING + "1,2,u,,late\n", **known)[0].n_rows == 9


def test_lines_before_the_header(tmp_path):
    before = 'Station "A report\nmade, 2024\n\n'
    chunk, _ = read(tmp_path, before + ROWS, skip_lines=3)
    assert chunk.names == ("x", "c")
    assert chunk.lines[0] == 5
    with pytest.raises(InputError, match="the file has no rows"):
        read(tmp_path, ROWS, skip_lines=100)
    for text, hint in (
        ("Report,Q1,-\n" + ROWS, "give --skip-lines 1 if line 2 is the header"),
        ("Station report\nmade 2024\n\n" + ROWS, "give --skip-lines 3 if line 4 is the header"),
        ("# made by X\n# see https://x.org, 2024\n" + ROWS, "give --comment '#' if lines that begin with it"),
        ("#x #c\n" + ROWS, "give --comment '#'"),
    ):
        with pytest.raises(InputError, match=hint):
            read(tmp_path, text, target="y")
    for target in ("y", None):
        with pytest.raises(InputError, match="give --delimiter whitespace"):
            read(tmp_path, ROWS.replace(",", "   "), target=target)


def test_a_first_line_that_names_the_delimiter(tmp_path):
    for first in ("sep=;\n", '"sep=;"\r\n', "SEP=;\r\n"):
        chunk, _ = read(tmp_path, first + ROWS.replace(",", ";"))
        assert chunk.names == ("x", "c")
        assert chunk.lines[0] == 3
    assert read(tmp_path, "sep=|\n" + ROWS, delimiter=",")[0].names == ("x", "c")


def test_marks_inside_fields_do_not_hide_the_delimiter(tmp_path):
    text = 'size;"a,b";y\n3" x, y;1;u\n' + '4", z;2;v\n' * 5
    chunk, _ = read(tmp_path, text, drop=("size",))
    assert chunk.names == ("a,b",)


def test_rows_of_delimiters_alone_are_left_out_where_the_target_is_read(tmp_path):
    chunk, notices = read(tmp_path, ROWS + ",,\n,,\r\n")
    assert chunk.n_rows == 8
    assert notices == ["2 rows without any value are left out"]
    with pytest.raises(InputError, match=r"row 9 \(line 10\), column 'x': the value is missing"):
        read(tmp_path, ROWS + ",,\n", target_kind="none", features=("x", "c"), ignored=("y",), unknown=set())
