"""Rows of CSV files are exactly those of Python's strict csv module, wherever blocks are cut."""

import csv
import io
import random
from functools import partial

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.data.formats import csv as csv_format
from distkern.data.formats._files import expand
from distkern.data.formats._lines import Ahead
from distkern.data.formats._rows import Dialect, row_blocks
from distkern.data.formats.base import ReadOptions
from file_rows import read_with_notes, written


def found(content, dialect, size=2**20):
    """Fields of all rows, and the lines on which they begin and end; None if they are refused."""
    rows, lines = [], []
    try:
        for block in row_blocks(Ahead(io.BytesIO(content)), "a.csv", dialect, size):
            for text, first, last in zip(block.contents(), block.lines, block.last_lines, strict=True):
                row = next(csv.reader([text.decode()], skipinitialspace=True, **dialect.of_csv), [])
                if row:
                    rows.append(row)
                    lines.append((int(first), int(last)))
    except InputError:
        return None
    return rows, lines


def by_hand(content, dialect):
    """What the csv module finds; None if it refuses the rows."""
    text = io.StringIO(content.decode(), newline="")
    try:
        return [row for row in csv.reader(text, skipinitialspace=True, **dialect.of_csv) if row]
    except csv.Error:
        return None


def test_rows_are_those_of_the_csv_module_however_blocks_are_cut():
    generator, n_refused = random.Random(0), 0
    for _ in range(400):
        delimiter, escape = generator.choice(",;\t"), generator.choice([None, None, "\\"])
        dialect = Dialect(delimiter, generator.random() < 0.9, escape)
        pieces = ['"', '"', '""', '"a"', f'{delimiter}"', f'"{delimiter}', '"\n', "a", "\u00e9", " ", "  "]
        pieces += [delimiter, delimiter, "\n", "\n", "\r\n", "\r", "\r\r\n", "\\"]
        content = ("".join(generator.choices(pieces, k=generator.randint(0, 14))) + "z\n").encode()
        expected = by_hand(content, dialect)
        n_refused += expected is None
        whole = found(content, dialect)
        assert (None if whole is None else whole[0]) == expected, (content, dialect)
        for size in (1, 3):
            assert found(content, dialect, size) == whole, (content, dialect, size)
    assert 80 < n_refused < 320


def test_files_are_those_of_the_csv_module(tmp_path, monkeypatch):
    generator, path, n_read = random.Random(1), tmp_path / "a.csv", 0
    for _ in range(60):
        delimiter, escape = generator.choice(",;\t"), generator.choice([None, "\\"])
        pieces = ['"', "a", "b ", delimiter, "\n", "\r\n", "\r", "x", "\u00e9", " "]

        def field(escape=escape, pieces=pieces):
            text = "".join(generator.choices(pieces, k=generator.randint(0, 4)))
            if generator.random() < 0.1:
                return text
            if escape:
                return '"' + text.replace('"', '\\"') + '"'
            return generator.choice(["", " "]) + '"' + text.replace('"', '""') + '"'

        rows = [[field(), str(at), generator.choice("uv")] for at in range(generator.randint(2, 6))]
        end = generator.choice(["\n", "\r\n", "\r", "\r\r\n"])
        text = "".join(delimiter.join(row) + end for row in [["words", "n", "y"], *rows])
        path.write_bytes(text.encode())
        dialect = Dialect(delimiter, escape=escape)
        expected = by_hand(text.encode(), dialect)
        if expected is None or {len(row) for row in expected} != {3}:
            expected = None
        n_read += expected is not None
        for size in (7, 2**20):
            monkeypatch.setattr(csv_format, "row_blocks", partial(row_blocks, block_bytes=size))
            options = ReadOptions(id="words", delimiter=delimiter, escape=escape)
            try:
                chunks = [chunk for file in expand([path]) for chunk in file.chunks(options)]
                pairs = [pair for one in chunks for pair in zip(one.ids, one.targets, strict=True)]
                read = [[word.lstrip(" "), label] for word, label in pairs]
            except InputError:
                read = None
            wanted = None if expected is None else [[row[0].lstrip(" "), row[2]] for row in expected[1:]]
            assert read == wanted, (text, dialect, size)
    assert n_read > 20


def read(tmp_path, text, **options):
    return read_with_notes(written(tmp_path, text), **options)


