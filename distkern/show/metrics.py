"""``metrics.jsonl``: one JSON object per stage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from distkern.core.errors import CorruptDataError
from distkern.data.store.atomic import write_text_atomic
from distkern.data.store.description import check_line, json_object, plain
from distkern.data.store.places import Location, append_text, place_of, read_file
from distkern.engine.events import Event

#: the keys of a line, in order; a solver's own figures follow
FIELDS = (
    "stage",
    "passes",
    "seconds",
    "objective",
    "train_error",
    "test_error",
    "model_size",
    "feature_accesses",
    "feature_accesses_nonzero",
    "rows_read",
    "bytes_read",
    "peak_rss_bytes",
)

#: keys of the last line that are known when the command ends
OF_COMMAND = ("command_seconds", "driver_peak_rss_bytes")


class MetricsFile:
    """A listener that appends a line to ``path`` after every stage, on disk before it returns."""

    def __init__(self, path: Location) -> None:
        self.path = place_of(path)

    def __call__(self, event: Event) -> None:
        if event.kind != "stage_finished":
            return
        append_text(self.path, to_line(event["metrics"]))


def to_line(metrics: Mapping[str, Any]) -> str:
    """Return a stage's metrics as a line of JSON: known keys first, numpy scalars as numbers, NaN as null."""
    ordered = {name: metrics[name] for name in FIELDS if name in metrics}
    ordered.update((name, value) for name, value in metrics.items() if name not in ordered)
    return json.dumps({name: plain(value) for name, value in ordered.items()}, allow_nan=False) + "\n"


def rewrite(path: Location, history: Iterable[Mapping[str, Any]]) -> None:
    """Replace the file by ``history``, atomically; a resumed run drops the stages after its checkpoint."""
    write_text_atomic(path, "".join(to_line(metrics) for metrics in history))


def of_finished(path: Location, history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a finished model's history with :data:`OF_COMMAND` from its file, if there is one."""
    lines = [dict(line) for line in history]
    with suppress(FileNotFoundError, CorruptDataError, IndexError):
        last = read(path)[-1]
        lines[-1].update((name, last[name]) for name in OF_COMMAND if name in last)
    return lines


def read(path: Location) -> list[dict[str, Any]]:
    """Return the stages of a metrics file, oldest first.

    A last line without a line break was cut off when the process died; it is ignored.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    CorruptDataError
        If it cannot be read, or a line holds no metrics.
    """
    history: list[dict[str, Any]] = []
    try:
        content = read_file(place_of(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise CorruptDataError(
            f"cannot be read ({error.strerror})", where=str(path), hint="remove it"
        ) from None
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            break
        try:
            stage = json_object(line)
            check_line(stage)
        except ValueError as error:
            raise CorruptDataError(
                f"is not a line of metrics ({error})", where=f"{path}, line {number}", hint="train again"
            ) from None
        history.append(stage)
    return history
