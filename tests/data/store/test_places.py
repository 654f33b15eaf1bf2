"""Places: paths and URLs do the same, an object is created once, a folder is there when it is whole."""

import errno
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from distkern.cli.main import main
from distkern.core.errors import InputError, StoreError
from distkern.core.urls import refuse_password
from distkern.data.dataset import open_dataset
from distkern.data.ingest import shard
from distkern.data.store import _file_systems, places
from distkern.data.store.arrays import save_arrays
from distkern.data.store.atomic import staged_folder, write_text_atomic
from distkern.data.store.places import URLPlace, append_text, place_of
from distkern.jobs.record import redact

# -- a place


def test_a_file_at_a_place(place):
    place.mkdir(parents=True, exist_ok=True)
    file = place / "a.txt"
    assert not file.exists()
    assert not file.is_file()
    with pytest.raises(FileNotFoundError):
        file.read_bytes()
    with pytest.raises(FileNotFoundError):
        places.size_of_file(file)
    file.write_bytes(b"0123456789")
    assert file.exists()
    assert file.is_file()
    assert not file.is_dir()
    assert file.read_text() == "0123456789"
    assert places.size_of_file(file) == 10
    assert places.read_range(file, 2, 5) == b"234"
    assert places.read_range(file, 7) == b"789"
    assert (file.name, file.stem, file.suffix) == ("a.txt", "a", ".txt")
    assert file.parent == place
    assert place.is_dir()
    assert [entry.name for entry in place.iterdir()] == ["a.txt"]
    file.unlink()
    assert not file.exists()
    file.unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        file.unlink()


def test_trees_are_measured_and_removed(place):
    with staged_folder(place) as staged:
        (staged.path / "inner").mkdir()
        (staged.path / "inner" / "inner").write_bytes(b"bb")
        (staged.path / "zarr.json").write_bytes(b"{}")
        staged.commit()
    assert places.size_of_tree(place) == 4
    assert places.is_whole(place)
    assert [entry.name for entry in (place / "inner").iterdir()] == ["inner"]
    places.remove_tree(place)
    assert not place.exists()
    assert not places.is_whole(place)
    places.remove_tree(place)


def test_of_many_who_create_a_file_one_does(place):
    place.mkdir(parents=True, exist_ok=True)

    def create(number):
        try:
            places.create_exclusively(place / "claim", f"claim of {number}")
        except FileExistsError:
            return None
        return number

    with ThreadPoolExecutor(8) as threads:
        winners = [number for number in threads.map(create, range(32)) if number is not None]
    assert (place / "claim").read_text() == f"claim of {winners[0]}"
    assert len(winners) == 1


def test_texts_are_replaced_and_added_to(place):
    place.mkdir(parents=True, exist_ok=True)
    write_text_atomic(place / "t", "one\n")
    write_text_atomic(place / "t", "two\n")
    append_text(place / "t", "three\n")
    append_text(place / "new", "first\n")
    assert (place / "t").read_text() == "two\nthree\n"
    assert (place / "new").read_text() == "first\n"


def test_a_folder_that_was_not_committed_is_not_there(place):
    with suppress(ZeroDivisionError), staged_folder(place) as staged:
        (staged.path / "zarr.json").write_text("{}")
        raise ZeroDivisionError
    assert not place.exists()
    with staged_folder(place) as staged:
        (staged.path / "f").write_text("f")
        staged.publish("f")
    assert place.read_text() == "f"
    assert not staged.path.exists()


