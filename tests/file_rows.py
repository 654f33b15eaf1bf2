"""Files that tests write, and the rows that are read from them."""

from distkern.data.formats._files import expand
from distkern.data.formats._notes import FileNotes
from distkern.data.formats.base import ReadOptions


def written(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path, **options):
    return [chunk for file in expand([path]) for chunk in file.chunks(ReadOptions(**options))]


def read_with_notes(path, **options):
    notes = FileNotes()
    return read(path, notes=notes, **options), notes
