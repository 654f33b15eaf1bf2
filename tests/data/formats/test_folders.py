"""Folders of files: which are meant, and columns whose values are in the names of folders."""

import os

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from distkern.core.errors import InputError
from distkern.data.formats._files import expand
from distkern.data.formats._kinds import TableKinds
from distkern.data.formats._notes import FileNotes
from distkern.data.formats.base import ReadOptions, rows_of
from distkern.data.options import ShardOptions


def laid_out(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"x,y\n{len(name)},u\n")


def names(folder, *sources):
    return [os.path.relpath(file.url, folder) for file in expand(map(str, sources))]


def test_folders_are_read_to_the_bottom(tmp_path):
    laid_out(
        tmp_path, "b/2.csv", "a/z/1.csv", "a/10.csv", "c.csv", "a-b/1.csv", "_t/1.csv", ".g/1.csv", "_m.csv"
    )
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "b" / "notes.txt").touch()
    (tmp_path / "a" / "z" / "up").symlink_to(tmp_path)
    visible = ["a/10.csv", "a/z/1.csv", "a-b/1.csv", "b/2.csv", "c.csv"]
    assert names(tmp_path, tmp_path) == visible
    # what a wildcard matches, and not what the pattern names itself
    (tmp_path / "a" / "z" / "up").unlink()
    assert sorted(names(tmp_path, tmp_path / "**" / "*.csv")) == sorted(visible)
    assert names(tmp_path, tmp_path / "_t" / "*.csv") == ["_t/1.csv"]
    assert names(tmp_path, tmp_path / "_m.csv") == ["_m.csv"]
    with pytest.raises(InputError, match="begin with _ or"):
        expand([str(tmp_path / "*m.csv")])
    memory = fsspec.filesystem("memory")
    memory.pipe({f"/deep/{name}": b"x,y\n1,u\n" for name in ("a/b.csv", "_c/d.csv", "e.csv", "a/_f.csv")})
    try:
        assert [file.url for file in expand(["memory://deep"])] == [
            "memory:///deep/a/b.csv",
            "memory:///deep/e.csv",
        ]
    finally:
        memory.rm("/deep", recursive=True)


def values(source, **options):
    """Texts of an id and columns of all rows, in the order of the files, and the notes."""
    notes, kinds = FileNotes(), ShardOptions().kinds()
    how = ReadOptions(notes=notes, kinds=kinds, **options)
    chunks = [*rows_of(expand([str(source)]), how)]
    return np.concatenate([chunk.features for chunk in chunks]), chunks, kinds, notes.lines()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_values_in_the_names_of_folders_are_a_column(tmp_path, kind):
    rows = [
        ("red", "2020", 1.0),
        ("red", "2021", 2.0),
        ("__HIVE_DEFAULT_PARTITION__", "2020", 3.0),
        ("a%2Fb", "07", 4.0),
    ]
    for colour, year, x in rows:
        folder = tmp_path / "hive" / f"colour={colour}" / f"year={year}"
        folder.mkdir(parents=True)
        if kind == "csv":
            (folder / "part.csv").write_text(f"x,y\n{x},u\n{x},v\n")
        else:
            parquet.write_table(pa.table({"x": [x, x], "y": ["u", "v"]}), folder / "part.parquet")
    found, chunks, kinds, notices = values(tmp_path / "hive", target="y")
    assert chunks[0].names == ("x", "colour", "year")
    assert {name: kind.kind for name, kind in kinds.kinds.items()} == {
        "x": "number",
        "colour": "category",
        "year": "number",
    }
    by_x = {row[0]: row[1:].tolist() for row in found}
    code = kinds.reading("colour").levels
    assert by_x[1] == [code["red"], 2020]
    assert by_x[4] == [code["a/b"], 7]
    assert np.isnan(by_x[3][0])
    assert notices == ["columns 'colour', 'year' come from the names of folders"]
    # as a target, an id, dropped; the last column is still one of the file's own
    _, chunks, _, _ = values(tmp_path / "hive" / "colour=red", target="year", id="colour", drop=("y",))
    assert [label for one in chunks for label in one.targets] == (
        [2020, 2020, 2021, 2021] if kind == "parquet" else ["2020", "2020", "2021", "2021"]
    )
    assert {word for one in chunks for word in one.ids} == {"red"}
    _, chunks, _, _ = values(tmp_path / "hive" / "colour=red", weight="year", group="colour", target="y")
    assert [weight for one in chunks for weight in one.weights] == [2020, 2020, 2021, 2021]
    assert len({key for one in chunks for key in one.group_keys}) == 1
    _, chunks, _, _ = values(tmp_path / "hive" / "colour=red" / "*" / f"part*.{kind}", drop=("colour",))
    assert chunks[0].names == ("x", "year")
    assert chunks[0].target_name == "y"
    # without a header too
    if kind == "csv":
        found, chunks, _, _ = values(tmp_path / "hive" / "colour=red", header=False, target="0", drop=("1",))
        assert found[:, -1].tolist() == [2020] * 3 + [2021] * 3
        # a model of such files reads the folders that it knows, and no others
        (file, *_) = expand([str(tmp_path / "hive" / "colour=red")])
        for order, width in ((("0", "1", "year"), 3), (("0", "1"), 2)):
            like = TableKinds(dict.fromkeys(order, "category"), order=order, is_named=False, fixed=True)
            how = ReadOptions("none", header=False, kinds=like, unknown=set())
            assert next(file.chunks(how)).features.shape == (3, width)