def test_two_marks_that_are_not_closed_lose_no_row(tmp_path):
    rows = [f"part {at},{at},{at % 2}\n" for at in range(300)]
    rows[10], rows[200] = '"Rome open,10,0\n', '"Umberto,200,0\n'
    text = "title,w,y\n" + "".join(rows)
    with pytest.raises(InputError, match=r"a\.csv, line 12: .* the next one in line 202 does not close it"):
        read(tmp_path, text, id="title")
    (chunk,), notes = read(tmp_path, text, id="title", no_quotes=True)
    assert chunk.n_rows == 300
    assert chunk.ids[10] == '"Rome open'
    assert notes.lines() == []
    # the second mark closes the field: the rows between are one, which is reported
    rows[200] = 'Umberto",200,0\n'
    (chunk,), notes = read(tmp_path, "title,w,y\n" + "".join(rows), id="title")
    assert chunk.n_rows == 110
    assert "1 row spans 191 lines (" in notes.lines()[0]
    assert "lines 12 to 202), within quotation marks (--no-quotes" in notes.lines()[0]


def test_marks_inside_fields_are_characters(tmp_path):
    text = 'size,w,y\n3.5" disk,1,a\n6" x 4",2,b\n 20" screen,3,"c ""d"""\n'
    (chunk,), _ = read(tmp_path, text, id="size")
    assert chunk.ids.tolist() == ['3.5" disk', '6" x 4"', ' 20" screen']
    assert chunk.targets.tolist() == ["a", "b", 'c "d"']


def test_blanks_before_a_mark_are_skipped(tmp_path):
    text = '"item", "w",  "y"\n"a", 1, "no"\n"b, c", "2",     "yes, ""x"""\n' + " " * 90 + '"d", 3, "no"\n'
    (chunk,), _ = read(tmp_path, text, id="item")
    assert chunk.names == ("w",)
    assert chunk.ids.tolist() == ["a", "b, c", "d"]
    assert chunk.targets.tolist() == ["no", 'yes, "x"', "no"]


@pytest.mark.parametrize("size", [5, 2**20])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
def test_runs_of_blanks_separate_fields(tmp_path, end, size, monkeypatch):
    monkeypatch.setattr(csv_format, "row_blocks", partial(row_blocks, block_bytes=size))
    lines = [
        "  mpg   weight\tcar  ",
        '18.0\t 3504. "chevrolet  chevelle"  ',
        "",
        ' 15 1e3\t\t"a\tb"',
        "7 8 c",
    ]
    chunks, notes = read(tmp_path, end.join(lines) + end, delimiter="whitespace")
    assert chunks[0].names == ("mpg", "weight")
    rows = np.concatenate([chunk.features for chunk in chunks])
    assert rows.tolist() == [[18, 3504], [15, 1000], [7, 8]]
    assert [label for one in chunks for label in one.targets] == ["chevrolet  chevelle", "a\tb", "c"]
    assert [line for one in chunks for line in one.lines] == [2, 4, 5]
    assert notes.blank_lines == 1


@pytest.mark.parametrize("size", [5, 2**20])
def test_comments_are_left_out(tmp_path, size, monkeypatch):
    monkeypatch.setattr(csv_format, "row_blocks", partial(row_blocks, block_bytes=size))
    text = '# made "by\n#x,y\nx,kind,y\n1,"a\n# no comment",p\n  # don\'t, "\n\n2,#b,q\n#'
    chunks, notes = read(tmp_path, text, comment="#", id="kind")
    assert [word for one in chunks for word in one.ids] == ["a\n# no comment", "#b"]
    assert [line for one in chunks for line in one.lines] == [4, 8]
    assert "4 comment lines are left out" in notes.lines()


def test_escaped_characters_mean_nothing(tmp_path):
    text = 'a,n,b\n1\\,5,0,"say \\"hi\\", \\\\"\nx\\\ny,1,z\n'
    (chunk,), notes = read(tmp_path, text, escape="\\", id="a")
    assert chunk.ids.tolist() == ["1,5", "x\ny"]
    assert chunk.targets.tolist() == ['say "hi", \\', "z"]
    assert notes.long_rows == 1


def test_carriage_returns(tmp_path):
    text = 'n,words,y\r1,"a\rb",u\r2,"c\r\nd",v\r'
    (chunk,), _ = read(tmp_path, text, id="words")
    assert chunk.ids.tolist() == ["a\rb", "c\r\nd"]
    assert chunk.lines.tolist() == [2, 3]
    (chunk,), notes = read(tmp_path, "x,y\r\r\n1,u\r\r\n2,v\r\r\n")
    assert chunk.features.tolist() == [[1], [2]]
    assert notes.lines() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": "\u00a6"}, "--delimiter must be one ASCII character .*got '\u00a6'"),
        ({"delimiter": '"'}, "--delimiter must be"),
        ({"escape": "ab"}, "--escape must be one ASCII character .*got 'ab'"),
        ({"delimiter": "|", "escape": "|"}, "without another use in the file"),
        ({"comment": " "}, "--comment: "),
        ({"decimal": ";"}, "--decimal must be '.' or ',', got ';'"),
    ],
)
def test_marks_that_are_none(options, message):
    with pytest.raises(InputError, match=message):
        ReadOptions(**options)