def test_what_a_killed_writer_left_on_this_machine_is_removed(url, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = (
        "import os, signal, sys\n"
        "from distkern.data.store.atomic import staged_folder\n"
        "with staged_folder('memory://b/k') as staged:\n"
        "    (staged.path / 'f').write_text('f')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}, timeout=60)
    assert len([*tmp_path.iterdir()]) == 1
    save_arrays(url, {"a": np.zeros(2)})
    assert [*tmp_path.iterdir()] == []


def test_places_are_made_of_texts(tmp_path):
    assert place_of(f"file://{tmp_path}/d.zarr") == tmp_path / "d.zarr"
    assert place_of((tmp_path / "ü b" / "d.zarr").as_uri()) == tmp_path / "ü b" / "d.zarr"
    assert place_of("d.zarr") == Path("d.zarr")
    assert place_of("s3://bucket/a/") == URLPlace("s3://bucket/a")
    assert places.absolute("s3://bucket/a") == URLPlace("s3://bucket/a")
    assert URLPlace("s3://bucket").parent == URLPlace("s3://bucket")
    assert pickle.loads(pickle.dumps(URLPlace("s3://b/k"))) == URLPlace("s3://b/k")
    with pytest.raises(InputError, match="question mark"):
        place_of("https://host/d.zarr?signature=abc")


# -- what is secret


@pytest.mark.parametrize(
    "text", ["s3://ann:hunter22@host/key", "ftp://:hunter22@host/d.zarr", "https://hunter22@host/d.zarr"]
)
def test_a_password_in_a_url_is_refused_and_not_repeated(text, tmp_path, capsys):
    commands = [
        ["shard", text, "--out", str(tmp_path / "d.zarr")],
        ["shard", str(tmp_path), "--out", text],
        ["train", "--data", text, "--out", str(tmp_path / "m")],
        ["train", "--data", str(tmp_path), "--out", text],
        ["evaluate", text, "--data", text],
        ["evaluate", str(tmp_path), "--data", text],
        ["predict", text, "--data", text, "--out", str(tmp_path / "p.csv")],
        ["inspect", text],
        ["jobs", "--runs", text],
        ["train", text],
    ]
    for command in commands:
        assert main(command) == 2, command
        said = capsys.readouterr().err
        assert "hunter22" not in said, command
        assert command[0] == "evaluate" or "environment" in said, command
    assert list(tmp_path.iterdir()) == []


def test_queries_and_keys_are_not_written(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wonderfulsecret")
    text = "no https://h/k?X-Amz-Signature=abcdef, s3://u:pw@h, wonderfulsecret"
    assert redact(text) == "no https://h/k?*** s3://u:***@h, ***"
    # a token may stand where a user would; some stores have users that are no secret
    assert redact("a::s3://ghp_x@h/k, sftp://ann@h/k") == "a::s3://***@h/k, sftp://ann@h/k"
    refuse_password("sftp://ann@h/k and https://h/a@b")
    with pytest.raises(InputError) as caught:
        shard("https://127.0.0.1:9/a.nosuch?X-Amz-Signature=abcdef", "/nowhere/d.zarr")
    assert "abcdef" not in str(caught.value)


def test_a_missing_driver_is_named(monkeypatch):
    import fsspec  # noqa: F401

    for name in ("s3fs", "gcsfs"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("s3", "gs"):
        monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, name, raising=False)
    for text, extra in (("s3://b/k", "s3"), ("gs://b/k", "gcs")):
        with pytest.raises(InputError, match=rf"pip install 'distkern\[{extra}\]'"):
            open_dataset(text)
    with pytest.raises(InputError, match="no driver for nosuch://"):
        open_dataset("nosuch://b/k")


# -- when the store fails


class Failing:
    """A file system whose first answers are errors."""

    def __init__(self, errors):
        self.errors, self.asked = errors, 0

    def __call__(self, url):
        return self, url

    def cat_file(self, path):
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return b"content"


@pytest.fixture
def failing(monkeypatch):
    system = Failing([])
    monkeypatch.setattr(_file_systems, "open_file_system", system)
    monkeypatch.setattr(_file_systems, "PAUSES", (0.0, 0.0))
    return system


def http(status):
    error = OSError(errno.EINVAL, "the answer of a server")
    error.response = {"ResponseMetadata": {"HTTPStatusCode": status}}
    return error


@pytest.mark.parametrize(
    "error", [ConnectionResetError(), TimeoutError(), OSError(errno.ECONNREFUSED, "refused"), http(503)]
)
def test_transient_errors_are_survived(failing, error, caplog):
    failing.errors = [error, error]
    assert URLPlace("s3://b/k").read_bytes() == b"content"
    assert failing.asked == 3
    assert [line.getMessage() for line in caplog.records if "asking again" in line.getMessage()]
    failing.errors = [error, error, error, error]
    with pytest.raises(StoreError, match=r"s3://b/k.*after 3 tries"):
        URLPlace("s3://b/k").read_bytes()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (FileNotFoundError(), FileNotFoundError),
        (PermissionError("denied"), InputError),
        (http(400), InputError),
        (ValueError("Invalid endpoint: nonsense"), InputError),
        (ValueError("another"), ValueError),
        (http(412), FileExistsError),
        (MemoryError(), MemoryError),
    ],
)
def test_other_errors_are_answers(failing, error, kind):
    failing.errors = [error, error, error]
    with pytest.raises(kind):
        URLPlace("s3://b/k").read_bytes()
    assert failing.asked == 1