def test_a_column_of_the_file_is_not_replaced(tmp_path):
    (tmp_path / "c=1").mkdir()
    (tmp_path / "c=1" / "a.csv").write_text("c,y\n5,u\n6,v\n")
    found, chunks, _, notices = values(tmp_path)
    assert chunks[0].names == ("c",)
    assert found.tolist() == [[5], [6]]
    assert notices == ["column 'c' is in the files, so the values in folder names are ignored"]


def test_files_without_columns_have_none_of_their_folders(tmp_path):
    (tmp_path / "c=1").mkdir()
    (tmp_path / "c=1" / "a.svm").write_text("1 1:2\n0 1:3\n")
    notes = FileNotes()
    assert [chunk.n_rows for chunk in rows_of(expand([str(tmp_path)]), ReadOptions(notes=notes))] == [2]
    assert notes.lines() == ["folder names do not become columns of svmlight files"]


def test_files_without_rows_are_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("another,header\n")
    (tmp_path / "b.csv").touch()
    parquet.write_table(pa.table({}), tmp_path / "c.parquet")
    (tmp_path / "d.parquet").touch()
    (tmp_path / "e.svm").touch()
    with pytest.raises(InputError, match="none of the 5 files has rows"):
        values(tmp_path)
    (tmp_path / "f.csv").write_text("x,y\n1,u\n2,v\n")
    found, _, _, notices = values(tmp_path)
    assert found.tolist() == [[1], [2]]
    assert notices[0].startswith("5 files have no rows and are left out: ")
    assert "d.parquet" in notices[0]


def test_bytes_are_texts(tmp_path):
    table = pa.table(
        {"b": pa.array([b"u", None, b"\xc3\xa4"]), "n": [1, 2, 3], "y": pa.array([b"p", b"q", b"p"])}
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    _, chunks, kinds, _ = values(tmp_path)
    assert chunks[0].targets.tolist() == ["p", "q", "p"]
    assert [*kinds.reading("b").levels] == ["u", "\u00e4"]
    parquet.write_table(table.set_column(0, "b", pa.array([b"\xff", b"", b""])), tmp_path / "a.parquet")
    with pytest.raises(
        InputError, match=r"a\.parquet, column 'b': the column holds binary that is not UTF-8"
    ):
        values(tmp_path)
    assert values(tmp_path, drop=("b",))[0].tolist() == [[1], [2], [3]]
