"""Places to write to: folders, URLs in memory, and buckets of an S3 server on loopback."""

import uuid

import pytest

from distkern.data.store import places
from distkern.data.store.places import URLPlace
from s3_runs import make, run
from s3_server import Road, Server, settings


@pytest.fixture(params=["local", "memory"])
def place(request, tmp_path):
    """A folder that is not there yet."""
    if request.param == "local":
        yield tmp_path / "folder"
        return
    url = URLPlace(f"memory://{uuid.uuid4().hex}/folder")
    yield url
    places.remove_tree(url.parent)


@pytest.fixture
def url(tmp_path):
    place = URLPlace(f"memory://{uuid.uuid4().hex}/folder")
    yield place
    places.remove_tree(place.parent)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    server = Server(tmp_path_factory.mktemp("moto") / "log")
    yield server
    server.kill()


@pytest.fixture
def road(server, monkeypatch):
    """The only way to the server, which the environment names."""
    import s3fs

    road = Road(server.port)
    for name, value in settings(road.port).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    s3fs.S3FileSystem.clear_instance_cache()
    yield road
    road.cut()
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(road):
    import s3fs

    name = f"b-{uuid.uuid4().hex[:12]}"
    s3fs.S3FileSystem().mkdir(name)
    return URLPlace(f"s3://{name}")


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """A data set and a model of it in folders of this machine."""
    folder = tmp_path_factory.mktemp("local")
    dataset = make(folder / "d.zarr", columns=True)
    run(dataset, folder / "m")
    return dataset, folder / "m"
