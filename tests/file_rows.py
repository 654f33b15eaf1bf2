"""Files that tests write, the rows that are read from them, and data sets of them."""

from functools import partial

import numpy as np

from distkern.data.formats import _rows, csv
from distkern.data.formats._files import expand
from distkern.data.formats._notes import FileNotes
from distkern.data.formats.base import ReadOptions
from distkern.data.ingest import shard


def written(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path, **options):
    return [chunk for file in expand([path]) for chunk in file.chunks(ReadOptions(**options))]


def read_with_notes(path, **options):
    notes = FileNotes()
    return read(path, notes=notes, **options), notes


def made(folder, source, **options):
    """A data set of the rows in their order, in their own units unless the options say otherwise."""
    options = {"scale": "none", "shuffle": False, "overwrite": True, **options}
    return shard(source, folder / "d.zarr", **options)


def everything(split):
    """Features and targets of all rows, in their order."""
    blocks = [split.reader(block)() for block in range(split.n_blocks)]
    targets = None if blocks[0].targets is None else np.concatenate([block.targets for block in blocks])
    return np.concatenate([block.features for block in blocks]), targets


def rows_of(split):
    return everything(split)[0]


def feature(dataset, name, split=None):
    return rows_of(split or dataset.train)[:, dataset.feature_names.index(name)]


def small_blocks(monkeypatch, n_bytes):
    """Files are read in pieces of so many bytes."""
    monkeypatch.setattr(csv, "row_blocks", partial(_rows.row_blocks, block_bytes=n_bytes))
