"""Which files are meant, how they are compressed, and the errors when they cannot be read."""

import bz2
import gzip
import io
import lzma
import zipfile
from functools import partial

import fsspec
import numpy as np
import pyarrow as pa
import pytest

from distkern.core.errors import InputError
from distkern.core.sparse import converted, stacked
from distkern.data.formats import _header, _rows, csv
from distkern.data.formats._files import expand
from distkern.data.formats._notes import metered
from distkern.data.formats.base import FORMATS, ReadOptions

TEXT = b"x,kind\n" + b"".join(b"%d,%d\n" % (i, i % 2) for i in range(2000))


def zipped(text, *names):
    """An archive of files with the same text."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names or ("a.csv",):
            archive.writestr(name, text)
    return content.getvalue()


#: of which several streams may stand in a file
COMPRESS = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
ALL = {**COMPRESS, ".zst": lambda text: pa.compress(text, codec="zstd", asbytes=True), ".zip": zipped}


def read(source, format_name=None):
    files = expand([source], format_name)
    chunks = [chunk.features for file in files for chunk in file.chunks(ReadOptions())]
    return np.asarray(converted(stacked(chunks), sparse=False))


@pytest.mark.parametrize("suffix", ALL)
def test_compressed_text_is_read_and_refused_where_it_ends_early(tmp_path, suffix):
    path = tmp_path / f"a.csv{suffix}"
    content = ALL[suffix](TEXT)
    path.write_bytes(content)
    np.testing.assert_array_equal(read(path)[:, 0], np.arange(2000))
    for size in np.linspace(1, len(content) - 1, 30).astype(int):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match="truncated or damaged") as caught:
            read(path)
        assert str(path) in str(caught.value)


def test_archives(tmp_path):
    path = tmp_path / "data.zip"
    path.write_bytes(zipped(TEXT, "inside.csv", "__MACOSX/._inside.csv"))
    np.testing.assert_array_equal(read(path)[:, 0], np.arange(2000))
    path.write_bytes(zipped(TEXT, "a.csv", "b.csv"))
    with pytest.raises(InputError, match=r"data\.zip: .*the archive has 2 files and not one"):
        read(path)
    both = ALL[".zst"](TEXT[:9001]) + ALL[".zst"](TEXT[9001:])
    (tmp_path / "a.csv.zst").write_bytes(both)
    np.testing.assert_array_equal(read(tmp_path / "a.csv.zst")[:, 0], np.arange(2000))
    (tmp_path / "a.csv.zst").write_bytes(both + b"junk")
    with pytest.raises(InputError, match="truncated or damaged"):
        read(tmp_path / "a.csv.zst")


#: zeros accepted behind a stream: gzip takes any number, xz multiples of 4, bz2 none, as their tools do
PADDING = {".gz": (1, 4, 6, 300_000), ".xz": (4, 300_000), ".bz2": ()}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", COMPRESS)
def test_streams_one_after_another(tmp_path, suffix):
    first, second = (COMPRESS[suffix](part) for part in (TEXT[:9001], TEXT[9001:]))
    path = tmp_path / f"a.csv{suffix}"
    for zeros in (0, 1, 4, 6, 300_000):
        for content in (first + bytes(zeros) + second, first + second + bytes(zeros)):
            path.write_bytes(content)
            if zeros == 0 or zeros in PADDING[suffix]:
                np.testing.assert_array_equal(read(path)[:, 0], np.arange(2000))
            else:
                with pytest.raises(InputError, match="neither another stream nor padding"):
                    read(path)
    # the second stream begins anywhere within the blocks that are read
    rng = np.random.default_rng(0)
    long = b"x,kind\n" + b"".join(b"%d,0\n" % value for value in rng.integers(0, 1 << 40, 40_000))
    path.write_bytes(b"".join(COMPRESS[suffix](long[k : k + 7001]) for k in range(0, len(long), 7001)))
    assert len(read(path)) == 40_000


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_damaged_later_stream_or_junk_loses_no_row_silently(tmp_path, suffix):
    # cut at a line's end: without the second stream the file would be one of fewer rows
    cut = TEXT.index(b"\n", len(TEXT) // 2) + 1
    first, second = COMPRESS[suffix](TEXT[:cut]), COMPRESS[suffix](TEXT[cut:])
    path = tmp_path / f"a.csv{suffix}"
    header = {".gz": (0, 1, 2), ".xz": range(12), ".bz2": range(10)}[suffix]
    for position in (*header, len(second) // 2, len(second) - 9):
        damaged = bytearray(second)
        damaged[position] ^= 0x41
        path.write_bytes(first + damaged)
        with pytest.raises(InputError, match="truncated or damaged"):
            read(path)
    for junk in (b"j", b"junk", bytes(7) + b"j", second[:1], second[:9], first + b"\n", TEXT):
        path.write_bytes(first + second + junk)
        with pytest.raises(InputError, match="truncated or damaged"):
            read(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="truncated or damaged"):
        read(path)


def test_text_that_is_not_compressed_as_its_name_ends(tmp_path):
    for suffix in COMPRESS:
        path = tmp_path / f"a.csv{suffix}"
        path.write_bytes(TEXT)
        with pytest.raises(InputError, match="truncated or damaged"):
            read(path)
    path = tmp_path / "b.csv"
    path.write_bytes(gzip.compress(TEXT))
    with pytest.raises(InputError, match=r"not a text file|not UTF-8"):
        read(path)


def test_folders_and_patterns_are_sorted(tmp_path):
    for number in (2, 0, 1):
        (tmp_path / f"part{number}.csv").write_text(f"x,kind\n{number},0\n")
    (tmp_path / "README").write_text("not data")
    (tmp_path / ".hidden.csv").write_text("x,kind\n9,0\n")
    for source in (tmp_path, str(tmp_path / "part*.csv")):
        assert read(source)[:, 0].tolist() == [0, 1, 2]


def test_urls(tmp_path):
    memory = fsspec.filesystem("memory")
    memory.pipe("/distkern-test/a.csv.gz", gzip.compress(TEXT))
    memory.pipe("/distkern-test/b.csv.gz", gzip.compress(TEXT))
    try:
        assert len(read("memory://distkern-test/a.csv.gz")) == 2000
        assert len(read("memory://distkern-test")) == 4000
        assert len(read("memory://distkern-test/*.csv.gz")) == 4000
        with pytest.raises(InputError, match="file not found"):
            expand(["memory://distkern-test/c.csv"])
    finally:
        memory.rm("/distkern-test", recursive=True)
    assert len(read(_written(tmp_path / "c.csv").as_uri())) == 2000


def _written(path):
    path.write_bytes(TEXT)
    return path


def test_a_name_with_pattern_characters_is_a_name_first(tmp_path):
    assert len(read(_written(tmp_path / "a[1].csv"))) == 2000


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("covtyp.csv", r"file not found; did you mean '.*covtype\.csv'"),
        ("*.svm", "no file matches the pattern"),
        ("notes.md", r"unknown extension '\.md'; known: .*\.csv.*--format"),
        ("a9a", "no extension .*--format"),
        ("empty", "no file of a known format"),
        ("x.npz.gz", "cannot be compressed as a whole"),
        ("nosuchscheme://a/b.csv", "cannot be opened"),
    ],
)
def test_what_cannot_be_read(tmp_path, source, message):
    for name in ("covtype.csv", "notes.md", "a9a", "x.npz.gz"):
        (tmp_path / name).write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=message):
        expand([source if "://" in source else tmp_path / source])


def test_a_format_may_be_given(tmp_path):
    (tmp_path / "a9a").write_text("1 1:1\n-1 2:1\n")
    np.testing.assert_array_equal(read(tmp_path / "a9a", "svmlight"), [[1, 0], [0, 1]])
    with pytest.raises(InputError, match="unknown format 'svmligth'; did you mean 'svmlight'"):
        expand([tmp_path / "a9a"], "svmligth")


def test_extensions_belong_to_one_format():
    extensions = [extension for kind in FORMATS.values() for extension in kind.extensions]
    assert len(set(extensions)) == len(extensions)


@pytest.mark.parametrize("suffix", ["", *ALL])
def test_how_much_of_the_files_is_read(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(csv, "row_blocks", partial(_rows.row_blocks, block_bytes=2**12))
    monkeypatch.setattr(_header, "_FIRST_BYTES", 2**12)
    compress = ALL.get(suffix, bytes)
    for name, lines in (("a", TEXT), ("b", TEXT[: len(TEXT) // 2])):
        (tmp_path / f"{name}.csv{suffix}").write_bytes(compress(lines[: lines.rindex(b"\n") + 1]))
    files, meter = metered(expand([tmp_path]))
    assert meter.share == 0.0
    shares = {file.url: [meter.share for _ in file.chunks(ReadOptions())] for file in files}
    first, second = shares.values()
    stored = [(tmp_path / f"{name}.csv{suffix}").stat().st_size for name in "ab"]
    assert np.all(np.diff([*first, *second]) >= 0)
    assert first[-1] == pytest.approx(stored[0] / sum(stored), abs=0.02)
    assert second[0] > first[-1]
    # an archive ends with the list of its files
    assert second[-1] == pytest.approx(1.0, abs=0.02)
    assert meter.share == 1.0
    if not suffix:
        assert len(first) > 3
        assert 0 < first[0] < 0.5


def test_files_elsewhere_count_the_same(tmp_path):
    folder = fsspec.filesystem("memory")
    for name, lines in (("a", TEXT), ("b", TEXT[:100])):
        folder.pipe(f"/meter/{name}.csv", lines[: lines.rindex(b"\n") + 1])
    files, meter = metered(expand(["memory://meter"]))
    assert [[meter.share for _ in file.chunks(ReadOptions())][-1] for file in files] == [0.5, 1.0]
